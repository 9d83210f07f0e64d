//! What the tables of every rendering say: columns as data, filled from findings.

mod variants;
mod workers;

use std::borrow::Cow;

use super::{decline_tables, rates, traces};
use crate::findings::{
    Bound, Compared, Comparisons, EntrantFindings, Findings, Interval, Point, Spread,
};
use crate::quantity;

/// A table, filled: rows in groups, one group per connection count or per entrant.
pub(crate) struct Table {
    /// What it is about.
    pub(crate) title: &'static str,
    /// How to read it.
    pub(crate) caption: Cow<'static, str>,
    /// What the groups are.
    pub(crate) grouped_by: Head,
    /// Its columns.
    pub(crate) columns: Vec<Head>,
    /// Its rows; none where there is nothing but the caption to say.
    pub(crate) groups: Vec<Group>,
}

impl Table {
    /// Its title as a name of a part of a page: `cost-and-rate`.
    pub(crate) fn id(&self) -> String {
        let words = self.title.to_lowercase();
        let words = words.split(|c: char| !c.is_ascii_alphanumeric());
        words
            .filter(|word| !word.is_empty())
            .collect::<Vec<_>>()
            .join("-")
    }
}

/// The rows that belong together.
pub(crate) struct Group {
    /// `100 connections`.
    pub(crate) heading: String,
    /// The connection count alone, or the entrant.
    pub(crate) name: String,
    /// Its rows; entrants from the bottom of the ladder to its top.
    pub(crate) rows: Vec<Vec<String>>,
}

impl Group {
    /// The rows of a connection count.
    pub(crate) fn of_count(connections: u64, rows: Vec<Vec<String>>) -> Self {
        let name = quantity::whole(connections);
        Self {
            heading: format!("{name} connections"),
            name,
            rows,
        }
    }
}

/// The head of a column.
#[derive(Clone)]
pub(crate) struct Head {
    /// What is in it, with the unit.
    pub(crate) head: Cow<'static, str>,
    /// Whether it is text, and so set to the left.
    pub(crate) text: bool,
}

/// One column of a table with a row per entrant.
struct Column {
    head: Head,
    write: fn(&Subject, &Point) -> String,
}

/// Whose row it is, and who is compared at its connection count.
struct Subject<'a> {
    entrant: &'a EntrantFindings,
    comparisons: Option<&'a Comparisons>,
}

/// The tables of the reports, in reading order.
///
/// report.html puts a table whose title is that of a figure below that figure, and all others into a section of tables.
pub(super) fn all(findings: &Findings) -> Vec<Table> {
    let mut tables = vec![Table {
        title: "Cost and rate",
        caption: "Medians over rounds, with 95% intervals. ÷ null: the ratio to the null rung in the same round. \
                  Costs in µs are corrected for the machine's drift by that ratio. Entrants that share a letter are a tie: not proven to differ. \
                  A rate that the client bounds does not rank servers: the cost does."
            .into(),
        ..by_count(findings, COST_AND_RATE)
    }];
    if findings.pipelined.is_none() {
        tables.push(Table {
            title: "Latency, as wrk corrects it",
            caption: "Medians over rounds of each percentile. A closed loop: each connection waits for its answer, so more connections mean longer waits \
                      of the same server."
                .into(),
            ..by_count(findings, LATENCY)
        });
    }
    tables.push(Table {
        title: "Resources",
        caption: "CPU: share of the CPUs that the threads of each side can use. Memory is resident memory under load."
            .into(),
        ..by_count(findings, RESOURCES)
    });
    tables.extend(variants::table(findings));
    tables.extend(rates::tables(findings));
    tables.extend(decline_tables::all(findings));
    tables.extend(workers::table(findings));
    tables.extend(traces::tables(&findings.traces));
    tables
}

/// The few columns that fit a terminal.
pub(super) fn summary(findings: &Findings) -> Table {
    Table {
        title: "Summary",
        ..by_count(findings, SUMMARY)
    }
}

