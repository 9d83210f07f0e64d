//! `cost.json`: what `rungs cost` measures beside a sweep, a server at a time and untimed.
//!
//! JSON Schema: `schemas/cost.schema.json`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::trace::Traced;

/// What the entrants of a run take of user space.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct UserSpace {
    /// [`SCHEMA_VERSION`](super::SCHEMA_VERSION) of the run.
    pub schema: u32,
    /// When it was measured, RFC 3339, UTC.
    pub measured_at: String,
    /// Every entrant at every connection count, in the order of the matrix.
    pub costs: Vec<UserCost>,
}

/// What an entrant takes of user space with so many connections open.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct UserCost {
    /// Its label.
    pub entrant: String,
    /// Connections that are open.
    pub connections: u32,
    /// What an idle connection holds.
    pub idle: Traced<IdleMemory>,
    /// What a request takes.
    pub steps: Traced<StepCounts>,
}

/// Memory that only the server's processes have, and have written to (`Private_Dirty` in proc_pid_smaps(5)).
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct IdleMemory {
    /// Bytes with one connection, after a request on it.
    pub before_bytes: u64,
    /// Bytes with all connections besides, after a request on each.
    pub after_bytes: u64,
}

/// What a server did in user space while it answered requests, counted step by step.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct StepCounts {
    /// Requests answered.
    pub requests: u64,
    /// Requests that came at a time, each on a connection of its own.
    pub at_once: u32,
    /// Instructions in user space, of all its threads.
    pub instructions: u64,
    /// Calls of the allocator for new or for more memory.
    pub allocations: Traced<u64>,
}
