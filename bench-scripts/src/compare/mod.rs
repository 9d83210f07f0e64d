//! `rungs compare`: what changed between two runs, with intervals and verdicts.
//!
//! What is compared is an entrant's ratio to the control in the same block, of cost and of rate: that cancels whatever
//! the machine did between the two runs to both alike. docs/method.md says how.

mod guard;
pub mod statistics;
mod table;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use anyhow::bail;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::analyse::{Distance, control_of};
use crate::difference::{self, Difference};
use crate::holm::holm;
use crate::matrix::Entrant;
use crate::record::{Cell, SCHEMA_VERSION};
use crate::report::Record;
use crate::robust::Scale;
use statistics::{Sample, Welch};

pub use guard::{FailOn, Judgement};
pub use table::text;

/// The confidence of every interval, 0 to 1.
pub const CONFIDENCE: f64 = 0.95;

/// What changed between two runs.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Comparison {
    /// [`SCHEMA_VERSION`] of the writer.
    pub schema: u32,
    /// The first run.
    pub before: RunName,
    /// The second run.
    pub after: RunName,
    /// In what the runs differ besides their numbers.
    pub differences: Vec<Difference>,
    /// The entrants that both have, controls left out, in the first run's order.
    pub entrants: Vec<EntrantChanges>,
}

/// Which run it is.
#[derive(Clone, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct RunName {
    /// Its directory, as given.
    pub dir: String,
    /// Name of its matrix.
    pub matrix: String,
    /// When it began, RFC 3339, UTC.
    pub started_at: String,
}

/// What changed of one entrant.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct EntrantChanges {
    /// Its label in both runs.
    pub label: String,
    /// A line over all common connection counts, if there are several, and one for each of them.
    pub lines: Vec<Line>,
}

/// What changed of one entrant at one connection count, or over all.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Line {
    /// Connections asked for; none for the line over all common counts: the mean in each block of the logarithms.
    pub connections_asked: Option<u32>,
    /// Server CPU time per request over the control's in the same block; none where a run has no block with both.
    pub cost: Option<Change>,
    /// Requests per minute over the control's in the same block; none where a run has no block with both.
    pub rate: Option<Change>,
}

/// How a ratio to the control changed from one run to the other.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// The ratio to the control before: the geometric mean over blocks.
    pub before: f64,
    /// The ratio to the control after.
    pub after: f64,
    /// Blocks that `before` rests on.
    pub blocks_before: u64,
    /// Blocks that `after` rests on.
    pub blocks_after: u64,
    /// `after` over `before`.
    pub ratio: f64,
    /// The 95% interval of `ratio`; none where a run has a single block.
    pub interval: Option<Interval>,
    /// What it comes to, all lines of the comparison taken together.
    pub verdict: Verdict,
}

/// Where a ratio lies, and how surprising it is.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Interval {
    /// Its lower end.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
    /// The chance of such a change, or a larger one, where there is none in truth; of this line alone.
    pub p_value: f64,
}

/// What a change comes to.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Better after: cheaper, or a higher rate.
    Improved,
    /// Worse after.
    Worse,
    /// No difference that the noise would not explain.
    Tie,
    /// A run has fewer than two blocks: nothing can be said.
    TooFewBlocks,
}

