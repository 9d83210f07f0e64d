//! What every server binary shares, so that rungs differ only in how they move bytes.
//!
//! ```text
//! main::<R>() ─ flags ─ listen ─┬─ worker 0: R::run ─┐
//!                               ├─ worker 1: R::run ─┼─ counters ─▶ one line of JSON on stdout
//!                signals ─ stop ┴─ …                 ┘
//! ```
//!
//! | module | holds |
//! | --- | --- |
//! | `flags`, `cpus` | the command line of every rung |
//! | `listen` | listening sockets: one for each worker, or one for all |
//! | [`accept`] | what a failed accept(2) means |
//! | `lifecycle` | from the flags to the exit status |
//! | `lines` | the JSON lines on stdout |
//! | [`counters`] | what each worker counts |
//! | [`readiness`] | the server that the epoll and mio rungs have in common |
//! | [`sessions`] | what the sessions of one worker share, also where completions drive them |
//! | [`socket`] | reading and writing by the system call itself |
//! | `runtime` | what the rungs on tokio have in common |
//!
//! A rung is a type with [`Rung`] and a `main` that calls [`main`].

pub mod accept;
pub mod counters;
mod cpus;
mod flags;
mod lifecycle;
mod lines;
mod listen;
pub mod readiness;
#[cfg(feature = "tokio")]
pub mod runtime;
pub mod sessions;
pub mod socket;
mod stop;

use std::io;
use std::net::TcpListener;
use std::sync::mpsc::Sender;
use std::time::Duration;

pub use lifecycle::main;
pub use rungs_http1::Limits;
pub use stop::Stop;

use counters::Counters;

#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// One server implementation.
pub trait Rung {
    /// The binary's name, such as `rung-epoll`.
    const NAME: &'static str;

    /// One sentence for `--help`.
    const ABOUT: &'static str;

    /// The rung's own flags.
    type Options: clap::Args + Clone + Send + Sync + 'static;

    /// Whether a single worker drives all threads by itself, as a work-stealing runtime does.
    fn one_worker(_options: &Self::Options) -> bool {
        false
    }

    /// Runs one worker until [`Worker::stop`] is raised and its connections have ended, at most [`Worker::grace`] later.
    ///
    /// # Errors
    ///
    /// What leaves the worker unable to serve at all. The process then ends with exit status 1.
    ///
    /// An error of [`ErrorKind::Unsupported`](io::ErrorKind::Unsupported) with a message of the rung's own, before it is
    /// [`Ready`], says that the rung cannot run on this machine, and the message is the sentence that says why and what to do.
    /// It goes to stdout in a line too: `{"event":"unsupported","rung":…,"reason":…}`. A sweep then goes on without the rung.
    fn run(options: &Self::Options, worker: Worker) -> io::Result<()>;
}

/// What a worker is given to work with. Its thread is pinned already; threads that it starts inherit that.
#[derive(Debug)]
pub struct Worker {
    /// Which worker this is, from 0.
    pub index: usize,
    /// How many threads it may serve on: 1, or `--threads` where [`Rung::one_worker`] holds.
    pub threads: usize,
    /// Listening and non-blocking. Accepted sockets inherit `TCP_NODELAY` from it, but not `O_NONBLOCK`.
    pub listener: TcpListener,
    /// To be told once connections are served.
    pub ready: Ready,
    /// Raised once, when it is time to stop.
    pub stop: Stop,
    /// One slot for each of [`Worker::threads`].
    pub counters: Counters,
    /// `--header-timeout` and `--idle-timeout`.
    pub limits: Limits,
    /// `--grace`: how long requests in flight may still take once [`Worker::stop`] is raised.
    pub grace: Duration,
}

/// How a worker says that it serves from here on. The process says that it is listening once all its workers have.
#[derive(Clone, Debug)]
pub struct Ready(Sender<()>);

impl Ready {
    /// Says so.
    pub fn announce(self) {
        // Nobody listens only if another worker has failed, and the process ends.
        let _ = self.0.send(());
    }
}

impl From<Sender<()>> for Ready {
    fn from(sender: Sender<()>) -> Self {
        Self(sender)
    }
}
