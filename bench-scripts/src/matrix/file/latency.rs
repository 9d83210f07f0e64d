//! The table `[latency]`.

use serde::Deserialize;
use toml::Spanned;

use super::{At, checked};
use crate::matrix::{LatencySettings, check};

/// Percent: with time to spare, at half, and near the limit.
const SHARES: [u32; 4] = [25, 50, 75, 90];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LatencyTable {
    connections: Spanned<u32>,
    shares: Option<Spanned<Vec<u32>>>,
    warmup: Spanned<String>,
    duration: Spanned<String>,
    rounds: Spanned<u32>,
}

pub(super) fn resolve(table: &LatencyTable) -> Result<LatencySettings, At> {
    Ok(LatencySettings {
        connections: *checked(&table.connections, |&n| check::connections(&[n]))?,
        shares: match &table.shares {
            Some(shares) => checked(shares, |shares| check::shares(shares))?.clone(),
            None => SHARES.to_vec(),
        },
        warmup_ms: millis(&table.warmup)?,
        duration_ms: millis(&table.duration)?,
        rounds: *checked(&table.rounds, |&n| check::rounds(n))?,
    })
}

fn millis(text: &Spanned<String>) -> Result<u64, At> {
    check::paced_time(text.get_ref()).map_err(|problem| At::new(text.span(), problem))
}
