//! What the rungs on tokio have in common.
//!
//! ```text
//! run ─ tokio runtime ─┬─ Acceptor   accepts, and pauses when descriptors run out
//!                      ├─ Stream ×n  a counted TcpStream that closes so that errors can be read
//!                      └─ Pattern    the body of GET /bytes/{n}
//! ```

mod acceptor;
mod pattern;
mod stream;
mod tally;

use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use clap::ValueEnum;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::runtime::{Builder, Runtime};

pub use acceptor::Acceptor;
pub use pattern::Pattern;
pub use stream::Stream;
pub use tally::Tally;

use crate::counters::Counters;
use crate::{Stop, Worker};

/// The flags of a rung on tokio.
#[derive(Clone, Debug, clap::Args)]
pub struct Options {
    /// How tokio's threads share the work
    #[arg(long, value_enum, value_name = "HOW", default_value_t)]
    runtime: Flavor,
}

/// How tokio's threads share the work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Flavor {
    /// Each thread has a runtime and connections of its own
    #[default]
    PerCore,
    /// One runtime moves connections between its threads
    WorkStealing,
}

impl Options {
    /// See [`crate::Rung::one_worker`].
    #[must_use]
    pub fn one_worker(&self) -> bool {
        self.runtime == Flavor::WorkStealing
    }

    /// A runtime whose threads count their wake-ups.
    fn build(&self, threads: usize, counters: &Counters) -> io::Result<Runtime> {
        let mut builder = match self.runtime {
            Flavor::PerCore => Builder::new_current_thread(),
            Flavor::WorkStealing => Builder::new_multi_thread(),
        };
        let slots = tally::Slots::new(counters.clone());
        let tally = Tally::new(counters.clone());
        builder
            .worker_threads(threads)
            .enable_io()
            .enable_time()
            .on_thread_start(move || slots.take_one())
            .on_thread_unpark(move || tally.slot().wakeups.add(1))
            .build()
    }
}

/// Runs `serve` on a runtime of the kind asked for, until it ends by itself once [`Stop`] is raised, or until
/// [`Worker::grace`] is over. Connections that are still open then are closed.
///
/// # Errors
///
/// No descriptor is left for the runtime.
pub fn run<F>(
    options: &Options,
    worker: Worker,
    serve: impl FnOnce(Acceptor, Stopping) -> F,
) -> io::Result<()>
where
    F: Future<Output = ()> + Send + 'static,
{
    let runtime = options.build(worker.threads, &worker.counters)?;
    runtime.block_on(async {
        let acceptor = Acceptor::new(worker.listener, Tally::new(worker.counters))?;
        let stopping = Stopping::new(worker.stop)?;
        worker.ready.announce();
        let deadline = stopping.clone();
        // On a task of its own, so that it runs on a thread that serves: the one that blocks here does not.
        let served = tokio::spawn(serve(acceptor, stopping));
        tokio::select! {
            result = served => result.map_err(io::Error::other),
            () = deadline.elapsed(worker.grace) => Ok(()),
        }
    })
}

/// The moment when it is time to stop; any number of tasks can wait for it.
#[derive(Clone, Debug)]
pub struct Stopping(Arc<AsyncFd<Stop>>);

impl Stopping {
    fn new(stop: Stop) -> io::Result<Self> {
        // SAFETY: `Stop` owns its descriptor and never replaces it, and the `AsyncFd` owns the `Stop`.
        let watched = unsafe { AsyncFd::register_with_interest(stop, Interest::READABLE) };
        Ok(Self(Arc::new(watched?)))
    }

    /// Waits for it.
    pub async fn raised(&self) {
        // An error means that the runtime itself is shutting down.
        let _ = self.0.readable().await;
    }

    /// Whether it has come.
    #[must_use]
    pub fn is_raised(&self) -> bool {
        self.0.get_ref().is_raised()
    }

    /// Waits for it, and then for so long.
    async fn elapsed(&self, grace: Duration) {
        self.raised().await;
        tokio::time::sleep(grace).await;
    }
}
