//! Rows and families in words, for a terminal.

use rungs_primitives::row::{Family, Outcome, Placement, Row};

use crate::quantity::{fine_percent, significant, whole};

/// What a row is about: `pipe at 4,096 bytes, across CPUs`.
#[must_use]
pub fn name(row: &Row) -> String {
    let parameter = match row.family {
        Family::Bandwidth => row
            .message_bytes
            .map(|bytes| format!(" at {} bytes", whole(bytes as u64))),
        Family::Threads => row
            .workers
            .map(|workers| format!(" with {workers} threads")),
        Family::Processes => row
            .workers
            .map(|workers| format!(" with {workers} processes")),
        Family::Spawn => row.parent_rss_mb.map(|mb| format!(" from {mb} MB")),
        Family::Latency | Family::Messages | Family::Wakeups => None,
    };
    let placement = match row.placement {
        Placement::SameCpu => "same CPU",
        Placement::AcrossCpus => "across CPUs",
    };
    format!(
        "{}{}, {placement}",
        row.mechanism,
        parameter.unwrap_or_default()
    )
}

/// Its value with its spread, or why there is none.
#[must_use]
pub fn outcome(row: &Row) -> String {
    match &row.outcome {
        Outcome::Value(value) => format!(
            "{} {} ±{}",
            significant(value.median),
            value.unit.name(),
            fine_percent(value.spread())
        ),
        Outcome::Absent(absence) => absence.to_string(),
        Outcome::Failed(failure) => format!("FAILED: {failure}"),
    }
}

/// The table of a family.
#[must_use]
pub fn terminal_table(_: Family, _: &[Row]) -> String {
    String::new()
}
