//! What reports say of latency at fixed rates: tables, sentences, remarks.

use super::tables::{Group, Head, NOTHING, Table, figure, hundredths};
use super::words::{Entry, InvalidRow};
use crate::findings::{
    EntrantRates, FEW_SAMPLES, Findings, FixedRates, LatencyFindings, RatePoint, Spread,
};
use crate::quantity;
use crate::record::Run;

/// One column of a table over rates.
struct Column {
    head: Head,
    write: fn(&EntrantRates, &RatePoint) -> String,
}

const COLUMNS: &[Column] = &[
    text("entrant", |entrant, _| entrant.label.clone()),
    number("requests/s", |_, p| quantity::whole(p.rate_per_s.into())),
    number("p50", |_, p| median(p, |l| l.p50_us)),
    number("p50, range", |_, p| range(p, |l| l.p50_us)),
    number("p90", |_, p| median(p, |l| l.p90_us)),
    number("p99", |_, p| median(p, |l| l.p99_us)),
    number("p99, range", |_, p| range(p, |l| l.p99_us)),
    number("p99.9", |_, p| p999(p)),
    number("max", |_, p| median(p, |l| l.max_us)),
    number("generator late, p99", |_, p| {
        figure(p.lateness_p99_us, quantity::micros)
    }),
    number("generator busy", |_, p| {
        figure(p.generator_busy_share, quantity::percent)
    }),
    number("cost, µs", |_, p| figure(p.cost_us, hundredths)),
    number("valid", |_, p| {
        format!(
            "{} of {}",
            p.valid_cells,
            p.valid_cells + p.invalid_cells.len() as u64
        )
    }),
];

const fn text(head: &'static str, write: fn(&EntrantRates, &RatePoint) -> String) -> Column {
    let head = Head::text(head);
    Column { head, write }
}

const fn number(head: &'static str, write: fn(&EntrantRates, &RatePoint) -> String) -> Column {
    let head = Head::number(head);
    Column { head, write }
}

/// The tables, in reading order; none where nothing was measured.
pub(super) fn tables(findings: &Findings) -> Vec<Table> {
    let Some(rates) = measured(findings) else {
        return Vec::new();
    };
    let table = |title, caption: &'static str, groups| Table {
        title,
        caption: caption.into(),
        grouped_by: Head::number("share"),
        columns: COLUMNS.iter().map(|column| column.head.clone()).collect(),
        groups,
    };
    vec![
        table(
            "Latency at fixed rates, by share of one's own capacity",
            "Each server at shares of its own capacity, in an open loop: latency counts from when a request was due. Medians and ranges over rounds. \
             A rate that was not held has no latency, and is named below. * fewer than 10 requests of a round took longer than that.",
            groups(rates, "each entrant's own capacity", |p| p.of.is_own()),
        ),
        table(
            "Latency at fixed rates, the same for all",
            "All servers at the same rates, shares of the lowest capacity among them: side by side, and not ranked, since few rounds prove no \
             difference in a tail. * fewer than 10 requests of a round took longer than that.",
            groups(rates, "the lowest capacity", |p| p.of.is_lowest()),
        ),
    ]
}

/// A group per share, of the points that are wanted.
fn groups(rates: &FixedRates, whose: &str, wanted: impl Fn(&RatePoint) -> bool) -> Vec<Group> {
    let shares = rates.shares().into_iter();
    let group = |share_percent| Group {
        heading: format!("{share_percent}% of {whose}"),
        name: format!("{share_percent}%"),
        rows: rates
            .entrants
            .iter()
            .flat_map(|entrant| entrant.points.iter().map(move |point| (entrant, point)))
            .filter(|(_, point)| point.share_percent == share_percent && wanted(point))
            .map(|(entrant, point)| {
                let write = |column: &Column| (column.write)(entrant, point);
                COLUMNS.iter().map(write).collect()
            })
            .collect(),
    };
    shares.map(group).collect()
}

/// The second pass, if anything of it was measured.
fn measured(findings: &Findings) -> Option<&FixedRates> {
    let rates = findings.fixed_rates.as_ref();
    rates.filter(|rates| rates.cells.measured > 0)
}

fn median(point: &RatePoint, pick: fn(&LatencyFindings) -> Spread) -> String {
    figure(point.latency.as_ref().map(pick), quantity::micros)
}

fn range(point: &RatePoint, pick: fn(&LatencyFindings) -> Spread) -> String {
    let spread = point.latency.as_ref().map(pick);
    let several = spread.filter(|spread| spread.samples > 1);
    several.map_or_else(
        || NOTHING.to_owned(),
        |spread| {
            let (low, high) = (quantity::micros(spread.min), quantity::micros(spread.max));
            format!("{low} to {high}")
        },
    )
}

