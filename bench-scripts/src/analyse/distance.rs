//! What the distance between the server's CPU and the load generator's does to the cost of a request, and what a
//! request would have cost at the run's usual distance.
//!
//! [`crate::observe::core_to_core`] says why distances change while a sweep runs. They are measured beside each cell, so the cost
//! can be followed along them: the slope is the median of those between any two cells of one point whose distances differ, after
//! P. K. Sen, "Estimates of the Regression Coefficient Based on Kendall's Tau", Journal of the American Statistical
//! Association 63 (1968). Where distances do not change there is nothing to correct.

use std::collections::BTreeMap;

use super::spread::quantile;
use crate::findings::CoreToCoreFindings;
use crate::record::{Cell, Cost};

/// Distances are different from a ratio of this on: what interruptions add to a round trip is less.
const DIFFERENT: f64 = 1.5;

/// Distances before and after a cell are the same up to this ratio; in between the CPUs were moved.
const SAME: f64 = 1.25;

/// Pairs of cells that a slope needs.
const LEAST_PAIRS: usize = 20;

/// How costs follow distances in one run.
pub(crate) struct Distance {
    /// Growth of the cost's logarithm per growth of the distance's; 0 where it is not known.
    slope: f64,
    /// Logarithm of the median distance, ns.
    usual: f64,
    findings: Option<CoreToCoreFindings>,
}

impl Distance {
    /// Learns from the valid cells of a run.
    pub(crate) fn learn(cells: &[Cell]) -> Self {
        let valid: Vec<&Cell> = cells.iter().filter(|cell| cell.is_valid()).collect();
        let mut distances: Vec<f64> = valid.iter().filter_map(|c| log_distance(c)).collect();
        distances.sort_by(f64::total_cmp);
        let (Some(usual), Some(least), Some(most)) = (
            quantile(&distances, 0.5),
            distances.first(),
            distances.last(),
        ) else {
            return Self {
                slope: 0.0,
                usual: 0.0,
                findings: None,
            };
        };
        let slope = slope(&valid);
        Self {
            slope: slope.unwrap_or(0.0),
            usual,
            findings: Some(CoreToCoreFindings {
                median_ns: usual.exp(),
                least_ns: least.exp(),
                most_ns: most.exp(),
                moved: valid.iter().filter(|cell| was_moved(cell)).count() as u64,
                cost_growth: slope.map(|slope| (slope * (most - least)).exp_m1()),
            }),
        }
    }

    /// What a run's distances were, and what they did; none where they were not measured.
    pub(crate) fn findings(&self) -> Option<CoreToCoreFindings> {
        self.findings
    }

    /// What a request of a cell costs at the run's usual distance.
    pub(crate) fn cost(&self, cell: &Cell) -> Option<Cost> {
        let (cost, factor) = (cell.cost()?, self.factor(cell));
        Some(Cost {
            user_us: cost.user_us * factor,
            system_us: cost.system_us * factor,
        })
    }

    /// What a cell's times are to be multiplied by. The distance is both sides' alike: what it does to the server's time
    /// per request it does to the load generator's.
    pub(super) fn factor(&self, cell: &Cell) -> f64 {
        log_distance(cell).map_or(1.0, |distance| {
            (-self.slope * (distance - self.usual)).exp()
        })
    }

    /// Requests per minute in the window, had the CPUs been at their usual distance.
    pub(super) fn rate(&self, cell: &Cell) -> Option<f64> {
        Some(cell.sustained_per_minute()? / self.factor(cell))
    }

    /// The cost of user and system together, µs.
    pub(crate) fn total_cost(&self, cell: &Cell) -> Option<f64> {
        self.cost(cell).map(Cost::total_us)
    }
}

/// The logarithm of a cell's distance: the mean of before and after.
fn log_distance(cell: &Cell) -> Option<f64> {
    let ends = cell.system?.core_to_core?;
    Some(f64::midpoint(ends.before_ns.ln(), ends.after_ns.ln())).filter(|log| log.is_finite())
}

/// Whether the CPUs were moved while a cell was measured.
fn was_moved(cell: &Cell) -> bool {
    let ends = cell.system.and_then(|system| system.core_to_core);
    ends.is_some_and(|ends| {
        let (low, high) = (
            ends.before_ns.min(ends.after_ns),
            ends.before_ns.max(ends.after_ns),
        );
        high > low * SAME
    })
}

