//! Tables for a terminal.

use comfy_table::{ContentArrangement, LineStyle, Table, presets};

/// An empty table with this header: columns of text, and a rule under their names.
#[must_use]
pub fn plain(header: &[&str]) -> Table {
    let rule = LineStyle::none().fill('─').junction('─');
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING.header_separator(rule))
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_header(header);
    table
}
