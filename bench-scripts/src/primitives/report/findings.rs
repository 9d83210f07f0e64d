//! `findings.json`: what was concluded of a primitives run.

use rungs_primitives::row::{Family, Outcome, Placement, Row, Unit};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::key::{Key, Rows, absence, is_unsteady};
use super::ladder::{self, Ladder};
use super::lead;
use super::orders::{self, Checked, Verdict};
use super::reference::{self, System};
use crate::primitives::record::Record;
use crate::record::SCHEMA_VERSION;

/// What a run says.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct Findings {
    /// [`SCHEMA_VERSION`] of the writer.
    pub schema: u32,
    /// The run in sentences, the ladder first.
    pub sentences: Vec<String>,
    /// The orders that should hold, checked.
    pub orders: Vec<Checked>,
    /// What one operation costs.
    pub ladder: Ladder,
    /// The rows, as the tables show them.
    pub rows: Vec<Figures>,
}

/// A row's numbers beside those of the documents.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct Figures {
    /// What it is about.
    pub family: Family,
    /// The mechanism's name.
    pub mechanism: String,
    /// Bytes of a message, workers, or MB of the parent's memory, where the family's tables go through such.
    pub parameter: Option<usize>,
    /// Where its parts ran.
    pub placement: Placement,
    /// The value; none where it is absent or failed.
    pub value: Option<Figure>,
    /// Why there is none.
    pub absent: Option<String>,
    /// What documents measured of the same, on their machines.
    pub documents: Vec<Reference>,
}

/// A value in short.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct Figure {
    /// Of median and min.
    pub unit: Unit,
    /// Median of the repetitions.
    pub median: f64,
    /// The smallest of them.
    pub min: f64,
    /// MAD ÷ median.
    pub spread: f64,
    /// Whether that is more than it should be.
    pub unsteady: bool,
}

/// A document's value, in the unit of the row.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct Reference {
    /// The document's machine.
    pub system: System,
    /// What it took there.
    pub value: f64,
}

/// What the run says.
pub(super) fn of(record: &Record) -> Findings {
    let rows = Rows(&record.rows);
    let ladder = ladder::ladder(rows, record.servers.as_ref());
    Findings {
        schema: SCHEMA_VERSION,
        sentences: lead::sentences(rows, &ladder),
        orders: orders::check(rows, &record.run.families),
        ladder,
        rows: record.rows.iter().map(figures).collect(),
    }
}

fn figures(row: &Row) -> Figures {
    let key = Key::of(row);
    let of_document = |system| {
        let value = reference::value(system, key)?;
        Some(Reference { system, value })
    };
    Figures {
        family: row.family,
        mechanism: row.mechanism.clone(),
        parameter: key.parameter,
        placement: row.placement,
        value: match &row.outcome {
            Outcome::Value(value) => Some(Figure {
                unit: value.unit,
                median: value.median,
                min: value.min,
                spread: value.spread(),
                unsteady: is_unsteady(value),
            }),
            Outcome::Absent(_) | Outcome::Failed(_) => None,
        },
        absent: absence(row),
        documents: reference::systems(row.family)
            .filter_map(of_document)
            .collect(),
    }
}

impl Figures {
    pub(super) fn key(&self) -> Key<'_> {
        Key {
            family: self.family,
            mechanism: &self.mechanism,
            parameter: self.parameter,
        }
    }
}

impl Findings {
    /// The orders that do not hold.
    pub fn broken_orders(&self) -> impl Iterator<Item = &Checked> {
        let orders = self.orders.iter();
        orders.filter(|order| order.verdict == Verdict::DoesNotHold)
    }

    /// The rows whose repetitions disagree.
    pub fn unsteady(&self) -> impl Iterator<Item = &Figures> {
        let rows = self.rows.iter();
        rows.filter(|row| row.value.is_some_and(|value| value.unsteady))
    }
}
