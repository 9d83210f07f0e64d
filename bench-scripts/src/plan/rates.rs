//! The plan of the second pass: which entrant is loaded at which fixed rates.
//!
//! Rates are shares of what the entrants reached in the first pass of this very run, so the plan is made when that is on
//! record; from the same cells it comes out the same.

use std::time::Duration;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use crate::analyse::median_of;
use crate::matrix::{Entrant, LatencySettings, Matrix};
use crate::record::{CapacityOf, Cell, PlannedPacedCell, Run};

/// What a paced cell takes beside its load: starting, checking and stopping a server, and opening connections. Measured
/// with all rungs on two CPUs.
const CELL_OVERHEAD: Duration = Duration::from_millis(50);

/// Which of its random numbers the order takes, so that it does not repeat the order of the first pass.
const STREAM: u64 = 1;

/// The second pass of a run.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct RatePlan {
    /// The connection count of the first pass, as asked for, whose rates are the capacities.
    pub capacity_at: u32,
    /// What each contestant and control reached there, in the matrix's order.
    pub capacities: Vec<Capacity>,
    /// Every paced cell, in the order in which it is measured.
    pub cells: Vec<PlannedPacedCell>,
}

/// What an entrant reached in the first pass.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Capacity {
    /// Its label.
    pub entrant: String,
    /// Whether it is compared.
    pub is_contestant: bool,
    /// The median rate of its valid cells, whole requests per second; none without such a cell, and then it is in no paced
    /// cell.
    pub requests_per_s: Option<u32>,
}

/// One rate of one entrant.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Rate {
    per_s: u32,
    of: CapacityOf,
}

/// The plan of a run's second pass; none where its matrix asks for none.
#[must_use]
pub fn plan(run: &Run, cells: &[Cell]) -> Option<RatePlan> {
    let settings = run.matrix.latency.as_ref()?;
    let capacity_at = nearest(&run.matrix.connections, settings.connections)?;
    let capacities = capacities(&run.matrix, capacity_at, cells);
    Some(RatePlan {
        capacity_at,
        cells: order(settings, &capacities, run.seed),
        capacities,
    })
}

/// The count that lies nearest to the wanted one; of two, the lower.
fn nearest(counts: &[u32], wanted: u32) -> Option<u32> {
    let counts = counts.iter().copied();
    counts.min_by_key(|count| count.abs_diff(wanted))
}

/// Those of contestants and controls. The entrant that is there a second time is no news.
fn capacities(matrix: &Matrix, connections_asked: u32, cells: &[Cell]) -> Vec<Capacity> {
    let once = matrix.entrants.iter().filter(|e| e.repeat_of.is_none());
    once.map(|entrant| {
        let valid = cells.iter().filter(|cell| {
            cell.is_valid()
                && cell.planned.connections_asked == connections_asked
                && cell.planned.entrant == entrant.label
        });
        let per_minute = median_of(valid.filter_map(Cell::requests_per_minute));
        Capacity {
            entrant: entrant.label.clone(),
            is_contestant: Entrant::is_contestant(entrant),
            requests_per_s: per_minute.map(|rate| (rate / 60.0) as u32),
        }
    })
    .collect()
}

/// Round by round, each with every entrant at each of its rates once. `seed` decides the order of the shares, and of the
/// paced cells at each share: those that are compared follow each other.
fn order(settings: &LatencySettings, capacities: &[Capacity], seed: u64) -> Vec<PlannedPacedCell> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(STREAM);
    let mut order = Vec::new();
    for block in 0..settings.rounds {
        let mut shares = settings.shares.clone();
        shares.shuffle(&mut rng);
        for share_percent in shares {
            let begin = order.len();
            for capacity in capacities {
                let rates = rates(capacity, capacities, share_percent);
                order.extend(rates.map(|rate| PlannedPacedCell {
                    index: 0,
                    block,
                    entrant: capacity.entrant.clone(),
                    connections: settings.connections,
                    rate_per_s: rate.per_s,
                    share_percent,
                    of: rate.of,
                }));
            }
            order[begin..].shuffle(&mut rng);
        }
    }
    for (index, cell) in order.iter_mut().enumerate() {
        cell.index = index;
    }
    order
}

/// The rates of one entrant at one share: of its own capacity, of the lowest, or both in one. A control has no rate of its own.
fn rates(capacity: &Capacity, all: &[Capacity], share_percent: u32) -> impl Iterator<Item = Rate> {
    let contestants = all.iter().filter(|capacity| capacity.is_contestant);
    let lowest = contestants.filter_map(|c| c.requests_per_s).min();
    let rate = |of, capacity: Option<u32>| {
        let per_s = u64::from(capacity?) * u64::from(share_percent) / 100;
        // Less than one request a second cannot be asked for.
        let per_s = u32::try_from(per_s.max(1)).unwrap_or(u32::MAX);
        Some(Rate { per_s, of })
    };
    let own = rate(CapacityOf::Own, capacity.requests_per_s);
    let equal = rate(CapacityOf::Lowest, own.and(lowest));
    let rates = match (own, equal) {
        (Some(own), Some(equal)) if capacity.is_contestant && own.per_s == equal.per_s => {
            let of = CapacityOf::Both;
            [Some(Rate { of, ..own }), None]
        }
        _ => [own.filter(|_| capacity.is_contestant), equal],
    };
    rates.into_iter().flatten()
}

