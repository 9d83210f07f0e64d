//! Tables A.2 and A.3: a row for each size of a message, a column for each mechanism.

use rungs_primitives::row::Family;

use super::{MARKS, Notes, Section, cell, documented, key_at, placed, reference};
use crate::primitives::report::key::{PLACEMENTS, Rows};
use crate::primitives::report::reference as documents;
use crate::quantity::whole;
use crate::render::tables::{Group, Head, Table};

const FAMILY: Family = Family::Bandwidth;

pub(super) fn section(rows: Rows) -> Section {
    let mechanisms = rows.mechanisms(FAMILY);
    let sizes = rows.parameters(FAMILY);
    let mut notes = Notes::default();
    let ours: Vec<Group> = PLACEMENTS
        .map(|placement| {
            let mut line = |&bytes: &usize| {
                let row = |mechanism: &&str| rows.find(key_at(FAMILY, mechanism, bytes), placement);
                let cells = mechanisms
                    .iter()
                    .map(|mechanism| cell(row(mechanism), &mut notes));
                [whole(bytes as u64)].into_iter().chain(cells).collect()
            };
            placed(placement, sizes.iter().map(&mut line).collect())
        })
        .into();
    let theirs = documents::systems(FAMILY).map(|system| {
        let line = |&bytes: &usize| {
            let value =
                |mechanism: &&str| documents::text(system, key_at(FAMILY, mechanism, bytes));
            let cells = mechanisms
                .iter()
                .map(|mechanism| reference(value(mechanism)));
            [whole(bytes as u64)].into_iter().chain(cells).collect()
        };
        documented(system, sizes.iter().map(line).collect())
    });
    let columns = mechanisms
        .iter()
        .map(|mechanism| super::number_head((*mechanism).to_owned()));
    Section {
        table: Table {
            title: "Tables A.2 and A.3: bandwidth",
            caption: format!(
                "MB/s (10⁶ bytes), one way between two processes, by bytes in a message; the document's machines below ours. {MARKS}"
            )
            .into(),
            grouped_by: Head::text("where"),
            columns: [Head::number("bytes")].into_iter().chain(columns).collect(),
            groups: ours.into_iter().chain(theirs).collect(),
        },
        notes: notes.finish(rows.of(FAMILY)),
    }
}
