//! Contract 4: what a run is on disk. `run.json` is a [`Run`], each line of `cells.jsonl` a [`Cell`], and each of
//! `rates.jsonl`, which is there where a matrix asks for latency at fixed rates, a [`PacedCell`]. A run with a traced pass
//! has a [`Trace`](trace::Trace) in each line of `traces.jsonl`.
//!
//! These hold everything that was measured; all else in a run's directory is a pure function of them. Every field
//! has its unit in its name. JSON Schemas of all are committed in `schemas/` and tested against real output.

mod attempt;
pub mod cost;
mod paced;
pub mod trace;

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::matrix::Matrix;
use crate::paced::{Errors, Problem};

pub use attempt::{Attempt, Planned};
pub use paced::{CapacityOf, PacedCell, PlannedPacedCell};

/// The version of the layout of a run's directory.
pub const SCHEMA_VERSION: u32 = 1;

/// `run.json`: what was to be measured, with what, on what.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// [`SCHEMA_VERSION`] of the writer.
    pub schema: u32,
    /// Version of the `rungs` command.
    pub rungs_version: String,
    /// When the run began, RFC 3339, UTC.
    pub started_at: String,
    /// The command line, as given.
    pub command_line: Vec<String>,
    /// The matrix as resolved: defaults and command-line overrides applied.
    pub matrix: Matrix,
    /// Seed of the order of cells.
    pub seed: u64,
    /// Every cell of the sweep, in the order in which it is measured.
    pub order: Vec<PlannedCell>,
    /// How often a cell is measured at most: again at once, until an attempt is valid.
    #[serde(default = "one")]
    pub attempts: u32,
    /// How precise costs were to become; none where the number of rounds was given.
    #[serde(default)]
    pub precision: Option<PrecisionGoal>,
    /// When the sweep went on after it had been cut short, RFC 3339, UTC; empty where it ran through.
    #[serde(default)]
    pub resumed_at: Vec<String>,
    /// Which CPUs the server and the load generator get.
    pub cpu_plan: CpuPlan,
    /// The machine.
    pub machine: Machine,
    /// What preflight had to say.
    pub preflight: Vec<Advice>,
    /// The programs measured, in the matrix's order.
    pub entrants: Vec<EntrantBinary>,
    /// Entrants that cannot run on this machine: neither `matrix` nor `order` has them any more.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<Skipped>,
    /// The program that made the load.
    pub load_generator: LoadGenerator,
    /// `rustc --version` of the compiler that built `rungs` and its rungs.
    pub toolchain: String,
    /// SHA-256 of the Cargo.lock that `rungs` was built with.
    pub cargo_lock_sha256: String,
    /// Digest of the container image, where `RUNGS_IMAGE_DIGEST` tells it.
    pub image_digest: Option<String>,
}

/// How precise costs are to become: blocks are added until they are, or the time is spent. `matrix.rounds` and `order` are those
/// of the blocks so far.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct PrecisionGoal {
    /// Half the width that the 95% interval of each contestant's cost ÷ control may have at each connection count, as a share (0.02 for
    /// ±2%); the noise floor may be as large.
    pub share: f64,
    /// What the cells may take in all, seconds.
    pub budget_s: u64,
    /// Rounds that are measured in any case: the matrix's.
    pub least_rounds: u32,
}

/// What a record written before there were attempts leaves out.
fn one() -> u32 {
    1
}

/// A cell before it is measured.
#[derive(Clone, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct PlannedCell {
    /// Position in the sweep, from 0.
    pub index: usize,
    /// The block (round) it belongs to, from 0.
    pub block: u32,
    /// The entrant's label.
    pub entrant: String,
    /// Connections that the matrix asks for.
    pub connections_asked: u32,
    /// Connections that the load generator can open: wrk gives each of its threads the same number and drops the rest.
    pub connections: u32,
}

/// Which CPUs each side runs on.
#[derive(Clone, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct CpuPlan {
    /// False where nothing is pinned and both sides share all CPUs (`--shared`, or a single CPU).
    pub pinned: bool,
    /// CPUs of the server.
    pub server: Vec<u32>,
    /// CPUs of the load generator, and of `rungs` itself.
    pub client: Vec<u32>,
    /// In words, why it is so.
    pub why: String,
}

/// The machine and its settings that matter to a benchmark.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// Model name of the processor.
    pub cpu_model: String,
    /// CPUs that this process may use.
    pub cpus_allowed: Vec<u32>,
    /// Groups of CPUs that are threads of one core.
    pub smt_siblings: Vec<Vec<u32>>,
    /// CPU quota of the control group, in CPUs; none where unlimited.
    pub cpu_quota: Option<f64>,
    /// Frequency governor of the first CPU, where the machine tells it.
    pub governor: Option<String>,
    /// Kernel name, release and version.
    pub kernel: String,
    /// Distribution.
    pub os: String,
    /// Clock source in use.
    pub clock_source: String,
    /// Name of the hypervisor or container, where there is one.
    pub virtualisation: Option<String>,
    /// Mitigations of processor faults, as `name: state`.
    pub mitigations: Vec<String>,
    /// Memory in bytes.
    pub memory_bytes: u64,
    /// Soft limit of open descriptors.
    pub open_files_limit: u64,
    /// `net.core.somaxconn`.
    pub somaxconn: u64,
    /// `net.ipv4.ip_local_port_range`.
    pub local_ports: (u32, u32),
}

