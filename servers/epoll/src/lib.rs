//! The epoll rung: a [`Reactor`], and the server on it.
//!
//! # How a reactor works
//!
//! One thread serves thousands of connections because it never waits for one of them. Sockets do not block: a read that
//! finds nothing says so at once. What waits is one system call for all of them, epoll_wait(2), which returns the
//! sockets on which something can be done **now**: it tells of *readiness*, and the program then does the work.
//!
//! ```text
//!                          ┌──────────────────────────────────────────────┐
//!                          ▼                                              │
//!   next deadline ──▶ epoll_wait ── time is up ──▶ expire what is due ────┤
//!                          │                                              │
//!                          │ up to --max-events of (token, readiness)     │
//!                          ▼                                              │
//!               for each: table[token] ─ handler                          │
//!                          │                                              │
//!           ┌──────────────┼────────────────┐                             │
//!        listener      connection          stop                           │
//!           │              │                │                             │
//!        accept4        read(2) ───▶ http1 ───▶ write(2)                  │
//!        register          │      bytes  answers   │                      │
//!        with epoll        └───────────────────────┴──────────────────────┘
//!                              EAGAIN: nothing more to do here for now
//! ```
//!
//! The things that are easy to get wrong, and where they are got right:
//!
//! - **A batch is a snapshot.** An early handler may close a connection that a later event of the same batch is about, and
//!   the next accept may reuse its descriptor. Events carry a [`Token`] with a generation, not a descriptor (`reactor.rs`).
//! - **Write first, ask later.** An answer is written at once; only what the kernel refuses makes the server watch for
//!   writability, and while there is something to write nothing is read. So a request costs a read, a write and a share of
//!   one epoll_wait, and no epoll_ctl(2) (`serve::readiness::session`).
//! - **Level and edge.** Level-triggered events come as long as something can be done, edge-triggered ones when that
//!   begins. The server reads until a read falls short, and queues what it leaves undone for its own next turn, so it is
//!   right under both.
//! - **One must not starve the others.** A connection that always has more to read gets its share of a turn, then the next.
//! - **No descriptor left** leaves the listener readable for ever: it is not watched for a moment, or the loop would spin
//!   (`serve::accept`).
//! - **Deadlines** are a queue in order of time; the earliest one is how long epoll_wait may take.
//!
//! The proactor of `servers/uring` turns this around: there the kernel does the work, and tells when it is done.
//!
//! # Files
//!
//! | file | holds |
//! | --- | --- |
//! | `reactor.rs` | the reactor: knows descriptors and handlers, and nothing of servers |
//! | `sockets.rs` | a listener and connections as the reactor's sources |
//! | `main.rs` | `rung-epoll`: one reactor for each thread, with the server of `rungs_serve::readiness` on it |

mod reactor;
mod sockets;

pub use reactor::{Handler, Interest, Reactor, Readiness, Token};
pub use sockets::{Source, accept};
