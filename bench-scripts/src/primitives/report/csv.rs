//! `rows.csv`: every row with its numbers, and those of the documents in columns of their own.

use csv::Writer;
use rungs_primitives::row::{Outcome, Row, Value};
use serde::Serialize;
use serde_json::Value as Json;

use super::key::{Key, absence};
use super::reference::{self, System};
use crate::primitives::record::Record;

const HEADER: [&str; 24] = [
    "family",
    "mechanism",
    "message_bytes",
    "workers",
    "parent_rss_mb",
    "placement",
    "waits",
    "oversubscribed",
    "unit",
    "median",
    "min",
    "mad",
    "spread",
    "repetitions",
    "operations",
    "p50_us",
    "p99_us",
    "reader_cpu_s",
    "lost",
    "absent",
    "note",
    "document_solaris_2_6",
    "document_digital_unix_4_0b",
    "document_i7_linux_5_4",
];

pub(super) fn rows(record: &Record) -> anyhow::Result<Vec<u8>> {
    let mut writer = Writer::from_writer(Vec::new());
    writer.write_record(HEADER)?;
    for row in &record.rows {
        writer.write_record(line(row)?)?;
    }
    Ok(writer.into_inner()?)
}

fn line(row: &Row) -> anyhow::Result<Vec<String>> {
    let mut cells = vec![
        name(row.family)?,
        row.mechanism.clone(),
        number(row.message_bytes),
        number(row.workers),
        number(row.parent_rss_mb),
        name(row.placement)?,
        name(row.waits)?,
        row.oversubscribed.to_string(),
    ];
    match &row.outcome {
        Outcome::Value(value) => cells.extend(figures(value)?),
        Outcome::Absent(_) | Outcome::Failed(_) => cells.extend(vec![String::new(); 11]),
    }
    cells.push(absence(row).unwrap_or_default());
    cells.push(row.note.clone().unwrap_or_default());
    let systems = [System::Solaris, System::DigitalUnix, System::Linux54];
    cells.extend(systems.map(|system| number(reference::value(system, Key::of(row)))));
    Ok(cells)
}

fn figures(value: &Value) -> anyhow::Result<[String; 11]> {
    Ok([
        name(value.unit)?,
        value.median.to_string(),
        value.min.to_string(),
        value.mad.to_string(),
        value.spread().to_string(),
        value.repetitions.len().to_string(),
        value.operations.to_string(),
        number(value.each.map(|each| each.p50_us)),
        number(value.each.map(|each| each.p99_us)),
        number(value.reader_cpu_s),
        number(value.lost),
    ])
}

fn number<T: ToString>(value: Option<T>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

/// As the JSON files call it.
fn name(value: impl Serialize) -> anyhow::Result<String> {
    match serde_json::to_value(value)? {
        Json::String(name) => Ok(name),
        other => Ok(other.to_string()),
    }
}
