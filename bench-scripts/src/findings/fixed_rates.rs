//! What the second pass of a run says: latency at fixed rates.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{CellCounts, LatencyFindings, Role, Spread};
use crate::record::{CapacityOf, Reason};

/// Samples beyond a percentile below which it rests on little.
pub const FEW_SAMPLES: u64 = 10;

/// Latency at fixed rates, in an open loop: free of coordinated omission.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct FixedRates {
    /// Connections that share the requests.
    pub connections: u32,
    /// The connection count, as asked for, at which the entrants reached their capacities.
    pub capacity_at: u32,
    /// How many paced cells the findings rest on.
    pub cells: CellCounts,
    /// Contestants and controls, in the matrix's order.
    pub entrants: Vec<EntrantRates>,
}

/// One entrant at its rates.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct EntrantRates {
    /// Its label.
    pub label: String,
    /// Whether it is the control of its blocks, a contestant, or somebody else's server.
    pub role: Role,
    /// The median rate of its valid cells, whole requests per second; none without such a cell, and then it has no points.
    pub capacity_per_s: Option<u32>,
    /// One point per rate, ascending by share and rate.
    pub points: Vec<RatePoint>,
}

/// One entrant at one rate.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct RatePoint {
    /// Requests per second, over all connections.
    pub rate_per_s: u32,
    /// The rate as a share of a capacity, percent.
    pub share_percent: u32,
    /// Of whose capacity.
    pub of: CapacityOf,
    /// Paced cells that the figures below rest on.
    pub valid_cells: u64,
    /// Paced cells that they leave out, and why.
    pub invalid_cells: Vec<InvalidPacedCell>,
    /// Percentiles of latency, from when a request was due to the end of its answer.
    pub latency: Option<LatencyFindings>,
    /// How many requests of a round took longer than its 99.9th percentile, in the round that has fewest.
    pub samples_beyond_p999: Option<u64>,
    /// 99th percentile of how late the load generator sent, µs: a part of the latency.
    pub lateness_p99_us: Option<Spread>,
    /// Share of the window in which the load generator worked or waited for a CPU, 0 to 1.
    pub generator_busy_share: Option<Spread>,
    /// Server CPU time of one request at this rate, as measured, µs; none of a foreign server.
    pub cost_us: Option<Spread>,
}

/// A paced cell that no figure rests on.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct InvalidPacedCell {
    /// Position in the pass, from 0.
    pub index: usize,
    /// The block (round) it belongs to, from 0.
    pub block: u32,
    /// Which attempt at it it was, from 1.
    pub attempt: u32,
    /// Why it is invalid.
    pub reasons: Vec<Reason>,
    /// The median that it shows all the same, µs: not the latency at that rate.
    pub p50_us: Option<f64>,
    /// The 99th percentile that it shows all the same, µs.
    pub p99_us: Option<f64>,
}

impl FixedRates {
    /// Every invalid paced cell with the entrant's label and its point, in the matrix's order.
    pub fn invalid_cells(&self) -> impl Iterator<Item = (&str, &RatePoint, &InvalidPacedCell)> {
        self.entrants.iter().flat_map(|entrant| {
            let points = entrant.points.iter();
            points.flat_map(move |point| {
                let cells = point.invalid_cells.iter();
                cells.map(move |cell| (entrant.label.as_str(), point, cell))
            })
        })
    }

    /// The shares of a capacity that were measured, percent, ascending.
    #[must_use]
    pub fn shares(&self) -> Vec<u32> {
        let points = self.entrants.iter().flat_map(|entrant| &entrant.points);
        let mut shares: Vec<u32> = points.map(|point| point.share_percent).collect();
        shares.sort_unstable();
        shares.dedup();
        shares
    }
}

impl EntrantRates {
    /// Its points at shares of its own capacity.
    pub fn own(&self) -> impl Iterator<Item = &RatePoint> {
        self.points.iter().filter(|point| point.of.is_own())
    }
}