/// Compares two runs.
///
/// # Errors
///
/// If they have nothing in common that could be compared.
pub fn compare(before: (&Path, &Record), after: (&Path, &Record)) -> anyhow::Result<Comparison> {
    let (b, a) = (&before.1.run, &after.1.run);
    if b.matrix.path != a.matrix.path {
        bail!(
            "the two runs cannot be compared: one asked for {}, the other for {}",
            b.matrix.path,
            a.matrix.path
        );
    }
    let entrants: Vec<_> = common_entrants(before.1, after.1).collect();
    let counts: Vec<u32> = (b.matrix.connections.iter().copied())
        .filter(|count| a.matrix.connections.contains(count))
        .collect();
    if entrants.is_empty() || counts.is_empty() {
        bail!(
            "the two runs cannot be compared: they have no {} in common ({})",
            if entrants.is_empty() {
                "entrant besides the control"
            } else {
                "connection count"
            },
            difference::in_words(&difference::between_matrices(&b.matrix, &a.matrix))
        );
    }
    let (before_entrants, after_entrants): (Vec<_>, Vec<_>) = entrants.into_iter().unzip();
    let sides = [
        (Blocks::of(before.1), before_entrants.as_slice()),
        (Blocks::of(after.1), after_entrants.as_slice()),
    ];
    let changes = |figure: Figure| {
        let [before, after] = sides
            .each_ref()
            .map(|(blocks, entrants)| blocks.lines(entrants, &counts, figure).into_iter());
        before.zip(after).map(|(before, after)| {
            let lines = before.iter().zip(&after);
            lines
                .map(|(before, after)| change(before, after))
                .collect::<Vec<_>>()
        })
    };
    let costs = changes(Distance::total_cost);
    let rates = changes(|_, cell| cell.requests_per_minute());
    let all = (counts.len() > 1).then_some(None);
    let names: Vec<Option<u32>> = all
        .into_iter()
        .chain(counts.iter().copied().map(Some))
        .collect();
    let mut entrants: Vec<_> = before_entrants
        .iter()
        .zip(costs.zip(rates))
        .map(|(entrant, (costs, rates))| EntrantChanges {
            label: entrant.label.clone(),
            lines: names
                .iter()
                .zip(costs.into_iter().zip(rates))
                .map(|(&connections_asked, (cost, rate))| Line {
                    connections_asked,
                    cost,
                    rate,
                })
                .collect(),
        })
        .collect();
    judge(&mut entrants, |line| &mut line.cost, Better::Lower);
    judge(&mut entrants, |line| &mut line.rate, Better::Higher);
    Ok(Comparison {
        schema: SCHEMA_VERSION,
        before: name(before),
        after: name(after),
        differences: difference::between_runs(b, a),
        entrants,
    })
}

fn name((dir, record): (&Path, &Record)) -> RunName {
    RunName {
        dir: dir.display().to_string(),
        matrix: record.run.matrix.name.clone(),
        started_at: record.run.started_at.clone(),
    }
}

fn common_entrants<'a>(
    before: &'a Record,
    after: &'a Record,
) -> impl Iterator<Item = (&'a Entrant, &'a Entrant)> {
    let contestants = |record: &'a Record| record.run.matrix.entrants.iter().filter(|e| !e.control);
    contestants(before).filter_map(move |entrant| {
        let other = contestants(after).find(|other| other.label == entrant.label)?;
        Some((entrant, other))
    })
}

/// What is measured of a cell, corrected to its run's usual distance of CPUs.
type Figure = fn(&Distance, &Cell) -> Option<f64>;

/// A run's valid cells by entrant, connections asked for, and block.
struct Blocks<'a> {
    record: &'a Record,
    distance: Distance,
    cells: HashMap<(&'a str, u32, u32), &'a Cell>,
}

/// The logarithm of a ratio to the control, by block.
type LogRatios = BTreeMap<u32, f64>;

impl<'a> Blocks<'a> {
    fn of(record: &'a Record) -> Self {
        let valid = record.cells.iter().filter(|cell| cell.is_valid());
        let key = |cell: &'a Cell| {
            let planned = &cell.planned;
            (
                planned.entrant.as_str(),
                planned.connections_asked,
                planned.block,
            )
        };
        Self {
            record,
            distance: Distance::learn(&record.cells),
            cells: valid.map(|cell| (key(cell), cell)).collect(),
        }
    }

    fn figure(&self, entrant: &str, connections: u32, block: u32, figure: Figure) -> Option<f64> {
        let cell = self.cells.get(&(entrant, connections, block))?;
        figure(&self.distance, cell).filter(|value| *value > 0.0)
    }

    /// An entrant at one count: the blocks where it and its control are valid.
    fn at(&self, entrant: &Entrant, connections: u32, figure: Figure) -> LogRatios {
        let Some(control) = control_of(&self.record.run, entrant) else {
            return LogRatios::new();
        };
        let ratio = |block| {
            let own = self.figure(&entrant.label, connections, block, figure)?;
            let of_control = self.figure(&control.label, connections, block, figure)?;
            Some((block, (own / of_control).ln()))
        };
        (0..self.record.run.matrix.rounds)
            .filter_map(ratio)
            .collect()
    }

    /// The lines of several entrants: over all counts, if there are several, and at each of them. A block that is far off counts
    /// only so far.
    fn lines(&self, entrants: &[&Entrant], counts: &[u32], figure: Figure) -> Vec<Vec<LogRatios>> {
        let each = |entrant: &&Entrant| -> Vec<LogRatios> {
            let at = |count: &u32| self.at(entrant, *count, figure);
            counts.iter().map(at).collect()
        };
        let mut each: Vec<_> = entrants.iter().map(each).collect();
        let mut over_all: Vec<_> = each.iter().map(|at_each| over_all(at_each)).collect();
        bound(each.iter_mut().flatten().collect());
        bound(over_all.iter_mut().collect());
        if counts.len() > 1 {
            for (at_each, over_all) in each.iter_mut().zip(over_all) {
                at_each.insert(0, over_all);
            }
        }
        each
    }
}

