//! What makes the load: wrk for the curves, a scripted one for tests.

pub mod wrk;

use std::net::SocketAddr;
use std::time::Duration;

use crate::answer::Request;
use crate::interrupt::{Interrupt, Interrupted};
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

    /// Starts a load run.
    ///
    /// # Errors
    ///
    /// [`LoadError`].
    fn start(&self, job: &Job) -> Result<Box<dyn LoadRun>, LoadError>;
}

/// A load run under way. Dropping it ends it.
pub trait LoadRun {
    /// The process that makes the load, to be watched.
    fn pid(&self) -> u32;

    /// True once it has ended, in whatever way.
    fn has_ended(&mut self) -> bool;

    /// Waits for its end and gives what it measured.
    ///
    /// # Errors
    ///
    /// [`LoadError`].
    fn finish(self: Box<Self>, interrupt: &Interrupt) -> Result<Load, LoadError>;
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
