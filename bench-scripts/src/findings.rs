//! `findings.json`: what the analysis concluded from a run's cells.
//!
//! Every figure is a summary over rounds ([`Spread`]) of *valid* cells; an invalid cell is listed with its reasons and
//! enters no figure. Units are in the names. A JSON Schema is committed in `schemas/findings.schema.json`.

mod fixed_rates;
mod scaling;
pub mod trace;
mod variants;
mod workers;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::{Reason, Skipped};

pub use fixed_rates::{EntrantRates, FEW_SAMPLES, FixedRates, InvalidPacedCell, RatePoint};
pub use scaling::{
    Added, AddedPart, Critical, Crossing, Crossings, Curve, Decline, Estimate, Knee, Part, Scaling,
    Side,
};
pub use variants::{VariantFindings, VariantPoint};
pub use workers::{Balance, WorkerFindings};

/// What a run's cells say, per entrant and connection count.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Findings {
    /// [`crate::record::SCHEMA_VERSION`] of the run.
    pub schema: u32,
    /// Name of the matrix.
    pub matrix: String,
    /// How many cells the findings rest on.
    pub cells: CellCounts,
    /// Requests that each connection sent at once; none where it waited for each answer. wrk's latency is then none: it corrects
    /// what it measured by the number of requests, but measures batches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pipelined: Option<u32>,
    /// Entrants that cannot run on this machine, and were not measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<Skipped>,
    /// What the load generator reached against each control, per connection count, ascending.
    pub ceilings: Vec<Ceiling>,
    /// How far one server, entered twice, lay from itself; none where the matrix enters none twice, or too little was valid.
    pub noise_floor: Option<NoiseFloor>,
    /// Whether the costs are as precise as they were asked to be; none where nothing was asked.
    pub precision: Option<Precision>,
    /// How far apart the CPUs of the two sides were; none where it was not measured.
    pub core_to_core: Option<CoreToCoreFindings>,
    /// How the machine's speed changed over the run; none without valid cells of a control in two blocks.
    pub drift: Option<Drift>,
    /// Cells far off the others of their point. They stay in every figure.
    pub outliers: Vec<Outlier>,
    /// The entrants, in the matrix's order: from the bottom of the ladder to its top.
    pub entrants: Vec<EntrantFindings>,
    /// Which contestants differ, per connection count, ascending.
    pub comparisons: Vec<Comparisons>,
    /// Entrants that are one program, run or built otherwise; empty where there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub variants: Vec<VariantFindings>,
    /// Where contestants change places between connection counts.
    pub crossings: Crossings,
    /// Latency at fixed rates; none where it was not to be measured.
    pub fixed_rates: Option<FixedRates>,
    /// The traced pass, in the order in which it was made; empty without one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub traces: Vec<trace::TraceFindings>,
}

/// The noise floor: the same server entered twice (A/A), compared with itself in every block at every connection count.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct NoiseFloor {
    /// Label of the entrant that is there twice.
    pub entrant: String,
    /// Its second label.
    pub again: String,
    /// Pairs of valid cells that it rests on.
    pub pairs: u64,
    /// Cost: the largest difference that the 95% interval of the two's ratio allows, as a share (0.02 for 2%).
    pub cost_share: f64,
    /// Rate: the same.
    pub rate_share: f64,
}

/// How precise the costs became, where that was asked for.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Precision {
    /// What was asked for: half the width of intervals of cost ÷ control, as a share.
    pub asked_share: f64,
    /// Whether every contestant's interval at every connection count is so narrow, and the noise floor so low.
    pub reached: bool,
    /// The widest interval; none where no noise is known.
    pub widest: Option<Widest>,
}

/// The point with the widest interval of cost ÷ control.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Widest {
    /// The entrant's label.
    pub entrant: String,
    /// Connections asked for.
    pub connections_asked: u32,
    /// Half the width of its interval, as a share.
    pub share: f64,
}