/// Bounds how much a value far off the others of its line counts, by what is usual of these lines.
fn bound(lines: Vec<&mut LogRatios>) {
    let values = |line: &LogRatios| line.values().copied().collect::<Vec<_>>();
    let scale = Scale::of(&lines.iter().map(|line| values(line)).collect::<Vec<_>>());
    for line in lines {
        let pseudo_values = scale.pseudo_values(&values(line));
        for (ratio, pseudo_value) in line.values_mut().zip(pseudo_values) {
            *ratio = pseudo_value;
        }
    }
}

/// The mean over counts, in the blocks that lack none of them: another mixture of counts would be another mean.
fn over_all(at_each: &[LogRatios]) -> LogRatios {
    let Some((first, others)) = at_each.split_first() else {
        return LogRatios::new();
    };
    let mean = |(block, first): (&u32, &f64)| {
        let others = others.iter().map(|ratios| ratios.get(block).copied());
        let sum = others.sum::<Option<f64>>()? + first;
        Some((*block, sum / at_each.len() as f64))
    };
    first.iter().filter_map(mean).collect()
}

/// The change of a ratio, not yet judged.
fn change(before: &LogRatios, after: &LogRatios) -> Option<Change> {
    let sample = |ratios: &LogRatios| Sample::of(&ratios.values().copied().collect::<Vec<_>>());
    let (before, after) = (sample(before)?, sample(after)?);
    let interval = Welch::between(&before, &after).map(|welch| {
        let (low, high) = welch.interval(CONFIDENCE);
        Interval {
            low: low.exp(),
            high: high.exp(),
            p_value: welch.p_value(),
        }
    });
    Some(Change {
        before: before.mean.exp(),
        after: after.mean.exp(),
        blocks_before: before.count as u64,
        blocks_after: after.count as u64,
        ratio: (after.mean - before.mean).exp(),
        interval,
        verdict: if interval.is_some() {
            Verdict::Tie
        } else {
            Verdict::TooFewBlocks
        },
    })
}

/// Which way a figure is better.
#[derive(Clone, Copy, Eq, PartialEq)]
enum Better {
    Lower,
    Higher,
}

/// Judges one figure of all lines together: twenty looks at noise must not find one difference.
fn judge(
    entrants: &mut [EntrantChanges],
    figure: impl Fn(&mut Line) -> &mut Option<Change>,
    better: Better,
) {
    let lines = entrants.iter_mut().flat_map(|entrant| &mut entrant.lines);
    let mut judged: Vec<(&mut Change, f64)> = lines
        .filter_map(|line| {
            let change = figure(line).as_mut()?;
            let p_value = change.interval?.p_value;
            Some((change, p_value))
        })
        .collect();
    let p_values: Vec<_> = judged.iter().map(|(_, p_value)| Some(*p_value)).collect();
    let is_real = holm(&p_values, 1.0 - CONFIDENCE);
    for ((change, _), is_real) in judged.iter_mut().zip(is_real) {
        if is_real {
            let is_better = (change.ratio < 1.0) == (better == Better::Lower);
            change.verdict = if is_better {
                Verdict::Improved
            } else {
                Verdict::Worse
            };
        }
    }
}
