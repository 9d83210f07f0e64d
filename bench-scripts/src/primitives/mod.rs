//! `rungs primitives`: what servers are made of, measured by the crate of that name.

pub mod record;
pub mod report;