/// How far apart the CPUs of server and load generator were, and what that did to costs.
///
/// A distance is what a cache line takes from one CPU to the other and back, the mean of just before and just after a load. A
/// hypervisor may run two CPUs on cores that share a cache, and later on cores that do not.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct CoreToCoreFindings {
    /// Median over valid cells, ns. Costs are corrected to it.
    pub median_ns: f64,
    /// Of the nearest cell, ns.
    pub least_ns: f64,
    /// Of the farthest cell, ns.
    pub most_ns: f64,
    /// Valid cells between whose two looks the distance changed.
    pub moved: u64,
    /// By what share a request costs more at the largest distance than at the least, whatever the server (0.3 for 30%). None where too
    /// few cells of one point differ in distance: then nothing is corrected.
    pub cost_growth: Option<f64>,
}

/// How the machine's speed changed over the run, as the control's cost shows it.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Drift {
    /// Label of the control.
    pub control: String,
    /// Its cost in each block over its median cost, as the geometric mean over connection counts: 1.1 for a block in which everything cost 10%
    /// more. Ascending by block; blocks without a valid cell of it are left out.
    pub blocks: Vec<BlockSpeed>,
}

/// One block's cost of the control.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct BlockSpeed {
    /// The block, from 0.
    pub block: u32,
    /// The control's cost over its median.
    pub cost_to_median: f64,
}

/// A valid cell far off the others of its point.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Outlier {
    /// Position in the sweep, from 0.
    pub index: usize,
    /// The block (round) it belongs to, from 0.
    pub block: u32,
    /// The entrant's label.
    pub entrant: String,
    /// Connections asked for.
    pub connections_asked: u32,
    /// Its cost over its point's median cost, both as ratios to the control of the block.
    pub cost_to_median: f64,
}

/// Which contestants differ at one connection count.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Comparisons {
    /// Connections asked for.
    pub connections_asked: u32,
    /// By cost.
    pub cost: Compared,
    /// By rate. Two rates that the client limits are a tie.
    pub rate: Compared,
}

/// Contestants compared by one figure.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Compared {
    /// Groups of labels: no two members of a group are proven to differ. Whoever ties with two that differ is in more than one
    /// group. First the group with the smallest figure; inside a group the matrix's order, which is no ranking.
    pub ties: Vec<Vec<String>>,
    /// Every pair that has a block with both cells valid.
    pub pairs: Vec<Comparison>,
}

/// Two contestants at one connection count.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Comparison {
    /// Label of the one that stands first in the matrix.
    pub a: String,
    /// Label of the other.
    pub b: String,
    /// b ÷ a inside a block, median over blocks.
    pub ratio: f64,
    /// 95% interval of the ratio, of this pair taken alone.
    pub interval: Option<Interval>,
    /// Blocks that it rests on.
    pub blocks: u64,
    /// Label of the one whose figure is less; none is a tie. In a whole run the chance that one of these or more is false is 5%.
    pub less: Option<String>,
}

/// A 95% interval.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Interval {
    /// Its lower end.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
}

/// How many cells the findings rest on.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct CellCounts {
    /// Cells that the sweep was to measure.
    pub planned: u64,
    /// Cells on record, valid or not.
    pub measured: u64,
    /// Attempts on record: more than cells, where invalid ones were measured again.
    pub attempts: u64,
    /// Cells on record whose every cross-check held.
    pub valid: u64,
}

/// What the load generator reached against a control: no entrant's rate can be told apart above it.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Ceiling {
    /// Connections asked for.
    pub connections_asked: u32,
    /// Label of the control.
    pub control: String,
    /// The control's rate; none where it has no valid cell.
    pub requests_per_minute: Option<Spread>,
}

/// One entrant's findings.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct EntrantFindings {
    /// The name in tables and legends.
    pub label: String,
    /// Label of the entrant that this one is a second time (A/A).
    pub repeat_of: Option<String>,
    /// What ran: a rung's name, or a foreign server's program. Variants of one program differ in label and flags.
    pub program: String,
    /// Whether it is the control of its blocks, a contestant, or somebody else's server.
    pub role: Role,
    /// Label of the control that its ratios refer to: the one with as many threads, else the matrix's first; none where
    /// the matrix has no control.
    pub compared_with: Option<String>,
    /// One point per connection count, ascending.
    pub points: Vec<Point>,
    /// How its curves run over connections.
    pub scaling: Scaling,
    /// What a request takes longer at the highest count, taken apart; none with one count, without a block that is valid at both
    /// ends, or where the highest count's rate is the best.
    pub decline: Option<Decline>,
}

