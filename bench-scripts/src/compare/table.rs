//! A comparison in a terminal.

use std::fmt::Write;

use comfy_table::CellAlignment;

use super::{Change, Comparison, Line, Verdict};
use crate::{quantity, table};

/// The table of a comparison, and what it comes to.
#[must_use]
pub fn text(comparison: &Comparison) -> String {
    let mut table = table::plain(&[
        "entrant",
        "connections",
        "× null before",
        "× null after",
        "cost, change",
        "95% interval",
        "",
        "rate, change",
        "95% interval",
        "",
    ]);
    for entrant in &comparison.entrants {
        for (position, line) in entrant.lines.iter().enumerate() {
            let label = if position == 0 { &entrant.label } else { "" };
            table.add_row([vec![label.to_owned()], row(line)].concat());
        }
    }
    for column in [1, 2, 3, 4, 5, 7, 8] {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let mut text = table.trim_fmt();
    let _ = write!(
        text,
        "\n\ncost, in lines: {}\nrate, in lines: {}\nChanges are of the ratio to null in the same round. In each column, the chance of even one false verdict is at most 5%.",
        summary(comparison, |line| line.cost),
        summary(comparison, |line| line.rate)
    );
    text
}

fn row(line: &Line) -> Vec<String> {
    let connections = line
        .connections_asked
        .map_or("all".to_owned(), |count| quantity::whole(count.into()));
    let ratio = |pick: fn(Change) -> f64| {
        line.cost
            .map_or("–".to_owned(), |cost| format!("{:.3}", pick(cost)))
    };
    let mut row = vec![connections, ratio(|c| c.before), ratio(|c| c.after)];
    for change in [line.cost, line.rate] {
        row.push(change.map_or("–".to_owned(), |change| percent(change.ratio)));
        let interval = change.and_then(|change| change.interval);
        row.push(interval.map_or("–".to_owned(), |interval| {
            format!("{} to {}", percent(interval.low), percent(interval.high))
        }));
        row.push(verdict(change).to_owned());
    }
    row
}

/// A ratio as a change: `+10.2%`.
fn percent(ratio: f64) -> String {
    let percent = 100.0 * (ratio - 1.0);
    format!("{percent:+.1}%").replace('-', "−")
}

const WORSE: &str = "worse";
const IMPROVED: &str = "improved";
const TIE: &str = "tie";
const TOO_FEW: &str = "too few rounds";
const NO_PAIR: &str = "no valid pair";

fn verdict(change: Option<Change>) -> &'static str {
    match change.map(|change| change.verdict) {
        None => NO_PAIR,
        Some(Verdict::Improved) => IMPROVED,
        Some(Verdict::Worse) => WORSE,
        Some(Verdict::Tie) => TIE,
        Some(Verdict::TooFewBlocks) => TOO_FEW,
    }
}

/// How many lines have which verdict.
fn summary(comparison: &Comparison, figure: fn(&Line) -> Option<Change>) -> String {
    let lines = || comparison.entrants.iter().flat_map(|e| &e.lines);
    let count = |kind| lines().filter(|line| verdict(figure(line)) == kind).count();
    let counts: Vec<_> = [WORSE, IMPROVED, TIE, TOO_FEW, NO_PAIR]
        .into_iter()
        .map(|kind| (kind, count(kind)))
        .filter(|(_, count)| *count > 0)
        .map(|(kind, count)| format!("{kind} {count}"))
        .collect();
    counts.join(", ")
}
