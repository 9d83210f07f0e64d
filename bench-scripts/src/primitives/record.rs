//! What a primitives run is on disk. `run.json` is a [`Run`], each line of `rows.jsonl` a [`Row`], `claims.json` a list of
//! [`Claim`]s, and `servers.json`, which is there where a sweep was, the [`Servers`] of the ladder.
//!
//! These hold everything that was measured; all else in the directory is a pure function of them. JSON Schemas are
//! committed in `schemas/`.

use std::path::{Path, PathBuf};

use rungs_primitives::Row;
use rungs_primitives::limits::Limit;
use rungs_primitives::plan::{Counts, Purpose};
use rungs_primitives::programs::claims::Claim;
use rungs_primitives::row::Family;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::findings::Interval;
use crate::record::{Advice, Machine};
use crate::report::{self, RUN_FILE, ReadError};

/// Name of the file that holds a row per line: it makes a directory a primitives run.
pub const ROWS_FILE: &str = "rows.jsonl";

/// Name of the file that holds what was found of system(3)'s claims; there where programs were started.
pub const CLAIMS_FILE: &str = "claims.json";

/// Name of the file that holds what requests cost servers; there where there was a sweep to take it from.
pub const SERVERS_FILE: &str = "servers.json";

/// `run.json` of a primitives run: what was to be measured, with what, on what.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// [`SCHEMA_VERSION`](crate::record::SCHEMA_VERSION) of the writer.
    pub schema: u32,
    /// What tells it from a sweep's.
    pub kind: Kind,
    /// Version of the `rungs` command.
    pub rungs_version: String,
    /// When the run began, RFC 3339, UTC.
    pub started_at: String,
    /// The command line, as given.
    pub command_line: Vec<String>,
    /// Whether its values may be believed: those of a rehearsal mean nothing.
    pub purpose: Purpose,
    /// What was to be measured, in this order.
    pub families: Vec<Family>,
    /// Rows that were to be measured.
    pub rows: usize,
    /// How many operations a repetition has.
    pub counts: Counts,
    /// Repetitions of each row, interleaved with those of its neighbours.
    pub repetitions: usize,
    /// A repetition takes at least so long, ms.
    pub batch_ms: u64,
    /// In what it is shorter than the documents, a sentence each; empty with `--full`.
    pub shortened: Vec<String>,
    /// The CPUs it used, of which the first has all rows of one CPU.
    pub cpus: Vec<usize>,
    /// The machine.
    pub machine: Machine,
    /// The system's limits that bound rows.
    pub limits: Vec<Limit>,
    /// What preflight had to say.
    pub preflight: Vec<Advice>,
    /// SHA-256 of the program that measured: `rungs` itself.
    pub program_sha256: String,
    /// `rustc --version` of the compiler that built it.
    pub toolchain: String,
    /// SHA-256 of the Cargo.lock that it was built with.
    pub cargo_lock_sha256: String,
    /// Digest of the container image, where `RUNGS_IMAGE_DIGEST` tells it.
    pub image_digest: Option<String>,
}

/// The kind of a run.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// What `rungs primitives` wrote.
    Primitives,
}

/// `servers.json`: what a request costs the servers of a sweep, for the ladder.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Servers {
    /// Name of the sweep's directory.
    pub sweep: String,
    /// When the sweep began, RFC 3339, UTC.
    pub measured_at: String,
    /// The sweep's machine, which need not be the primitives'.
    pub machine: Machine,
    /// Connections over which the requests came.
    pub connections: u32,
    /// The servers, in the sweep's order: from the bottom of the ladder to its top, the control included.
    pub costs: Vec<ServerCost>,
}

/// CPU time of one request in a server, user and system.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ServerCost {
    /// The entrant's label.
    pub label: String,
    /// Median over rounds, µs.
    pub cost_us: f64,
    /// 95% interval of that median, µs; none where the noise is not known.
    pub interval_us: Option<Interval>,
    /// Median of its ratios to the control in the same round; none of a control.
    pub to_control: Option<f64>,
}

/// A primitives run as it was recorded.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// `run.json`.
    pub run: Run,
    /// `rows.jsonl`.
    pub rows: Vec<Row>,
    /// `claims.json`; empty without it.
    pub claims: Vec<Claim>,
    /// `servers.json`.
    pub servers: Option<Servers>,
    /// Whether the last line of `rows.jsonl` was not written to its end, and was left out.
    pub torn: bool,
}

/// Whether a directory holds a primitives run.
#[must_use]
pub fn is_in(dir: &Path) -> bool {
    dir.join(ROWS_FILE).exists()
}

/// Reads a primitives run's directory.
///
/// # Errors
///
/// When a file is missing, of another layout, or damaged.
pub fn read(dir: &Path) -> Result<Record, ReadError> {
    let run = report::read_run(&dir.join(RUN_FILE))?;
    let rows = report::read_lines(&dir.join(ROWS_FILE), "a row", |_: &Row| Ok(()))?;
    let there = |file| Some(dir.join(file)).filter(|path: &PathBuf| path.exists());
    let claims = there(CLAIMS_FILE).map(|path| report::read_json(&path, "claims"));
    let servers = there(SERVERS_FILE).map(|path| report::read_json(&path, "servers"));
    Ok(Record {
        run,
        rows: rows.records,
        claims: claims.transpose()?.unwrap_or_default(),
        servers: servers.transpose()?,
        torn: rows.torn,
    })
}