/// What an entrant is in its sweep.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The null rung: the floor, and the load generator's ceiling. Not a contestant.
    Control,
    /// A rung of ours, under the contract that all rungs share.
    Rung,
    /// Anybody else's server: its bytes were checked for status and length only.
    Foreign,
    /// An entrant for the second time, for the noise floor. Not a contestant.
    Again,
}

impl Role {
    /// True for what the sweep compares.
    #[must_use]
    pub fn is_contestant(self) -> bool {
        matches!(self, Self::Rung | Self::Foreign)
    }
}

/// One entrant at one connection count.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Point {
    /// Connections that the matrix asks for.
    pub connections_asked: u32,
    /// Connections that the load generator could open.
    pub connections: u32,
    /// Cells that the figures below rest on.
    pub valid_cells: u64,
    /// Cells that they leave out, and why.
    pub invalid_cells: Vec<InvalidCell>,
    /// Answers per minute, over the load generator's own time.
    pub requests_per_minute: Option<Spread>,
    /// The rate over the control's rate in the same block; as many samples as blocks where both cells are valid.
    pub rate_to_control: Option<Spread>,
    /// Server CPU time of one request, corrected for the machine's drift.
    pub cost: Option<CostFindings>,
    /// Server CPU time of one request as measured, µs: at whatever speed the machine had at the time.
    pub cost_as_measured_us: Option<Spread>,
    /// The cost over the control's cost in the same block, both corrected to the same distance of CPUs; as many samples as blocks where both cells are valid.
    pub cost_to_control: Option<Spread>,
    /// 95% intervals of the medians above.
    pub intervals: Intervals,
    /// Latency, as wrk corrects it for coordinated omission.
    pub latency: Option<LatencyFindings>,
    /// What the server occupied.
    pub resources: Option<ResourceFindings>,
    /// Share of the CPUs that its threads can use that the load generator was on, 0 to 1.
    pub client_busy_share: Option<Spread>,
    /// How evenly the load lay on the server's workers; none with one worker, or where the server does not tell.
    pub workers: Option<WorkerFindings>,
    /// What set the rate; none where no cell was measured, or none is valid.
    pub bound_by: Option<Bound>,
}

/// 95% intervals of a point's medians. None where the noise is not known: one round only, or no valid cell.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Intervals {
    /// Of the rate: as measured, or of the ratio to the control times the control's median rate, whichever is narrower in
    /// this run.
    pub requests_per_minute: Option<Interval>,
    /// Of the rate's ratio to the control; none for a control.
    pub rate_to_control: Option<Interval>,
    /// Of the cost, µs: the ratio's, times the control's median cost. A control's own is as measured.
    pub cost_us: Option<Interval>,
    /// Of the cost's ratio to the control; none for a control.
    pub cost_to_control: Option<Interval>,
}

/// What set a point's rate.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Bound {
    /// The server: its CPUs were full.
    Server,
    /// The load generator: its CPUs were full, or its rate against the control was all but reached. Such a rate ranks nothing.
    Client,
    /// The control group's CPU quota stopped the processes.
    Quota,
    /// Not told: the hypervisor took the CPUs' time, or the intervals are too wide.
    Noise,
    /// Neither side: both waited, as with few connections.
    Neither,
}

/// Share of its CPUs' time from which on a side counts as full, 0 to 1.
pub const FULL_SHARE: f64 = 0.95;

/// Share of the control's rate from which on a rate counts as the ceiling's, 0 to 1.
pub const CEILING_SHARE: f64 = 0.90;

