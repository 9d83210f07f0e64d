//! What a load at a fixed rate measured: the JSON of `rungs load`. A schema is committed in `schemas/load.schema.json`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Distribution;
use crate::quantity;

/// Version of this format.
pub const SCHEMA_VERSION: u32 = 1;

/// A load at a fixed rate: what was asked for, and what came of it in the measured window.
///
/// The window holds the requests that were *due* in it. Times are in µs.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct PacedLoad {
    /// Version of this format.
    pub schema: u32,
    /// Version of rungs.
    pub rungs: String,
    /// What was asked of the server, over and over.
    pub url: String,
    /// The address that was loaded.
    pub addr: String,
    /// Header lines besides `Host`, `Name: value`.
    pub headers: Vec<String>,
    /// Requests per second that were asked for.
    pub rate: u32,
    /// Connections that shared them, all established before the first request.
    pub connections: u32,
    /// Load before the window, µs.
    pub warmup_us: u64,
    /// The window, µs.
    pub duration_us: u64,
    /// Answers later than this after their request was sent are errors, µs.
    pub timeout_us: u64,
    /// CPUs that the generator could run on.
    pub cpus: Vec<u32>,
    /// Whether the load was what was asked for. If not, nothing here is the latency at that rate.
    pub held: bool,
    /// What stands against the figures; empty in a good run.
    pub problems: Vec<Problem>,
    /// Where the window's requests have gone.
    pub requests: Requests,
    /// Answers with a status below 400 over the whole life of the load, warm-up included: what a server's own count is to be
    /// compared with.
    pub answered_in_all: u64,
    /// Connections opened again, after an answer that closed one or an error; warm-up included.
    pub reconnects: u64,
    /// Bytes received, heads included; warm-up included.
    pub bytes: u64,
    /// Requests and connections that failed, by kind.
    pub errors: Errors,
    /// From when a request was due to the end of its answer.
    pub latency: Distribution,
    /// From when it was sent: what a closed loop would have called latency, blind to the requests that a stall holds up.
    pub service_time: Distribution,
    /// How late the generator itself sent: after the request was due and its connection free.
    pub lateness: Distribution,
    /// Share of the window in which the generator worked or waited for a CPU, 0 to 1. The rest it slept, or looked for
    /// events in vain.
    pub generator_busy: f64,
}

/// Where the requests that were due in the window have gone. `due` is the sum of `answered`, `failed` and `not_sent`.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Requests {
    /// Due in the window: rate × duration.
    pub due: u64,
    /// Sent before the window's end.
    pub sent_in_window: u64,
    /// Answered with a status below 400: these are in the distributions.
    pub answered: u64,
    /// Sent, and not answered so: see the errors.
    pub failed: u64,
    /// Never sent: no connection came free for them.
    pub not_sent: u64,
}

/// What failed, by kind. Besides `connect`, each is a request.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Errors {
    /// Connections that could not be opened again.
    pub connect: u64,
    /// Reads that failed, such as by a reset.
    pub read: u64,
    /// Writes that failed.
    pub write: u64,
    /// Answers cut short: the connection was closed before their end.
    pub short: u64,
    /// Answers that are not proper HTTP.
    pub protocol: u64,
    /// Answers that did not come in time.
    pub timeout: u64,
    /// Answers with a status above 399.
    pub status: u64,
}

/// One kind of [`Errors`].
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Failure {
    /// A connection could not be opened.
    Connect,
    /// read(2) failed.
    Read,
    /// write(2) failed.
    Write,
    /// The connection was closed before the answer's end.
    Short,
    /// The answer is not proper HTTP.
    Protocol,
    /// The answer did not come in time.
    Timeout,
    /// The answer's status is above 399.
    Status,
}

impl Errors {
    pub(super) fn count(&mut self, failure: Failure) {
        *match failure {
            Failure::Connect => &mut self.connect,
            Failure::Read => &mut self.read,
            Failure::Write => &mut self.write,
            Failure::Short => &mut self.short,
            Failure::Protocol => &mut self.protocol,
            Failure::Timeout => &mut self.timeout,
            Failure::Status => &mut self.status,
        } += 1;
    }

    /// All kinds together.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.by_kind().iter().map(|(_, count)| count).sum()
    }

    fn by_kind(&self) -> [(&'static str, u64); 7] {
        [
            ("connect", self.connect),
            ("read", self.read),
            ("write", self.write),
            ("short", self.short),
            ("protocol", self.protocol),
            ("timeout", self.timeout),
            ("status", self.status),
        ]
    }
}

/// The kinds that came about, such as `3 timeout, 1 status`.
impl std::fmt::Display for Errors {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let kinds = self.by_kind().into_iter().filter(|(_, count)| *count > 0);
        let words = kinds.map(|(kind, count)| format!("{} {kind}", quantity::whole(count)));
        f.write_str(&words.collect::<Vec<_>>().join(", "))
    }
}

/// What stands against the figures of a load. All but failed requests mean that the rate was not held.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Problem {
    /// The generator sent late although a connection was free.
    GeneratorLate {
        /// 99th percentile of its lateness, µs.
        p99_us: f64,
        /// What it may be, µs.
        bound_us: f64,
    },
    /// The generator had hardly any time left: it, and not the server, may be what the requests waited for.
    GeneratorBusy {
        /// Share of the window that it was busy, 0 to 1.
        busy: f64,
        /// What it may be.
        bound: f64,
    },
    /// Fewer requests were sent than were due, since their connections still waited for answers.
    RateShort {
        /// Requests due in the window.
        due: u64,
        /// Requests sent before its end.
        sent_in_window: u64,
    },
    /// Requests or connections failed.
    Errors {
        /// By kind.
        errors: Errors,
    },
}

impl Problem {
    /// Whether it means that the load was not the one asked for.
    #[must_use]
    pub fn breaks_rate(&self) -> bool {
        !matches!(self, Self::Errors { .. })
    }

    /// What whoever asked for the load can do about it; none where the server has to be looked at.
    #[must_use]
    pub fn advice(&self) -> Option<&'static str> {
        match self {
            Self::GeneratorLate { .. } | Self::GeneratorBusy { .. } => {
                Some("ask for a lower rate, or give it a CPU of its own with --cpus")
            }
            Self::RateShort { .. } => Some(
                "ask for a lower rate, or for more connections if the server is not at its limit",
            ),
            Self::Errors { .. } => None,
        }
    }
}

/// What is wrong. What to do about it is the [advice](Problem::advice).
impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::GeneratorLate { p99_us, bound_us } => write!(
                f,
                "the generator sent late: by {} at the 99th percentile, where {} are allowed",
                quantity::micros(*p99_us),
                quantity::micros(*bound_us)
            ),
            Self::GeneratorBusy { busy, bound } => write!(
                f,
                "the generator worked or waited for a CPU {} of the time, where {} are allowed, so answers may have waited for it",
                quantity::percent(*busy),
                quantity::percent(*bound)
            ),
            Self::RateShort {
                due,
                sent_in_window,
            } => write!(
                f,
                "only {} of {} requests could be sent before the end: each connection waits for an answer before its next \
                 request",
                quantity::whole(*sent_in_window),
                quantity::whole(*due)
            ),
            Self::Errors { errors } => write!(f, "there were errors: {errors}"),
        }
    }
}
