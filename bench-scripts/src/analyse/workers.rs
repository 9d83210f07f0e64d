//! How evenly the load lay on a server's workers.

use super::spread::{spread, spread_of};
use crate::findings::{Balance, Spread, WorkerFindings};
use crate::record::{Cell, WorkerCounts};

/// Of valid cells whose server has two threads or more that serve; none without such a cell. `keeps_connections` says whether a
/// connection stays with its thread.
pub(super) fn worker_findings(valid: &[&Cell], keeps_connections: bool) -> Option<WorkerFindings> {
    let workers = valid.iter().filter_map(|cell| workers_of(cell)).next()?;
    Some(WorkerFindings {
        workers: workers.len() as u64,
        connections: balance(valid, |worker| worker.open as f64).filter(|_| keeps_connections),
        requests: balance(valid, |worker| worker.requests as f64)?,
    })
}

fn workers_of(cell: &Cell) -> Option<&[WorkerCounts]> {
    let workers = cell.server.as_ref()?.workers.as_deref()?;
    (workers.len() > 1).then_some(workers)
}

fn balance(valid: &[&Cell], count: fn(&WorkerCounts) -> f64) -> Option<Balance> {
    let of_cell = |cell: &Cell| -> Option<(Spread, f64)> {
        let counts = workers_of(cell)?.iter().map(count);
        let mean = counts.clone().sum::<f64>() / counts.len() as f64;
        Some((spread(counts)?, mean))
    };
    let over_cells = |figure: fn(Spread, f64) -> f64| {
        spread_of(valid, |cell| {
            of_cell(cell).map(|(spread, mean)| figure(spread, mean))
        })
    };
    Some(Balance {
        least: over_cells(|spread, _| spread.min)?,
        median: over_cells(|spread, _| spread.median)?,
        most: over_cells(|spread, _| spread.max)?,
        // Without any requests the mean is 0, and the ratio no number: such a cell is left out.
        most_to_mean: over_cells(|spread, mean| spread.max / mean)?,
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::cell;
    use super::*;

    fn with_workers(block: u32, requests: &[u64]) -> Cell {
        let mut cell = cell("epoll", 100, block, requests.iter().sum(), 10);
        let workers = requests.iter().map(|&requests| WorkerCounts {
            open: requests.cast_signed() / 10,
            requests,
            ..WorkerCounts::default()
        });
        cell.server.as_mut().unwrap().workers = Some(workers.collect());
        cell
    }

    #[test]
    fn least_median_and_most_are_those_of_the_workers() {
        let cells = [
            with_workers(0, &[100, 200, 600]),
            with_workers(1, &[300, 300, 300]),
            with_workers(2, &[900, 0, 0]),
        ];
        let cells: Vec<&Cell> = cells.iter().collect();
        let findings = worker_findings(&cells, true).unwrap();
        assert_eq!(findings.workers, 3);
        let requests = findings.requests;
        assert_eq!(
            [requests.least, requests.median, requests.most].map(|spread| spread.median),
            [100.0, 200.0, 600.0]
        );
        let Spread {
            min, median, max, ..
        } = requests.most_to_mean;
        assert_eq!([min, median, max], [1.0, 2.0, 3.0]);
        assert_eq!(findings.connections.unwrap().most.median, 60.0);
        assert_eq!(worker_findings(&cells, false).unwrap().connections, None);
    }

    #[test]
    fn one_worker_has_no_spread() {
        let one = with_workers(0, &[100]);
        assert_eq!(worker_findings(&[&one], true), None);
    }
}
