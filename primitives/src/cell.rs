//! One cell: a mechanism with its parameters on its CPUs; what a trial of it is, and what its result means.

use crate::channels::AnyChannel;
use crate::failure::{Absence, Failure};
use crate::handoffs::{Handoff, Threads};
use crate::locks::{AnyLock, Scope};
use crate::programs::Program;
use crate::row::{Family, Outcome, Placement, Row, Unit, Waits};
use crate::trial::Measured;
use crate::wire::{Body, End, Pattern, Role};

/// Increments of one worker that the lock tables are about.
pub const INCREMENTS: u64 = 1_000_000;

/// Messages that the ZeroMQ article sends.
pub const MESSAGES: u64 = 2_000_000;

/// Bytes of each of them: an index and 1,024 of text.
pub const MESSAGE_BYTES: usize = 1_032;

/// Round trips of table A.1.
pub const ROUND_TRIPS: u64 = 10_000;

/// What is measured, and where.
#[derive(Clone, Copy)]
pub struct Cell {
    /// In which table.
    pub family: Family,
    /// The mechanism and its parameters.
    pub subject: Subject,
    /// On which CPUs.
    pub placement: Placement,
}

/// A mechanism and its parameters.
#[derive(Clone, Copy)]
pub enum Subject {
    /// A channel, and how it is used.
    Channel(&'static dyn AnyChannel, Pattern),
    /// A lock, and how many take it.
    Lock {
        /// The lock.
        lock: &'static dyn AnyLock,
        /// How many workers.
        workers: usize,
    },
    /// A hand-off in one process.
    Handoff(&'static Handoff),
    /// A way to start a program, and how large the starter is.
    Program {
        /// The way.
        program: &'static Program,
        /// Its resident set, MB.
        rss_mb: usize,
    },
}

impl Cell {
    /// Why it can have no value on these CPUs, as far as that is known beforehand.
    #[must_use]
    pub fn absent(&self, cpus: &[usize]) -> Option<Absence> {
        if self.placement == Placement::AcrossCpus && cpus.len() < 2 {
            return Some(Absence::Skipped(format!(
                "only CPU {} may be used, and two are needed",
                cpus[0]
            )));
        }
        if self.waits() == Waits::Spins
            && self.placement == Placement::SameCpu
            && matches!(self.subject, Subject::Handoff(_))
        {
            return Some(Absence::Refused(
                "one side would spin on the CPU that the other needs".to_owned(),
            ));
        }
        match self.subject {
            Subject::Channel(channel, pattern) => channel.absent(pattern),
            Subject::Lock { lock, workers } => self.excludes(lock, workers),
            Subject::Handoff(_) | Subject::Program { .. } => None,
        }
    }

    fn excludes(&self, lock: &dyn AnyLock, workers: usize) -> Option<Absence> {
        match (self.family, lock.scope()) {
            (Family::Threads, Scope::Processes) if workers > 1 => Some(Absence::Refused(
                "it does not exclude the threads of one process: fcntl(2)".to_owned(),
            )),
            _ => None,
        }
    }

    /// The part that makes the kernel's objects, if any are needed.
    #[must_use]
    pub fn keeper(&self) -> Option<Role> {
        match self.subject {
            Subject::Channel(channel, pattern) => Some(Role::KeepChannel {
                channel: channel.name().to_owned(),
                pattern,
            }),
            Subject::Lock { lock, .. } => Some(Role::KeepLock {
                lock: lock.name().to_owned(),
            }),
            Subject::Program { .. } => Some(Role::KeepDirectory),
            Subject::Handoff(_) => None,
        }
    }

    /// Who does what and on which of `cpus`, in a trial of `count` operations.
    #[must_use]
    pub fn parts(&self, cpus: &[usize], count: u64, each: bool) -> Vec<(Role, Vec<usize>)> {
        let cpu = |i: usize| match self.placement {
            Placement::SameCpu => cpus[0],
            Placement::AcrossCpus => cpus[i % cpus.len()],
        };
        let both = || vec![cpu(0), cpu(1)];
        match self.subject {
            Subject::Channel(channel, pattern) => {
                let end = |end| Role::End {
                    channel: channel.name().to_owned(),
                    end,
                    pattern,
                    count,
                    each,
                };
                vec![
                    (end(End::Near), vec![cpu(0)]),
                    (end(End::Far), vec![cpu(1)]),
                ]
            }
            Subject::Lock { lock, workers } => {
                let add = |threads| Role::Add {
                    lock: lock.name().to_owned(),
                    threads,
                    count,
                };
                if self.family == Family::Threads {
                    vec![(add(workers), (0..workers).map(cpu).collect())]
                } else {
                    (0..workers).map(|i| (add(1), vec![cpu(i)])).collect()
                }
            }
            Subject::Handoff(handoff) => vec![(
                Role::Hand {
                    handoff: handoff.name.to_owned(),
                    count,
                    each,
                },
                both(),
            )],
            Subject::Program { program, rss_mb } => {
                vec![(
                    Role::Start {
                        program: program.name.to_owned(),
                        count,
                        rss_mb,
                    },
                    both(),
                )]
            }
        }
    }

    /// What only the whole of a trial can show: that no addition was lost.
    ///
    /// # Errors
    ///
    /// [`Failure::Wrong`].
    pub fn check(&self, measured: &Measured, count: u64) -> Result<(), Failure> {
        let Subject::Lock { workers, .. } = self.subject else {
            return Ok(());
        };
        let expected = workers as u64 * count;
        // Each worker reads the counter when it has finished; the last one sees all.
        let counter = measured
            .reports
            .iter()
            .filter_map(|report| report.counter)
            .max();
        if counter == Some(expected) {
            return Ok(());
        }
        let counter = counter.unwrap_or(0);
        Err(Failure::Wrong(format!(
            "the counter is {counter} after {workers} × {count} additions: the lock does not lock"
        )))
    }

    /// The value of one trial, in [`Cell::unit`].
    #[must_use]
    pub fn value(&self, measured: &Measured, count: u64) -> f64 {
        let (wall_ns, count) = (measured.wall_ns as f64, count as f64);
        match self.family {
            Family::Latency | Family::Spawn | Family::Wakeups => wall_ns / 1e3 / count,
            Family::Bandwidth => count * self.message_bytes().unwrap_or(0) as f64 / (wall_ns / 1e3),
            Family::Threads | Family::Processes => wall_ns / 1e9 / count * INCREMENTS as f64,
            Family::Messages => wall_ns / 1e9 / (count - lost(measured) as f64) * MESSAGES as f64,
        }
    }

    /// The unit of its value.
    #[must_use]
    pub fn unit(&self) -> Unit {
        match self.family {
            Family::Latency | Family::Spawn | Family::Wakeups => Unit::Micros,
            Family::Bandwidth => Unit::MegabytesPerSecond,
            Family::Threads | Family::Processes | Family::Messages => Unit::Seconds,
        }
    }

    /// Whether single operations can be timed.
    #[must_use]
    pub fn is_latency(&self) -> bool {
        matches!(self.family, Family::Latency | Family::Wakeups)
    }

    /// Operations of the first trial when it is calibrated: a millisecond of the slowest.
    #[must_use]
    pub fn first_count(&self) -> u64 {
        match self.family {
            Family::Spawn => 1,
            _ => 64,
        }
    }

    /// How often the source did it, in one measurement.
    #[must_use]
    pub fn documents_count(&self) -> u64 {
        match self.family {
            Family::Latency | Family::Wakeups => ROUND_TRIPS,
            Family::Threads | Family::Processes => INCREMENTS,
            Family::Messages => MESSAGES,
            Family::Bandwidth | Family::Spawn => 1, // it does not say
        }
    }

    /// The mechanism's name.
    #[must_use]
    pub fn mechanism(&self) -> &'static str {
        match self.subject {
            Subject::Channel(channel, _) => channel.name(),
            Subject::Lock { lock, .. } => lock.name(),
            Subject::Handoff(handoff) => handoff.name,
            Subject::Program { program, .. } => program.name,
        }
    }

    /// Whether a side that has to wait sleeps.
    #[must_use]
    pub fn waits(&self) -> Waits {
        match self.subject {
            Subject::Channel(channel, _) => channel.waits(),
            Subject::Lock { lock, .. } => lock.waits(),
            Subject::Handoff(handoff) => handoff.waits,
            Subject::Program { .. } => Waits::Blocks,
        }
    }

    /// Whether it is the same on one CPU as on two.
    #[must_use]
    pub fn has_one_placement(&self) -> bool {
        match self.subject {
            Subject::Lock { workers, .. } => workers == 1,
            Subject::Handoff(handoff) => handoff.threads == Threads::One,
            Subject::Channel(..) | Subject::Program { .. } => false,
        }
    }

    /// How many workers of a lock have to share a CPU.
    #[must_use]
    pub fn workers_per_cpu(&self, cpus: &[usize]) -> usize {
        match (self.subject, self.placement) {
            (Subject::Lock { workers, .. }, Placement::SameCpu) => workers,
            (Subject::Lock { workers, .. }, Placement::AcrossCpus) => workers.div_ceil(cpus.len()),
            _ => 1,
        }
    }

    fn message_bytes(&self) -> Option<usize> {
        match self.subject {
            Subject::Channel(_, pattern) => Some(pattern.bytes()),
            _ => None,
        }
    }

    fn note(&self) -> Option<String> {
        match self.subject {
            Subject::Channel(channel, pattern) => {
                Some(channel.note(pattern)).filter(|note| !note.is_empty())
            }
            Subject::Handoff(handoff) => handoff.note.map(str::to_owned),
            Subject::Lock { .. } | Subject::Program { .. } => None,
        }
    }

    /// The row that says `outcome`.
    #[must_use]
    pub fn row(&self, cpus: &[usize], outcome: Outcome) -> Row {
        let workers = match self.subject {
            Subject::Lock { workers, .. } => Some(workers),
            _ => None,
        };
        let parent_rss_mb = match self.subject {
            Subject::Program { rss_mb, .. } => Some(rss_mb),
            _ => None,
        };
        Row {
            family: self.family,
            mechanism: self.mechanism().to_owned(),
            message_bytes: self.message_bytes(),
            workers,
            parent_rss_mb,
            placement: self.placement,
            waits: self.waits(),
            oversubscribed: self.workers_per_cpu(cpus) > 1,
            note: self.note(),
            outcome,
        }
    }
}

/// Messages that did not arrive.
#[must_use]
pub fn lost(measured: &Measured) -> u64 {
    measured
        .reports
        .iter()
        .filter_map(|report| report.lost)
        .sum()
}

/// One-way patterns by what is in their messages.
#[must_use]
pub fn one_way(bytes: usize, body: Body) -> Pattern {
    Pattern::OneWay { bytes, body }
}
