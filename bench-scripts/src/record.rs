//! Contract 4: what a run is on disk. `run.json` is a [`Run`], each line of `cells.jsonl` a [`Cell`], and each of
//! `rates.jsonl`, which is there where a matrix asks for latency at fixed rates, a [`PacedCell`]. A run with a traced pass
//! has a [`Trace`](trace::Trace) in each line of `traces.jsonl`.
//!
//! These hold everything that was measured; all else in a run's directory is a pure function of them. Every field
//! has its unit in its name. JSON Schemas of all are committed in `schemas/` and tested against real output.

mod attempt;
mod cell;
pub mod cost;
mod paced;
mod run;
pub mod trace;
mod validity;

pub use attempt::{Attempt, Planned};
pub use cell::{
    Cell, CoreToCore, Cost, Latency, Load, LoadErrors, Server, Spent, System, Usage, WorkerCounts,
};
pub use paced::{CapacityOf, PacedCell, PlannedPacedCell};
pub use run::{
    Advice, AdviceLevel, CpuPlan, EntrantBinary, LoadGenerator, Machine, PlannedCell,
    PrecisionGoal, Run, Skipped,
};
pub use validity::{Reason, Validity};

/// The version of the layout of a run's directory.
pub const SCHEMA_VERSION: u32 = 1;

/// What a record written before there were attempts leaves out.
fn one() -> u32 {
    1
}
