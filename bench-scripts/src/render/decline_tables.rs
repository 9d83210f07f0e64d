//! The tables about the decline: its parts, what stands beside it, and the slopes and knees of the curves.

use super::tables::{Group, Head, NOTHING, Table, figure, hundredths, interval, thousandths};
use crate::findings::{Added, Curve, Decline, EntrantFindings, Estimate, Findings, Point, Role};
use crate::quantity;

/// Those that the run has something to say in, in reading order.
pub(super) fn all(findings: &Findings) -> Vec<Table> {
    let tables = [taken_apart(findings), beside(findings), curves(findings)];
    let filled = |table: &Table| !table.groups.is_empty();
    tables.into_iter().filter(filled).collect()
}

fn taken_apart(findings: &Findings) -> Table {
    Table {
        title: "The parts of the decline",
        caption: "CPU time per request of all CPUs that the two sides can use, µs: means over rounds, so that the parts add up, corrected for the distance of the CPUs and not for other drift. \
                  Added: what a request takes longer at the higher count, with its 95% interval. Waiting: the side's CPUs were idle, or taken by \
                  others. Share: of all added time, where it is proven that any was; above 100% where another part shrank. Beyond null: what was \
                  added less what was added to null's. The rate is that of the telemetry window, in which all connections are open; the load \
                  generator's own, in the other tables, also counts the time that their opening takes, and changes by that much more."
            .into(),
        grouped_by: Head::text("entrant"),
        columns: vec![
            Head::text("part"),
            Head::number("before, µs"),
            Head::number("after, µs"),
            Head::number("added, µs"),
            Head::number("added, 95%"),
            Head::number("share"),
            Head::number("share, 95%"),
            Head::number("beyond null, µs"),
            Head::number("beyond null, 95%"),
        ],
        groups: findings
            .declines()
            .map(|(entrant, decline)| Group {
                heading: heading(entrant, decline),
                name: span(entrant, decline),
                rows: part_rows(decline),
            })
            .collect(),
    }
}

/// `hyper, 100 to 1,000`.
fn span(entrant: &EntrantFindings, decline: &Decline) -> String {
    format!(
        "{}, {} to {}",
        entrant.label,
        quantity::whole(u64::from(decline.from_connections_asked)),
        quantity::whole(u64::from(decline.to_connections_asked))
    )
}

/// `hyper, 100 to 1,000 connections: rate -12.1% (-14.0% to -10.2%), and -3.0% (-3.4% to -2.6%) by their opening`.
fn heading(entrant: &EntrantFindings, decline: &Decline) -> String {
    let opening = decline.opening_change.map_or_else(String::new, |opening| {
        format!(", and {} by their opening", change(opening))
    });
    format!(
        "{} connections: rate {}{opening}",
        span(entrant, decline),
        change(decline.rate_change),
    )
}

fn part_rows(decline: &Decline) -> Vec<Vec<String>> {
    let parts = decline.parts.iter();
    let mut rows: Vec<Vec<String>> = parts
        .map(|part| part_row(part.part.name(), &part.time, part.share))
        .collect();
    rows.push(part_row("all", &decline.total, None));
    rows
}

fn part_row(name: &str, time: &Added, share: Option<Estimate>) -> Vec<String> {
    let [added, added_interval] = both(Some(time.added_us), signed);
    let [share, share_interval] = both(share, quantity::percent);
    let [beyond, beyond_interval] = both(time.beyond_control_us, signed);
    vec![
        name.to_owned(),
        hundredths(time.from_us),
        hundredths(time.to_us),
        added,
        added_interval,
        share,
        share_interval,
        beyond,
        beyond_interval,
    ]
}

/// A figure and its interval.
fn both(estimate: Option<Estimate>, write: fn(f64) -> String) -> [String; 2] {
    let value = estimate.map(|estimate| write(estimate.value));
    let around = estimate.and_then(|estimate| estimate.interval);
    [
        value.unwrap_or_else(|| NOTHING.to_owned()),
        interval(around, write),
    ]
}

/// To the hundredth, with its sign.
fn signed(value: f64) -> String {
    format!("{:+.2}", quantity::rounded(value, 2))
}

/// A connection count between those that were measured.
pub(super) fn connections(count: f64) -> String {
    quantity::whole(count.round() as u64)
}

