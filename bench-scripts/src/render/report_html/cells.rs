//! Every cell with its reasons: rows for the script that sorts, filters and shows them page by page.

use serde::Serialize;

use super::json;
use crate::analyse::{CellFigures, cell_figures};
use crate::record::{Cell, Cost, Run};

/// The rows as JSON: `entrants`, their labels, and `rows`, a list of columns for each cell, as [`COLUMNS`] has them.
pub(super) fn data(run: &Run, cells: &[Cell]) -> String {
    let labels: Vec<&str> = labels(run).collect();
    let rows: Vec<Row> = cells
        .iter()
        .zip(cell_figures(run, cells))
        .map(|(cell, figures)| Row::new(cell, figures, &labels))
        .collect();
    json::in_script(&json::object([
        ("entrants", json::string(&labels).as_str()),
        ("rows", json::string(&rows).as_str()),
    ]))
}

/// A column of the table.
pub(super) struct Column {
    pub(super) head: &'static str,
    /// Decimals of its numbers; none for text.
    pub(super) decimals: Option<u8>,
}

const fn number(head: &'static str, decimals: u8) -> Column {
    Column {
        head,
        decimals: Some(decimals),
    }
}

const fn text(head: &'static str) -> Column {
    Column {
        head,
        decimals: None,
    }
}

/// In the order of the fields of a [`Row`].
pub(super) const COLUMNS: &[Column] = &[
    number("cell", 0),
    number("round", 0),
    text("entrant"),
    number("connections", 0),
    number("attempt", 0),
    number("requests/min", 0),
    number("cost, µs, as measured", 2),
    number("cost ÷ null", 2),
    number("p99, µs", 0),
    number("server CPU, %", 0),
    number("client CPU, %", 0),
    text("valid, or why not"),
];

#[derive(Serialize)]
struct Row(
    usize,
    u32,
    /// Position among the labels.
    Option<usize>,
    u32,
    u32,
    Option<f64>,
    Option<f64>,
    Option<f64>,
    Option<f64>,
    Option<f64>,
    Option<f64>,
    /// Empty where the cell is valid.
    String,
);

impl Row {
    fn new(cell: &Cell, figures: CellFigures, labels: &[&str]) -> Self {
        let planned = &cell.planned;
        let load = cell.load.as_ref().filter(|load| load.requests > 0);
        let reasons: Vec<String> = cell.reasons().iter().map(ToString::to_string).collect();
        let percent = |share: Option<f64>| rounded(share.map(|share| share * 100.0), 0);
        Self(
            planned.index,
            planned.block + 1,
            labels.iter().position(|label| *label == planned.entrant),
            planned.connections,
            cell.attempt,
            rounded(cell.requests_per_minute(), 0),
            rounded(cell.cost().map(Cost::total_us), 2),
            rounded(figures.cost_to_control, 2),
            rounded(load.map(|load| load.latency.p99_us), 0),
            percent(figures.server_busy_share),
            percent(figures.client_busy_share),
            reasons.join("; "),
        )
    }
}

/// To as many decimals as are shown: what is sorted is what is seen.
fn rounded(value: Option<f64>, decimals: i32) -> Option<f64> {
    let unit = 10_f64.powi(decimals);
    value.map(|value| (value * unit).round() / unit)
}

/// The entrants' labels in the matrix's order.
pub(super) fn labels(run: &Run) -> impl Iterator<Item = &str> {
    run.matrix.entrants.iter().map(|e| e.label.as_str())
}
