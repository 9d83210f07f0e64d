//! Finding rows: by what they are about, not by their place in a file.

use rungs_primitives::handoffs::{self, Threads};
use rungs_primitives::row::{Family, Outcome, Placement, Row, Value};

use crate::quantity::whole;

/// What a row is about, its placement aside.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Key<'a> {
    pub(super) family: Family,
    pub(super) mechanism: &'a str,
    /// What the family's tables go through: bytes of a message, workers, MB of the parent; none where there is no such thing.
    pub(super) parameter: Option<usize>,
}

impl<'a> Key<'a> {
    pub(super) const fn new(family: Family, mechanism: &'a str) -> Self {
        Self {
            family,
            mechanism,
            parameter: None,
        }
    }

    pub(super) const fn at(self, parameter: usize) -> Self {
        Self {
            parameter: Some(parameter),
            ..self
        }
    }

    pub(super) fn of(row: &'a Row) -> Self {
        Self {
            family: row.family,
            mechanism: &row.mechanism,
            parameter: match row.family {
                Family::Bandwidth => row.message_bytes,
                Family::Threads | Family::Processes => row.workers,
                Family::Spawn => row.parent_rss_mb,
                Family::Latency | Family::Messages | Family::Wakeups => None,
            },
        }
    }

    /// `1,024 bytes`, `5 threads`; none where its tables go through nothing.
    pub(super) fn at_words(self) -> Option<String> {
        let unit = match (self.family, self.parameter?) {
            (Family::Threads, 1) => "thread",
            (Family::Threads, _) => "threads",
            (Family::Processes, 1) => "process",
            (Family::Processes, _) => "processes",
            (Family::Spawn, _) => "MB",
            (Family::Bandwidth | Family::Latency | Family::Messages | Family::Wakeups, _) => {
                "bytes"
            }
        };
        Some(format!("{} {unit}", whole(self.parameter? as u64)))
    }

    /// Whether it is the same on one CPU as on two, and so measured on one: one worker, tasks of one thread.
    pub(super) fn has_one_placement(self) -> bool {
        match self.family {
            Family::Threads | Family::Processes => self.parameter == Some(1),
            Family::Wakeups => {
                handoffs::named(self.mechanism).is_some_and(|h| h.threads == Threads::One)
            }
            Family::Latency | Family::Bandwidth | Family::Messages | Family::Spawn => false,
        }
    }
}

/// The rows of a run.
#[derive(Clone, Copy)]
pub(super) struct Rows<'a>(pub(super) &'a [Row]);

impl<'a> Rows<'a> {
    /// The row about `key` at that placement, or at the only one it has.
    pub(super) fn find(self, key: Key, placement: Placement) -> Option<&'a Row> {
        let placement = if key.has_one_placement() {
            Placement::SameCpu
        } else {
            placement
        };
        let rows = self.0.iter();
        rows.rev()
            .find(|row| Key::of(row) == key && row.placement == placement)
    }

    /// Its value, if it has one.
    pub(super) fn value(self, key: Key, placement: Placement) -> Option<&'a Value> {
        match &self.find(key, placement)?.outcome {
            Outcome::Value(value) => Some(value),
            Outcome::Absent(_) | Outcome::Failed(_) => None,
        }
    }

    pub(super) fn of(self, family: Family) -> impl Iterator<Item = &'a Row> {
        self.0.iter().filter(move |row| row.family == family)
    }

    /// A family's mechanisms, in the order in which they were measured first.
    pub(super) fn mechanisms(self, family: Family) -> Vec<&'a str> {
        let mut mechanisms = Vec::new();
        for row in self.of(family) {
            if !mechanisms.contains(&row.mechanism.as_str()) {
                mechanisms.push(row.mechanism.as_str());
            }
        }
        mechanisms
    }

    /// The parameters that a family has rows of, ascending.
    pub(super) fn parameters(self, family: Family) -> Vec<usize> {
        Self::ascending(self.of(family))
    }

    /// Those at which any mechanism has a value.
    pub(super) fn measured_parameters(self, family: Family) -> Vec<usize> {
        let rows = self.of(family);
        Self::ascending(rows.filter(|row| matches!(row.outcome, Outcome::Value(_))))
    }

    fn ascending(rows: impl Iterator<Item = &'a Row>) -> Vec<usize> {
        let mut parameters: Vec<usize> = rows.filter_map(|row| Key::of(row).parameter).collect();
        parameters.sort_unstable();
        parameters.dedup();
        parameters
    }
}

/// Both placements, in the order of tables and pictures.
pub(super) const PLACEMENTS: [Placement; 2] = [Placement::SameCpu, Placement::AcrossCpus];

/// A placement's name in tables and pictures.
pub(super) fn placement_name(placement: Placement) -> &'static str {
    match placement {
        Placement::SameCpu => "same CPU",
        Placement::AcrossCpus => "across CPUs",
    }
}

/// Spread above which a row is marked: its repetitions disagree.
pub(super) const STEADY: f64 = 0.05;

/// Whether its repetitions disagree by more than they should.
pub(super) fn is_unsteady(value: &Value) -> bool {
    value.spread() > STEADY
}

/// Why a row has no value.
pub(super) fn absence(row: &Row) -> Option<String> {
    match &row.outcome {
        Outcome::Value(_) => None,
        Outcome::Absent(absence) => Some(absence.to_string()),
        Outcome::Failed(failure) => Some(format!("FAILED: {failure}")),
    }
}
