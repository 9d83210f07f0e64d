//! How the cost of each contestant went from run to run of the same matrix on the same machine.

use super::{Index, IndexedRun};
use crate::figure::palette::Style;
use crate::figure::scale::Scale;
use crate::figure::{Axis, Curves, Figure, Panel, Plot, PlotPoint, Series, Tick, pictures};
use crate::findings::EntrantFindings;
use crate::quantity::{self, Quantity};

/// One figure, and the looks of its lines.
pub(crate) struct Trend {
    pub(crate) figure: Figure,
    /// Labels with their looks, from the bottom of the ladder to its top.
    pub(crate) looks: Vec<(String, Style)>,
}

/// Runs whose costs can be followed: the same matrix, path, lowest connection count and processor.
#[derive(PartialEq)]
struct Kind<'a> {
    matrix: &'a str,
    path: &'a str,
    connections: u32,
    machine: &'a str,
}

impl<'a> Kind<'a> {
    fn of(run: &'a IndexedRun) -> Option<Self> {
        Some(Self {
            matrix: &run.findings.matrix,
            path: &run.path,
            connections: *run.findings.connection_counts().first()?,
            machine: &run.machine,
        })
    }
}

/// A figure for every kind that has two runs or more, the kind of the newest run first.
pub(crate) fn trends(index: &Index) -> Vec<Trend> {
    let mut kinds: Vec<(Kind, Vec<&IndexedRun>)> = Vec::new();
    for run in &index.runs {
        let Some(kind) = Kind::of(run) else { continue };
        match kinds.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, runs)) => runs.push(run),
            None => kinds.push((kind, vec![run])),
        }
    }
    kinds.retain(|(_, runs)| runs.len() > 1);
    let kinds = kinds.into_iter();
    kinds
        .map(|(kind, mut runs)| {
            runs.reverse();
            trend(&kind, &runs)
        })
        .collect()
}

/// Of runs in the order of time.
fn trend(kind: &Kind, runs: &[&IndexedRun]) -> Trend {
    let looks = pictures::looks_of(&contestants(runs));
    let looks: Vec<(&str, Style)> = looks
        .into_iter()
        .map(|(entrant, style)| (entrant.label.as_str(), style))
        .collect();
    let series: Vec<Series> = looks
        .iter()
        .map(|(label, style)| Series {
            label: (*label).to_owned(),
            style: *style,
            stretches: stretches(runs, label),
            invalid: Vec::new(),
            knee: None,
        })
        .collect();
    let highest = series
        .iter()
        .flat_map(Series::points)
        .fold(0.0, |most: f64, point| most.max(point.high));
    let connections = quantity::whole(u64::from(kind.connections));
    let curves = Curves {
        x: runs_axis(runs),
        y: ratio_axis(highest),
        series,
    };
    Trend {
        figure: Figure {
            name: "trend",
            title: format!("{}: cost at {connections} connections", kind.matrix),
            subtitle: format!(
                "cost ÷ null, median and 95% interval of each run · GET {} · {}",
                kind.path, kind.machine
            ),
            panels: vec![Panel {
                heading: String::new(),
                plot: Plot::Curves(curves),
            }],
            notes: Vec::new(),
        },
        looks: looks
            .into_iter()
            .map(|(label, style)| (label.to_owned(), style))
            .collect(),
    }
}

/// Every contestant of some run once, in the order of the newest run, then of those before it.
fn contestants<'a>(runs: &[&'a IndexedRun]) -> Vec<&'a EntrantFindings> {
    let mut contestants: Vec<&EntrantFindings> = Vec::new();
    for entrant in runs.iter().rev().flat_map(|run| &run.findings.entrants) {
        if entrant.role.is_contestant() && contestants.iter().all(|c| c.label != entrant.label) {
            contestants.push(entrant);
        }
    }
    contestants
}

/// A contestant's points, cut where a run has none.
fn stretches(runs: &[&IndexedRun], label: &str) -> Vec<Vec<PlotPoint>> {
    let points: Vec<Option<PlotPoint>> = runs
        .iter()
        .enumerate()
        .map(|(place, run)| point(run, label, place))
        .collect();
    points
        .chunk_by(|a, b| a.is_some() == b.is_some())
        .map(|stretch| stretch.iter().flatten().copied().collect::<Vec<_>>())
        .filter(|stretch| !stretch.is_empty())
        .collect()
}

fn point(run: &IndexedRun, label: &str, place: usize) -> Option<PlotPoint> {
    let entrant = run.findings.entrants.iter().find(|e| e.label == label)?;
    let point = entrant.points.first()?;
    let median = point.cost_to_control?.median;
    let interval = point.intervals.cost_to_control;
    Some(PlotPoint {
        x: place as f64,
        y: median,
        low: interval.map_or(median, |interval| interval.low),
        high: interval.map_or(median, |interval| interval.high),
        pale: false,
    })
}

fn runs_axis(runs: &[&IndexedRun]) -> Axis {
    let last = (runs.len() - 1) as f64;
    let room = last * 0.05;
    Axis {
        title: "begin of the run".to_owned(),
        quantity: Quantity::Count,
        scale: Scale::Linear {
            min: -room,
            max: last + room,
        },
        ticks: runs
            .iter()
            .enumerate()
            .map(|(place, run)| Tick {
                value: place as f64,
                label: minute(&run.started_at),
            })
            .collect(),
    }
}

fn ratio_axis(highest: f64) -> Axis {
    let scale = Scale::from_zero(highest);
    let ticks = scale.round_ticks().into_iter();
    Axis {
        title: "cost ÷ null".to_owned(),
        quantity: Quantity::Ratio,
        scale,
        ticks: ticks
            .map(|value| Tick {
                value,
                label: quantity::without_idle_zeros(&Quantity::Ratio.write(value)),
            })
            .collect(),
    }
}

/// `2026-01-02 03:04` of a time in RFC 3339.
pub(crate) fn minute(time: &str) -> String {
    let minute: String = time.chars().take(16).collect();
    minute.replace('T', " ")
}
