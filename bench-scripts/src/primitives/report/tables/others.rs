//! The ladder, the ways to start a program, claims and orders; and every row, one by one.

use rungs_primitives::row::{Each, Family, Outcome, Row, Value};

use super::{MARKS, Notes, Section, cell, key_at, placed, spread, waits};
use crate::primitives::record::Servers;
use crate::primitives::report::findings::Findings;
use crate::primitives::report::key::{Key, PLACEMENTS, Rows, absence, placement_name};
use crate::primitives::report::ladder::{Cost, Ladder, Step};
use crate::primitives::report::orders::{Checked, Verdict};
use crate::quantity::{nanos, significant, whole};
use crate::render::tables::{Group, Head, NOTHING, Table, hundredths};

/// The ladder in figures.
pub(super) fn ladder(findings: &Findings, servers: Option<&Servers>) -> Section {
    let ladder = &findings.ladder;
    let counted = ladder.request_of.as_deref();
    let in_request = counted.map(|label| format!("in a request of {label}"));
    let mut columns = vec![
        Head::text("rung"),
        Head::text("one"),
        Head::number("same CPU"),
        Head::number("across CPUs"),
    ];
    for placement in PLACEMENTS {
        let head = in_request
            .as_ref()
            .map(|head| format!("{head}, {}", placement_name(placement)));
        columns.extend(head.map(super::number_head));
    }
    let steps = ladder
        .steps
        .iter()
        .map(|step| step_cells(step, counted.is_some()));
    let mut groups = vec![Group {
        heading: "primitives, elapsed time of one".to_owned(),
        name: "elapsed time".to_owned(),
        rows: steps.collect(),
    }];
    if let Some(servers) = servers {
        groups.push(Group {
            heading: format!(
                "servers, CPU time of a request over {} connections",
                whole(servers.connections.into())
            ),
            name: "server CPU time".to_owned(),
            rows: server_cells(ladder),
        });
    }
    Section {
        table: Table {
            title: "The ladder in figures",
            caption: "What one operation costs: of the primitives the time that elapses, of the servers the CPU time per request \
                      under load. A round trip is two hand-offs. In a request: how many cost as much as one."
                .into(),
            grouped_by: Head::text("measured as"),
            columns,
            groups,
        },
        notes: Vec::new(),
    }
}

fn step_cells(step: &Step, counted: bool) -> Vec<String> {
    let costs = [step.same_cpu, step.across_cpus];
    let time = |cost: Option<Cost>| cost.map_or(NOTHING.to_owned(), |cost| nanos(cost.median_ns));
    let mut cells = vec![step.label.clone(), step.operation.name().to_owned()];
    cells.extend(costs.map(time));
    if counted {
        let count = |cost: Option<Cost>| cost.and_then(Cost::bought);
        cells.extend(costs.map(|cost| count(cost).unwrap_or(NOTHING.to_owned())));
    }
    cells
}

/// A server runs on its own CPU, and the load generator on another.
fn server_cells(ladder: &Ladder) -> Vec<Vec<String>> {
    let empty = if ladder.request_of.is_some() { 2 } else { 0 };
    let line = |server: &crate::primitives::record::ServerCost| {
        let interval = server.interval_us.map_or(String::new(), |interval| {
            format!(
                " ({} to {})",
                hundredths(interval.low),
                hundredths(interval.high)
            )
        });
        let mut cells = vec![
            server.label.clone(),
            "request".to_owned(),
            NOTHING.to_owned(),
            format!("{:.2} µs{interval}", server.cost_us),
        ];
        cells.extend(vec![NOTHING.to_owned(); empty]);
        cells
    };
    ladder.servers.iter().map(line).collect()
}

