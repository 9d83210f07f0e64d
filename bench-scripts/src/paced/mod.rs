//! Load at a fixed rate, with latency free of coordinated omission: `rungs load`.
//!
//! An *open loop*, as in wrk2: requests are due at fixed times whatever the server does, and latency counts from when a
//! request was due. docs/load.md says what that means and how the generator knows its own limits.
//!
//! | file | holds |
//! | --- | --- |
//! | `schedule.rs` | when each request is due |
//! | `pacer.rs` | which connection sends when, and what is recorded: no socket, no clock |
//! | `client.rs` | the pacer's sockets and clock, on the reactor of the epoll rung |
//! | `connect.rs` | connections, at first and again |
//! | `timer.rs` | how the client wakes in time |
//! | `busy.rs` | how busy the generator itself is |
//! | `target.rs` | the URL, and whether it may be loaded |
//! | `distribution.rs`, `outcome.rs` | what is told of it all |
//! | `command.rs` | the command line |

mod busy;
mod client;
pub mod command;
mod connect;
mod distribution;
mod outcome;
mod pacer;
mod schedule;
mod target;
mod timer;

use std::io;
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::time::Duration;

pub use distribution::Distribution;
pub use outcome::{Errors, Failure, PacedLoad, Problem, Requests, SCHEMA_VERSION};
pub use pacer::{Pacer, Recorded};
pub use schedule::Schedule;
pub use target::{Target, TargetError};

use crate::answer::Request;
use crate::interrupt::{Interrupt, Interrupted};
use crate::machine;

/// Exit status of `rungs load` where the rate was not held, or some requests failed.
pub const NOT_AS_ASKED: u8 = 4;

/// A load, as it is asked for.
#[derive(Clone, Debug)]
pub struct Settings {
    /// What is loaded.
    pub target: Target,
    /// A host other than this machine that may be loaded.
    pub allow_remote: Option<String>,
    /// Requests per second, over all connections.
    pub rate: NonZeroU32,
    /// Connections that share them.
    pub connections: NonZeroU32,
    /// Load that comes before the window, and is not measured.
    pub warmup: Duration,
    /// The window.
    pub duration: Duration,
    /// Answers later than this after their request was sent are errors.
    pub timeout: Duration,
    /// Header lines besides `Host`, `Name: value`.
    pub headers: Vec<String>,
}

/// Why a load could not be made.
#[derive(Debug, thiserror::Error)]
pub enum PacedError {
    /// The URL is no good.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// There is nothing to measure.
    #[error("no request is due in the measured {}: make it longer, or the rate higher", humantime::format_duration(*duration))]
    Empty {
        /// The window.
        duration: Duration,
    },
    /// Connections are more than descriptors.
    #[error(
        "{connections} connections need {needed} descriptors, and this process may open {limit}: raise the limit with \
         `ulimit -n {needed}`, or ask for fewer connections"
    )]
    Descriptors {
        /// Connections asked for.
        connections: u32,
        /// What they need.
        needed: u64,
        /// What there are.
        limit: u64,
    },
    /// Nobody listens.
    #[error("nothing listens on {addr}: start the server first, or correct the port")]
    Refused {
        /// The address.
        addr: SocketAddr,
    },
    /// A connection could not be opened.
    #[error("only {opened} of {connections} connections to {addr} could be opened: {source}")]
    Connect {
        /// The address.
        addr: SocketAddr,
        /// Connections that are open.
        opened: u32,
        /// Connections asked for.
        connections: u32,
        /// What happened.
        source: io::Error,
    },
    /// A system call of the generator itself failed.
    #[error("the load generator cannot go on: {0}")]
    System(#[from] io::Error),
    /// The user wants to stop.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
}

/// Makes a load on the calling thread, and says what came of it. It takes the warm-up, the window, and at most the time-out
/// after it.
///
/// # Errors
///
/// [`PacedError`]. A rate that was not held, and requests that failed, are none: see [`PacedLoad::problems`].
pub fn run(settings: &Settings, interrupt: &Interrupt) -> Result<PacedLoad, PacedError> {
    let schedule = Schedule {
        rate: settings.rate,
        connections: settings.connections,
    };
    let pacer = Pacer::new(schedule, settings.warmup, settings.duration);
    if pacer.requests_due() == 0 {
        return Err(PacedError::Empty {
            duration: settings.duration,
        });
    }
    let addresses = settings
        .target
        .addresses(settings.allow_remote.as_deref())?;
    let request = Request {
        path: settings.target.path().into(),
        headers: settings.headers.clone(),
    };
    let ran = client::run(
        settings,
        pacer,
        &addresses,
        request.encode(settings.target.authority()),
        interrupt,
    )?;
    let recorded = ran.pacer.recorded(ran.busy);
    Ok(PacedLoad {
        schema: SCHEMA_VERSION,
        rungs: env!("CARGO_PKG_VERSION").into(),
        url: settings.target.url().into(),
        addr: ran.addr.to_string(),
        headers: settings.headers.clone(),
        rate: settings.rate.get(),
        connections: settings.connections.get(),
        warmup_us: micros(settings.warmup),
        duration_us: micros(settings.duration),
        timeout_us: micros(settings.timeout),
        cpus: machine::cpus_allowed(),
        held: !recorded.problems.iter().any(Problem::breaks_rate),
        problems: recorded.problems,
        requests: recorded.requests,
        answered_in_all: recorded.answered_in_all,
        reconnects: ran.reconnects,
        bytes: ran.bytes,
        errors: recorded.errors,
        latency: recorded.latency,
        service_time: recorded.service_time,
        lateness: recorded.lateness,
        generator_busy: ran.busy,
    })
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}
