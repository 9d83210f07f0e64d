//! Bars as rows of a table, which the page draws by itself: they need no script, and print.

use crate::figure::Bars;

/// One bar.
pub(super) struct BarView {
    pub(super) label: String,
    pub(super) colour: String,
    /// Widths of the parts, percent of the track.
    pub(super) parts: Vec<String>,
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
                value
                    .parts
                    .iter()
                    .map(|part| written(percent(*part)))
                    .collect()
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
