//! How an entrant's figures change with the number of connections: slopes, knees, crossings, and what a decline is made of.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{EntrantFindings, Findings, Interval, Role};

/// A figure with its 95% interval.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Estimate {
    /// The figure.
    pub value: f64,
    /// Its 95% interval; none where the noise is not known, or the data set no bound.
    pub interval: Option<Interval>,
}

/// How an entrant's curves run over connections; none where there are too few counts to see the noise.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Scaling {
    /// Of the requests per minute in the telemetry window, in which all connections are open, as measured.
    pub rate: Option<Curve>,
    /// Of the cost's ratio to the control in the same block; of a control, of the cost as measured.
    pub cost: Option<Curve>,
}

/// One curve over connections.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Curve {
    /// Change for twice the connections, as a share (-0.03 for 3% less), as one power law over all counts.
    pub per_doubling: Estimate,
    /// Where it turns for the worse; none where no such turn is proven, or it could be anywhere.
    pub knee: Option<Knee>,
}

/// Where a curve turns for the worse: a power law before it, a steeper one after it.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Knee {
    /// Connections at the knee.
    pub connections: f64,
    /// 95% interval of that.
    pub interval: Interval,
    /// Change for twice the connections before it, as a share. Without an interval where the knee may lie below the second count.
    pub before_per_doubling: Estimate,
    /// The same after it. Without an interval where the knee may lie above the last count but one.
    pub after_per_doubling: Estimate,
}

/// Where the order of two contestants turns over. Both orders are proven.
#[derive(Clone, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Crossing {
    /// Label of the one whose figure is less with fewer connections.
    pub less_before: String,
    /// Label of the one whose figure is less with more connections.
    pub less_after: String,
    /// The last count, as asked for, at which the first order is proven.
    pub last_before: u32,
    /// The first count, as asked for, at which the second order is proven.
    pub first_after: u32,
}

/// Crossings by figure, by ascending count.
#[derive(Clone, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Crossings {
    /// Of costs.
    pub cost: Vec<Crossing>,
    /// Of rates.
    pub rate: Vec<Crossing>,
}

/// What a request takes longer at the highest connection count, taken apart.
///
/// The time of all CPUs that the two sides can use, per request, is spent in the parts: they add up to it exactly. Figures
/// are means over the blocks that have both counts, as measured.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Decline {
    /// Connections asked for where it begins: the best rate's count, if that is proven to be above the lowest count's; else the
    /// lowest count.
    pub from_connections_asked: u32,
    /// Connections asked for where it ends: the highest count.
    pub to_connections_asked: u32,
    /// Blocks in which both were valid.
    pub blocks: u64,
    /// Change of the rate in the telemetry window, in which all connections are open, as a share: -0.08 for 8% less.
    pub rate_change: Estimate,
    /// Change of the load generator's own rate over that rate, as a share: it also counts the time that the opening of connections
    /// takes. None of a foreign server, which does not count its requests itself: all its rates are the load generator's.
    pub opening_change: Option<Estimate>,
    /// CPU time per request of all CPUs that the two sides can use, used or not.
    pub total: Added,
    /// What it is spent on.
    pub parts: Vec<AddedPart>,
    /// The side that set the rate at the highest count; none where none did, or the two share their CPUs.
    pub critical: Option<Critical>,
}

/// A time per request at both ends of a decline.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Added {
    /// Where the decline begins, µs.
    pub from_us: f64,
    /// Where it ends, µs.
    pub to_us: f64,
    /// What was added in between, µs.
    pub added_us: Estimate,
    /// How much more than in the control's cells at the same counts in the same blocks, µs; none for a control.
    pub beyond_control_us: Option<Estimate>,
}

/// What became of one part of the time.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct AddedPart {
    /// Which part.
    pub part: Part,
    /// Its time.
    pub time: Added,
    /// Its share of all added time; none where it is not proven that any was added. May be below 0 or above 1: parts shrink too.
    pub share: Option<Estimate>,
}

/// A part of the CPU time per request.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// The server's in user space.
    ServerUser,
    /// The server's in the kernel.
    ServerKernel,
    /// CPUs that the server could use and did not: idle, or taken by others.
    ServerWaiting,
    /// The load generator's, user space and kernel.
    Client,
    /// CPUs that the load generator could use and did not.
    ClientWaiting,
    /// Of other processes, where both sides share their CPUs.
    Others,
    /// Of nobody, or of the hypervisor, where both sides share their CPUs.
    Idle,
}

/// The side whose CPUs were full at the end of a decline.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Critical {
    /// Which.
    pub side: Side,
    /// Its own CPU time per request.
    pub cpu: Added,
    /// The share of that in the time that was added on this side; the rest is waiting. None where it is not proven that any was.
    pub cpu_share: Option<Estimate>,
    /// The other side's CPU time per request meanwhile.
    pub other: Added,
}

/// One of the two sides of a load.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// The server.
    Server,
    /// The load generator.
    Client,
}

impl Part {
    /// What reports call it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::ServerUser => "server, user",
            Self::ServerKernel => "server, kernel",
            Self::ServerWaiting => "server, waiting",
            Self::Client => "load generator",
            Self::ClientWaiting => "load generator, waiting",
            Self::Others => "other processes",
            Self::Idle => "idle",
        }
    }
}

impl Findings {
    /// The entrants that have a decline, but for the one that is there again.
    pub fn declines(&self) -> impl Iterator<Item = (&EntrantFindings, &Decline)> {
        let entrants = self.entrants.iter();
        entrants
            .filter(|entrant| entrant.role != Role::Again)
            .filter_map(|entrant| Some((entrant, entrant.decline.as_ref()?)))
    }
}

impl Estimate {
    /// True where the whole interval lies below 0.
    #[must_use]
    pub fn is_below_zero(&self) -> bool {
        self.interval.is_some_and(|interval| interval.high < 0.0)
    }

    /// True where the whole interval lies above 0.
    #[must_use]
    pub fn is_above_zero(&self) -> bool {
        self.interval.is_some_and(|interval| interval.low > 0.0)
    }
}
