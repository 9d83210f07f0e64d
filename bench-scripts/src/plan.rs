//! Matrix and seed make the order of cells.

pub mod rates;

use std::time::Duration;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use crate::matrix::Matrix;
use crate::record::PlannedCell;

/// What a cell takes beside its warm-up and its load: starting, checking and stopping a server, and the load
/// generator's own start and end. Measured with all rungs on two CPUs.
const CELL_OVERHEAD: Duration = Duration::from_millis(300);

/// What a sweep takes beside its cells: preflight, the short verification, the report.
const SWEEP_OVERHEAD: Duration = Duration::from_secs(5);

/// Fewer connections than threads of the load generator.
#[derive(Debug, thiserror::Error)]
#[error(
    "{connections} connections cannot be shared among the load generator's {threads} threads: ask for at least {threads} with --connections, or set fewer `threads` under [load] in the matrix"
)]
pub struct TooFewConnections {
    connections: u32,
    threads: u32,
}

/// The connections that a load generator of `threads` threads opens when it is asked for `asked`: each thread the same
/// number, the remainder none.
///
/// # Errors
///
/// [`TooFewConnections`].
pub fn effective_connections(asked: u32, threads: u32) -> Result<u32, TooFewConnections> {
    if asked < threads {
        return Err(TooFewConnections {
            connections: asked,
            threads,
        });
    }
    Ok(asked - asked % threads)
}

/// Every cell in the order in which it is measured: block by block, each block with every entrant at every connection
/// count once. `seed` decides the order of the counts, and of the entrants at each count.
///
/// The cells of one count follow each other, since they are what is compared: a machine's speed changes less in seconds
/// than in the minute that a block takes (a randomised complete block design, with a count of a round as its block).
///
/// # Errors
///
/// [`TooFewConnections`].
pub fn order(
    matrix: &Matrix,
    load_threads: u32,
    seed: u64,
) -> Result<Vec<PlannedCell>, TooFewConnections> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut order = Vec::with_capacity(cells(matrix));
    for block in 0..matrix.rounds {
        let mut counts = matrix.connections.clone();
        counts.shuffle(&mut rng);
        for asked in counts {
            let begin = order.len();
            for entrant in &matrix.entrants {
                order.push(PlannedCell {
                    index: 0,
                    block,
                    entrant: entrant.label.clone(),
                    connections_asked: asked,
                    connections: effective_connections(asked, load_threads)?,
                });
            }
            order[begin..].shuffle(&mut rng);
        }
    }
    for (index, cell) in order.iter_mut().enumerate() {
        cell.index = index;
    }
    Ok(order)
}

/// Every trace in the order in which it is made: one block, the connection counts ascending, the controls and the contestants
/// at each. The order is not random, since no two of them are compared by their speed.
///
/// # Errors
///
/// [`TooFewConnections`].
pub fn traces(matrix: &Matrix, load_threads: u32) -> Result<Vec<PlannedCell>, TooFewConnections> {
    let mut traces = Vec::new();
    for &asked in matrix.trace.iter().flat_map(|trace| &trace.connections) {
        for entrant in matrix.entrants.iter().filter(|e| e.repeat_of.is_none()) {
            traces.push(PlannedCell {
                index: traces.len(),
                block: 0,
                entrant: entrant.label.clone(),
                connections_asked: asked,
                connections: effective_connections(asked, load_threads)?,
            });
        }
    }
    Ok(traces)
}

/// The counts that cannot be opened as asked, in a sentence; none where all can.
#[must_use]
pub fn rounding(matrix: &Matrix, load_threads: u32) -> Option<String> {
    let rounded: Vec<_> = matrix
        .connections
        .iter()
        .filter(|&asked| asked % load_threads != 0)
        .map(|asked| format!("{asked} → {}", asked - asked % load_threads))
        .collect();
    (!rounded.is_empty()).then(|| {
        format!(
            "the load generator gives each of its {load_threads} threads the same number of connections, so it opens: {}",
            rounded.join(", ")
        )
    })
}

/// How many cells the matrix has.
#[must_use]
pub fn cells(matrix: &Matrix) -> usize {
    matrix.entrants.len() * matrix.connections.len() * matrix.rounds as usize
}

