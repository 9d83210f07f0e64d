//! What makes the load: wrk for the curves, our own generator for fixed rates, a scripted one for tests.

pub mod paced;
pub mod wrk;

use std::net::SocketAddr;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use crate::answer::Request;
use crate::interrupt::{Interrupt, Interrupted};
use crate::process::{Process, excerpt};
use crate::record::{self, Load};

/// One load run, as it is asked for.
#[derive(Clone, Debug)]
pub struct Job {
    /// The server.
    pub addr: SocketAddr,
    /// What is asked of it, over and over.
    pub request: Request,
    /// Connections to keep open: a number that the generator can open, see [`crate::plan::effective_connections`].
    pub connections: u32,
    /// How long.
    pub duration: Duration,
}

/// Something that can load a server over many connections.
pub trait LoadGenerator {
    /// What it is, for the record.
    fn describe(&self) -> record::LoadGenerator;

    /// Requests that it sends at once on each connection, before it waits for all their answers.
    fn pipeline(&self) -> u32 {
        1
    }

    /// Starts a load run.
    ///
    /// # Errors
    ///
    /// [`LoadError`].
    fn start(&self, job: &Job) -> Result<Box<dyn LoadRun>, LoadError>;
}

/// A load run under way, which measures a `T`. Dropping it ends it.
pub trait LoadRun<T = Load> {
    /// The process that makes the load, to be watched.
    fn pid(&self) -> u32;

    /// True once it has ended, in whatever way.
    fn has_ended(&mut self) -> bool;

    /// Waits for its end and gives what it measured.
    ///
    /// # Errors
    ///
    /// [`LoadError`].
    fn finish(self: Box<Self>, interrupt: &Interrupt) -> Result<T, LoadError>;
}

/// Why a load run gave no result.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// It could not be started, it failed, or what it said could not be understood.
    #[error("{0}")]
    Failed(String),
    /// The user wants to stop.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
}

/// Waits until the process of the load generator `name` ends by itself, at most until `deadline`.
fn await_end(
    process: &mut Process,
    deadline: Instant,
    name: &str,
    interrupt: &Interrupt,
) -> Result<ExitStatus, LoadError> {
    loop {
        interrupt.check()?;
        if let Some(status) = process.wait(Duration::from_millis(20)) {
            return Ok(status);
        }
        if Instant::now() > deadline {
            return Err(LoadError::Failed(format!(
                "{name} did not end when its time was over, and was killed"
            )));
        }
    }
}

/// The first words of what a load generator printed.
fn first_line(output: &str) -> String {
    let mut lines = output
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty());
    excerpt(lines.next().unwrap_or("it printed nothing"))
}