/// A cell that no figure rests on.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct InvalidCell {
    /// Position in the sweep, from 0.
    pub index: usize,
    /// The block (round) it belongs to, from 0.
    pub block: u32,
    /// Which attempt at the cell it was, from 1.
    pub attempt: u32,
    /// Why it is invalid.
    pub reasons: Vec<Reason>,
    /// The rate that it shows all the same, for drawing it hollow; none where there is none.
    pub requests_per_minute: Option<f64>,
    /// The cost that it shows all the same, µs of server CPU per request.
    pub cost_us: Option<f64>,
    /// The median latency that it shows all the same, µs.
    pub latency_p50_us: Option<f64>,
    /// The 99th percentile of latency that it shows all the same, µs.
    pub latency_p99_us: Option<f64>,
    /// The resident memory that it shows all the same, bytes.
    pub rss_bytes: Option<f64>,
}

/// Server CPU time of one request, µs, corrected for the machine's drift.
///
/// First each cell's cost is corrected to the run's usual distance of CPUs ([`CoreToCoreFindings`]). Then it is multiplied by the control's median cost over blocks and divided by the control's cost in the
/// cell's own block. So entrants compare in µs as they do by [`Point::cost_to_control`], though a neighbour slowed the
/// machine down in some rounds. A control's own cost is left as measured; so is every cost where no block has a control.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct CostFindings {
    /// In user space, µs.
    pub user_us: Spread,
    /// In the kernel, µs.
    pub system_us: Spread,
    /// Together, µs. A median of sums: it need not be the sum of the two medians.
    pub total_us: Spread,
}

/// Percentiles of latency, µs, each summarised over rounds.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct LatencyFindings {
    /// Median, µs.
    pub p50_us: Spread,
    /// 90th percentile, µs.
    pub p90_us: Spread,
    /// 99th percentile, µs.
    pub p99_us: Spread,
    /// 99.9th percentile, µs.
    pub p999_us: Spread,
    /// Maximum, µs.
    pub max_us: Spread,
}

/// What the server occupied in the telemetry window.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ResourceFindings {
    /// Share of the CPUs that its threads can use that the server was on, 0 to 1.
    pub busy_share: Option<Spread>,
    /// Resident memory under load, bytes.
    pub rss_bytes: Spread,
    /// Growth of resident memory from before the first connection to under load, per connection, bytes.
    pub rss_per_connection_bytes: Option<Spread>,
    /// Voluntary and involuntary context switches per request.
    pub context_switches_per_request: Option<Spread>,
    /// Events that one return from the wait for events brought; none where the runtime does not tell.
    pub events_per_wakeup: Option<Spread>,
    /// Time that its threads were runnable and waited for a CPU, µs per request.
    pub run_delay_us_per_request: Option<Spread>,
    /// TCP segments sent again on the whole machine, for 1,000 requests.
    pub retransmits_per_1000_requests: Option<Spread>,
    /// Times that an accept queue overflowed on the whole machine, in the window.
    pub listen_overflows: Option<Spread>,
}

/// A summary of one figure over rounds.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Spread {
    /// The middle value, or the mean of the two middle ones.
    pub median: f64,
    /// The smallest value.
    pub min: f64,
    /// The largest value.
    pub max: f64,
    /// How many values there were.
    pub samples: u64,
}

impl Compared {
    /// True where the noise of at least one pair is known: else its ties are ignorance.
    #[must_use]
    pub fn is_told(&self) -> bool {
        self.pairs.iter().any(|pair| pair.interval.is_some())
    }
}

impl Findings {
    /// Every invalid cell with the entrant's label and the point it belongs to, in the matrix's order.
    pub fn invalid_cells(&self) -> impl Iterator<Item = (&str, &Point, &InvalidCell)> {
        self.entrants.iter().flat_map(|entrant| {
            entrant.points.iter().flat_map(move |point| {
                let cells = point.invalid_cells.iter();
                cells.map(move |cell| (entrant.label.as_str(), point, cell))
            })
        })
    }

    /// Connections asked for, ascending.
    #[must_use]
    pub fn connection_counts(&self) -> Vec<u32> {
        self.entrants.first().map_or_else(Vec::new, |entrant| {
            entrant.points.iter().map(|p| p.connections_asked).collect()
        })
    }
}
