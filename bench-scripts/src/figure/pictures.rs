//! The figures of a run: requests per minute, cost per request, latency, memory, the decline taken apart, latency at fixed
//! rates.

use super::decline;
use super::fixed_rates;
use super::knees;
use super::measure::{COST, Measure, P50, P99, RATE, RSS};
use super::palette::{self, Fill, Style};
use super::scale::Scale;
use super::{
    Axis, Bar, BarPart, BarValue, Bars, Curves, Figure, Panel, Plot, PlotPoint, Series, Tick,
};
use crate::findings::{EntrantFindings, Findings, Point, Role};
use crate::quantity::{self, Quantity};
use crate::record::Run;

/// Hollow points that are named below a figure; the report names them all.
const NAMED_INVALID_POINTS: usize = 3;

/// Every figure of a run, in the order in which reports show them.
#[must_use]
pub fn all(run: &Run, findings: &Findings) -> Vec<Figure> {
    let mut figures = vec![
        requests_per_minute(run, findings),
        cost_per_request(run, findings),
    ];
    if findings.pipelined.is_none() {
        figures.push(latency(run, findings));
    }
    figures.push(memory(run, findings));
    figures.extend(decline::figure(run, findings));
    figures.extend(fixed_rates::figure(run, findings));
    figures
}

fn requests_per_minute(run: &Run, findings: &Findings) -> Figure {
    let (plot, mark) = if is_curve(findings) {
        let scale = RATE.scale_from_zero(findings);
        let mut curves = curves(findings, &RATE, scale, "ceiling");
        knees::mark(&mut curves, findings);
        (Plot::Curves(curves), "pale")
    } else {
        (Plot::Bars(plain_bars(findings, &RATE, "ceiling")), "*")
    };
    Figure {
        name: "requests-per-minute",
        title: "Requests per minute".to_owned(),
        subtitle: subtitle(
            run,
            "95% interval",
            &format!("{mark}: the load generator set the rate, not the server"),
        ),
        panels: vec![Panel {
            heading: heading_of_counts(findings),
            plot,
        }],
        notes: knees::notes(findings).chain(notes(findings)).collect(),
    }
}

fn cost_per_request(run: &Run, findings: &Findings) -> Figure {
    let mut panels = vec![Panel {
        heading: format!(
            "The ladder at {} connections",
            quantity::whole(lowest_count(findings))
        ),
        plot: Plot::Bars(ladder(findings)),
    }];
    if is_curve(findings) {
        let scale = COST.scale_from_zero(findings);
        panels.push(Panel {
            heading: "Over connections".to_owned(),
            plot: Plot::Curves(curves(findings, &COST, scale, "floor")),
        });
    }
    Figure {
        name: "cost-per-request",
        title: "Cost per request".to_owned(),
        subtitle: subtitle(
            run,
            "95% interval",
            "CPU time of the server, corrected for the machine's drift; × is the ratio to null in the same round",
        ),
        panels,
        notes: notes(findings),
    }
}

fn latency(run: &Run, findings: &Findings) -> Figure {
    let panel = |heading: &str, measure: &Measure, scale: Scale| Panel {
        heading: heading.to_owned(),
        plot: if is_curve(findings) {
            let mut curves = curves(findings, measure, scale, "floor");
            curves.y.title.push_str(", logarithmic scale");
            Plot::Curves(curves)
        } else {
            Plot::Bars(plain_bars(findings, measure, "floor"))
        },
    };
    // One scale for both panels, so that they can be compared by eye.
    let scale = Scale::log_around(P50.values(findings).chain(P99.values(findings)));
    Figure {
        name: "latency",
        title: "Latency, as wrk corrects it".to_owned(),
        subtitle: subtitle(
            run,
            "range",
            "closed loop: every connection waits for its answer, so latency grows with their number",
        ),
        panels: vec![
            panel("Median (p50)", &P50, scale),
            panel("99th percentile (p99)", &P99, scale),
        ],
        notes: notes(findings),
    }
}

fn memory(run: &Run, findings: &Findings) -> Figure {
    Figure {
        name: "memory",
        title: "Memory".to_owned(),
        subtitle: subtitle(
            run,
            "range",
            "resident set of the server at the end of the window",
        ),
        panels: vec![Panel {
            heading: heading_of_counts(findings),
            plot: if is_curve(findings) {
                let scale = RSS.scale_from_zero(findings);
                Plot::Curves(curves(findings, &RSS, scale, "floor"))
            } else {
                Plot::Bars(plain_bars(findings, &RSS, "floor"))
            },
        }],
        notes: notes(findings),
    }
}

