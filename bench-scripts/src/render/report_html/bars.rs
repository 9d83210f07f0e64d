//! Bars as rows of a table, which the page draws by itself: they need no script, and print.

use crate::figure::Bars;
use crate::figure::palette::Fill;

/// A part of a bar, or its entry in the legend.
pub(super) struct PartView {
    /// The name in the legend, or the width, percent of the track.
    pub(super) content: String,
    pub(super) class: String,
    /// A colour of its own; none where it has the bar's.
    pub(super) colour: Option<String>,
}

/// One bar.
pub(super) struct BarView {
    pub(super) label: String,
    pub(super) colour: String,
    pub(super) parts: Vec<PartView>,
    /// Start and width of the range over rounds, percent of the track.
    pub(super) range: Option<(String, String)>,
    /// Places of invalid cells, percent of the track.
    pub(super) invalid: Vec<String>,
    pub(super) text: String,
    pub(super) remark: String,
}

/// Top of the ladder first: the bottom is at the bottom.
pub(super) fn rows(bars: &Bars) -> Vec<BarView> {
    let percent = |value: f64| bars.axis.scale.position(value) * 100.0;
    let written = |share: f64| format!("{share:.2}%");
    let rows = bars.rows.iter().rev().map(|row| {
        let value = row.value.as_ref();
        BarView {
            label: row.label.clone(),
            colour: row.style.colour.css(),
            parts: value.map_or_else(Vec::new, |value| {
                let widths = value.parts.iter().map(|part| written(percent(*part)));
                let parts = widths.enumerate();
                parts.map(|(n, width)| part(bars, n, width)).collect()
            }),
            range: value.filter(|value| value.high > value.low).map(|value| {
                let (low, high) = (percent(value.low), percent(value.high));
                (written(low), written(high - low))
            }),
            invalid: row
                .invalid
                .iter()
                .map(|value| written(percent(*value)))
                .collect(),
            text: value.map_or("no valid cell".to_owned(), |value| value.text.clone()),
            remark: value
                .and_then(|value| value.remark.clone())
                .unwrap_or_default(),
        }
    });
    rows.collect()
}

/// The parts of a bar as a legend names them.
pub(super) fn legend(bars: &Bars) -> Vec<PartView> {
    let parts = bars.parts.iter().enumerate();
    parts
        .map(|(position, named)| part(bars, position, named.name.to_owned()))
        .collect()
}

fn part(bars: &Bars, position: usize, content: String) -> PartView {
    let (class, colour) = match bars.fill(position) {
        Fill::OfBar { .. } => (format!("part-{}", position + 1), None),
        Fill::Plain(colour) => ("plain".to_owned(), Some(colour.css())),
        Fill::Striped(colour) => ("striped".to_owned(), Some(colour.css())),
    };
    PartView {
        content,
        class,
        colour,
    }
}
