//! What figures show of a point: rate, cost, latency.

use super::scale::Scale;
use super::{Axis, Tick};
use crate::findings::{Findings, InvalidCell, Point, Spread};
use crate::quantity::{self, Quantity};

/// One figure of a point, and the same of an invalid cell.
pub(super) struct Measure {
    /// What is written on its axis.
    pub(super) axis: &'static str,
    /// The summary over valid cells.
    pub(super) of_point: fn(&Point) -> Option<Spread>,
    /// What an invalid cell shows.
    pub(super) of_invalid: fn(&InvalidCell) -> Option<f64>,
    /// How its values are written.
    pub(super) quantity: Quantity,
}

pub(super) const RATE: Measure = Measure {
    axis: "requests per minute",
    of_point: |point| point.requests_per_minute,
    of_invalid: |cell| cell.requests_per_minute,
    quantity: Quantity::Count,
};

pub(super) const COST: Measure = Measure {
    axis: "server CPU time per request",
    of_point: |point| Some(point.cost?.total_us),
    of_invalid: |cell| cell.cost_us,
    quantity: Quantity::Micros,
};

pub(super) const P50: Measure = Measure {
    axis: "latency",
    of_point: |point| Some(point.latency?.p50_us),
    of_invalid: |cell| cell.latency_p50_us,
    quantity: Quantity::Micros,
};

pub(super) const P99: Measure = Measure {
    axis: "latency",
    of_point: |point| Some(point.latency?.p99_us),
    of_invalid: |cell| cell.latency_p99_us,
    quantity: Quantity::Micros,
};

impl Measure {
    /// Every value that is drawn: ranges of valid cells, and invalid ones.
    pub(super) fn values(&self, findings: &Findings) -> impl Iterator<Item = f64> {
        let points = findings.entrants.iter().flat_map(|entrant| &entrant.points);
        points.flat_map(|point| {
            let spread = (self.of_point)(point);
            let invalid = point.invalid_cells.iter().filter_map(self.of_invalid);
            spread
                .into_iter()
                .flat_map(|spread| [spread.min, spread.max])
                .chain(invalid)
        })
    }

    /// From zero to beyond the largest value that is drawn.
    pub(super) fn scale_from_zero(&self, findings: &Findings) -> Scale {
        Scale::from_zero(self.values(findings).fold(0.0, f64::max))
    }

    /// An axis for its values.
    pub(super) fn axis(&self, scale: Scale) -> Axis {
        let ticks = scale.round_ticks().into_iter();
        Axis {
            title: self.axis.to_owned(),
            quantity: self.quantity,
            scale,
            ticks: ticks
                .map(|value| Tick {
                    value,
                    label: quantity::without_idle_zeros(&self.quantity.write(value)),
                })
                .collect(),
        }
    }
}