const ENTRANT: Column = text("entrant", |subject, _| subject.entrant.label.clone());
const RATE: Column = number("requests/min", |_, p| {
    figure(p.requests_per_minute, quantity::large)
});
const RATE_INTERVAL: Column = number("requests/min, 95%", |_, p| {
    interval(p.intervals.requests_per_minute, quantity::large)
});
const RATE_TIES: Column = text("rate ties", |subject, _| {
    letters(subject, |comparisons| &comparisons.rate)
});
const RATE_RATIO: Column = number("rate ÷ null", |_, p| figure(p.rate_to_control, hundredths));
const COST: Column = number("cost, µs", |_, p| {
    figure(p.cost.map(|cost| cost.total_us), hundredths)
});
const COST_USER: Column = number("user, µs", |_, p| {
    figure(p.cost.map(|cost| cost.user_us), hundredths)
});
const COST_SYSTEM: Column = number("system, µs", |_, p| {
    figure(p.cost.map(|cost| cost.system_us), hundredths)
});
const COST_RATIO: Column = number("cost ÷ null", |_, p| figure(p.cost_to_control, hundredths));
const COST_INTERVAL: Column = number("cost, 95%", |_, p| {
    interval(p.intervals.cost_us, hundredths)
});
const COST_RATIO_INTERVAL: Column = number("÷ null, 95%", |_, p| {
    interval(p.intervals.cost_to_control, hundredths)
});
const COST_TIES: Column = text("cost ties", |subject, _| {
    letters(subject, |comparisons| &comparisons.cost)
});
const P50: Column = number("p50", |_, p| {
    figure(p.latency.map(|l| l.p50_us), quantity::micros)
});
const P90: Column = number("p90", |_, p| {
    figure(p.latency.map(|l| l.p90_us), quantity::micros)
});
const P99: Column = number("p99", |_, p| {
    figure(p.latency.map(|l| l.p99_us), quantity::micros)
});
const P999: Column = number("p99.9", |_, p| {
    figure(p.latency.map(|l| l.p999_us), quantity::micros)
});
const LATENCY_MAX: Column = number("max", |_, p| {
    figure(p.latency.map(|l| l.max_us), quantity::micros)
});
const SERVER_BUSY: Column = number("server CPU", |_, p| {
    figure(p.resources.and_then(|r| r.busy_share), quantity::percent)
});
const CLIENT_BUSY: Column = number("client CPU", |_, p| {
    figure(p.client_busy_share, quantity::percent)
});
const RSS: Column = number("memory", |_, p| {
    figure(p.resources.map(|r| r.rss_bytes), quantity::bytes)
});
const RSS_PER_CONNECTION: Column = number("per connection", |_, p| {
    figure(
        p.resources.and_then(|r| r.rss_per_connection_bytes),
        quantity::bytes,
    )
});
const SWITCHES: Column = number("context switches per request", |_, p| {
    figure(
        p.resources.and_then(|r| r.context_switches_per_request),
        thousandths,
    )
});
const EVENTS: Column = number("events per wakeup", |_, p| {
    figure(p.resources.and_then(|r| r.events_per_wakeup), hundredths)
});
const CELLS: Column = number("valid", |_, p| {
    format!(
        "{} of {}",
        p.valid_cells,
        p.valid_cells + p.invalid_cells.len() as u64
    )
});
const BOUND: Column = text("bound by", |_, p| bound(p).to_owned());

const COST_AND_RATE: &[Column] = &[
    ENTRANT,
    COST,
    COST_INTERVAL,
    COST_USER,
    COST_SYSTEM,
    COST_RATIO,
    COST_RATIO_INTERVAL,
    COST_TIES,
    RATE,
    RATE_INTERVAL,
    RATE_RATIO,
    RATE_TIES,
    BOUND,
    CELLS,
];
const LATENCY: &[Column] = &[ENTRANT, P50, P90, P99, P999, LATENCY_MAX];
const RESOURCES: &[Column] = &[
    ENTRANT,
    SERVER_BUSY,
    CLIENT_BUSY,
    RSS,
    RSS_PER_CONNECTION,
    SWITCHES,
    EVENTS,
];
const SUMMARY: &[Column] = &[
    ENTRANT,
    COST,
    COST_RATIO,
    COST_RATIO_INTERVAL,
    COST_TIES,
    RATE,
    RATE_RATIO,
    P99,
    CELLS,
    BOUND,
];

