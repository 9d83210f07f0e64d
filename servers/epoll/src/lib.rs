//! The epoll rung: a [`Reactor`], and the server on it.
//!
//! | file | holds |
//! | --- | --- |
//! | `reactor.rs` | the reactor: knows descriptors and handlers, and nothing of servers |
//! | `sockets.rs` | a listener and connections as the reactor's sources |
//! | `main.rs` | `rung-epoll`: one reactor for each thread |

mod reactor;
mod sockets;

pub use reactor::{Handler, Interest, Reactor, Readiness, Token};
pub use sockets::{Source, accept};
