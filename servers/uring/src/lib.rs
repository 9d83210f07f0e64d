//! The io_uring rung: a [`Proactor`], and the server on it.
//!
//! # A proactor, for those who know the reactor
//!
//! A reactor (`servers/epoll`) asks *what could I do now?*: the kernel tells which sockets are **ready**, and the program
//! then reads and writes with calls that do not block. A proactor says *do this, and tell me when it is done*: the kernel
//! reads and writes by itself, and the program hears of what is **complete**.
//!
//! ```text
//!            reactor (epoll)                                 proactor (io_uring)
//!
//!  ┌─▶ epoll_wait ── socket 7 is readable          ┌─▶ io_uring_enter ── 7: 52 bytes are in buffer 3
//!  │       │                                       │       │
//!  │     read(7)   the request                     │       │             the request is there already
//!  │       │                                       │       │
//!  │     http1     bytes ─▶ bytes                  │     http1           bytes ─▶ bytes
//!  │       │                                       │       │
//!  │     write(7)  the answer                      │     queue a send: a few stores to shared memory
//!  └───────┘                                       └───────┘  (the next enter takes all of them along)
//!
//!  two system calls for each request,              one system call for each turn,
//!  and one for each turn                           whatever the number of requests
//! ```
//!
//! What follows from that:
//!
//! - **Whose memory?** While a read is the program's own call, its buffer is the program's. Here the kernel may write to a buffer
//!   and read from another at any time until it says that it has finished. So the proactor owns them, and the sockets; a
//!   connection is closed in two steps, cancel and wait for the end of what was cancelled.
//! - **Which memory?** A reactor reads into one scratch buffer after it has heard of the bytes. Ten thousand receives that
//!   are under way would want ten thousand buffers. Instead the kernel takes one from a small ring when bytes
//!   come, and it goes back once `http1` has read it: an idle connection holds no buffer in either rung.
//! - **One order, many results.** An accept or a receive is *multishot*: it stands until it is cancelled or fails. It
//!   also ends when no buffer is left (`ENOBUFS`) or completions overflow; neither says anything about the connection, and
//!   the proactor starts it again.
//! - **Back-pressure** is no longer free. A reactor does not read while it has something to write. Here bytes keep coming
//!   while an answer is sent: the session holds them, and above 64 KiB pauses the receive.
//! - **When is a turn over?** Most sends are complete as soon as they are submitted, and would end each wait at once. So they
//!   are tried without waiting for room, and the kernel is asked to tell of them only if that failed or fell short: see
//!   [`Proactor::turn`]. What ends the wait is then the next request. Nor is the server told: once an answer is handed over, it is
//!   the client's turn, and only a session that has more to do behind it asks ([`Proactor::hurry`]).
//! - **Deadlines** cost no call of their own: the next one is the time-out of the wait.
//!
//! # Files
//!
//! | file | holds |
//! | --- | --- |
//! | `operation.rs` | the words: what can be done with a source, and what is told of it |
//! | `proactor.rs` | the proactor, and what it is asked to do: knows descriptors and bytes, and nothing of servers |
//! | `proactor/source.rs` | a descriptor, and what the kernel does with it |
//! | `proactor/outcome.rs` | from what the kernel tells to what the user is told |
//! | `buffers.rs` | the ring of receive buffers that is shared with the kernel |
//! | `session.rs` | one connection: `http1`, and what is on its way in and out |
//! | `server.rs` | a worker's server: sessions, deadlines, accepting, stopping |
//! | `main.rs` | `rung-uring`: one proactor for each thread |

mod buffers;
mod operation;
mod proactor;

pub use operation::{Completion, Standing, Token};
pub use proactor::Proactor;
