//! The table of the article on ZeroMQ.

use rungs_primitives::cell::{MESSAGE_BYTES, MESSAGES};
use rungs_primitives::row::{Family, Outcome, Placement, Row, Value};

use super::{MARKS, Notes, Section, absent, placed, reference, spread};
use crate::primitives::report::key::{Key, PLACEMENTS, Rows};
use crate::primitives::report::reference::{self as documents, System};
use crate::quantity::{large, significant};
use crate::render::tables::{Head, NOTHING, Table};

const FAMILY: Family = Family::Messages;

pub(super) fn section(rows: Rows) -> Section {
    let mut notes = Notes::default();
    let groups = PLACEMENTS.map(|placement| placed(placement, group(rows, placement, &mut notes)));
    Section {
        table: Table {
            title: "Messages: ZeroMQ, queues and sockets",
            caption: format!(
                "Seconds for 2,000,000 messages of 1,032 bytes from one process to another, which checks each; those that are lost are \
                 made up for. Reader CPU: of all the reader's threads. The article's machine, on the right: an i7 with 4 cores, Linux 5.4, \
                 nothing pinned. {MARKS}"
            )
            .into(),
            grouped_by: Head::text("placement"),
            columns: vec![
                Head::text("mechanism"),
                Head::number("wall, s"),
                Head::number("spread"),
                Head::number("min, s"),
                Head::number("reader CPU, s"),
                Head::number("messages/s"),
                Head::number("MB/s"),
                Head::number("lost"),
                Head::number("article: wall, s"),
                Head::number("article: reader CPU, s"),
            ],
            groups: groups.into_iter().filter(|group| !group.rows.is_empty()).collect(),
        },
        notes: notes.finish(rows.of(FAMILY)),
    }
}

fn group(rows: Rows, placement: Placement, notes: &mut Notes) -> Vec<Vec<String>> {
    let placed = rows.of(FAMILY).filter(|row| row.placement == placement);
    placed
        .map(|row| {
            let mut cells = figures(row, notes);
            cells.push(reference(documents::text(System::Linux54, Key::of(row))));
            cells.push(reference(documents::reader_cpu_s(&row.mechanism)));
            cells
        })
        .collect()
}

fn figures(row: &Row, notes: &mut Notes) -> Vec<String> {
    let mut cells = vec![row.mechanism.clone()];
    if let Outcome::Value(value) = &row.outcome {
        let per_second = MESSAGES as f64 / value.median;
        cells.extend([
            significant(value.median),
            spread(value),
            significant(value.min),
            value
                .reader_cpu_s
                .map_or_else(|| NOTHING.to_owned(), significant),
            large(per_second),
            significant(per_second * MESSAGE_BYTES as f64 / 1e6),
            lost(value),
        ]);
    } else {
        cells.push(absent(row, notes));
        cells.extend([NOTHING; 6].map(str::to_owned));
    }
    cells
}

/// The share of messages that did not arrive; nothing where none can be lost.
fn lost(value: &Value) -> String {
    let sent = value.operations as f64 * value.repetitions.len() as f64;
    match value.lost {
        None => NOTHING.to_owned(),
        Some(0) => "none".to_owned(),
        Some(lost) => format!("{:.2}%", 100.0 * lost as f64 / sent),
    }
}
