//! The measuring loops. Each is written once and compiled for every mechanism.

pub mod add;
pub mod one_way;
pub mod round_trip;
