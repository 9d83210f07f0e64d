//! Rows and families as a terminal shows them.

use rungs_primitives::row::{Family, Outcome, Row};

use super::key::{Key, Rows, absence, placement_name};
use super::tables::{of_family, spread};
use crate::quantity::significant;
use crate::render::terminal;

/// What a row is about: `pipe at 4,096 bytes, across CPUs`.
#[must_use]
pub fn name(row: &Row) -> String {
    let at = Key::of(row).at_words();
    let at = at.map_or(String::new(), |at| format!(" at {at}"));
    format!("{}{at}, {}", row.mechanism, placement_name(row.placement))
}

/// Its value with its spread, or why there is none.
#[must_use]
pub fn outcome(row: &Row) -> String {
    match &row.outcome {
        Outcome::Value(value) => format!(
            "{} {} {}",
            significant(value.median),
            value.unit.name(),
            spread(value)
        ),
        Outcome::Absent(_) | Outcome::Failed(_) => absence(row).unwrap_or_default(),
    }
}

/// The table of a family, with its title and what is said below it.
#[must_use]
pub fn terminal_table(family: Family, rows: &[Row]) -> String {
    let section = of_family(family, Rows(rows));
    let table = &section.table;
    let mut lines = vec![
        String::new(),
        table.title.to_owned(),
        terminal::text(table),
        table.caption.to_string(),
    ];
    lines.extend(section.notes);
    lines.join("\n")
}