/// One finding of preflight.
#[derive(Clone, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Advice {
    /// How much it matters.
    pub level: AdviceLevel,
    /// What was looked at, such as `open files`.
    pub subject: String,
    /// What was found.
    pub found: String,
    /// What to do about it; empty where there is nothing to do.
    pub advice: String,
}

/// How much an [`Advice`] matters.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum AdviceLevel {
    /// As it should be.
    Good,
    /// Numbers stay valid, but noisier or different from a quiet machine's.
    Warning,
    /// The sweep cannot be measured like this.
    Blocking,
}

/// A program that was measured.
#[derive(Clone, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct EntrantBinary {
    /// The entrant's label.
    pub label: String,
    /// The program and its arguments, as started (`{addr}` and `{port}` still in place).
    pub command: Vec<String>,
    /// SHA-256 of the program's file.
    pub sha256: String,
    /// True where the program is not a rung of ours: its bytes are checked for status and length only.
    pub foreign: bool,
    /// `release` or `debug`, as the rung said; none of a foreign program.
    pub build: Option<String>,
    /// `jemalloc` or `system`, as the rung said; none of a foreign program.
    pub allocator: Option<String>,
    /// Server threads it was started with; none of a foreign program.
    pub threads: Option<u32>,
    /// Workers, each with connections of its own: fewer than threads where connections move between threads; none of a foreign
    /// program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workers: Option<u32>,
    /// What a build variant was built with; empty for others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<String>,
    /// Length of its whole response to the measured request, head included, in bytes.
    pub response_bytes: u64,
}

/// An entrant that says that it cannot run on this machine, and so is not measured.
#[derive(Clone, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Skipped {
    /// The entrant's label.
    pub label: String,
    /// Its sentence: why, and what to do about it.
    pub reason: String,
}

/// The program that makes the load.
#[derive(Clone, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct LoadGenerator {
    /// Its name, `wrk`.
    pub name: String,
    /// Its version, as it says.
    pub version: String,
    /// SHA-256 of its file.
    pub sha256: String,
    /// Its threads.
    pub threads: u32,
    /// An example of its command line, with `URL` in place of the target.
    pub command: Vec<String>,
}

/// One line of `cells.jsonl`: one load run against one fresh server process.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Cell {
    /// What was planned.
    pub planned: PlannedCell,
    /// Which attempt at the cell this is, from 1. At most one attempt at a cell is valid: the last.
    #[serde(default = "one")]
    pub attempt: u32,
    /// When the cell began, RFC 3339, UTC.
    pub started_at: String,
    /// Whether its numbers may be used.
    pub validity: Validity,
    /// What the load generator reported; none where it did not get so far.
    pub load: Option<Load>,
    /// The server's side of the measured window.
    pub server: Option<Server>,
    /// The load generator's side of the measured window.
    pub client: Option<Usage>,
    /// The machine's side of the measured window.
    pub system: Option<System>,
    /// Where the cell's wall time went.
    pub spent: Spent,
}

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

/// What the load generator reported of one load run.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Load {
    /// Time it ran, µs.
    pub duration_us: u64,
    /// Answers received in full.
    pub requests: u64,
    /// Bytes received.
    pub bytes: u64,
    /// Errors by kind.
    pub errors: LoadErrors,
    /// Latency **as wrk corrects it**: see docs/method.md.
    pub latency: Latency,
    /// All that it printed.
    pub raw: String,
}

/// Errors as the load generator counts them.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct LoadErrors {
    /// Connections that could not be opened.
    pub connect: u64,
    /// Failed reads.
    pub read: u64,
    /// Failed writes.
    pub write: u64,
    /// Answers later than the load generator's time-out.
    pub timeout: u64,
    /// Answers with a status over 399.
    pub status: u64,
}

/// Percentiles of latency, µs.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Latency {
    /// Median, µs.
    pub p50_us: f64,
    /// 75th percentile, µs.
    pub p75_us: f64,
    /// 90th percentile, µs.
    pub p90_us: f64,
    /// 99th percentile, µs.
    pub p99_us: f64,
    /// 99.9th percentile, µs.
    pub p999_us: f64,
    /// Maximum, µs.
    pub max_us: f64,
}

/// What one side used between the two edges of the telemetry window.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Usage {
    /// Wall time between the two edges, µs.
    pub window_us: u64,
    /// Time on CPU of all its threads, from schedstat, µs.
    pub cpu_us: u64,
    /// The user share of `cpu_us`: schedstat's sum split in the proportion of the kernel's user and system ticks, µs.
    pub user_us: u64,
    /// The system share of `cpu_us`, µs.
    pub system_us: u64,
    /// Time its threads were runnable and waited for a CPU, µs.
    pub run_delay_us: u64,
    /// Voluntary context switches: it waited.
    pub voluntary_switches: u64,
    /// Involuntary context switches: it was preempted.
    pub involuntary_switches: u64,
    /// Migrations between CPUs; none where the kernel does not tell them.
    pub migrations: Option<u64>,
    /// Resident memory at the second edge, bytes.
    pub rss_bytes: u64,
    /// Threads at the second edge.
    pub threads: u32,
}

