//! What `rungs cost` says: one table, for a terminal and as Markdown.

use std::collections::BTreeMap;
use std::fmt::{self, Write};

use super::report_md::{line, write_entries, write_table};
use super::tables::{Group, Head, NOTHING, Table, figure, hundredths, interval};
use super::traces::absent;
use super::{terminal, words};
use crate::findings::trace::SystemCallFindings;
use crate::findings::{EntrantFindings, Findings, Point};
use crate::quantity;
use crate::record::Run;
use crate::record::cost::{IdleMemory, StepCounts, UserCost, UserSpace};
use crate::record::trace::{Absence, Traced};

/// Calls that are rarer than this per request are not named.
const RARE: f64 = 0.005;

/// How many calls are named.
const NAMED: usize = 4;

const CAPTION: &str = "Cost ÷ null: server CPU time of a request, as the ratio to the null rung in the same round; median over rounds and 95% interval. \
    System calls are traced apart (strace), which makes batches larger. \
    Instructions (user space) and allocations are counted step by step while up to 100 requests come at a time: exact, and with the largest batches. \
    Idle connection: user memory that the server holds for each connection after one request; it comes in pages of 4 KiB, \
    so it is known to some 40 B at 100 connections and to less than 1 B at 10,000.";

/// The table, for a terminal.
#[must_use]
pub fn cost_table(findings: &Findings, user_space: &UserSpace) -> String {
    let table = table(findings, user_space);
    format!("{}\n\n{}", terminal::text(&table), table.caption)
}

/// The table as Markdown, with the machine and how to make it again.
///
/// # Errors
///
/// None: text grows without limit.
pub fn cost_md(
    run: &Run,
    findings: &Findings,
    user_space: &UserSpace,
) -> Result<String, fmt::Error> {
    let mut out = String::new();
    writeln!(out, "# rungs: what a request costs\n")?;
    writeln!(out, "{}", line(&words::headline(run)))?;
    let (measured, user) = (&run.started_at, &user_space.measured_at);
    writeln!(out, "Measured {measured}; user space {user}.")?;
    write_table(&mut out, &table(findings, user_space))?;
    write_entries(&mut out, "Environment", words::environment(run))?;
    write_entries(&mut out, "Programs", words::programs(run))?;
    writeln!(
        out,
        "\n## Again\n\n```sh\n{}\n```",
        words::reproduction(run)
    )?;
    Ok(out)
}

fn table(findings: &Findings, user_space: &UserSpace) -> Table {
    let counts = findings.connection_counts().len();
    let groups = (0..counts).map(|position| group(findings, user_space, position));
    let sentences = [CAPTION.to_owned()].into_iter().chain(remarks(user_space));
    Table {
        title: "What a request costs",
        caption: sentences.collect::<Vec<_>>().join(" ").into(),
        grouped_by: Head::number("connections"),
        columns: vec![
            Head::text("entrant"),
            Head::number("cost ÷ null"),
            Head::number("95%"),
            Head::number("system calls"),
            Head::number("instructions"),
            Head::number("allocations"),
            Head::number("idle connection"),
            Head::text("system calls by name"),
        ],
        groups: groups.collect(),
    }
}

fn group(findings: &Findings, user_space: &UserSpace, position: usize) -> Group {
    let entrants = findings
        .entrants
        .iter()
        .filter(|entrant| entrant.repeat_of.is_none());
    let points: Vec<_> = entrants
        .map(|entrant| (entrant, &entrant.points[position]))
        .collect();
    let connections = points
        .first()
        .map_or(0, |(_, point)| point.connections.into());
    let rows = points
        .into_iter()
        .map(|(entrant, point)| row(findings, user_space, entrant, point));
    Group::of_count(connections, rows.collect())
}

fn row(
    findings: &Findings,
    user_space: &UserSpace,
    entrant: &EntrantFindings,
    point: &Point,
) -> Vec<String> {
    let mut traces = findings.traces.iter();
    let trace = traces
        .find(|t| t.entrant == entrant.label && t.connections_asked == point.connections_asked);
    let calls = trace.and_then(|trace| counted(trace.system_calls.as_ref()?));
    let mut costs = user_space.costs.iter();
    let cost = costs.find(|c| c.entrant == entrant.label && c.connections == point.connections);
    let steps = cost.and_then(|cost| counted(&cost.steps));
    let or_nothing = |text: Option<String>| text.unwrap_or_else(|| NOTHING.to_owned());
    vec![
        entrant.label.clone(),
        figure(point.cost_to_control, hundredths),
        interval(point.intervals.cost_to_control, hundredths),
        or_nothing(calls.map(|calls| hundredths(calls.per_request))),
        or_nothing(steps.map(instructions)),
        or_nothing(steps.and_then(allocations)),
        or_nothing(cost.and_then(idle_connection)),
        or_nothing(calls.map(by_name)),
    ]
}

fn counted<T>(traced: &Traced<T>) -> Option<&T> {
    match traced {
        Traced::Counted(counted) => Some(counted),
        Traced::Absent(_) => None,
    }
}

fn instructions(steps: &StepCounts) -> String {
    quantity::whole(steps.instructions.div_ceil(steps.requests))
}

fn allocations(steps: &StepCounts) -> Option<String> {
    counted(&steps.allocations)
        .map(|allocations| hundredths(*allocations as f64 / steps.requests as f64))
}

fn idle_connection(cost: &UserCost) -> Option<String> {
    let IdleMemory {
        before_bytes,
        after_bytes,
    } = counted(&cost.idle)?;
    let bytes = after_bytes.saturating_sub(*before_bytes) / u64::from(cost.connections);
    Some(format!("{} B", quantity::whole(bytes)))
}

/// `1.00 recvfrom, 1.00 sendto`.
fn by_name(calls: &SystemCallFindings) -> String {
    let frequent = calls.by_name.iter().filter(|call| call.per_request >= RARE);
    let named = frequent
        .take(NAMED)
        .map(|call| format!("{:.2} {}", call.per_request, call.name));
    named.collect::<Vec<_>>().join(", ")
}

/// What could not be measured, and what to do about it.
fn remarks(user_space: &UserSpace) -> Vec<String> {
    let mut absences: BTreeMap<&Absence, Vec<String>> = BTreeMap::new();
    for cost in &user_space.costs {
        let of = |absence| (absence, cost.entrant.clone());
        let (absence, entrant) = match (&cost.idle, &cost.steps) {
            (Traced::Absent(absence), _) | (_, Traced::Absent(absence)) => of(absence),
            (
                _,
                Traced::Counted(StepCounts {
                    allocations: Traced::Absent(absence),
                    ..
                }),
            ) => of(absence),
            _ => continue,
        };
        let entrants = absences.entry(absence).or_default();
        if !entrants.contains(&entrant) {
            entrants.push(entrant);
        }
    }
    absences
        .into_iter()
        .map(|(absence, of)| absent(&of, absence))
        .collect()
}
