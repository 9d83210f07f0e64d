//! The ladder, drawn.

use super::ladder::{Cost, Ladder, Step};
use crate::figure::palette;
use crate::figure::scale::Scale;
use crate::figure::{Axis, Dot, DotRow, Dots, Figure, Panel, Plot, Tick, Way};
use crate::primitives::record::{ServerCost, Servers};
use crate::quantity::{Quantity, nanos, whole, without_idle_zeros};

const SAME_CPU: usize = 0;
const ACROSS_CPUS: usize = 1;
const SERVER: usize = 2;

/// Where to read how servers come onto a ladder that has none.
pub(super) const HOW_TO_ADD_SERVERS: &str = "The servers are missing: measure them with `rungs sweep`, then render again with \
                                             `rungs report DIR --sweep SWEEP_DIR`";

/// None where no rung was measured.
pub(super) fn figure(ladder: &Ladder, servers: Option<&Servers>) -> Option<Figure> {
    let mut rows: Vec<DotRow> = ladder
        .steps
        .iter()
        .map(|step| step_row(step, ladder))
        .collect();
    if !ladder.servers.is_empty() {
        rows.push(DotRow::default());
    }
    rows.extend(
        ladder
            .servers
            .iter()
            .map(|server| server_row(server, ladder)),
    );
    if rows.is_empty() {
        return None;
    }
    let mut columns = vec!["same CPU".to_owned(), "across CPUs".to_owned()];
    columns.extend(
        ladder
            .request_of
            .as_ref()
            .map(|label| format!("in a request of {label}")),
    );
    Some(Figure {
        name: "ladder",
        title: "The ladder: what one operation costs".to_owned(),
        subtitle: servers.map_or_else(
            || "primitives: elapsed time of one".to_owned(),
            |servers| {
                format!(
                    "primitives: elapsed time of one · servers: server CPU time of a request over {} connections, 95% interval",
                    whole(servers.connections.into())
                )
            },
        ),
        panels: vec![Panel {
            heading: String::new(),
            plot: Plot::Dots(Dots {
                axis: axis(&rows),
                ways: ways(servers.is_some()),
                columns,
                rows,
            }),
        }],
        notes: notes(servers),
    })
}

fn ways(with_servers: bool) -> Vec<Way> {
    let way = |name, hue| Way {
        name,
        style: palette::contestant(hue, 0),
    };
    let mut ways = vec![
        way("primitive, same CPU", SAME_CPU),
        way("primitive, across CPUs", ACROSS_CPUS),
    ];
    if with_servers {
        ways.push(way("server, a request", SERVER));
    }
    ways
}

fn notes(servers: Option<&Servers>) -> Vec<String> {
    let Some(servers) = servers else {
        return vec![format!("{HOW_TO_ADD_SERVERS}.")];
    };
    vec![
        "A round trip is two hand-offs. In a request: how many take as long as its CPU time, on the same CPU where they can.".to_owned(),
        format!("Servers: the sweep {}, begun {}.", servers.sweep, servers.measured_at),
    ]
}

fn step_row(step: &Step, ladder: &Ladder) -> DotRow {
    let dot = |way, cost: Option<Cost>| {
        cost.map(|cost| Dot {
            way,
            value: cost.median_ns,
            low: cost.median_ns,
            high: cost.median_ns,
        })
    };
    let time = |cost: Option<Cost>| cost.map_or_else(String::new, |cost| nanos(cost.median_ns));
    let mut figures = vec![time(step.same_cpu), time(step.across_cpus)];
    if ladder.request_of.is_some() {
        let count = step.costs().next().and_then(|cost| cost.bought());
        figures.push(count.unwrap_or_default());
    }
    DotRow {
        label: step.label.clone(),
        detail: step.operation.name().to_owned(),
        dots: [
            dot(SAME_CPU, step.same_cpu),
            dot(ACROSS_CPUS, step.across_cpus),
        ]
        .into_iter()
        .flatten()
        .collect(),
        figures,
    }
}

fn server_row(server: &ServerCost, ladder: &Ladder) -> DotRow {
    let ns = server.cost_us * 1e3;
    let (low, high) = server.interval_us.map_or((ns, ns), |interval| {
        (interval.low * 1e3, interval.high * 1e3)
    });
    let mut figures = vec![String::new(), nanos(ns)];
    if ladder.request_of.is_some() {
        figures.push(String::new());
    }
    DotRow {
        label: server.label.clone(),
        detail: "request".to_owned(),
        dots: vec![Dot {
            way: SERVER,
            value: ns,
            low,
            high,
        }],
        figures,
    }
}

fn axis(rows: &[DotRow]) -> Axis {
    let dots = rows.iter().flat_map(|row| &row.dots);
    let scale = Scale::log_around(dots.flat_map(|dot| [dot.low, dot.high]));
    let ticks = scale.round_ticks().into_iter().map(|value| Tick {
        value,
        label: without_idle_zeros(&nanos(value)),
    });
    Axis {
        title: "time of one, logarithmic scale".to_owned(),
        quantity: Quantity::Nanos,
        scale,
        ticks: ticks.collect(),
    }
}
