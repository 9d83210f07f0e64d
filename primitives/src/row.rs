//! What comes out: one typed row for each mechanism, parameter and placement.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use statrs::statistics::{Data, Median};

use crate::failure::{Absence, Failure};

/// What a row is about; `rungs primitives NAME` measures one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Family {
    /// Round trip of one byte between two processes, µs.
    Latency,
    /// One way, as many bytes as fit, MB/s (10⁶).
    Bandwidth,
    /// Seconds in which each of n threads adds 1 to a counter 1,000,000 times.
    Threads,
    /// The same with processes.
    Processes,
    /// Seconds for 2,000,000 messages of 1,032 bytes between two processes.
    Messages,
    /// One directory listed by another program, µs.
    Spawn,
    /// Round trip of a word between two threads, or between two tasks, µs.
    Wakeups,
}

impl Family {
    /// All of them, in the order of the documents.
    pub const ALL: [Self; 7] = [
        Self::Latency,
        Self::Bandwidth,
        Self::Threads,
        Self::Processes,
        Self::Messages,
        Self::Spawn,
        Self::Wakeups,
    ];

    /// As the command line and the files have it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Latency => "latency",
            Self::Bandwidth => "bandwidth",
            Self::Threads => "threads",
            Self::Processes => "processes",
            Self::Messages => "messages",
            Self::Spawn => "spawn",
            Self::Wakeups => "wakeups",
        }
    }
}

/// On which CPUs the parts of a row run. Never unpinned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Placement {
    /// All on one CPU.
    SameCpu,
    /// Each on the next CPU, round robin.
    AcrossCpus,
}

/// What a side does while it has nothing to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Waits {
    /// It sleeps in the kernel.
    Blocks,
    /// It keeps its CPU busy.
    Spins,
    /// It spins for a while, then sleeps.
    SpinsThenBlocks,
}

/// One measured row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Row {
    /// What it is about.
    pub family: Family,
    /// The mechanism's name, as tables print it.
    pub mechanism: String,
    /// Bytes in a message, where there are messages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message_bytes: Option<usize>,
    /// How many threads or processes add to the counter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workers: Option<usize>,
    /// Resident set of the process that starts programs, MB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_rss_mb: Option<usize>,
    /// Where its parts run.
    pub placement: Placement,
    /// Whether it sleeps or spins.
    pub waits: Waits,
    /// More workers than CPUs.
    pub oversubscribed: bool,
    /// In what it differs from its neighbours: buffers, depth, high-water mark.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The value, or why there is none.
    pub outcome: Outcome,
}

/// A value, or the reason why there is none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// Measured.
    Value(Value),
    /// Cannot be had here.
    Absent(Absence),
    /// Should be there and is not.
    Failed(Failure),
}

/// The unit of a row's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Unit {
    /// Microseconds for one operation: a round trip, a listing.
    #[serde(rename = "µs")]
    Micros,
    /// 10⁶ bytes a second.
    #[serde(rename = "MB/s")]
    MegabytesPerSecond,
    /// Seconds for the document's whole count.
    #[serde(rename = "s")]
    Seconds,
}

impl Unit {
    /// As tables print it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Micros => "µs",
            Self::MegabytesPerSecond => "MB/s",
            Self::Seconds => "s",
        }
    }
}

/// Repetitions and what they say.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Value {
    /// Of all the numbers below.
    pub unit: Unit,
    /// Median of the repetitions.
    pub median: f64,
    /// The smallest.
    pub min: f64,
    /// Median of the distances from the median.
    pub mad: f64,
    /// Every repetition, in the order measured.
    pub repetitions: Vec<f64>,
    /// Operations of one worker in one repetition: round trips, messages, increments, listings.
    pub operations: u64,
    /// From a pass that times each operation for itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub each: Option<Each>,
    /// CPU seconds that the reader used, scaled as the value is; all its threads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reader_cpu_s: Option<f64>,
    /// Messages lost, of those sent in all repetitions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lost: Option<u64>,
}

/// Percentiles of single operations, µs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Each {
    /// Half are faster.
    pub p50_us: f64,
    /// One in a hundred is slower.
    pub p99_us: f64,
}

impl Value {
    /// Of `repetitions`, at least one.
    #[must_use]
    pub fn of(unit: Unit, repetitions: Vec<f64>, operations: u64) -> Self {
        let middle = median(&repetitions);
        let distances: Vec<f64> = repetitions
            .iter()
            .map(|value| (value - middle).abs())
            .collect();
        Self {
            unit,
            median: middle,
            min: repetitions.iter().copied().fold(f64::INFINITY, f64::min),
            mad: median(&distances),
            repetitions,
            operations,
            each: None,
            reader_cpu_s: None,
            lost: None,
        }
    }

    /// MAD ÷ median: how far the repetitions are apart.
    #[must_use]
    pub fn spread(&self) -> f64 {
        self.mad / self.median
    }
}

/// The middle of `values`; NaN of none.
#[must_use]
pub fn median(values: &[f64]) -> f64 {
    Data::new(values.to_vec()).median()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn median_and_mad_bear_one_value_far_off() {
        let value = Value::of(Unit::Micros, vec![4.0, 5.0, 6.0, 5.0, 900.0], 1);
        assert_eq!((value.median, value.min, value.mad), (5.0, 4.0, 1.0));
        assert!((value.spread() - 0.2).abs() < 1e-12);
    }
}