/// Curves need two connection counts; with one there are bars.
fn is_curve(findings: &Findings) -> bool {
    findings.connection_counts().len() > 1
}

fn lowest_count(findings: &Findings) -> u64 {
    findings
        .connection_counts()
        .first()
        .map_or(0, |count| u64::from(*count))
}

fn heading_of_counts(findings: &Findings) -> String {
    if is_curve(findings) {
        String::new()
    } else {
        format!("At {} connections", quantity::whole(lowest_count(findings)))
    }
}

/// `around` is what is drawn around the medians.
fn subtitle(run: &Run, around: &str, reading: &str) -> String {
    let rounds = match run.matrix.rounds {
        1 => "one round".to_owned(),
        rounds => format!("median and {around} of {rounds} rounds"),
    };
    format!(
        "{rounds} of {} s · GET {} · {reading}",
        run.matrix.duration_s, run.matrix.path
    )
}

/// The label and the looks of each entrant, from the bottom of the ladder to its top.
#[must_use]
pub fn looks(findings: &Findings) -> Vec<(&str, Style)> {
    let styled = styled(findings).into_iter();
    styled
        .map(|(entrant, style)| (entrant.label.as_str(), style))
        .collect()
}

pub(super) fn styled(findings: &Findings) -> Vec<(&EntrantFindings, Style)> {
    looks_of(&findings.entrants.iter().collect::<Vec<_>>())
}

/// Entrants with their looks: the entrants of one program share a colour.
#[must_use]
pub fn looks_of<'a>(entrants: &[&'a EntrantFindings]) -> Vec<(&'a EntrantFindings, Style)> {
    let mut controls = 0;
    let mut rungs: Vec<(&str, usize)> = Vec::new();
    let mut looks = Vec::with_capacity(entrants.len());
    for &entrant in entrants {
        let style = if entrant.role == Role::Control {
            controls += 1;
            palette::control(controls - 1)
        } else {
            let known = rungs
                .iter()
                .position(|(program, _)| *program == entrant.program);
            let rung = known.unwrap_or_else(|| {
                rungs.push((&entrant.program, 0));
                rungs.len() - 1
            });
            rungs[rung].1 += 1;
            palette::contestant(rung, rungs[rung].1 - 1)
        };
        looks.push((entrant, style));
    }
    looks
}

/// `ceiling (null)` for the control, the label for all others.
fn series_label(entrant: &EntrantFindings, control_is: &str) -> String {
    match entrant.role {
        Role::Control => format!("{control_is} ({})", entrant.label),
        Role::Rung | Role::Foreign | Role::Again => entrant.label.clone(),
    }
}

fn curves(findings: &Findings, measure: &Measure, y: Scale, control_is: &str) -> Curves {
    let series = styled(findings)
        .into_iter()
        .map(|(entrant, style)| Series {
            label: series_label(entrant, control_is),
            style,
            stretches: stretches(entrant, measure),
            invalid: entrant
                .points
                .iter()
                .flat_map(|point| {
                    let x = f64::from(point.connections);
                    let cells = point.invalid_cells.iter();
                    cells.filter_map(move |cell| Some((x, (measure.of_invalid)(cell)?)))
                })
                .collect(),
            knee: None,
        })
        .collect();
    Curves {
        x: connections_axis(findings),
        y: measure.axis(y),
        series,
    }
}

/// The points that have a value, cut where one has none.
fn stretches(entrant: &EntrantFindings, measure: &Measure) -> Vec<Vec<PlotPoint>> {
    let value = |point: &Point| {
        let (y, low, high) = measure.drawn(point)?;
        Some(PlotPoint {
            x: f64::from(point.connections),
            y,
            low,
            high,
            pale: (measure.of_client)(point),
        })
    };
    unbroken(entrant.points.iter().map(value))
}

/// Points in unbroken stretches, cut where there is none.
pub(crate) fn unbroken(points: impl Iterator<Item = Option<PlotPoint>>) -> Vec<Vec<PlotPoint>> {
    let points: Vec<Option<PlotPoint>> = points.collect();
    points
        .split(Option::is_none)
        .map(|stretch| stretch.iter().copied().flatten().collect::<Vec<_>>())
        .filter(|stretch| !stretch.is_empty())
        .collect()
}

