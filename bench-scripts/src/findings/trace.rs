//! What the traced pass says: per entrant and connection count, what one request takes in system calls and counters.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::Reason;
use crate::record::trace::{CountedBy, Traced};

/// One entrant at one connection count under trace.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct TraceFindings {
    /// The entrant's label.
    pub entrant: String,
    /// Connections that the matrix asks for.
    pub connections_asked: u32,
    /// Connections that the load generator could open.
    pub connections: u32,
    /// Why the trace is invalid, and its figures left out; empty where it is valid.
    pub invalid: Vec<Reason>,
    /// Under strace, which slows the server several-fold; none of an invalid trace.
    pub system_calls: Option<Traced<SystemCallFindings>>,
    /// Under `perf stat`, which slows it little; none of an invalid trace.
    pub counters: Option<Traced<CounterFindings>>,
}

/// System calls of one request.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct SystemCallFindings {
    /// What else is known of the time under strace.
    pub window: WindowFindings,
    /// All calls per request.
    pub per_request: f64,
    /// Share of the calls that returned an error, 0 to 1.
    pub failed_share: Option<f64>,
    /// Each call, the most frequent first.
    pub by_name: Vec<CallFindings>,
}

/// One system call.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct CallFindings {
    /// Its name.
    pub name: String,
    /// Calls per request.
    pub per_request: f64,
    /// Calls that returned an error, per request.
    pub failed_per_request: f64,
}

/// Counters of one request.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct CounterFindings {
    /// What else is known of the time under `perf stat`.
    pub window: WindowFindings,
    /// Each event, in perf's order.
    pub events: Vec<EventFindings>,
    /// Instructions over cycles; none where either is not counted.
    pub instructions_per_cycle: Option<f64>,
    /// Branches that were predicted wrongly, as a share, 0 to 1; none where that is not counted.
    pub branch_miss_share: Option<f64>,
}

/// One event of `perf stat`.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct EventFindings {
    /// Its name.
    pub name: String,
    /// How often it came.
    pub count: Traced<EventRate>,
}

/// How often an event came.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct EventRate {
    /// Per request, in `unit`.
    pub per_request: f64,
    /// `msec` of a time, empty of a mere count.
    pub unit: String,
    /// Share of the time in which it really counted, percent: the rest is perf's estimate.
    pub running_percent: f64,
    /// True where it counted in user space alone.
    pub user_only: bool,
}

/// What is known of the time in which a tool counted.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct WindowFindings {
    /// Requests answered in it.
    pub requests: u64,
    /// Who counted them.
    pub counted_by: CountedBy,
    /// Requests answered per second, with the tool attached.
    pub requests_per_second: f64,
    /// Returns from the wait for events, per request; none where the server does not tell.
    pub wakeups_per_request: Option<f64>,
    /// Events that one such return brought; none where the server does not tell.
    pub events_per_wakeup: Option<f64>,
    /// Voluntary context switches per request: it waited. Under strace, each stop is one.
    pub voluntary_switches_per_request: f64,
    /// Involuntary context switches per request: it was preempted.
    pub involuntary_switches_per_request: f64,
}
