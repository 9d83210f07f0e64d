//! A proactor on io_uring(7).
mod buffers;
mod proactor;

pub use proactor::{Completion, Notice, Proactor, Standing, Token};