/// The median slope between cells of one point whose distances differ.
fn slope(valid: &[&Cell]) -> Option<f64> {
    let mut points: BTreeMap<(&str, u32), Vec<(f64, f64)>> = BTreeMap::new();
    for cell in valid.iter().filter(|cell| !was_moved(cell)) {
        let at = (
            cell.planned.entrant.as_str(),
            cell.planned.connections_asked,
        );
        let cost = cell.cost().map(Cost::total_us).filter(|cost| *cost > 0.0);
        if let (Some(distance), Some(cost)) = (log_distance(cell), cost) {
            points.entry(at).or_default().push((distance, cost.ln()));
        }
    }
    let mut slopes: Vec<f64> = points
        .values()
        .flat_map(|cells| {
            let pairs = cells.iter().enumerate();
            pairs.flat_map(|(i, a)| cells[..i].iter().map(move |b| (b.0 - a.0, b.1 - a.1)))
        })
        .filter(|(distance, _)| distance.abs() > DIFFERENT.ln())
        .map(|(distance, cost)| cost / distance)
        .collect();
    slopes.sort_by(f64::total_cmp);
    (slopes.len() >= LEAST_PAIRS).then(|| quantile(&slopes, 0.5))?
}

#[cfg(test)]
mod tests {
    use super::super::tests::cell;
    use super::*;
    use crate::record::CoreToCore;

    /// Cells of two entrants over ten blocks, the CPUs far apart in every third; a request then costs `growth` more.
    fn cells(growth: f64) -> Vec<Cell> {
        let mut cells = Vec::new();
        for block in 0..10 {
            for (entrant, cost) in [("null", 10_000.0), ("epoll", 15_000.0)] {
                let far = block % 3 == 2;
                let noise = 1.0 + 0.001 * f64::from(block % 2);
                let cost = cost * noise * if far { 1.0 + growth } else { 1.0 };
                let mut cell = cell(entrant, 100, block, 1000, cost as u64);
                let ns = if far { 320.0 } else { 80.0 };
                cell.system.get_or_insert_default().core_to_core = Some(CoreToCore {
                    before_ns: ns,
                    after_ns: ns * 1.01,
                });
                cells.push(cell);
            }
        }
        cells
    }

    fn costs(cells: &[Cell], entrant: &str) -> Vec<f64> {
        let distance = Distance::learn(cells);
        let of_entrant = cells.iter().filter(|c| c.planned.entrant == entrant);
        of_entrant.filter_map(|c| distance.total_cost(c)).collect()
    }

    #[test]
    fn costs_are_what_they_would_be_at_the_usual_distance() {
        let cells = cells(0.3);
        let found = Distance::learn(&cells).findings().unwrap();
        let growth = found.cost_growth.unwrap();
        assert!((growth - 0.3).abs() < 0.005, "{growth}");
        assert!((found.least_ns, found.most_ns) < (81.0, 322.0), "{found:?}");
        assert_eq!(found.moved, 0);
        for cost in costs(&cells, "epoll") {
            assert!((cost / 15_000.0 - 1.0).abs() < 0.01, "{cost}");
        }
    }

    #[test]
    fn a_distance_that_does_not_change_corrects_nothing() {
        let mut cells = cells(0.3);
        for cell in &mut cells {
            let ends = cell.system.as_mut().unwrap().core_to_core.as_mut().unwrap();
            (ends.before_ns, ends.after_ns) = (80.0, 81.0);
        }
        assert_eq!(
            Distance::learn(&cells).findings().unwrap().cost_growth,
            None
        );
        let as_measured = cells.iter().filter(|c| c.planned.entrant == "null");
        let as_measured: Vec<f64> = as_measured.map(|c| c.cost().unwrap().total_us()).collect();
        assert_eq!(costs(&cells, "null"), as_measured);
    }

    #[test]
    fn cells_whose_cpus_were_moved_are_counted_and_teach_nothing() {
        let mut cells = cells(0.3);
        for cell in &mut cells {
            let ends = cell.system.as_mut().unwrap().core_to_core.as_mut().unwrap();
            ends.after_ns *= 2.0;
        }
        let found = Distance::learn(&cells).findings().unwrap();
        assert_eq!((found.moved, found.cost_growth), (20, None));
    }

    #[test]
    fn runs_that_did_not_look_say_nothing() {
        let mut cells = cells(0.3);
        for cell in &mut cells {
            cell.system.as_mut().unwrap().core_to_core = None;
        }
        assert_eq!(Distance::learn(&cells).findings(), None);
        assert_eq!(costs(&cells, "null").len(), 10);
    }
}