fn connections_axis(findings: &Findings) -> Axis {
    let mut counts: Vec<f64> = findings
        .entrants
        .iter()
        .flat_map(|entrant| entrant.points.iter().map(|p| f64::from(p.connections)))
        .collect();
    counts.sort_by(f64::total_cmp);
    counts.dedup();
    Axis {
        title: "connections".to_owned(),
        quantity: Quantity::Count,
        scale: Scale::for_counts(&counts),
        ticks: counts
            .iter()
            .map(|&value| Tick {
                value,
                label: quantity::whole(value as u64),
            })
            .collect(),
    }
}

/// Cost at the lowest connection count: system below, user on top of it.
fn ladder(findings: &Findings) -> Bars {
    Bars {
        parts: vec![
            BarPart {
                name: "system",
                fill: Fill::OfBar { white: 0.0 },
            },
            BarPart {
                name: "user",
                fill: Fill::OfBar { white: 0.55 },
            },
        ],
        ..bars(findings, &COST, "floor", ladder_value)
    }
}

/// The two parts share the median total in the proportion of their own medians, so that they add up to it.
fn ladder_value(point: &Point) -> Option<BarValue> {
    let cost = point.cost?;
    let medians = cost.system_us.median + cost.user_us.median;
    let system_share = if medians > 0.0 {
        cost.system_us.median / medians
    } else {
        0.0
    };
    let (total, low, high) = COST.drawn(point)?;
    Some(BarValue {
        parts: vec![total * system_share, total * (1.0 - system_share)],
        low,
        high,
        text: COST.quantity.write(total),
        remark: point
            .cost_to_control
            .map(|ratio| format!("× {:.2}", ratio.median)),
    })
}

/// One piece per entrant, at the only connection count.
fn plain_bars(findings: &Findings, measure: &Measure, control_is: &str) -> Bars {
    bars(findings, measure, control_is, |point| {
        let (median, low, high) = measure.drawn(point)?;
        Some(BarValue {
            parts: vec![median],
            low,
            high,
            text: measure.quantity.write(median),
            remark: (measure.of_client)(point).then(|| "*".to_owned()),
        })
    })
}

/// A bar per entrant at the lowest connection count.
fn bars(
    findings: &Findings,
    measure: &Measure,
    control_is: &str,
    value: impl Fn(&Point) -> Option<BarValue>,
) -> Bars {
    let rows: Vec<Bar> = styled(findings)
        .into_iter()
        .map(|(entrant, style)| {
            let point = entrant.points.first();
            let invalid = point.map_or(&[][..], |point| &point.invalid_cells);
            Bar {
                label: series_label(entrant, control_is),
                style,
                value: point.and_then(&value),
                invalid: invalid.iter().filter_map(measure.of_invalid).collect(),
            }
        })
        .collect();
    let longest = rows
        .iter()
        .flat_map(|row| {
            let high = row.value.as_ref().map(|value| value.high);
            row.invalid.iter().copied().chain(high)
        })
        .fold(0.0, f64::max);
    Bars {
        axis: measure.axis(measure.scale_up_to(longest)),
        parts: Vec::new(),
        rows,
    }
}

pub(super) fn notes(findings: &Findings) -> Vec<String> {
    named(findings.invalid_cells().map(|(label, point, cell)| {
        let reasons: Vec<String> = cell.reasons.iter().map(ToString::to_string).collect();
        format!(
            "{label} at {} connections, round {}: {}",
            quantity::whole(u64::from(point.connections)),
            cell.block + 1,
            reasons.join("; ")
        )
    }))
}

/// Names the first few of the hollow points, each of which is described in a line.
pub(super) fn named(invalid: impl Iterator<Item = String>) -> Vec<String> {
    let mut notes: Vec<String> = invalid
        .map(|text| format!("○ invalid, enters no median: {text}"))
        .collect();
    let more = notes.len().saturating_sub(NAMED_INVALID_POINTS);
    if more > 0 {
        notes.truncate(NAMED_INVALID_POINTS);
        notes.push(format!("○ and {more} more, named in the report"));
    }
    notes
}
