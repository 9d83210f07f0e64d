//! Figures of single cells, for the table that lists them all.

use std::collections::HashMap;

use super::{client_busy_share, control_of, server_busy_share};
use crate::record::{Cell, Cost, Run};

/// What a cell shows beside what it records.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CellFigures {
    /// Its cost over the control's cost in the same block, both as measured; none for a control, and without a valid control.
    pub cost_to_control: Option<f64>,
    /// Share of the CPUs that its threads can use that the server was on, 0 to 1.
    pub server_busy_share: Option<f64>,
    /// The same of the load generator.
    pub client_busy_share: Option<f64>,
}

/// The figures of each cell, in the cells' order.
#[must_use]
pub fn cell_figures(run: &Run, cells: &[Cell]) -> Vec<CellFigures> {
    let total_cost = |cell: &Cell| cell.cost().map(Cost::total_us);
    let place = |label, cell: &Cell| (label, cell.planned.block, cell.planned.connections_asked);
    let costs: HashMap<(&str, u32, u32), f64> = cells
        .iter()
        .filter(|cell| cell.is_valid())
        .filter_map(|cell| {
            Some((
                place(cell.planned.entrant.as_str(), cell),
                total_cost(cell)?,
            ))
        })
        .collect();
    let controls: HashMap<&str, &str> = run
        .matrix
        .entrants
        .iter()
        .filter(|entrant| !entrant.control)
        .filter_map(|entrant| {
            Some((
                entrant.label.as_str(),
                control_of(run, entrant)?.label.as_str(),
            ))
        })
        .collect();
    let cost_to_control = |cell: &Cell| {
        let control = controls.get(cell.planned.entrant.as_str())?;
        let floor = costs
            .get(&place(control, cell))
            .filter(|cost| **cost > 0.0)?;
        Some(total_cost(cell)? / floor)
    };
    cells
        .iter()
        .map(|cell| CellFigures {
            cost_to_control: cost_to_control(cell),
            server_busy_share: cell
                .server
                .as_ref()
                .and_then(|server| server_busy_share(run, &cell.planned.entrant, server)),
            client_busy_share: client_busy_share(run, cell),
        })
        .collect()
}
