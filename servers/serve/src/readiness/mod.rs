//! The server that the epoll and mio rungs have in common. They differ only in the [`Selector`] below it.
//!
//! ```text
//! Server ─┬─ Listening    accepts, and pauses when descriptors run out
//!         ├─ Session ×n   one connection: socket, http1::Connection, unsent tail
//!         ├─ input        what they read into, one after the other
//!         ├─ Desk         what else they share: clock, encoder, output, counts
//!         └─ Deadlines    which session may be due next
//! ```
//!
//! A rung drives it so, on one thread:
//!
//! ```text
//! server.start(selector)
//! while let Some(wait) = server.next_wait() {
//!     wait for events, at most that long
//!     for each: server.accept(selector), server.ready(selector, key, readiness) or server.stop(selector)
//!     server.end_turn(selector, number of events)
//! }
//! ```
//!
//! One request costs one read and one write: the answer is written at once, and only if the kernel refuses it does the
//! session ask for writability. Neither level- nor edge-triggered selectors are favoured: a session reads until the
//! kernel has nothing more, and one that has had its share of the turn is put in a queue of the server's own, so no
//! readiness is ever forgotten.

mod selector;
mod server;
mod session;

pub use selector::{Interest, Key, Readiness, Selector};
pub use server::Server;
