//! Tables A.4 to A.7: a row for each lock, a column for each number of workers.

use rungs_primitives::row::Family;

use super::{
    MARKS, Notes, OVERSUBSCRIBED, Section, cell, documented, key_at, placed, reference, waits,
};
use crate::primitives::report::key::{PLACEMENTS, Rows};
use crate::primitives::report::reference as documents;
use crate::render::tables::{Group, Head, NOTHING, Table};

/// Tables A.4 and A.5.
pub(super) fn threads(rows: Rows) -> Section {
    section(
        rows,
        Family::Threads,
        "Tables A.4 and A.5: a counter that threads share",
        "threads",
    )
}

/// Tables A.6 and A.7.
pub(super) fn processes(rows: Rows) -> Section {
    section(
        rows,
        Family::Processes,
        "Tables A.6 and A.7: a counter that processes share",
        "processes",
    )
}

fn section(rows: Rows, family: Family, title: &'static str, workers: &str) -> Section {
    let locks = rows.mechanisms(family);
    let counts = rows.parameters(family);
    let mut notes = Notes::default();
    let ours: Vec<Group> = PLACEMENTS
        .map(|placement| {
            let mut line = |lock: &&str| {
                let found = |&count: &usize| rows.find(key_at(family, lock, count), placement);
                let first = counts.iter().find_map(found);
                let mut cells = vec![(*lock).to_owned()];
                cells.extend(counts.iter().map(|count| cell(found(count), &mut notes)));
                cells.push(first.map_or(NOTHING, |row| waits(row.waits)).to_owned());
                cells
            };
            placed(placement, locks.iter().map(&mut line).collect())
        })
        .into();
    let theirs = documents::systems(family).map(|system| {
        let value = |lock: &str, count: usize| documents::text(system, key_at(family, lock, count));
        let has_any = |lock: &&&str| counts.iter().any(|&count| value(lock, count).is_some());
        let line = |lock: &&str| {
            let mut cells = vec![(*lock).to_owned()];
            cells.extend(counts.iter().map(|&count| reference(value(lock, count))));
            cells.push(NOTHING.to_owned());
            cells
        };
        documented(system, locks.iter().filter(has_any).map(line).collect())
    });
    let of_counts = counts
        .iter()
        .map(|count| super::number_head(heading(family, *count)));
    Section {
        table: Table {
            title,
            caption: format!(
                "Seconds in which each of 1 to 5 {workers} adds 1 to a shared counter 1,000,000 times, under the lock; one alone is \
                 the same on any CPU. {OVERSUBSCRIBED}: more {workers} than CPUs. The document's machines are below ours. {MARKS}"
            )
            .into(),
            grouped_by: Head::text("where"),
            columns: [Head::text("lock")]
                .into_iter()
                .chain(of_counts)
                .chain([Head::text("who waits")])
                .collect(),
            groups: ours.into_iter().chain(theirs).collect(),
        },
        notes: notes.finish(rows.of(family)),
    }
}

/// `2 threads, s`.
fn heading(family: Family, count: usize) -> String {
    let words = key_at(family, "", count).at_words();
    format!("{}, s", words.unwrap_or_default())
}
