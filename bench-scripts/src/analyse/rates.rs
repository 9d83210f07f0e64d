//! From paced cells to what they say: medians over rounds, per entrant and rate.

use super::role;
use super::spread::spread;
use crate::findings::{
    CellCounts, EntrantRates, FixedRates, InvalidPacedCell, LatencyFindings, RatePoint, Spread,
};
use crate::paced::{Distribution, PacedLoad};
use crate::plan::rates::{Capacity, RatePlan};
use crate::record::{PacedCell, PlannedPacedCell, Run};

/// What the paced cells of a plan say. A cell that is missing is just one sample fewer.
pub(super) fn fixed_rates(run: &Run, plan: &RatePlan, paced: &[PacedCell]) -> Option<FixedRates> {
    let settings = run.matrix.latency.as_ref()?;
    let is_valid = |cell: &&PacedCell| cell.validity.is_valid();
    Some(FixedRates {
        connections: settings.connections,
        capacity_at: plan.capacity_at,
        cells: CellCounts {
            planned: plan.cells.len() as u64,
            measured: paced.iter().filter(|cell| cell.attempt == 1).count() as u64,
            attempts: paced.len() as u64,
            valid: paced.iter().filter(is_valid).count() as u64,
        },
        entrants: plan
            .capacities
            .iter()
            .filter_map(|capacity| entrant_rates(run, plan, capacity, paced))
            .collect(),
    })
}

fn entrant_rates(
    run: &Run,
    plan: &RatePlan,
    capacity: &Capacity,
    paced: &[PacedCell],
) -> Option<EntrantRates> {
    let mut entrants = run.matrix.entrants.iter();
    let entrant = entrants.find(|entrant| entrant.label == capacity.entrant)?;
    // Each round has every rate once: the first round's are all.
    let planned = plan.cells.iter();
    let mut rates: Vec<&PlannedPacedCell> = planned
        .filter(|planned| planned.block == 0 && planned.entrant == entrant.label)
        .collect();
    rates.sort_by_key(|planned| (planned.share_percent, planned.rate_per_s));
    Some(EntrantRates {
        label: entrant.label.clone(),
        role: role(entrant),
        capacity_per_s: capacity.requests_per_s,
        points: rates
            .into_iter()
            .map(|rate| rate_point(rate, paced))
            .collect(),
    })
}

fn rate_point(rate: &PlannedPacedCell, paced: &[PacedCell]) -> RatePoint {
    let same = |cell: &&PacedCell| {
        let planned = &cell.planned;
        planned.entrant == rate.entrant
            && planned.rate_per_s == rate.rate_per_s
            && planned.share_percent == rate.share_percent
    };
    let mut cells: Vec<&PacedCell> = paced.iter().filter(same).collect();
    cells.sort_by_key(|cell| (cell.planned.block, cell.attempt));
    let (valid, invalid): (Vec<&PacedCell>, Vec<&PacedCell>) =
        cells.into_iter().partition(|cell| cell.validity.is_valid());
    let loads = || valid.iter().filter_map(|cell| cell.load.as_ref());
    RatePoint {
        rate_per_s: rate.rate_per_s,
        share_percent: rate.share_percent,
        of: rate.of,
        valid_cells: valid.len() as u64,
        invalid_cells: invalid.into_iter().map(invalid_cell).collect(),
        latency: latency(&loads),
        samples_beyond_p999: loads().map(|load| load.latency.count / 1000).min(),
        lateness_p99_us: spread(loads().map(|load| load.lateness.p99_us)),
        generator_busy_share: spread(loads().map(|load| load.generator_busy)),
        cost_us: spread(valid.iter().filter_map(|cell| cell.cost_us())),
    }
}

fn latency<'a, L: Iterator<Item = &'a PacedLoad>>(
    loads: &impl Fn() -> L,
) -> Option<LatencyFindings> {
    let of = |pick: fn(&Distribution) -> f64| -> Option<Spread> {
        spread(loads().map(|load| pick(&load.latency)))
    };
    Some(LatencyFindings {
        p50_us: of(|times| times.p50_us)?,
        p90_us: of(|times| times.p90_us)?,
        p99_us: of(|times| times.p99_us)?,
        p999_us: of(|times| times.p999_us)?,
        max_us: of(|times| times.max_us)?,
    })
}

fn invalid_cell(cell: &PacedCell) -> InvalidPacedCell {
    let shown = |pick: fn(&Distribution) -> f64| {
        let load = cell.load.as_ref().filter(|load| load.latency.count > 0)?;
        Some(pick(&load.latency))
    };
    InvalidPacedCell {
        index: cell.planned.index,
        block: cell.planned.block,
        attempt: cell.attempt,
        reasons: cell.validity.reasons().to_vec(),
        p50_us: shown(|times| times.p50_us),
        p99_us: shown(|times| times.p99_us),
    }
}
