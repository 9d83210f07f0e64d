//! What set a point's rate: the server, the client, the quota, or noise.

use std::collections::HashSet;

use super::spread::spread_of;
use crate::check::{STEAL_BOUND_PERCENT, THROTTLED_BOUND_PERCENT};
use crate::findings::{Bound, CEILING_SHARE, FULL_SHARE, Interval};
use crate::record::{Cell, CpuPlan};

/// How full a point's two sides were.
pub(super) struct Sides<'a> {
    pub(super) plan: &'a CpuPlan,
    /// Median share of its CPUs that the server used, 0 to 1.
    pub(super) server_busy: Option<f64>,
    /// Median share of its CPUs that the load generator used, 0 to 1.
    pub(super) client_busy: Option<f64>,
    /// The rate over the control's: its interval, or its median alone as both ends; none for a control.
    pub(super) of_ceiling: Option<Interval>,
}

/// What set the rate of the measured cells of one point.
pub(super) fn bound_by(sides: &Sides, measured: &[&Cell]) -> Option<Bound> {
    let throttled = median_of(measured, |cell| {
        let window_us = cell.server.as_ref()?.usage.window_us as f64;
        Some(100.0 * cell.system?.throttled_us as f64 / window_us)
    });
    if throttled.is_some_and(|percent| percent > THROTTLED_BOUND_PERCENT as f64) {
        return Some(Bound::Quota);
    }
    let steal = median_of(measured, |cell| Some(cell.system?.steal_percent));
    if steal.is_some_and(|percent| percent > STEAL_BOUND_PERCENT) {
        return Some(Bound::Noise);
    }
    let valid: Vec<&Cell> = measured.iter().copied().filter(|c| c.is_valid()).collect();
    (!valid.is_empty()).then(|| by_sides(sides, &valid))
}

fn by_sides(sides: &Sides, valid: &[&Cell]) -> Bound {
    let is_full = |share: Option<f64>| share.is_some_and(|share| share >= FULL_SHARE);
    let all_full = !sides.plan.pinned && is_full(machine_busy(sides.plan, valid));
    let server_full = all_full || is_full(sides.server_busy);
    let client_full = all_full || is_full(sides.client_busy);
    match (server_full, client_full, sides.of_ceiling) {
        (true, false, _) => Bound::Server,
        (false, true, _) | (true, true, None) => Bound::Client,
        // A load generator that spins on a slow server is full as well: what it reaches against the control decides.
        (_, _, Some(share)) if share.low >= CEILING_SHARE => Bound::Client,
        (true, true, Some(share)) if share.high < CEILING_SHARE => Bound::Server,
        (true, true, Some(_)) => Bound::Noise,
        (false, false, _) => Bound::Neither,
    }
}

/// Share of all CPUs that both sides and everybody else used together, where nothing is pinned.
fn machine_busy(plan: &CpuPlan, cells: &[&Cell]) -> Option<f64> {
    let cpus: HashSet<u32> = plan.server.iter().chain(&plan.client).copied().collect();
    median_of(cells, |cell| {
        let (server, client) = (cell.server.as_ref()?.usage, cell.client?);
        let used_us = server.cpu_us + client.cpu_us + cell.system?.other_cpu_us;
        Some(used_us as f64 / (server.window_us as f64 * cpus.len() as f64))
    })
}

fn median_of(cells: &[&Cell], figure: impl Fn(&Cell) -> Option<f64>) -> Option<f64> {
    spread_of(cells, figure).map(|spread| spread.median)
}
