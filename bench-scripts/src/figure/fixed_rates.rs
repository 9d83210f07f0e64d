//! The figure of latency at fixed rates.

use super::measure::P50;
use super::palette::Style;
use super::pictures::{named, styled, unbroken};
use super::scale::Scale;
use super::{Axis, Curves, Figure, Panel, Plot, PlotPoint, Series, Tick};
use crate::findings::{
    EntrantRates, Findings, FixedRates, InvalidPacedCell, LatencyFindings, RatePoint, Spread,
};
use crate::quantity::{self, Quantity};
use crate::record::Run;

/// One percentile, and the same of an invalid paced cell.
struct Percentile {
    heading: &'static str,
    of_point: fn(&LatencyFindings) -> Spread,
    of_invalid: fn(&InvalidPacedCell) -> Option<f64>,
}

const PERCENTILES: [Percentile; 2] = [
    Percentile {
        heading: "Median (p50)",
        of_point: |latency| latency.p50_us,
        of_invalid: |cell| cell.p50_us,
    },
    Percentile {
        heading: "99th percentile (p99)",
        of_point: |latency| latency.p99_us,
        of_invalid: |cell| cell.p99_us,
    },
];

/// Latency over the share of each entrant's own capacity; none where nothing of it was measured.
pub(super) fn figure(run: &Run, findings: &Findings) -> Option<Figure> {
    let (rates, settings) = (findings.fixed_rates.as_ref()?, run.matrix.latency.as_ref()?);
    let series = series_entrants(findings, rates);
    // One scale for both panels, so that they can be compared by eye.
    let drawn = || {
        let each = PERCENTILES.iter();
        each.flat_map(|percentile| series.iter().flat_map(|(e, _)| values(e, percentile)))
    };
    drawn().next()?;
    let scale = Scale::log_around(drawn());
    let rounds = match settings.rounds {
        1 => "one round".to_owned(),
        rounds => format!("median and range of {rounds} rounds"),
    };
    Some(Figure {
        name: "latency-at-fixed-rates",
        title: "Latency at fixed rates".to_owned(),
        subtitle: format!(
            "{rounds} of {} over {} connections · open loop: from when a request was due · 100%: its rate under {} at {} connections",
            quantity::millis(settings.duration_ms),
            quantity::whole(rates.connections.into()),
            run.load_generator.name,
            quantity::whole(rates.capacity_at.into()),
        ),
        panels: PERCENTILES
            .iter()
            .map(|percentile| Panel {
                heading: percentile.heading.to_owned(),
                plot: Plot::Curves(curves(rates, &series, percentile, scale)),
            })
            .collect(),
        notes: notes(rates),
    })
}

/// Who has rates of its own, with the looks that it has in every figure.
fn series_entrants<'a>(
    findings: &Findings,
    rates: &'a FixedRates,
) -> Vec<(&'a EntrantRates, Style)> {
    let looks = styled(findings);
    let contestants = rates.entrants.iter().filter(|e| e.role.is_contestant());
    contestants
        .filter_map(|entrant| {
            let (_, style) = looks
                .iter()
                .find(|(known, _)| known.label == entrant.label)?;
            Some((entrant, *style))
        })
        .collect()
}

fn curves(
    rates: &FixedRates,
    entrants: &[(&EntrantRates, Style)],
    percentile: &Percentile,
    scale: Scale,
) -> Curves {
    let series = |(entrant, style): &(&EntrantRates, Style)| Series {
        label: entrant.label.clone(),
        style: *style,
        stretches: unbroken(entrant.own().map(|point| plot_point(point, percentile))),
        invalid: entrant
            .own()
            .flat_map(|point| {
                let x = f64::from(point.share_percent);
                let cells = point.invalid_cells.iter();
                cells.filter_map(move |cell| Some((x, (percentile.of_invalid)(cell)?)))
            })
            .collect(),
        knee: None,
    };
    let mut y = P50.axis(scale);
    y.title.push_str(", logarithmic scale");
    Curves {
        x: shares_axis(&rates.shares()),
        y,
        series: entrants.iter().map(series).collect(),
    }
}

fn plot_point(point: &RatePoint, percentile: &Percentile) -> Option<PlotPoint> {
    let spread = (percentile.of_point)(point.latency.as_ref()?);
    Some(PlotPoint {
        x: f64::from(point.share_percent),
        y: spread.median,
        low: spread.min,
        high: spread.max,
        pale: false,
    })
}

/// Every value that is drawn of an entrant.
fn values(entrant: &EntrantRates, percentile: &Percentile) -> Vec<f64> {
    let of_point = |point: &RatePoint| {
        let spread = point.latency.as_ref().map(percentile.of_point);
        let range = spread.into_iter().flat_map(|s| [s.min, s.max]);
        let invalid = point.invalid_cells.iter().filter_map(percentile.of_invalid);
        range.chain(invalid).collect::<Vec<_>>()
    };
    entrant.own().flat_map(of_point).collect()
}

fn shares_axis(shares: &[u32]) -> Axis {
    let values: Vec<f64> = shares.iter().copied().map(f64::from).collect();
    Axis {
        title: "share of the entrant's own capacity".to_owned(),
        quantity: Quantity::Count,
        scale: Scale::for_counts(&values),
        ticks: values
            .iter()
            .map(|&value| Tick {
                value,
                label: format!("{value}%"),
            })
            .collect(),
    }
}

fn notes(rates: &FixedRates) -> Vec<String> {
    let own = rates
        .invalid_cells()
        .filter(|(_, point, _)| point.of.is_own());
    named(own.map(|(label, point, cell)| {
        let reasons: Vec<String> = cell.reasons.iter().map(ToString::to_string).collect();
        format!(
            "{label} at {}%, round {}: {}",
            point.share_percent,
            cell.block + 1,
            reasons.join("; ")
        )
    }))
}
