//! A distribution of times: an HDR histogram, and what is told of it.

use std::time::Duration;

use hdrhistogram::Histogram;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Significant decimal digits that the histogram keeps: a percentile is at most 0.1% too high.
const DIGITS: u8 = 3;

/// The longest time that is told apart; a longer one counts as this.
const LONGEST: Duration = Duration::from_secs(3600);

/// A distribution of times, in µs. Without any time, all figures are 0.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Distribution {
    /// How many times it rests on.
    pub count: u64,
    /// Mean.
    pub mean_us: f64,
    /// Median.
    pub p50_us: f64,
    /// 75th percentile.
    pub p75_us: f64,
    /// 90th percentile.
    pub p90_us: f64,
    /// 99th percentile.
    pub p99_us: f64,
    /// 99.9th percentile.
    pub p999_us: f64,
    /// The longest.
    pub max_us: f64,
}

/// Times as they are measured.
#[derive(Debug)]
pub(super) struct Times(Histogram<u64>);

impl Times {
    pub(super) fn new() -> Self {
        let longest = LONGEST.as_nanos() as u64;
        let histogram = Histogram::new_with_bounds(1, longest, DIGITS);
        Self(histogram.expect("the bounds are constants that fit"))
    }

    pub(super) fn record(&mut self, time: Duration) {
        // Nothing takes no time at all: 1 ns is the least that the histogram knows.
        let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX).max(1);
        self.0.saturating_record(nanos);
    }

    /// The time that the share `quantile` of all times does not exceed, in µs.
    pub(super) fn quantile_us(&self, quantile: f64) -> f64 {
        micros(self.0.value_at_quantile(quantile) as f64)
    }

    pub(super) fn summary(&self) -> Distribution {
        Distribution {
            count: self.0.len(),
            mean_us: micros(self.0.mean()),
            p50_us: self.quantile_us(0.5),
            p75_us: self.quantile_us(0.75),
            p90_us: self.quantile_us(0.9),
            p99_us: self.quantile_us(0.99),
            p999_us: self.quantile_us(0.999),
            max_us: micros(self.0.max() as f64),
        }
    }
}

fn micros(nanos: f64) -> f64 {
    nanos.round() / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_those_of_the_times_within_a_thousandth() {
        let mut times = Times::new();
        for micros in 1..=10_000 {
            times.record(Duration::from_micros(micros));
        }
        let summary = times.summary();
        assert_eq!(summary.count, 10_000);
        for (got, truth) in [
            (summary.mean_us, 5000.5),
            (summary.p50_us, 5000.0),
            (summary.p90_us, 9000.0),
            (summary.p999_us, 9990.0),
            (summary.max_us, 10_000.0),
        ] {
            assert!((got / truth - 1.0).abs() <= 0.001, "{got} for {truth}");
        }
    }

    #[test]
    fn nothing_is_zero_and_neither_end_is_an_error() {
        assert_eq!(Times::new().summary(), Distribution::default());
        let mut times = Times::new();
        times.record(Duration::ZERO);
        times.record(Duration::from_secs(10_000));
        assert_eq!(times.summary().count, 2);
    }
}
