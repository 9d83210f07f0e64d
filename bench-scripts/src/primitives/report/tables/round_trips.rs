//! Table A.1, and what a reader wants today beside it: a row for each mechanism.

use rungs_primitives::row::{Each, Family, Outcome, Placement, Row};

use super::{MARKS, Notes, Section, absent, placed, reference, spread, waits};
use crate::primitives::report::key::{Key, PLACEMENTS, Rows};
use crate::primitives::report::reference::{self as documents, System};
use crate::quantity::significant;
use crate::render::tables::{Group, Head, NOTHING, Table};

/// Table A.1.
pub(super) fn latency(rows: Rows) -> Section {
    section(
        rows,
        Family::Latency,
        "Table A.1: a byte there and back",
        format!(
            "µs of a round trip between two processes. p50 and p99 are of single round trips, timed one by one. The documents' \
             machines, on the right, had one CPU: same CPU is the like of it. {MARKS}"
        ),
    )
}

/// The hand-offs of a runtime.
pub(super) fn wakeups(rows: Rows) -> Section {
    section(
        rows,
        Family::Wakeups,
        "Wake-ups: a word there and back inside a process",
        format!(
            "µs of a round trip between two threads, or two tasks of one; half of it is one hand-off. p50 and p99 are of single \
             round trips. {MARKS}"
        ),
    )
}

fn section(rows: Rows, family: Family, title: &'static str, caption: String) -> Section {
    let systems: Vec<System> = documents::systems(family).collect();
    let mut columns = vec![
        Head::text("mechanism"),
        Head::number("median, µs"),
        Head::number("spread"),
        Head::number("min, µs"),
        Head::number("p50, µs"),
        Head::number("p99, µs"),
        Head::text("who waits"),
    ];
    columns.extend(
        systems
            .iter()
            .map(|s| super::number_head(format!("{}, µs", s.name()))),
    );
    let mut notes = Notes::default();
    let groups: Vec<Group> = PLACEMENTS
        .map(|placement| {
            placed(
                placement,
                group(rows, family, placement, &systems, &mut notes),
            )
        })
        .into();
    Section {
        table: Table {
            title,
            caption: caption.into(),
            grouped_by: Head::text("placement"),
            columns,
            groups: groups
                .into_iter()
                .filter(|group| !group.rows.is_empty())
                .collect(),
        },
        notes: notes.finish(rows.of(family)),
    }
}

fn group(
    rows: Rows,
    family: Family,
    placement: Placement,
    systems: &[System],
    notes: &mut Notes,
) -> Vec<Vec<String>> {
    let placed = rows.of(family).filter(|row| row.placement == placement);
    placed
        .map(|row| {
            let of_document = |system: &System| reference(documents::text(*system, Key::of(row)));
            let mut cells = figures(row, notes);
            cells.extend(systems.iter().map(of_document));
            cells
        })
        .collect()
}

fn figures(row: &Row, notes: &mut Notes) -> Vec<String> {
    let mut cells = vec![row.mechanism.clone()];
    match &row.outcome {
        Outcome::Value(value) => {
            let each = |of: fn(&Each) -> f64| {
                let each = value.each.as_ref();
                each.map_or_else(|| NOTHING.to_owned(), |each| significant(of(each)))
            };
            cells.extend([
                significant(value.median),
                spread(value),
                significant(value.min),
                each(|each| each.p50_us),
                each(|each| each.p99_us),
            ]);
        }
        Outcome::Absent(_) | Outcome::Failed(_) => {
            cells.push(absent(row, notes));
            cells.extend([NOTHING; 4].map(str::to_owned));
        }
    }
    cells.push(waits(row.waits).to_owned());
    cells
}
