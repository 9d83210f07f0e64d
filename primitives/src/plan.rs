//! Which cells there are, and how often each is measured.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::cell::{Cell, MESSAGE_BYTES, Subject, one_way};
use crate::channels;
use crate::failure::Absence;
use crate::handoffs;
use crate::locks::{self, Scope};
use crate::programs;
use crate::row::{Family, Placement};
use crate::run::RunError;
use crate::trial::ChildCommand;
use crate::wire::{Body, Pattern};

/// Message sizes of tables A.2 and A.3.
pub const SIZES: [usize; 7] = [
    1 << 10,
    2 << 10,
    4 << 10,
    8 << 10,
    16 << 10,
    32 << 10,
    64 << 10,
];

/// The most workers of tables A.4 to A.7.
pub const WORKERS: usize = 5;

/// Of [`SIZES`], 1 to [`WORKERS`] and [`PARENT_RSS_MB`], those that the default leaves out; also all workers on one CPU.
const LONG_SIZES: [usize; 2] = [2 << 10, 8 << 10];
const LONG_WORKERS: [usize; 2] = [3, 4];
const LONG_RSS_MB: usize = 1000; // to make a gigabyte resident takes longer than all that is measured in it

/// With the documents' counts a row is repeated as often as fits in so long, within [`FEWEST_REPETITIONS`] and
/// [`Plan::repetitions`].
const TIME_FOR_A_LONG_ROW: Duration = Duration::from_secs(10);

/// Below that a median and a spread mean nothing.
const FEWEST_REPETITIONS: usize = 3;

/// Resident sets of a process that starts others, MB.
pub const PARENT_RSS_MB: [usize; 3] = [10, 100, 1000];

/// What to measure and how.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Which tables.
    pub families: Vec<Family>,
    /// How many operations a repetition has.
    pub counts: Counts,
    /// Repetitions of each cell, at most.
    pub repetitions: usize,
    /// A calibrated repetition takes at least so long, for each worker that shares a CPU.
    pub batch: Duration,
    /// The CPUs that may be used, at least one.
    pub cpus: Vec<usize>,
    /// How long the watchdog waits for a child to say something.
    pub patience: Duration,
    /// How children are started.
    pub command: ChildCommand,
    /// Whether the values will be believed.
    pub purpose: Purpose,
    /// Set, it ends the run at once, without the rows of the group that is under way. A signal's handler may set it.
    pub stop: Arc<AtomicBool>,
}

/// How many operations a repetition has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Counts {
    /// As many as take [`Plan::batch`].
    Calibrated,
    /// And at least as many as the documents have.
    Documents,
}

/// What a run is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Purpose {
    /// Values. A debug build refuses.
    Measure,
    /// To see that everything works; the values mean nothing.
    Rehearse,
}

impl Plan {
    /// The default: 11 repetitions of at least 50 ms.
    #[must_use]
    pub fn new(families: Vec<Family>, cpus: Vec<usize>, command: ChildCommand) -> Self {
        Self {
            families,
            counts: Counts::Calibrated,
            repetitions: 11,
            batch: Duration::from_millis(50),
            cpus,
            patience: Duration::from_secs(30),
            command,
            purpose: Purpose::Measure,
            stop: Arc::default(),
        }
    }

    /// With the documents' own counts, and all of their parameters.
    #[must_use]
    pub fn full(self) -> Self {
        Self {
            counts: Counts::Documents,
            patience: Duration::from_secs(1800),
            ..self
        }
    }

    /// Whether it can be run.
    ///
    /// # Errors
    ///
    /// [`RunError`].
    pub fn check(&self) -> Result<(), RunError> {
        if cfg!(debug_assertions) && self.purpose == Purpose::Measure {
            return Err(RunError::DebugBuild);
        }
        if self.cpus.is_empty() {
            return Err(RunError::NoCpu);
        }
        Ok(())
    }