/// Where a figure does not exist.
pub(crate) const NOTHING: &str = "–";

impl Head {
    pub(crate) const fn text(head: &'static str) -> Self {
        Self {
            head: Cow::Borrowed(head),
            text: true,
        }
    }

    pub(crate) const fn number(head: &'static str) -> Self {
        Self {
            head: Cow::Borrowed(head),
            text: false,
        }
    }
}

const fn text(head: &'static str, write: fn(&Subject, &Point) -> String) -> Column {
    let head = Head::text(head);
    Column { head, write }
}

const fn number(head: &'static str, write: fn(&Subject, &Point) -> String) -> Column {
    let head = Head::number(head);
    Column { head, write }
}

/// A table with a row per entrant at each connection count, still without title and caption.
fn by_count(findings: &Findings, columns: &[Column]) -> Table {
    Table {
        title: "",
        caption: Cow::Borrowed(""),
        grouped_by: Head::number("connections"),
        columns: columns.iter().map(|column| column.head.clone()).collect(),
        groups: groups(findings, columns),
    }
}

fn groups(findings: &Findings, columns: &[Column]) -> Vec<Group> {
    groups_of(findings, columns, |_| true)
}

/// The groups with the rows of some points only.
fn groups_of(findings: &Findings, columns: &[Column], is_wanted: fn(&Point) -> bool) -> Vec<Group> {
    let counts = findings.connection_counts().len();
    (0..counts)
        .map(|position| {
            let points = || {
                let entrants = findings.entrants.iter();
                entrants.map(move |entrant| (entrant, &entrant.points[position]))
            };
            let connections = points().next().map_or(0, |(_, p)| u64::from(p.connections));
            let rows = points()
                .filter(|(_, point)| is_wanted(point))
                .map(|(entrant, point)| {
                    let subject = Subject {
                        entrant,
                        comparisons: findings.comparisons.get(position),
                    };
                    let write = |column: &Column| (column.write)(&subject, point);
                    columns.iter().map(write).collect()
                });
            Group::of_count(connections, rows.collect())
        })
        .collect()
}

/// What set the rate.
fn bound(point: &Point) -> &'static str {
    if point.valid_cells == 0 {
        return if point.invalid_cells.is_empty() {
            "not measured"
        } else {
            "no valid cell"
        };
    }
    match point.bound_by {
        Some(Bound::Client) => "client",
        Some(Bound::Server) => "server",
        Some(Bound::Quota) => "quota",
        Some(Bound::Noise) => "noise",
        Some(Bound::Neither) => "neither",
        None => NOTHING,
    }
}

/// The letters of the groups of ties that a contestant is in.
fn letters(subject: &Subject, figure: fn(&Comparisons) -> &Compared) -> String {
    let Some(compared) = subject.comparisons.map(figure) else {
        return NOTHING.to_owned();
    };
    let of_group = ('a'..='z').cycle().zip(&compared.ties);
    let letters: String = of_group
        .filter(|(_, group)| group.contains(&subject.entrant.label))
        .map(|(letter, _)| letter)
        .collect();
    if letters.is_empty() || !compared.is_told() {
        NOTHING.to_owned()
    } else {
        letters
    }
}

pub(super) fn figure(spread: Option<Spread>, write: fn(f64) -> String) -> String {
    spread.map_or_else(|| NOTHING.to_owned(), |spread| write(spread.median))
}

pub(super) fn interval(interval: Option<Interval>, write: fn(f64) -> String) -> String {
    interval.map_or_else(
        || NOTHING.to_owned(),
        |interval| format!("{} to {}", write(interval.low), write(interval.high)),
    )
}

pub(crate) fn hundredths(value: f64) -> String {
    format!("{value:.2}")
}

pub(super) fn thousandths(value: f64) -> String {
    format!("{value:.3}")
}