/// With a mark where it rests on few samples.
fn p999(point: &RatePoint) -> String {
    let mark = match point.samples_beyond_p999 {
        Some(..FEW_SAMPLES) => "*",
        _ => "",
    };
    median(point, |latency| latency.p999_us) + mark
}

/// What a request waits at the share next to one half, server by server. Without a ranking: few rounds prove none.
pub(super) fn sentence(findings: &Findings) -> Option<String> {
    let rates = measured(findings)?;
    let share = rates.shares().into_iter().min_by_key(|s| s.abs_diff(50))?;
    let contestants = rates.entrants.iter().filter(|e| e.role.is_contestant());
    let point = |entrant: &EntrantRates| {
        let mut own = entrant.own();
        own.find(|point| point.share_percent == share)?.latency
    };
    let waits: Vec<String> = contestants
        .filter_map(|entrant| {
            let latency = point(entrant)?;
            Some(format!(
                "{} and {} with {}",
                quantity::micros(latency.p50_us.median),
                quantity::micros(latency.p99_us.median),
                entrant.label
            ))
        })
        .collect();
    (!waits.is_empty()).then(|| {
        format!(
            "At a fixed rate, {share}% of each server's own capacity, a request waits, at the median and at the 99th percentile: {}.",
            waits.join("; ")
        )
    })
}

/// What a reader must know before the figures of latency.
pub(super) fn remarks(findings: &Findings) -> Vec<String> {
    let Some(rates) = &findings.fixed_rates else {
        return Vec::new();
    };
    let cells = rates.cells;
    let mut remarks = Vec::new();
    if cells.measured < cells.planned {
        remarks.push(format!(
            "Latency at fixed rates is not complete: {} of {} loads were measured.",
            cells.measured, cells.planned
        ));
    }
    let invalid = cells.attempts - cells.valid;
    if invalid > 0 {
        remarks.push(format!(
            "{invalid} of {} loads at fixed rates are invalid: hollow in the figure, named below, and in no median.",
            cells.attempts
        ));
    }
    let without: Vec<&str> = rates
        .entrants
        .iter()
        .filter(|entrant| entrant.capacity_per_s.is_none())
        .map(|entrant| entrant.label.as_str())
        .collect();
    if cells.measured > 0 && !without.is_empty() {
        remarks.push(format!(
            "Without a valid cell at {} connections, and so loaded at no fixed rate: {}.",
            quantity::whole(rates.capacity_at.into()),
            without.join(", ")
        ));
    }
    remarks
}

pub(super) fn invalid_rows(findings: &Findings) -> Vec<InvalidRow> {
    let rates = findings.fixed_rates.iter();
    rates
        .flat_map(|rates| {
            rates.invalid_cells().map(|(label, point, cell)| {
                let reasons: Vec<String> = cell.reasons.iter().map(ToString::to_string).collect();
                let rate = quantity::whole(point.rate_per_s.into());
                let cell_name = format!("paced {}, {rate}/s", cell.index);
                InvalidRow {
                    entrant: label.to_owned(),
                    connections: quantity::whole(rates.connections.into()),
                    round: (cell.block + 1).to_string(),
                    cell: match cell.attempt {
                        1 => cell_name,
                        attempt => format!("{cell_name}, attempt {attempt}"),
                    },
                    reasons: reasons.join("; "),
                }
            })
        })
        .collect()
}

/// How it was measured, in a paragraph.
pub(super) fn method(run: &Run) -> Option<String> {
    let settings = run.matrix.latency.as_ref()?;
    let shares: Vec<String> = settings.shares.iter().map(|s| format!("{s}%")).collect();
    Some(format!(
        "Latency at fixed rates comes from a second pass with rungs' own load generator, an open loop: requests are due at fixed times \
         whatever the server does, and latency counts from then, so a stall is seen by every request that it holds up. Each server is \
         loaded over {} connections at {} of its own capacity, its median rate in the first pass, and at the same shares of the lowest \
         capacity, for {} after {} of warm-up, in random order. A load is invalid if its rate was not held, or the generator itself was \
         late or too busy.",
        quantity::whole(settings.connections.into()),
        shares.join(", "),
        quantity::millis(settings.duration_ms),
        quantity::millis(settings.warmup_ms)
    ))
}

/// The terms that it adds.
pub(super) fn definitions(run: &Run) -> Vec<Entry> {
    let terms = [
        (
            "capacity",
            "the median rate of an entrant's valid cells: what it answers in a closed loop, or, where the client bounds it, what the load generator asks",
        ),
        (
            "latency at fixed rates",
            "from when a request was due to the end of its answer, in an open loop: free of coordinated omission",
        ),
    ];
    let is_told = run.matrix.latency.is_some();
    let terms = terms.into_iter().filter(|_| is_told);
    terms
        .map(|(term, text)| (term.to_owned(), text.to_owned()))
        .collect()
}
