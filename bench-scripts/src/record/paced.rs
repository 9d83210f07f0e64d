//! A line of `rates.jsonl`: one load at a fixed rate.

use std::fmt::{self, Display};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Attempt, Planned, Server, Spent, System, Validity};
use crate::paced::PacedLoad;
use crate::quantity;

/// One line of `rates.jsonl`: one load at a fixed rate against one fresh server process.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct PacedCell {
    /// What was planned.
    pub planned: PlannedPacedCell,
    /// Which attempt at it this is, from 1. At most one attempt is valid: the last.
    pub attempt: u32,
    /// When it began, RFC 3339, UTC.
    pub started_at: String,
    /// Whether its numbers may be used.
    pub validity: Validity,
    /// What the load generator, `rungs load`, reported; none where it did not get so far.
    pub load: Option<PacedLoad>,
    /// The server's side, from shortly before the end of the warm-up to shortly after the end of the load. The two edges lie
    /// outside the load's window, since reading them takes the load generator's CPU for a moment. At the second no connection
    /// is open any more.
    pub server: Option<Server>,
    /// The machine's side between the same edges. `other_cpu_us` has the load generator's own time in it.
    pub system: Option<System>,
    /// Where its wall time went. The warm-up is a part of the load.
    pub spent: Spent,
}

/// A paced cell before it is measured: an entrant at a fixed rate, in one round.
#[derive(Clone, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct PlannedPacedCell {
    /// Position in the pass, from 0.
    pub index: usize,
    /// The block (round) it belongs to, from 0.
    pub block: u32,
    /// The entrant's label.
    pub entrant: String,
    /// Connections that share the requests.
    pub connections: u32,
    /// Requests per second, over all connections.
    pub rate_per_s: u32,
    /// The rate as a share of a capacity, percent.
    pub share_percent: u32,
    /// Of whose capacity.
    pub of: CapacityOf,
}

/// Whose capacity a rate is a share of.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CapacityOf {
    /// The entrant's own.
    Own,
    /// The lowest of all contestants: a rate at which all of them are measured, to be compared.
    Lowest,
    /// The entrant's own, which gives the same rate as the lowest.
    Both,
}

impl CapacityOf {
    /// True where the rate is a share of the entrant's own capacity.
    #[must_use]
    pub fn is_own(self) -> bool {
        matches!(self, Self::Own | Self::Both)
    }

    /// True where the rate is a share of the lowest capacity.
    #[must_use]
    pub fn is_lowest(self) -> bool {
        matches!(self, Self::Lowest | Self::Both)
    }
}

impl Display for CapacityOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Own => "its own capacity",
            Self::Lowest => "the lowest capacity",
            Self::Both => "its own capacity, the lowest",
        })
    }
}

impl Display for PlannedPacedCell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} at {} requests/s ({}% of {})",
            self.entrant,
            quantity::whole(self.rate_per_s.into()),
            self.share_percent,
            self.of
        )
    }
}

impl Planned for PlannedPacedCell {
    fn index(&self) -> usize {
        self.index
    }

    fn entrant(&self) -> &str {
        &self.entrant
    }
}

impl Attempt for PacedCell {
    type Planned = PlannedPacedCell;

    fn planned(&self) -> &PlannedPacedCell {
        &self.planned
    }

    fn attempt(&self) -> u32 {
        self.attempt
    }

    fn validity(&self) -> &Validity {
        &self.validity
    }

    fn figures(&self) -> String {
        let latency = |pick: fn(&PacedLoad) -> f64| {
            let load = self.load.as_ref();
            load.map_or_else(|| "–".to_owned(), |load| quantity::micros(pick(load)))
        };
        format!(
            "p50 {}, p99 {}",
            latency(|load| load.latency.p50_us),
            latency(|load| load.latency.p99_us)
        )
    }
}

impl PacedCell {
    /// What one request cost the server, in CPU µs, from the server's own count; none of a foreign server.
    #[must_use]
    pub fn cost_us(&self) -> Option<f64> {
        let server = self.server.as_ref()?;
        let requests: u64 = server.workers.as_ref()?.iter().map(|w| w.requests).sum();
        (requests > 0).then(|| server.usage.cpu_us as f64 / requests as f64)
    }
}
