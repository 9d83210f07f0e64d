//! Whether a record's numbers may be used, and why not.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::paced::{Errors, Problem};

/// Whether a cell's numbers may be used.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(tag = "status", rename_all = "lowercase", deny_unknown_fields)]
pub enum Validity {
    /// All cross-checks hold.
    Valid,
    /// At least one does not.
    Invalid {
        /// Which, and with what figures.
        reasons: Vec<Reason>,
    },
}

impl Validity {
    /// Valid where nothing stands against it.
    #[must_use]
    pub fn of(reasons: Vec<Reason>) -> Self {
        if reasons.is_empty() {
            Self::Valid
        } else {
            Self::Invalid { reasons }
        }
    }

    /// True where every cross-check held.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        *self == Self::Valid
    }

    /// What stands against it; empty where it is valid.
    #[must_use]
    pub fn reasons(&self) -> &[Reason] {
        match self {
            Self::Valid => &[],
            Self::Invalid { reasons } => reasons,
        }
    }
}

/// Why a cell is invalid.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(tag = "reason", rename_all = "snake_case", deny_unknown_fields)]
pub enum Reason {
    /// The server did not start, or did not say that it listens.
    ServerNotReady {
        /// What happened instead.
        detail: String,
    },
    /// The rung says that it cannot run on this machine.
    Unsupported {
        /// Its sentence: why, and what to do about it.
        sentence: String,
    },
    /// The server's answer is not the one that it must give.
    WrongResponse {
        /// The difference.
        detail: String,
    },
    /// The server ended before it was told to.
    ServerDied {
        /// Its exit status or signal, and the end of what it wrote to stderr.
        detail: String,
    },
    /// The server did not end cleanly when told to.
    ServerStuck {
        /// What happened instead.
        detail: String,
    },
    /// The load generator failed, or its output could not be understood.
    LoadGeneratorFailed {
        /// What happened.
        detail: String,
    },
    /// Not one request was answered.
    NoRequests,
    /// Answers with a status over 399.
    ErrorStatuses {
        /// How many.
        count: u64,
    },
    /// Errors on sockets, as the load generator counts them.
    SocketErrors {
        /// Connections that could not be opened.
        connect: u64,
        /// Failed reads.
        read: u64,
        /// Failed writes.
        write: u64,
        /// Answers that took longer than the load generator's time-out.
        timeout: u64,
    },
    /// Fewer connections were established than were to be opened.
    FewerConnections {
        /// To be opened.
        wanted: u32,
        /// Seen established.
        established: u32,
    },
    /// A load at a fixed rate was not the one asked for.
    RateNotHeld {
        /// Why.
        problem: Problem,
    },
    /// In a load at a fixed rate, requests or connections failed.
    RequestsFailed {
        /// By kind.
        errors: Errors,
    },
    /// Bytes received do not fit the number of answers.
    SizeMismatch {
        /// Length of one answer, bytes.
        response_bytes: u64,
        /// Answers.
        requests: u64,
        /// Bytes received.
        bytes: u64,
    },
    /// The server's own count of requests does not fit the load generator's.
    CountMismatch {
        /// Counted by the server over its life.
        server: u64,
        /// Counted by the clients over its life.
        client: u64,
        /// How many may have been in flight when a load ended.
        in_flight: u64,
    },
    /// The measured window is shorter than it was to be.
    WindowCut {
        /// Length wanted, µs.
        wanted_us: u64,
        /// Length got, µs.
        got_us: u64,
    },
    /// The control group's quota stopped the processes for a part of the window.
    Throttled {
        /// Time stopped, µs.
        throttled_us: u64,
    },
    /// The hypervisor ran something else for a part of the window.
    Steal {
        /// Share of the CPUs' time, percent.
        percent: f64,
        /// Share above which a cell is invalid, percent.
        bound_percent: f64,
    },
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ServerNotReady { detail } => write!(f, "the server did not get ready: {detail}"),
            Self::Unsupported { sentence } => {
                write!(f, "it cannot run on this machine: {sentence}")
            }
            Self::WrongResponse { detail } => write!(f, "wrong response: {detail}"),
            Self::ServerDied { detail } => write!(f, "the server died: {detail}"),
            Self::ServerStuck { detail } => write!(f, "the server did not stop cleanly: {detail}"),
            Self::LoadGeneratorFailed { detail } => {
                write!(f, "the load generator failed: {detail}")
            }
            Self::NoRequests => write!(f, "not one request was answered"),
            Self::ErrorStatuses { count } => write!(f, "{count} answers with a status over 399"),
            Self::SocketErrors {
                connect,
                read,
                write,
                timeout,
            } => write!(
                f,
                "socket errors: {connect} connect, {read} read, {write} write, {timeout} timeout"
            ),
            Self::FewerConnections {
                wanted,
                established,
            } => write!(f, "{established} connections established of {wanted}"),
            Self::RateNotHeld { problem } => write!(f, "the rate was not held: {problem}"),
            Self::RequestsFailed { errors } => write!(f, "requests failed: {errors}"),
            Self::SizeMismatch {
                response_bytes,
                requests,
                bytes,
            } => write!(
                f,
                "{bytes} bytes do not fit {requests} answers of {response_bytes} bytes"
            ),
            Self::CountMismatch {
                server,
                client,
                in_flight,
            } => write!(
                f,
                "the server counted {server} requests, the clients {client} (at most {in_flight} in flight)"
            ),
            Self::WindowCut { wanted_us, got_us } => write!(
                f,
                "the window lasted {:.2} s instead of {:.2} s",
                *got_us as f64 / 1e6,
                *wanted_us as f64 / 1e6
            ),
            Self::Throttled { throttled_us } => write!(
                f,
                "the CPU quota stopped the processes for {:.1} ms",
                *throttled_us as f64 / 1e3
            ),
            Self::Steal {
                percent,
                bound_percent,
            } => write!(
                f,
                "the hypervisor took {percent:.1}% of the CPUs' time (bound: {bound_percent}%)"
            ),
        }
    }
}
