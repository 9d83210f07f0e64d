//! The ladder: what one operation costs, from an addition to a counter up to a request of axum.

use rungs_primitives::cell::INCREMENTS;
use rungs_primitives::row::{Family, Placement, Unit, Value};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::key::{Key, Rows};
use crate::primitives::record::{ServerCost, Servers};
use crate::quantity::whole;

/// What is counted once.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Operation {
    /// A counter is locked, raised by one and unlocked.
    Addition,
    /// One system call.
    Call,
    /// A word or a byte goes there, and one comes back: two hand-offs.
    RoundTrip,
    /// `ls` is started, read to its end and waited for.
    Program,
}

impl Operation {
    /// As tables write it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Addition => "addition",
            Self::Call => "call",
            Self::RoundTrip => "round trip",
            Self::Program => "program",
        }
    }
}

/// A rung of the ladder below the servers.
struct Rung {
    label: &'static str,
    operation: Operation,
    key: Key<'static>,
}

const fn rung(label: &'static str, operation: Operation, key: Key<'static>) -> Rung {
    Rung {
        label,
        operation,
        key,
    }
}

const fn threads(lock: &'static str, workers: usize) -> Key<'static> {
    Key::new(Family::Threads, lock).at(workers)
}

const fn handed(handoff: &'static str) -> Key<'static> {
    Key::new(Family::Wakeups, handoff)
}

const fn sent(channel: &'static str) -> Key<'static> {
    Key::new(Family::Latency, channel)
}

const fn started(program: &'static str, rss_mb: usize) -> Key<'static> {
    Key::new(Family::Spawn, program).at(rss_mb)
}

/// Each teaches something that its neighbours do not: a shared cache line, a lock, contention for it, entering the kernel,
/// waking within a runtime, waking another thread, crossing to another process, the network stack, a library, a program.
const RUNGS: &[Rung] = &[
    rung(
        "AtomicU64, alone",
        Operation::Addition,
        threads("AtomicU64", 1),
    ),
    rung(
        "std Mutex, alone",
        Operation::Addition,
        threads("std Mutex", 1),
    ),
    rung(
        "std Mutex, two threads",
        Operation::Addition,
        threads("std Mutex", 2),
    ),
    rung(
        "futex wake of nobody",
        Operation::Call,
        handed("futex wake, no waiter"),
    ),
    rung(
        "System V semaphore, alone",
        Operation::Addition,
        threads("System V semaphore", 1),
    ),
    rung(
        "task of the same thread",
        Operation::RoundTrip,
        handed("task wake-up, same thread"),
    ),
    rung(
        "tokio channel, one runtime",
        Operation::RoundTrip,
        handed("tokio channel, one runtime"),
    ),
    rung(
        "spinning ring, two threads",
        Operation::RoundTrip,
        handed("SPSC ring, spinning"),
    ),
    rung("futex, two threads", Operation::RoundTrip, handed("futex")),
    rung(
        "std channel, two threads",
        Operation::RoundTrip,
        handed("std channel"),
    ),
    rung(
        "tokio channel, two runtimes",
        Operation::RoundTrip,
        handed("tokio channel, two runtimes"),
    ),
    rung(
        "eventfd + epoll, two threads",
        Operation::RoundTrip,
        handed("eventfd + epoll"),
    ),
    rung(
        "io_uring MSG_RING, two threads",
        Operation::RoundTrip,
        handed("io_uring MSG_RING"),
    ),
    rung("pipe, two processes", Operation::RoundTrip, sent("pipe")),
    rung(
        "Unix stream, two processes",
        Operation::RoundTrip,
        sent("Unix stream"),
    ),
    rung("TCP, two processes", Operation::RoundTrip, sent("TCP")),
    rung(
        "ZeroMQ over TCP, two processes",
        Operation::RoundTrip,
        sent("ZeroMQ REQ/REP tcp"),
    ),
    rung(
        "posix_spawn",
        Operation::Program,
        started("posix_spawn", 10),
    ),
    rung("system(3)", Operation::Program, started("system", 10)),
    rung(
        "fork + execv, 1 GB parent",
        Operation::Program,
        started("fork + execv", 1000),
    ),
];

/// The ladder of a run.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct Ladder {
    /// Below the servers, cheapest first: elapsed time of one operation.
    pub steps: Vec<Step>,
    /// The servers, in their sweep's order: server CPU time of one request under load.
    pub servers: Vec<ServerCost>,
    /// Label of the server whose request is counted in operations.
    pub request_of: Option<String>,
}

/// A rung below the servers that has a value.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct Step {
    /// What it is.
    pub label: String,
    /// What is counted once.
    pub operation: Operation,
    /// All on one CPU.
    pub same_cpu: Option<Cost>,
    /// On two.
    pub across_cpus: Option<Cost>,
}

/// What one operation takes.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct Cost {
    /// Median of the repetitions, ns.
    pub median_ns: f64,
    /// The smallest of them, ns.
    pub min_ns: f64,
    /// The largest, ns.
    pub max_ns: f64,
    /// How many of it cost as much as the server's request.
    pub in_request: Option<f64>,
}

/// The ladder of what was measured.
pub(super) fn ladder(rows: Rows, servers: Option<&Servers>) -> Ladder {
    let servers = servers.map_or(&[][..], |servers| &servers.costs);
    let request = dearest_rung(servers);
    let request_ns = request.map(|server| server.cost_us * 1e3);
    let step = |rung: &Rung| {
        let cost = |placement| {
            let measured_there = placement == Placement::SameCpu || !rung.key.has_one_placement();
            let value = rows.value(rung.key, placement).filter(|_| measured_there)?;
            cost(value, rung.key, request_ns)
        };
        let step = Step {
            label: rung.label.to_owned(),
            operation: rung.operation,
            same_cpu: cost(Placement::SameCpu),
            across_cpus: cost(Placement::AcrossCpus),
        };
        let is_measured = step.costs().next().is_some();
        is_measured.then_some(step)
    };
    let mut steps: Vec<Step> = RUNGS.iter().filter_map(step).collect();
    steps.sort_by(|a, b| a.cheapest_ns().total_cmp(&b.cheapest_ns()));
    Ladder {
        steps,
        servers: servers.to_vec(),
        request_of: request.map(|server| server.label.clone()),
    }
}

/// axum as its users run it: the first entrant of that name.
fn dearest_rung(servers: &[ServerCost]) -> Option<&ServerCost> {
    let exact = servers.iter().find(|server| server.label == "axum");
    exact.or_else(|| {
        servers
            .iter()
            .find(|server| server.label.starts_with("axum"))
    })
}

fn cost(value: &Value, key: Key, request_ns: Option<f64>) -> Option<Cost> {
    let ns = match value.unit {
        Unit::Micros => 1e3,
        // For each worker's whole count of additions, one of a counter that they share.
        Unit::Seconds => 1e9 / (INCREMENTS as f64 * key.parameter.unwrap_or(1) as f64),
        Unit::MegabytesPerSecond => return None,
    };
    let largest = value.repetitions.iter().copied().fold(0.0, f64::max);
    Some(Cost {
        median_ns: value.median * ns,
        min_ns: value.min * ns,
        max_ns: largest * ns,
        in_request: request_ns.map(|request| request / (value.median * ns)),
    })
}

impl Cost {
    /// How many of it cost as much as the server's request: `57`, `2.4`, `0.31`, `1/66`.
    #[must_use]
    pub fn bought(self) -> Option<String> {
        let count = self.in_request?;
        Some(match count {
            _ if count >= 10.0 => whole(count.round() as u64),
            _ if count >= 1.0 => format!("{count:.1}"),
            _ if count >= 0.095 => format!("{count:.2}"),
            _ => format!("1/{}", whole((1.0 / count).round() as u64)),
        })
    }
}

impl Step {
    /// Its costs, at the placements that it has.
    pub fn costs(&self) -> impl Iterator<Item = &Cost> {
        self.same_cpu.iter().chain(&self.across_cpus)
    }

    fn cheapest_ns(&self) -> f64 {
        let costs = self.costs().map(|cost| cost.median_ns);
        costs.fold(f64::INFINITY, f64::min)
    }
}

/// Every row that the ladder asks for, for the test that looks whether it can be measured.
#[cfg(test)]
pub(super) fn keys() -> impl Iterator<Item = Key<'static>> {
    RUNGS.iter().map(|rung| rung.key)
}