/// The server's side of a cell.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Server {
    /// Resources used in the telemetry window.
    pub usage: Usage,
    /// Resident memory before the first connection, bytes.
    pub rss_before_bytes: u64,
    /// Connections to the server's port that the kernel showed established at the first edge.
    pub established: u32,
    /// The server's own counts between the two edges, a row per worker; none of a foreign server.
    pub workers: Option<Vec<WorkerCounts>>,
    /// Requests that the server counted over its whole life; none of a foreign server.
    pub requests_in_life: Option<u64>,
}

/// One worker's own counts between the two edges of the telemetry window.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct WorkerCounts {
    /// Connections open at the second edge. Where connections move between threads only the sum over all means something: one
    /// may be negative.
    pub open: i64,
    /// Requests answered.
    pub requests: u64,
    /// Bytes sent.
    pub bytes: u64,
    /// Returns from the wait for events; none where the runtime does not tell.
    pub wakeups: Option<u64>,
    /// Events that those returns brought; none where the runtime does not tell.
    pub events: Option<u64>,
}

/// The machine's side of a cell.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct System {
    /// Share of the CPUs' time that the hypervisor took, percent.
    pub steal_percent: f64,
    /// Time that the control group's quota stopped its processes, µs.
    pub throttled_us: u64,
    /// Times that an accept queue overflowed (`ListenOverflows`).
    pub listen_overflows: u64,
    /// Segments sent again (`RetransSegs`).
    pub retransmits: u64,
    /// CPU time used by processes that belong neither to the server nor to the load, µs.
    pub other_cpu_us: u64,
    /// How far apart the server's CPU and the load generator's were; none where that cannot be told.
    #[serde(default)]
    pub core_to_core: Option<CoreToCore>,
}

/// What a cache line took from the server's CPU to the load generator's and back, while neither ran.
///
/// Of several CPUs it is the first of each side; where nothing is pinned, the first and the last of all.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct CoreToCore {
    /// Just before the measured load, ns.
    pub before_ns: f64,
    /// Just after it, ns.
    pub after_ns: f64,
}

/// Where a cell's wall time went, µs.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Spent {
    /// Starting the server and checking its bytes.
    pub start_us: u64,
    /// Warm-up.
    pub warmup_us: u64,
    /// The measured load.
    pub load_us: u64,
    /// Stopping, checking.
    pub stop_us: u64,
}

impl Cell {
    /// True where every cross-check held.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.validity.is_valid()
    }

    /// Why the cell is invalid; empty where it is valid.
    #[must_use]
    pub fn reasons(&self) -> &[Reason] {
        self.validity.reasons()
    }

    /// Requests per minute: the load generator's count over its own time, both integers.
    #[must_use]
    pub fn requests_per_minute(&self) -> Option<f64> {
        let load = self.load.as_ref().filter(|load| load.duration_us > 0)?;
        Some(load.requests as f64 / (load.duration_us as f64 / 60e6))
    }

    /// Requests that the server answered in the telemetry window.
    ///
    /// A rung's own count. A foreign server does not count: its requests are the load generator's, scaled to the
    /// window's length.
    #[must_use]
    pub fn requests_in_window(&self) -> Option<f64> {
        let server = self.server.as_ref()?;
        let requests = match &server.workers {
            Some(workers) => workers.iter().map(|w| w.requests).sum::<u64>() as f64,
            None => {
                let load = self.load.as_ref().filter(|load| load.duration_us > 0)?;
                load.requests as f64 * server.usage.window_us as f64 / load.duration_us as f64
            }
        };
        (requests > 0.0).then_some(requests)
    }

    /// Requests per minute in the telemetry window, in which all connections are open. [`Self::requests_per_minute`] also counts
    /// the time that their opening takes.
    #[must_use]
    pub fn sustained_per_minute(&self) -> Option<f64> {
        let window_us = self.server.as_ref()?.usage.window_us as f64;
        let rate = self.requests_in_window()? / (window_us / 60e6);
        rate.is_finite().then_some(rate)
    }

    /// What one request cost the server, in CPU µs.
    ///
    /// Both edges of the window fall inside the load, so the cost is free of the accepting of connections.
    #[must_use]
    pub fn cost(&self) -> Option<Cost> {
        let usage = &self.server.as_ref()?.usage;
        let requests = self.requests_in_window()?;
        Some(Cost {
            user_us: usage.user_us as f64 / requests,
            system_us: usage.system_us as f64 / requests,
        })
    }
}

/// CPU time of the server for one request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// In user space, µs.
    pub user_us: f64,
    /// In the kernel, µs.
    pub system_us: f64,
}

impl Cost {
    /// User and system together, µs.
    #[must_use]
    pub fn total_us(self) -> f64 {
        self.user_us + self.system_us
    }
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