/// How long one cell takes, about.
#[must_use]
pub fn cell_time(matrix: &Matrix) -> Duration {
    matrix.warmup() + matrix.duration() + CELL_OVERHEAD
}

/// How long one trace takes, about: its two loads.
#[must_use]
pub fn trace_time(matrix: &Matrix) -> Duration {
    let load = matrix.trace.as_ref().map_or(0, |trace| trace.duration_s);
    Duration::from_secs(2 * u64::from(load)) + CELL_OVERHEAD
}

/// How long the sweep takes with all passes, about.
#[must_use]
pub fn sweep_time(matrix: &Matrix) -> Duration {
    let cells = u32::try_from(cells(matrix)).unwrap_or(u32::MAX);
    // One thread of the load generator opens any number of connections.
    let traces = traces(matrix, 1).map_or(0, |traces| traces.len());
    let traces = u32::try_from(traces).unwrap_or(u32::MAX);
    SWEEP_OVERHEAD + cell_time(matrix) * cells + rates::time(matrix) + trace_time(matrix) * traces
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matrix() -> Matrix {
        Matrix::find("quick").unwrap()
    }

    #[test]
    fn the_same_seed_gives_the_same_order_and_another_another() {
        let matrix = matrix();
        assert_eq!(order(&matrix, 1, 7).unwrap(), order(&matrix, 1, 7).unwrap());
        assert_ne!(order(&matrix, 1, 7).unwrap(), order(&matrix, 1, 8).unwrap());
    }

    #[test]
    fn each_block_holds_each_cell_once_and_blocks_differ() {
        let matrix = matrix();
        let order = order(&matrix, 1, 1).unwrap();
        let block = |n| -> Vec<_> {
            let cells = order.iter().filter(|cell| cell.block == n);
            cells
                .map(|cell| (cell.entrant.clone(), cell.connections))
                .collect()
        };
        let mut sorted: Vec<_> = (0..matrix.rounds).map(block).collect();
        assert_ne!(sorted[0], sorted[1]);
        sorted.iter_mut().for_each(|block| block.sort());
        assert!(sorted.iter().all(|block| block == &sorted[0]));
        sorted[0].dedup();
        assert_eq!(
            sorted[0].len(),
            matrix.entrants.len() * matrix.connections.len()
        );
        assert!(order.iter().enumerate().all(|(i, cell)| cell.index == i));
        assert!(order.is_sorted_by_key(|cell| cell.block));
        let same_place = |a: &PlannedCell, b: &PlannedCell| {
            (a.block, a.connections_asked) == (b.block, b.connections_asked)
        };
        let stretches = order.chunk_by(same_place).count();
        let counts = matrix.connections.len() * matrix.rounds as usize;
        assert_eq!(stretches, counts, "the cells of a count follow each other");
    }

    #[test]
    fn connections_are_rounded_as_wrk_does_it_and_said() {
        assert_eq!(effective_connections(100, 8).unwrap(), 96);
        assert_eq!(effective_connections(100, 1).unwrap(), 100);
        let message = effective_connections(4, 8).unwrap_err().to_string();
        assert!(message.contains("at least 8"), "{message}");
        let said = rounding(&matrix(), 8).unwrap();
        assert!(said.contains("100 → 96, 215 → 208"), "{said}");
        assert_eq!(rounding(&matrix(), 1), None);
    }

    #[test]
    fn controls_and_contestants_are_traced_once_at_each_count() {
        let mut matrix = matrix();
        let settings = matrix.trace.as_mut().unwrap();
        settings.connections = vec![100, 1000];
        let traces = traces(&matrix, 8).unwrap();
        let first: Vec<_> = traces.iter().take(6).map(|t| t.entrant.as_str()).collect();
        assert_eq!(first, ["null", "epoll", "mio", "uring", "hyper", "axum"]);
        let counts: Vec<_> = traces.iter().map(|t| t.connections_asked).collect();
        assert_eq!(counts, [[100; 6], [1000; 6]].concat());
        assert_eq!(traces[0].connections, 96);
        assert!(traces.iter().enumerate().all(|(i, t)| t.index == i));
    }

    #[test]
    fn quick_and_smoke_keep_their_promises() {
        assert!(sweep_time(&matrix()) < Duration::from_secs(6 * 60));
        assert!(sweep_time(&Matrix::find("smoke").unwrap()) <= Duration::from_secs(35));
    }
}
