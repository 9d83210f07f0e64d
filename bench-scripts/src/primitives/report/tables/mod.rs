//! The tables, in the documents' own form.

mod locks;
mod messages;
mod others;
mod round_trips;
mod sizes;

use std::borrow::Cow;

use rungs_primitives::failure::Absence;
use rungs_primitives::row::{Family, Outcome, Placement, Row, Value, Waits};

use super::findings::Findings;
use super::key::{Key, Rows, is_unsteady, placement_name};
use super::reference::System;
use crate::primitives::record::Record;
use crate::quantity::{self, significant};
use crate::render::tables::{Group, Head, NOTHING, Table};

pub(super) use others::every_row;

/// A table and what is said below it.
pub(super) struct Section {
    pub(super) table: Table,
    /// Why values are absent; how rows differ from their neighbours.
    pub(super) notes: Vec<String>,
}

/// All but the rows one by one, in reading order.
pub(super) fn all(record: &Record, findings: &Findings) -> Vec<Section> {
    let rows = Rows(&record.rows);
    let mut sections = vec![others::ladder(findings, record.servers.as_ref())];
    let families = record.run.families.iter();
    sections.extend(families.map(|&family| of_family(family, rows)));
    if !findings.orders.is_empty() {
        sections.push(others::orders(&findings.orders));
    }
    sections
}

/// A family's table.
pub(super) fn of_family(family: Family, rows: Rows) -> Section {
    match family {
        Family::Latency => round_trips::latency(rows),
        Family::Bandwidth => sizes::section(rows),
        Family::Threads => locks::threads(rows),
        Family::Processes => locks::processes(rows),
        Family::Messages => messages::section(rows),
        Family::Spawn => others::programs(rows),
        Family::Wakeups => round_trips::wakeups(rows),
    }
}

/// What the mark behind a value means, for captions.
const MARKS: &str =
    "±: median distance of the repetitions from their median, ÷ median; ‡ if that is above 5%.";

/// What the mark behind a value of more workers than CPUs is.
const OVERSUBSCRIBED: &str = "°";

/// Remarks below a table, each said once.
#[derive(Default)]
struct Notes(Vec<String>);

impl Notes {
    /// The number of a remark, from 1.
    fn number(&mut self, remark: &str) -> usize {
        if let Some(known) = self.0.iter().position(|known| known == remark) {
            return known + 1;
        }
        self.0.push(remark.to_owned());
        self.0.len()
    }

    /// The remarks, numbered; then in what each of `rows` differs from its neighbours.
    fn finish<'a>(self, rows: impl Iterator<Item = &'a Row>) -> Vec<String> {
        let numbered = self.0.iter().enumerate();
        let mut notes: Vec<String> = numbered
            .map(|(i, remark)| format!("[{}] {remark}.", i + 1))
            .collect();
        let mut kept: Vec<(&str, Vec<&str>)> = Vec::new();
        for row in rows {
            let Some(note) = row.note.as_deref() else {
                continue;
            };
            let place = kept
                .iter()
                .position(|(known, _)| *known == note)
                .unwrap_or_else(|| {
                    kept.push((note, Vec::new()));
                    kept.len() - 1
                });
            if !kept[place].1.contains(&row.mechanism.as_str()) {
                kept[place].1.push(&row.mechanism);
            }
        }
        notes.extend(
            kept.iter()
                .map(|(note, mechanisms)| format!("{}: {note}.", mechanisms.join(", "))),
        );
        notes
    }
}

/// A value with its spread, or the kind of its absence with the number of the remark that says more.
fn cell(row: Option<&Row>, notes: &mut Notes) -> String {
    let Some(row) = row else {
        return NOTHING.to_owned();
    };
    match &row.outcome {
        Outcome::Value(value) => {
            let crowded = if row.oversubscribed {
                OVERSUBSCRIBED
            } else {
                ""
            };
            format!("{}{crowded} {}", significant(value.median), spread(value))
        }
        Outcome::Absent(_) | Outcome::Failed(_) => absent(row, notes),
    }
}

/// `limit [2]`; empty where there is a value.
fn absent(row: &Row, notes: &mut Notes) -> String {
    let kind = match &row.outcome {
        Outcome::Value(_) => return String::new(),
        Outcome::Absent(Absence::Limit(_)) => "limit",
        Outcome::Absent(Absence::Skipped(_)) => "skipped",
        Outcome::Absent(Absence::Refused(_)) => "refused",
        Outcome::Failed(_) => "FAILED",
    };
    let why = super::key::absence(row).unwrap_or_default();
    format!("{kind} [{}]", notes.number(&why))
}

/// MAD ÷ median, marked where the repetitions disagree.
pub(super) fn spread(value: &Value) -> String {
    let mark = if is_unsteady(value) { "‡" } else { "" };
    format!("±{}{mark}", quantity::fine_percent(value.spread()))
}

/// What a side does that has to wait.
fn waits(waits: Waits) -> &'static str {
    match waits {
        Waits::Blocks => "blocks",
        Waits::Spins => "spins",
        Waits::SpinsThenBlocks => "spins, then blocks",
    }
}

/// The rows of a placement.
fn placed(placement: Placement, rows: Vec<Vec<String>>) -> Group {
    let name = placement_name(placement);
    Group {
        heading: format!("{name}, this machine"),
        name: name.to_owned(),
        rows,
    }
}

/// The rows of a document's machine.
fn documented(system: System, rows: Vec<Vec<String>>) -> Group {
    Group {
        heading: format!("{}, the document's values", system.name()),
        name: format!("{}, document", system.name()),
        rows,
    }
}

/// A document's value, or nothing.
fn reference(value: Option<String>) -> String {
    value.unwrap_or_else(|| NOTHING.to_owned())
}

fn number_head(text: String) -> Head {
    Head {
        head: Cow::Owned(text),
        text: false,
    }
}

/// The row's key with its parameter.
fn key_at(family: Family, mechanism: &str, parameter: usize) -> Key<'_> {
    Key::new(family, mechanism).at(parameter)
}