fn beside(findings: &Findings) -> Table {
    Table {
        title: "Beside the decline",
        caption: "What else differs between the two counts, medians over rounds. Run delay: the server's threads could run and had no CPU. \
                  Retransmits and overflows of accept queues are the whole machine's."
            .into(),
        grouped_by: Head::text("entrant"),
        columns: vec![
            Head::text("connections"),
            Head::number("memory per connection"),
            Head::number("events per wakeup"),
            Head::number("context switches per request"),
            Head::number("run delay per request, µs"),
            Head::number("retransmits per 1,000 requests"),
            Head::number("accept queue overflows"),
            Head::number("p99"),
        ],
        groups: findings
            .declines()
            .map(|(entrant, decline)| {
                let ends = [decline.from_connections_asked, decline.to_connections_asked];
                let points = entrant.points.iter();
                let at_ends = points.filter(|point| ends.contains(&point.connections_asked));
                Group {
                    heading: entrant.label.clone(),
                    name: entrant.label.clone(),
                    rows: at_ends.map(evidence_row).collect(),
                }
            })
            .collect(),
    }
}

fn evidence_row(point: &Point) -> Vec<String> {
    let resources = point.resources;
    vec![
        quantity::whole(u64::from(point.connections)),
        figure(
            resources.and_then(|r| r.rss_per_connection_bytes),
            quantity::bytes,
        ),
        figure(resources.and_then(|r| r.events_per_wakeup), hundredths),
        figure(
            resources.and_then(|r| r.context_switches_per_request),
            thousandths,
        ),
        figure(
            resources.and_then(|r| r.run_delay_us_per_request),
            hundredths,
        ),
        figure(
            resources.and_then(|r| r.retransmits_per_1000_requests),
            thousandths,
        ),
        figure(resources.and_then(|r| r.listen_overflows), quantity::large),
        figure(point.latency.map(|l| l.p99_us), quantity::micros),
    ]
}

fn curves(findings: &Findings) -> Table {
    let entrants = findings.entrants.iter();
    Table {
        title: "Slopes and knees",
        caption: "Change of the figure for twice the connections: of one power law through all counts, and, where a curve is proven to turn \
                  for the worse (a knee), before and after the knee. 95% intervals in brackets. The rate is that of the telemetry window, \
                  corrected for the distance of the CPUs; the cost is its ratio to null, and null's own that."
            .into(),
        grouped_by: Head::text("entrant"),
        columns: vec![
            Head::text("figure"),
            Head::number("for twice the connections"),
            Head::number("knee, connections"),
            Head::number("before the knee"),
            Head::number("after the knee"),
        ],
        groups: entrants
            .filter(|entrant| entrant.role != Role::Again)
            .filter_map(curve_group)
            .collect(),
    }
}

fn curve_group(entrant: &EntrantFindings) -> Option<Group> {
    let figures = [
        ("rate", entrant.scaling.rate),
        ("cost", entrant.scaling.cost),
    ];
    let rows: Vec<Vec<String>> = figures
        .into_iter()
        .filter_map(|(figure, curve)| Some(curve_row(figure, &curve?)))
        .collect();
    (!rows.is_empty()).then(|| Group {
        heading: entrant.label.clone(),
        name: entrant.label.clone(),
        rows,
    })
}

fn curve_row(figure: &str, curve: &Curve) -> Vec<String> {
    let knee = curve.knee;
    let slope = |of: Option<Estimate>| of.map_or_else(|| NOTHING.to_owned(), change);
    vec![
        figure.to_owned(),
        change(curve.per_doubling),
        knee.map_or("none proven".to_owned(), |knee| {
            let around = interval(Some(knee.interval), connections);
            format!("{} ({around})", connections(knee.connections))
        }),
        slope(knee.map(|knee| knee.before_per_doubling)),
        slope(knee.map(|knee| knee.after_per_doubling)),
    ]
}

/// `-3.1% (-4.0% to -2.2%)`.
pub(super) fn change(estimate: Estimate) -> String {
    let value = quantity::change(estimate.value);
    match estimate.interval {
        Some(_) => format!(
            "{value} ({})",
            interval(estimate.interval, quantity::change)
        ),
        None => value,
    }
}
