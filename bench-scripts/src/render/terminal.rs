//! The table and the sentences at the end of a sweep.

use comfy_table::{CellAlignment, ContentArrangement};

use super::tables::Table;
use super::{lead, tables};
use crate::findings::Findings;
use crate::table;

/// What the run says, a sentence a line.
#[must_use]
pub fn terminal_sentences(findings: &Findings) -> String {
    lead::sentences(findings).join("\n")
}

/// The findings in a few columns, for a terminal.
#[must_use]
pub fn terminal_table(findings: &Findings) -> String {
    text(&tables::summary(findings))
}

/// A table with a blank line between its groups.
pub(crate) fn text(filled: &Table) -> String {
    let heads = filled.columns.iter().map(|column| column.head.as_ref());
    let header: Vec<&str> = [filled.grouped_by.head.as_ref()]
        .into_iter()
        .chain(heads)
        .collect();
    let mut table = table::plain(&header);
    // Whatever the terminal's width: a column that wraps is harder to read than a line that does.
    table.set_content_arrangement(ContentArrangement::Disabled);
    for (position, group) in filled.groups.iter().enumerate() {
        if position > 0 {
            table.add_row([""]);
        }
        for (position, row) in group.rows.iter().enumerate() {
            let connections = if position == 0 {
                group.name.as_str()
            } else {
                ""
            };
            table.add_row(
                [connections]
                    .into_iter()
                    .chain(row.iter().map(String::as_str)),
            );
        }
    }
    for (position, column) in table.column_iter_mut().enumerate() {
        let text = position > 0 && filled.columns[position - 1].text;
        if !text {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.trim_fmt()
}
