//! `run.json`: what was to be measured, with what, on what.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::one;
use crate::matrix::Matrix;

/// `run.json`: what was to be measured, with what, on what.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// [`SCHEMA_VERSION`] of the writer.
    pub schema: u32,
    /// Version of the `rungs` command.
    pub rungs_version: String,
    /// When the run began, RFC 3339, UTC.
    pub started_at: String,
    /// The command line, as given.
    pub command_line: Vec<String>,
    /// The matrix as resolved: defaults and command-line overrides applied.
    pub matrix: Matrix,
    /// Seed of the order of cells.
    pub seed: u64,
    /// Every cell of the sweep, in the order in which it is measured.
    pub order: Vec<PlannedCell>,
    /// How often a cell is measured at most: again at once, until an attempt is valid.
    #[serde(default = "one")]
    pub attempts: u32,
    /// How precise costs were to become; none where the number of rounds was given.
    #[serde(default)]
    pub precision: Option<PrecisionGoal>,
    /// When the sweep went on after it had been cut short, RFC 3339, UTC; empty where it ran through.
    #[serde(default)]
    pub resumed_at: Vec<String>,
    /// Which CPUs the server and the load generator get.
    pub cpu_plan: CpuPlan,
    /// The machine.
    pub machine: Machine,
    /// What preflight had to say.
    pub preflight: Vec<Advice>,
    /// The programs measured, in the matrix's order.
    pub entrants: Vec<EntrantBinary>,
    /// Entrants that cannot run on this machine: neither `matrix` nor `order` has them any more.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<Skipped>,
    /// The program that made the load.
    pub load_generator: LoadGenerator,
    /// `rustc --version` of the compiler that built `rungs` and its rungs.
    pub toolchain: String,
    /// SHA-256 of the Cargo.lock that `rungs` was built with.
    pub cargo_lock_sha256: String,
    /// Digest of the container image, where `RUNGS_IMAGE_DIGEST` tells it.
    pub image_digest: Option<String>,
}

/// How precise costs are to become: blocks are added until they are, or the time is spent. `matrix.rounds` and `order` are those
/// of the blocks so far.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct PrecisionGoal {
    /// Half the width that the 95% interval of each contestant's cost ÷ control may have at each connection count, as a share (0.02 for
    /// ±2%); the noise floor may be as large.
    pub share: f64,
    /// What the cells may take in all, seconds.
    pub budget_s: u64,
    /// Rounds that are measured in any case: the matrix's.
    pub least_rounds: u32,
}

/// A cell before it is measured.
#[derive(Clone, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct PlannedCell {
    /// Position in the sweep, from 0.
    pub index: usize,
    /// The block (round) it belongs to, from 0.
    pub block: u32,
    /// The entrant's label.
    pub entrant: String,
    /// Connections that the matrix asks for.
    pub connections_asked: u32,
    /// Connections that the load generator can open: wrk gives each of its threads the same number and drops the rest.
    pub connections: u32,
}

/// Which CPUs each side runs on.
#[derive(Clone, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct CpuPlan {
    /// False where nothing is pinned and both sides share all CPUs (`--shared`, or a single CPU).
    pub pinned: bool,
    /// CPUs of the server.
    pub server: Vec<u32>,
    /// CPUs of the load generator, and of `rungs` itself.
    pub client: Vec<u32>,
    /// In words, why it is so.
    pub why: String,
}

/// The machine and its settings that matter to a benchmark.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// Model name of the processor.
    pub cpu_model: String,
    /// CPUs that this process may use.
    pub cpus_allowed: Vec<u32>,
    /// Groups of CPUs that are threads of one core.
    pub smt_siblings: Vec<Vec<u32>>,
    /// CPU quota of the control group, in CPUs; none where unlimited.
    pub cpu_quota: Option<f64>,
    /// Frequency governor of the first CPU, where the machine tells it.
    pub governor: Option<String>,
    /// Kernel name, release and version.
    pub kernel: String,
    /// Distribution.
    pub os: String,
    /// Clock source in use.
    pub clock_source: String,
    /// Name of the hypervisor or container, where there is one.
    pub virtualisation: Option<String>,
    /// Mitigations of processor faults, as `name: state`.
    pub mitigations: Vec<String>,
    /// Memory in bytes.
    pub memory_bytes: u64,
    /// Soft limit of open descriptors.
    pub open_files_limit: u64,
    /// `net.core.somaxconn`.
    pub somaxconn: u64,
    /// `net.ipv4.ip_local_port_range`.
    pub local_ports: (u32, u32),
}

/// One finding of preflight.
#[derive(Clone, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Advice {
    /// How much it matters.
    pub level: AdviceLevel,
    /// What was looked at, such as `open files`.
    pub subject: String,
    /// What was found.
    pub found: String,
    /// What to do about it; empty where there is nothing to do.
    pub advice: String,
}

/// How much an [`Advice`] matters.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum AdviceLevel {
    /// As it should be.
    Good,
    /// Numbers stay valid, but noisier or different from a quiet machine's.
    Warning,
    /// The sweep cannot be measured like this.
    Blocking,
}

/// A program that was measured.
#[derive(Clone, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct EntrantBinary {
    /// The entrant's label.
    pub label: String,
    /// The program and its arguments, as started (`{addr}` and `{port}` still in place).
    pub command: Vec<String>,
    /// SHA-256 of the program's file.
    pub sha256: String,
    /// True where the program is not a rung of ours: its bytes are checked for status and length only.
    pub foreign: bool,
    /// `release` or `debug`, as the rung said; none of a foreign program.
    pub build: Option<String>,
    /// `jemalloc` or `system`, as the rung said; none of a foreign program.
    pub allocator: Option<String>,
    /// Server threads it was started with; none of a foreign program.
    pub threads: Option<u32>,
    /// Workers, each with connections of its own: fewer than threads where connections move between threads; none of a foreign
    /// program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workers: Option<u32>,
    /// What a build variant was built with; empty for others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<String>,
    /// Length of its whole response to the measured request, head included, in bytes.
    pub response_bytes: u64,
}

/// An entrant that says that it cannot run on this machine, and so is not measured.
#[derive(Clone, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Skipped {
    /// The entrant's label.
    pub label: String,
    /// Its sentence: why, and what to do about it.
    pub reason: String,
}

/// The program that makes the load.
#[derive(Clone, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct LoadGenerator {
    /// Its name, `wrk`.
    pub name: String,
    /// Its version, as it says.
    pub version: String,
    /// SHA-256 of its file.
    pub sha256: String,
    /// Its threads.
    pub threads: u32,
    /// An example of its command line, with `URL` in place of the target.
    pub command: Vec<String>,
}
