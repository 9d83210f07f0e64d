//! How evenly the load lay on the workers of each server that has more than one.

use super::{Column, ENTRANT, Head, NOTHING, Table, groups_of, hundredths, number};
use crate::findings::{Balance, Findings, Point, Spread, WorkerFindings};
use crate::quantity;

/// None where every server has one worker.
pub(super) fn table(findings: &Findings) -> Option<Table> {
    let mut groups = groups_of(findings, WORKERS, |point| point.workers.is_some());
    groups.retain(|group| !group.rows.is_empty());
    (!groups.is_empty()).then_some(Table {
        title: "Spread over workers",
        caption: "What the workers of one server had in the window: the one with the least, the middle one, the one with the most; medians \
                  over rounds of each. Most ÷ mean is 1 where the load lies evenly. Where a runtime moves connections between its threads, none of them \
                  has connections of its own."
            .into(),
        grouped_by: Head::number("connections"),
        columns: WORKERS.iter().map(|column| column.head.clone()).collect(),
        groups,
    })
}

const WORKERS: &[Column] = &[
    ENTRANT,
    number("workers", |_, p| {
        p.workers
            .map_or_else(|| NOTHING.to_owned(), |w| w.workers.to_string())
    }),
    number("connections, least", |_, p| connections(p, |b| b.least)),
    number("median", |_, p| connections(p, |b| b.median)),
    number("most", |_, p| connections(p, |b| b.most)),
    number("most ÷ mean", |_, p| {
        written(p, |w| Some(w.connections?.most_to_mean), hundredths)
    }),
    number("requests, least", |_, p| requests(p, |b| b.least)),
    number("median", |_, p| requests(p, |b| b.median)),
    number("most", |_, p| requests(p, |b| b.most)),
    number("most ÷ mean", |_, p| {
        written(p, |w| Some(w.requests.most_to_mean), hundredths)
    }),
];

fn connections(point: &Point, part: fn(&Balance) -> Spread) -> String {
    written(point, |w| Some(part(&w.connections?)), quantity::large)
}

fn requests(point: &Point, part: fn(&Balance) -> Spread) -> String {
    written(point, |w| Some(part(&w.requests)), quantity::large)
}

fn written(
    point: &Point,
    part: impl Fn(&WorkerFindings) -> Option<Spread>,
    write: fn(f64) -> String,
) -> String {
    super::figure(point.workers.as_ref().and_then(part), write)
}