/// The comparison of system(3) with what does the same.
pub(super) fn programs(rows: Rows) -> Section {
    const FAMILY: Family = Family::Spawn;
    let programs = rows.mechanisms(FAMILY);
    let sizes = rows.parameters(FAMILY);
    let mut notes = Notes::default();
    let groups = PLACEMENTS.map(|placement| {
        let mut line = |program: &&str| {
            let key = |mb: usize| key_at(FAMILY, program, mb);
            let ends = sizes.first().zip(sizes.last());
            let ends = ends.and_then(|(first, last)| {
                Some((
                    rows.value(key(*first), placement)?,
                    rows.value(key(*last), placement)?,
                ))
            });
            let mut cells = vec![(*program).to_owned()];
            cells.extend(
                sizes
                    .iter()
                    .map(|&mb| cell(rows.find(key(mb), placement), &mut notes)),
            );
            cells.push(ends.map_or(NOTHING.to_owned(), |(small, large)| {
                format!("× {}", significant(large.median / small.median))
            }));
            cells
        };
        placed(placement, programs.iter().map(&mut line).collect())
    });
    let of_sizes = sizes
        .iter()
        .map(|&mb| super::number_head(format!("{} MB, µs", whole(mb as u64))));
    Section {
        table: Table {
            title: "Programs: system(3) and what does the same",
            caption: format!(
                "µs to list the regular files of one directory, by the resident memory of the process that asks. All but readdir run ls \
                 and read its output to the end; all outputs are compared as sets. {MARKS}"
            )
            .into(),
            grouped_by: Head::text("placement"),
            columns: [Head::text("way")]
                .into_iter()
                .chain(of_sizes)
                .chain([Head::number("largest ÷ smallest")])
                .collect(),
            groups: groups.into(),
        },
        notes: notes.finish(rows.of(FAMILY)),
    }
}

/// The orders, checked.
pub(super) fn orders(orders: &[Checked]) -> Section {
    let line = |checked: &Checked| {
        let verdict = match checked.verdict {
            Verdict::Holds => "holds",
            Verdict::DoesNotHold => "DOES NOT HOLD",
            Verdict::NotChecked => "not checked",
        };
        vec![
            checked.order.clone(),
            placement_name(checked.placement).to_owned(),
            verdict.to_owned(),
            checked.found.clone(),
        ]
    };
    let groups = orders
        .chunk_by(|a, b| a.about == b.about)
        .map(|group| Group {
            heading: group[0].about.clone(),
            name: group[0].about.clone(),
            rows: group.iter().map(line).collect(),
        });
    Section {
        table: Table {
            title: "Orders that should hold",
            caption: "Between rows of any sound Linux. One that does not is a warning: of this machine, or of this measurement.".into(),
            grouped_by: Head::text("about"),
            columns: ["order", "placement", "verdict", "found"].map(Head::text).into(),
            groups: groups.collect(),
        },
        notes: Vec::new(),
    }
}

/// Every row as measured, by family.
pub(in crate::primitives::report) fn every_row(rows: Rows, families: &[Family]) -> Table {
    let group = |&family: &Family| Group {
        heading: family.name().to_owned(),
        name: family.name().to_owned(),
        rows: rows.of(family).map(one_by_one).collect(),
    };
    Table {
        title: "Every row",
        caption: format!("As measured, one by one. {MARKS}").into(),
        grouped_by: Head::text("family"),
        columns: vec![
            Head::text("mechanism"),
            Head::text("at"),
            Head::text("placement"),
            Head::number("median"),
            Head::number("spread"),
            Head::number("min"),
            Head::number("p50, µs"),
            Head::number("p99, µs"),
            Head::number("repetitions × operations"),
            Head::text("who waits"),
            Head::text("absent because, or how set"),
        ],
        groups: families.iter().map(group).collect(),
    }
}

fn one_by_one(row: &Row) -> Vec<String> {
    let crowded = if row.oversubscribed {
        ", oversubscribed"
    } else {
        ""
    };
    let mut cells = vec![
        row.mechanism.clone(),
        format!("{}{crowded}", Key::of(row).at_words().unwrap_or_default()),
        placement_name(row.placement).to_owned(),
    ];
    match &row.outcome {
        Outcome::Value(value) => cells.extend(figures(value)),
        Outcome::Absent(_) | Outcome::Failed(_) => cells.extend([NOTHING; 6].map(str::to_owned)),
    }
    cells.push(waits(row.waits).to_owned());
    cells.push(
        absence(row)
            .or_else(|| row.note.clone())
            .unwrap_or_default(),
    );
    cells
}

fn figures(value: &Value) -> [String; 6] {
    let unit = value.unit.name();
    let each = |of: fn(&Each) -> f64| {
        let each = value.each.as_ref();
        each.map_or(NOTHING.to_owned(), |each| significant(of(each)))
    };
    [
        format!("{} {unit}", significant(value.median)),
        spread(value),
        format!("{} {unit}", significant(value.min)),
        each(|each| each.p50_us),
        each(|each| each.p99_us),
        format!("{} × {}", value.repetitions.len(), whole(value.operations)),
    ]
}
