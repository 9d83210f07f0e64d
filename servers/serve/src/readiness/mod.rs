//! The server that the epoll and mio rungs have in common. They differ only in the [`Selector`] below it.
//!
//! ```text
//! Server ─┬─ Listening    accepts, and pauses when descriptors run out
//!         ├─ Session ×n   one connection: socket, http1::Connection, unsent tail
//!         ├─ Desk         what the sessions of a worker share: buffers, encoder, counts
//!         ├─ Deadlines    which session may be due next
//!         └─ Clock        read once for each return of the selector
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

mod clock;
mod deadlines;
mod selector;
mod server;
mod session;

pub use clock::Clock;
pub use deadlines::Deadlines;
pub use selector::{Interest, Key, Readiness, Selector};
pub use server::Server;
