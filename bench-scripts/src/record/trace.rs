//! One line of `traces.jsonl`: an entrant at one connection count, loaded once under strace and once under `perf stat`.
//!
//! Apart from the cells, whose servers nobody traces. JSON Schema: `schemas/traces.schema.json`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Attempt, PlannedCell, Reason, Usage, Validity};

/// What two tools counted of one fresh server.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Trace {
    /// What was planned. The traced pass is one block.
    pub planned: PlannedCell,
    /// When it began, RFC 3339, UTC.
    pub started_at: String,
    /// Whether its numbers may be used.
    pub validity: Validity,
    /// The load under strace; none where it did not get so far.
    pub system_calls: Option<Traced<SystemCalls>>,
    /// The load under `perf stat`; none where it did not get so far.
    pub counters: Option<Traced<Counters>>,
}

/// Something that was counted, or that this machine cannot count.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Traced<T> {
    /// It was.
    Counted(T),
    /// It was not.
    Absent(Absence),
}

/// Why something is not counted.
#[derive(Clone, Debug, Deserialize, Eq, JsonSchema, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Absence {
    /// What is so: `strace is not installed`.
    pub what: String,
    /// What to do about it.
    pub remedy: String,
}

/// What strace counted.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct SystemCalls {
    /// The time in which it counted.
    pub window: TraceWindow,
    /// Each call that was made, in strace's order.
    pub by_name: Vec<SystemCall>,
}

/// How often one system call was made.
#[derive(Clone, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct SystemCall {
    /// Its name, `epoll_wait`.
    pub name: String,
    /// How often it was made.
    pub calls: u64,
    /// How often it returned an error; strace does not tell which.
    pub errors: u64,
}

/// What `perf stat` counted.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Counters {
    /// The time in which it counted.
    pub window: TraceWindow,
    /// Each event, in the order in which it was asked for.
    pub events: Vec<Event>,
}

/// One event of `perf stat`.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Event {
    /// Its name, as perf prints it but for a modifier.
    pub name: String,
    /// How often it came.
    pub count: Traced<EventCount>,
}

/// How often an event came.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct EventCount {
    /// In `unit`; of a counter that shared its register, scaled up by perf to the whole time.
    pub value: f64,
    /// `msec` of a time, empty of a mere count.
    pub unit: String,
    /// Share of the time in which it really counted, percent: below 100 where counters shared a register.
    pub running_percent: f64,
    /// True where it counted in user space alone, since the kernel allows no more.
    pub user_only: bool,
}

/// A time in which a tool counted, and what else is known of it. Its edges are within milliseconds of the tool's.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct TraceWindow {
    /// What the server used, under the tool.
    pub usage: Usage,
    /// Requests answered.
    pub requests: u64,
    /// Who counted them.
    pub counted_by: CountedBy,
    /// Returns from the wait for events, of all workers; none where the server does not tell.
    pub wakeups: Option<u64>,
    /// Events that those returns brought; none where the server does not tell.
    pub events: Option<u64>,
}

/// Who counted the requests of a [`TraceWindow`].
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CountedBy {
    /// The server itself.
    Server,
    /// The load generator, of a foreign server: the bytes that it read (`/proc/PID/io`, proc_pid_io(5)) over the length of an
    /// answer.
    Client,
}

impl<T> Traced<T> {
    /// What was counted, seen in another way.
    pub fn map<U>(self, see: impl FnOnce(T) -> U) -> Traced<U> {
        match self {
            Self::Counted(counted) => Traced::Counted(see(counted)),
            Self::Absent(absence) => Traced::Absent(absence),
        }
    }

    /// The same, borrowed.
    pub fn as_ref(&self) -> Traced<&T> {
        match self {
            Self::Counted(counted) => Traced::Counted(counted),
            Self::Absent(absence) => Traced::Absent(absence.clone()),
        }
    }
}

/// An invalid trace is not made again: what it tells does not hang on a lucky moment.
impl Attempt for Trace {
    type Planned = PlannedCell;

    fn planned(&self) -> &PlannedCell {
        &self.planned
    }

    fn attempt(&self) -> u32 {
        1
    }

    fn validity(&self) -> &Validity {
        &self.validity
    }

    fn figures(&self) -> String {
        "traced".to_owned()
    }
}

impl Trace {
    /// Why the trace is invalid; empty where it is valid.
    #[must_use]
    pub fn reasons(&self) -> &[Reason] {
        self.validity.reasons()
    }
}
