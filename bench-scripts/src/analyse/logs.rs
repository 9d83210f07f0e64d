//! Figures of a run as logarithms: a ratio becomes a difference, and noise that grows with the figure becomes even.

use std::collections::BTreeMap;

use super::Index;
use crate::matrix::Matrix;
use crate::record::Cell;

/// Natural logarithm of one figure, by block.
pub(super) type Blocks = BTreeMap<u32, f64>;

/// One figure of every valid cell: by entrant and connection count, both in the matrix's order.
pub(super) struct Logs {
    points: Vec<Vec<Blocks>>,
}

impl Logs {
    pub(super) fn new(
        matrix: &Matrix,
        index: &Index,
        figure: impl Fn(&Cell) -> Option<f64>,
    ) -> Self {
        let blocks = |label: &str, connections: u32| -> Blocks {
            let cells = index.group(label, connections).iter();
            cells
                .filter(|cell| cell.is_valid())
                .filter_map(|cell| Some((cell.planned.block, figure(cell).filter(|f| *f > 0.0)?)))
                .map(|(block, figure)| (block, figure.ln()))
                .collect()
        };
        let of_entrant = |label: &str| {
            let counts = matrix.connections.iter();
            counts.map(|&count| blocks(label, count)).collect()
        };
        let entrants = matrix.entrants.iter();
        Self {
            points: entrants.map(|entrant| of_entrant(&entrant.label)).collect(),
        }
    }

    pub(super) fn counts(&self) -> usize {
        self.points.first().map_or(0, Vec::len)
    }

    /// The figure of an entrant at a connection count.
    pub(super) fn point(&self, entrant: usize, count: usize) -> &Blocks {
        &self.points[entrant][count]
    }

    /// The same over another entrant's: one logarithm of a ratio for each block that has both.
    pub(super) fn ratio(&self, entrant: usize, to: usize, count: usize) -> Blocks {
        let to = self.point(to, count);
        let own = self.point(entrant, count).iter();
        own.filter_map(|(block, log)| Some((*block, log - to.get(block)?)))
            .collect()
    }
}