/// How many paced cells a matrix has, if every entrant has a capacity, and no two the same.
#[must_use]
pub fn cells(matrix: &Matrix) -> usize {
    let Some(settings) = &matrix.latency else {
        return 0;
    };
    let count = |which: fn(&Entrant) -> bool| matrix.entrants.iter().filter(|e| which(e)).count();
    let (contestants, controls) = (count(Entrant::is_contestant), count(|e| e.control));
    // At its own rate and at the equal one, but for the slowest, whose rates are the same.
    let of_share = match contestants {
        0 => 0,
        contestants => 2 * contestants - 1 + controls,
    };
    of_share * settings.shares.len() * settings.rounds as usize
}

/// How long one paced cell takes, about.
#[must_use]
pub fn cell_time(settings: &LatencySettings) -> Duration {
    Duration::from_millis(settings.warmup_ms + settings.duration_ms) + CELL_OVERHEAD
}

/// How long the second pass takes, about.
#[must_use]
pub fn time(matrix: &Matrix) -> Duration {
    let cells = u32::try_from(cells(matrix)).unwrap_or(u32::MAX);
    let cell_time = matrix.latency.as_ref().map(cell_time);
    cell_time.unwrap_or_default() * cells
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made;
    use crate::record::{Reason, Validity};

    /// The made run, told to measure latency, with its cells.
    fn made() -> (Run, Vec<Cell>) {
        let (mut run, cells) = made::run_and_cells();
        run.matrix.latency = Some(LatencySettings {
            connections: 120,
            shares: vec![50, 90],
            warmup_ms: 200,
            duration_ms: 1000,
            rounds: 2,
        });
        (run, cells)
    }

    fn capacity(entrant: &str, per_s: u32) -> Capacity {
        Capacity {
            entrant: entrant.into(),
            is_contestant: entrant != "null",
            requests_per_s: Some(per_s),
        }
    }

    #[test]
    fn the_capacity_is_the_median_valid_rate_at_the_nearest_count() {
        let (run, mut cells) = made();
        let plan = plan(&run, &cells).unwrap();
        assert_eq!(plan.capacity_at, 100);
        let of = |cells: &[Cell]| -> Vec<f64> {
            let at = |c: &&Cell| c.planned.entrant == "mio" && c.planned.connections_asked == 100;
            let rates = cells.iter().filter(at);
            let mut rates: Vec<_> = rates.filter_map(Cell::requests_per_minute).collect();
            rates.sort_by(f64::total_cmp);
            rates
        };
        let mio = |plan: &RatePlan| {
            let of = |capacity: &&Capacity| capacity.entrant == "mio";
            plan.capacities.iter().find(of).unwrap().requests_per_s
        };
        assert_eq!(mio(&plan), Some((of(&cells)[1] / 60.0) as u32));
        for cell in &mut cells {
            if cell.planned.entrant == "mio" {
                let reasons = vec![Reason::NoRequests];
                cell.validity = Validity::Invalid { reasons };
            }
        }
        let without = super::plan(&run, &cells).unwrap();
        assert_eq!(mio(&without), None);
        assert!(without.cells.iter().all(|cell| cell.entrant != "mio"));
    }

    #[test]
    fn every_round_holds_every_rate_once_and_coinciding_ones_are_one() {
        let settings = made().0.matrix.latency.unwrap();
        let capacities = [
            capacity("null", 500),
            capacity("epoll", 300),
            capacity("axum", 101),
        ];
        let order = order(&settings, &capacities, 7);
        let round = |block| -> Vec<_> {
            let of_round = order.iter().filter(|cell| cell.block == block);
            let mut round: Vec<_> = of_round
                .map(|c| (c.share_percent, c.entrant.as_str(), c.rate_per_s, c.of))
                .collect();
            round.sort_by_key(|(share, entrant, rate, _)| (*share, *entrant, *rate));
            round
        };
        let expected = [
            (50, "axum", 50, CapacityOf::Both),
            (50, "epoll", 50, CapacityOf::Lowest),
            (50, "epoll", 150, CapacityOf::Own),
            (50, "null", 50, CapacityOf::Lowest),
            (90, "axum", 90, CapacityOf::Both),
            (90, "epoll", 90, CapacityOf::Lowest),
            (90, "epoll", 270, CapacityOf::Own),
            (90, "null", 90, CapacityOf::Lowest),
        ];
        assert_eq!(round(0), expected);
        assert_eq!(round(1), expected);
        assert!(order.iter().enumerate().all(|(i, cell)| cell.index == i));
        let of_share = |a: &PlannedPacedCell, b: &PlannedPacedCell| {
            (a.block, a.share_percent) == (b.block, b.share_percent)
        };
        assert_eq!(order.chunk_by(of_share).count(), 4);
        assert_ne!(order, super::order(&settings, &capacities, 8));
    }

    #[test]
    fn a_rate_is_one_request_a_second_at_least() {
        let all = [capacity("epoll", 1)];
        let rates: Vec<_> = rates(&all[0], &all, 25).collect();
        let of = CapacityOf::Both;
        assert_eq!(rates, [Rate { per_s: 1, of }]);
    }

    #[test]
    fn the_expected_size_of_the_pass_is_that_of_its_plan() {
        let (run, cells) = made();
        let plan = plan(&run, &cells).unwrap();
        assert_eq!(plan.cells.len(), super::cells(&run.matrix));
        let mut without = run.matrix.clone();
        without.latency = None;
        assert_eq!(super::cells(&without), 0);
        assert_eq!(time(&without), Duration::ZERO);
    }

    #[test]
    fn the_built_in_matrices_keep_the_pass_short() {
        let seconds = |name| time(&Matrix::find(name).unwrap()).as_secs();
        assert!(seconds("smoke") <= 3, "{}", seconds("smoke"));
        assert!(seconds("quick") <= 90, "{}", seconds("quick"));
    }
}
