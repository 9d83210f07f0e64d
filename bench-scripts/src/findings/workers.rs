//! How evenly a server's workers were loaded.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Spread;

/// Connections and requests of a server's workers in the telemetry window.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct WorkerFindings {
    /// Workers of the server; its threads, where connections move between these.
    pub workers: u64,
    /// Connections open at the window's end, per worker; none where connections move between threads.
    pub connections: Option<Balance>,
    /// Requests answered in the window, per worker.
    pub requests: Balance,
}

/// A count per worker. Least, median and most are taken over the workers of each cell first, then summarised over cells.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Balance {
    /// The worker with the least.
    pub least: Spread,
    /// The middle worker, or the mean of the two middle ones.
    pub median: Spread,
    /// The worker with the most.
    pub most: Spread,
    /// The most over the mean: 1 where all workers have the same, the number of workers where one has everything.
    pub most_to_mean: Spread,
}
