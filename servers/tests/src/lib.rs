//! The black-box table: what every rung does with every input, driven over raw sockets.
//!
//! ```text
//! cases/      the table: scripts of what a client sends and what it must get back
//! case.rs     the words of a script: Case, Step, Expected
//! reply.rs    the bytes of an expected answer, made by `rungs-response`
//! wire.rs     one raw connection: send, receive, reset, exact to the byte
//! expect.rs   compares what came with what was expected
//! run.rs      plays one script against one server
//! process.rs  what /proc tells about a server: descriptors, CPU time, memory
//! server.rs   starts a server binary, and stops it
//! programs.rs the rungs, and where a test finds their programs
//! table.rs    plays the whole table: a server for each set of flags, several cases at once
//! differential/ generated requests: the same bytes to several rungs
//! ```
//!
//! The same table is used twice: by the test `contract` in each rung's crate, and by `rungs verify`. All rungs are held to
//! the same bytes. Where one may differ, the difference is declared at the very step, with the reason; a rung that does
//! not show its declared difference fails as well, so that the list in [`differences`] is true.

#![forbid(unsafe_code)]

mod case;
mod cases;
pub mod differential;
mod expect;
mod process;
mod programs;
mod reply;
mod run;
mod server;
mod table;
mod wire;

use std::fmt;

pub use case::{Case, Difference, Group};
pub use cases::{cases, differences};
pub use programs::{RUNGS, program};
pub use run::{Agreement, Failure, check, check_process};
pub use server::{Server, total};
pub use table::{Verdict, assert_contract, run_table};

/// How a rung may differ from the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// On `rungs-http1`, told of readiness: epoll and mio.
    Raw,
    /// On `rungs-http1`, told of completions.
    Uring,
    /// On hyper's `http1::Builder`.
    Hyper,
    /// On stock `axum::serve`.
    Axum,
    /// Answers without reading HTTP: held to `GET /` and to the contract of the process only.
    Null,
}

impl Kind {
    /// The kind of the rung that names itself so in its `listening` line, such as `rung-epoll`.
    #[must_use]
    pub fn of_rung(name: &str) -> Option<Self> {
        let name = name.strip_prefix("rung-")?;
        let rung = RUNGS.iter().find(|(rung, _)| *rung == name);
        rung.map(|(_, kind)| *kind)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Raw => "the raw rungs",
            Self::Uring => "uring",
            Self::Hyper => "hyper",
            Self::Axum => "axum",
            Self::Null => "null",
        })
    }
}