    /// Whether the run is to end.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// How often a cell is measured of which one repetition takes as long as `one`. A long one varies less, since it is
    /// itself a mean over many moments: so that `full` ends within the hour, it has fewer.
    #[must_use]
    pub fn repetitions_of(&self, one: Duration) -> usize {
        if self.counts == Counts::Calibrated {
            return self.repetitions;
        }
        let fit = TIME_FOR_A_LONG_ROW.as_nanos() / one.as_nanos().max(1);
        let least = FEWEST_REPETITIONS.min(self.repetitions);
        usize::try_from(fit).map_or(self.repetitions, |fit| fit.clamp(least, self.repetitions))
    }

    /// Why the default, which is to take under four minutes, leaves `cell` out.
    #[must_use]
    pub fn leaves_out(&self, cell: &Cell) -> Option<Absence> {
        let left_out = match cell.subject {
            Subject::Channel(_, pattern) => LONG_SIZES.contains(&pattern.bytes()),
            Subject::Lock { workers, .. } => {
                LONG_WORKERS.contains(&workers)
                    || (workers == WORKERS && cell.placement == Placement::SameCpu)
            }
            Subject::Program { rss_mb, .. } => rss_mb == LONG_RSS_MB,
            Subject::Handoff(_) => false,
        };
        (left_out && self.counts == Counts::Calibrated)
            .then(|| Absence::Skipped("the default is short; --full measures it".to_owned()))
    }

    /// The cells, in groups whose repetitions are interleaved: those that a table compares with each other.
    #[must_use]
    pub fn groups(&self) -> Vec<Vec<Cell>> {
        let subjects = self
            .families
            .iter()
            .flat_map(|&family| subjects(family).into_iter().map(move |s| (family, s)));
        let placed = |placement| {
            move |(family, subjects): (Family, Vec<Subject>)| -> Vec<Cell> {
                let cells = subjects.into_iter().map(|subject| Cell {
                    family,
                    subject,
                    placement,
                });
                cells
                    .filter(|cell| placement == Placement::SameCpu || !cell.has_one_placement())
                    .collect()
            }
        };
        let both = |group: (Family, Vec<Subject>)| {
            [
                placed(Placement::SameCpu)(group.clone()),
                placed(Placement::AcrossCpus)(group),
            ]
        };
        subjects
            .flat_map(both)
            .filter(|group| !group.is_empty())
            .collect()
    }
}

/// The groups of one family.
fn subjects(family: Family) -> Vec<Vec<Subject>> {
    let channels = |is_in: fn(&channels::Entry) -> bool, pattern: Pattern| {
        channels::ALL
            .iter()
            .filter(|entry| is_in(entry))
            .map(|entry| Subject::Channel(entry.channel, pattern))
            .collect()
    };
    match family {
        Family::Latency => vec![channels(|entry| entry.latency, Pattern::RoundTrip)],
        Family::Bandwidth => SIZES
            .iter()
            .map(|&bytes| channels(|entry| entry.bandwidth, one_way(bytes, Body::Stamp)))
            .collect(),
        Family::Messages => vec![channels(
            |entry| entry.messages,
            one_way(MESSAGE_BYTES, Body::Text),
        )],
        Family::Threads => (1..=WORKERS)
            .map(|workers| of_locks(workers, |_| true))
            .collect(),
        Family::Processes => (1..=WORKERS)
            .map(|workers| of_locks(workers, |scope| scope != Scope::Threads))
            .collect(),
        Family::Spawn => {
            let of_size = |&rss_mb| {
                programs::ALL
                    .iter()
                    .map(|program| Subject::Program { program, rss_mb })
                    .collect()
            };
            PARENT_RSS_MB.iter().map(of_size).collect()
        }
        Family::Wakeups => vec![handoffs::ALL.iter().map(Subject::Handoff).collect()],
    }
}

fn of_locks(workers: usize, may: fn(Scope) -> bool) -> Vec<Subject> {
    let locks = locks::ALL.iter().filter(|lock| may(lock.scope()));
    locks.map(|&lock| Subject::Lock { lock, workers }).collect()
}
