//! A line of `cells.jsonl`: what one load run against one server came to.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{PlannedCell, Reason, Validity, one};

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
