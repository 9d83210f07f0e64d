//! The table `[trace]` of a matrix.

use serde::Deserialize;
use toml::Spanned;

use super::{At, time};
use crate::matrix::{TraceSettings, check};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Table {
    connections: Spanned<Counts>,
    duration: Spanned<String>,
}

/// One connection count, or a list of them.
#[derive(Clone, Deserialize)]
#[serde(
    untagged,
    expecting = "a connection count, or a list of them, is needed here"
)]
enum Counts {
    One(u32),
    Many(Vec<u32>),
}

/// The settings that a table means, in a matrix that measures at `measured` connections.
pub(super) fn resolve(table: &Table, measured: &[u32]) -> Result<TraceSettings, At> {
    let counts = match table.connections.get_ref() {
        Counts::One(count) => vec![*count],
        Counts::Many(counts) => counts.clone(),
    };
    check::traced_connections(&counts, measured)
        .map_err(|problem| At::new(table.connections.span(), problem))?;
    Ok(TraceSettings {
        connections: counts,
        duration_s: time(&table.duration, check::seconds)?,
    })
}
