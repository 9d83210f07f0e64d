//! What figures show of a point: rate, cost, latency, memory.

use super::scale::Scale;
use super::{Axis, Tick};
use crate::findings::{Bound, Findings, Interval, InvalidCell, Point, Spread};
use crate::quantity::{self, Quantity};

/// One figure of a point, and the same of an invalid cell.
pub(super) struct Measure {
    /// What is written on its axis.
    pub(super) axis: &'static str,
    /// The summary over valid cells.
    pub(super) of_point: fn(&Point) -> Option<Spread>,
    /// What is drawn around the median.
    pub(super) around: Around,
    /// Whether a point's value is the load generator's: it is drawn pale.
    pub(super) of_client: fn(&Point) -> bool,
    /// What an invalid cell shows.
    pub(super) of_invalid: fn(&InvalidCell) -> Option<f64>,
    /// How its values are written.
    pub(super) quantity: Quantity,
}

/// What is drawn around a median.
pub(super) enum Around {
    /// Its 95% interval; nothing where it is not known.
    Interval(fn(&Point) -> Option<Interval>),
    /// The lowest and the highest of the rounds.
    Range,
}

pub(super) const RATE: Measure = Measure {
    axis: "requests per minute",
    of_point: |point| point.requests_per_minute,
    around: Around::Interval(|point| point.intervals.requests_per_minute),
    of_client: |point| point.bound_by == Some(Bound::Client),
    of_invalid: |cell| cell.requests_per_minute,
    quantity: Quantity::Count,
};

pub(super) const COST: Measure = Measure {
    axis: "server CPU time per request",
    of_point: |point| Some(point.cost?.total_us),
    around: Around::Interval(|point| point.intervals.cost_us),
    of_client: |_| false,
    of_invalid: |cell| cell.cost_us,
    quantity: Quantity::Cost,
};

pub(super) const P50: Measure = Measure {
    axis: "latency",
    of_point: |point| Some(point.latency?.p50_us),
    around: Around::Range,
    of_client: |_| false,
    of_invalid: |cell| cell.latency_p50_us,
    quantity: Quantity::Micros,
};

pub(super) const P99: Measure = Measure {
    axis: "latency",
    of_point: |point| Some(point.latency?.p99_us),
    around: Around::Range,
    of_client: |_| false,
    of_invalid: |cell| cell.latency_p99_us,
    quantity: Quantity::Micros,
};

pub(super) const RSS: Measure = Measure {
    axis: "resident memory of the server under load",
    of_point: |point| Some(point.resources?.rss_bytes),
    around: Around::Range,
    of_client: |_| false,
    of_invalid: |cell| cell.rss_bytes,
    quantity: Quantity::Bytes,
};

impl Measure {
    /// The median and what is drawn around it: (median, low, high).
    pub(super) fn drawn(&self, point: &Point) -> Option<(f64, f64, f64)> {
        let spread = (self.of_point)(point)?;
        let (low, high) = match self.around {
            Around::Interval(of_point) => of_point(point)
                .map_or((spread.median, spread.median), |interval| {
                    (interval.low, interval.high)
                }),
            Around::Range => (spread.min, spread.max),
        };
        Some((spread.median, low, high))
    }

    /// Every value that is drawn: medians with what is around them, and invalid cells.
    pub(super) fn values(&self, findings: &Findings) -> impl Iterator<Item = f64> {
        let points = findings.entrants.iter().flat_map(|entrant| &entrant.points);
        points.flat_map(|point| {
            let invalid = point.invalid_cells.iter().filter_map(self.of_invalid);
            self.drawn(point)
                .into_iter()
                .flat_map(|(_, low, high)| [low, high])
                .chain(invalid)
        })
    }

    /// From zero to beyond the largest value that is drawn.
    pub(super) fn scale_from_zero(&self, findings: &Findings) -> Scale {
        self.scale_up_to(self.values(findings).fold(0.0, f64::max))
    }

    /// From zero to a round value at or above `max`.
    pub(super) fn scale_up_to(&self, max: f64) -> Scale {
        let unit = self.quantity.round_unit(max);
        Scale::from_zero(max / unit).times(unit)
    }

    /// An axis for its values.
    pub(super) fn axis(&self, scale: Scale) -> Axis {
        let unit = match scale {
            Scale::Linear { max, .. } => self.quantity.round_unit(max),
            Scale::Log { .. } => 1.0,
        };
        let ticks = scale.times(1.0 / unit).round_ticks().into_iter();
        Axis {
            title: self.axis.to_owned(),
            quantity: self.quantity,
            scale,
            ticks: ticks
                .map(|tick| tick * unit)
                .map(|value| Tick {
                    value,
                    label: quantity::without_idle_zeros(&self.quantity.write(value)),
                })
                .collect(),
        }
    }
}
