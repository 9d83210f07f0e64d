//! What servers are made of: how much a message, a lock, a process and a wake-up cost.
//!
//! ```text
//! Plan ─ cells ─ for each group: calibrate every cell, then its repetitions, interleaved ─ Row ─ sink
//!                       └ one repetition = one trial
//!
//! trial (parent)    keeper (child)              ends, workers, … (children)
//!   start keeper ──► makes the kernel's objects
//!   ◄── descriptors and names ──┘
//!   start the others ─────────────────────────► pin themselves, open what was made
//!   ◄───────────────────────────────────────── ready
//!   clock, go ────────────────────────────────► the measuring loop
//!   ◄───────────────────────────────────────── when it ended, what was checked
//!   hang up ──────► removes what it made
//! ```
//!
//! Every child is this program again, started by fork and exec, and talks with its parent over a SEQPACKET socket that is
//! its stdin ([`wire`]): descriptors travel there too, so that most objects need no name at all. What needs one is removed
//! by the keeper as soon as the parent hangs up, however the parent ended; and by the next run, if the keeper was killed too
//! ([`sweep`]).
//!
//! Where to look:
//!
//! - [`plan`] which cells there are; [`cell`] what one is; [`run`](mod@run) the repetitions; [`row`] what comes out
//! - [`trial`] the parent's side of one repetition; [`child`] the children's
//! - [`roles`] the measuring loops, each written once
//! - [`channels`], [`locks`], [`programs`], [`handoffs`]: one file for each mechanism
//! - [`sys`] the only `unsafe` code: the calls that neither std nor rustix wraps

pub mod cell;
pub mod channels;
pub mod child;
pub mod clock;
pub mod failure;
pub mod handoffs;
pub mod limits;
pub mod locks;
pub mod plan;
pub mod programs;
pub mod roles;
pub mod row;
pub mod run;
pub mod sweep;
pub mod sys;
pub mod trial;
pub mod wire;

pub use plan::Plan;
pub use row::Row;
pub use run::{Event, run};

#[cfg(test)]
mod tests;
