//! Runs a plan: calibrates each cell, interleaves the repetitions of a group, and tells rows as they are done.

use std::time::Duration;

use crate::cell::{Cell, MESSAGES, lost};
use crate::failure::Failure;
use crate::plan::{Counts, Plan};
use crate::row::{Each, Family, Outcome, Row, Value, median};
use crate::sweep::sweep;
use crate::trial::{Measured, NoResult, Trial};

/// What a run tells while it goes on.
#[derive(Debug)]
pub enum Event<'a> {
    /// So many cells there are.
    Planned(usize),
    /// A group begins.
    Group {
        /// What they are about.
        family: Family,
        /// Its cells' names.
        mechanisms: Vec<&'a str>,
    },
    /// A cell is done.
    Row(Row),
}

/// Why a run did not begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// Its values would be of a program that nobody uses.
    #[error(
        "this is a debug build, whose values mean nothing; build with `cargo build --release` and run that"
    )]
    DebugBuild,
    /// There is nowhere to run.
    #[error("the plan has no CPU; name at least one")]
    NoCpu,
}

/// Runs the plan, and tells `sink` what happens. How many rows failed: a program that ran it should then exit non-zero.
///
/// # Errors
///
/// [`RunError`]. What goes wrong in a row is in the row.
pub fn run(plan: &Plan, sink: &mut dyn FnMut(Event<'_>)) -> Result<usize, RunError> {
    plan.check()?;
    sweep();
    let groups = plan.groups();
    sink(Event::Planned(groups.iter().map(Vec::len).sum()));
    let mut failed = 0;
    for group in &groups {
        sink(Event::Group {
            family: group[0].family,
            mechanisms: group.iter().map(Cell::mechanism).collect(),
        });
        let rows = measure(plan, group);
        if plan.is_stopped() {
            break;
        }
        for row in rows {
            failed += usize::from(matches!(row.outcome, Outcome::Failed(_)));
            sink(Event::Row(row));
        }
    }
    Ok(failed)
}

/// A cell while it is measured.
struct Sample<'a> {
    cell: &'a Cell,
    count: u64,
    repetitions: usize,
    values: Vec<f64>,
    reader_cpu_ns: Vec<f64>,
    lost: u64,
}

fn measure(plan: &Plan, group: &[Cell]) -> Vec<Row> {
    let mut samples: Vec<Result<Sample<'_>, NoResult>> =
        group.iter().map(|cell| calibrate(plan, cell)).collect();
    for round in 0..plan.repetitions {
        for sample in &mut samples {
            if let Ok(going) = sample
                && round < going.repetitions
                && let Err(no) = going.repeat(plan)
            {
                *sample = Err(no);
            }
        }
    }
    let outcome =
        |sample: Result<Sample<'_>, NoResult>| match sample.and_then(|sample| sample.value(plan)) {
            Ok(value) => Outcome::Value(value),
            Err(NoResult::Absent(absence)) => Outcome::Absent(absence),
            Err(NoResult::Failed(failure)) => Outcome::Failed(failure),
        };
    group
        .iter()
        .zip(samples)
        .map(|(cell, sample)| cell.row(&plan.cpus, outcome(sample)))
        .collect()
}

/// Finds how many operations take [`Plan::batch`]: by short trials up to a fifth of it, then by a whole one, which also
/// warms up.
fn calibrate<'a>(plan: &Plan, cell: &'a Cell) -> Result<Sample<'a>, NoResult> {
    if let Some(absence) = cell.absent(&plan.cpus).or_else(|| plan.leaves_out(cell)) {
        return Err(absence.into());
    }
    // So long for each worker. In a slice or two of the scheduler's, workers that share a CPU hardly ever meet: five of
    // them then take a quarter of the time for a System V semaphore that they take in the long run.
    let wanted = plan.batch.as_nanos() as f64 * cell.workers_per_cpu(&plan.cpus) as f64;
    let wall =
        |count| trial(plan, cell, count, false).map(|measured| measured.wall_ns.max(1) as f64);
    // A little more than is missing, and never far beyond what the last trial can tell.
    let longer = |count: u64, wanted: f64, took: f64| {
        (count as f64 * (1.05 * wanted / took).clamp(1.05, 256.0)).ceil() as u64
    };
    let mut count = cell.first_count();
    let mut took = wall(count)?;
    while took < wanted / 5.0 {
        count = longer(count, wanted / 4.0, took);
        took = wall(count)?;
    }
    while took < wanted {
        count = longer(count, wanted, took);
        took = wall(count)?;
    }
    let calibrated = count;
    if plan.counts == Counts::Documents {
        count = count.max(cell.documents_count());
    }
    let one = Duration::from_nanos((took * count as f64 / calibrated as f64) as u64);
    Ok(Sample {
        cell,
        count,
        repetitions: plan.repetitions_of(one),
        values: Vec::new(),
        reader_cpu_ns: Vec::new(),
        lost: 0,
    })
}

fn trial(plan: &Plan, cell: &Cell, count: u64, each: bool) -> Result<Measured, NoResult> {
    if plan.is_stopped() {
        return Err(Failure::Wrong("the run was stopped".to_owned()).into());
    }
    let trial = Trial {
        command: &plan.command,
        keeper: cell.keeper(),
        parts: cell.parts(&plan.cpus, count, each),
        patience: plan.patience,
        stop: &plan.stop,
    };
    let measured = trial.run()?;
    cell.check(&measured, count)?;
    Ok(measured)
}

impl Sample<'_> {
    fn repeat(&mut self, plan: &Plan) -> Result<(), NoResult> {
        let measured = trial(plan, self.cell, self.count, false)?;
        self.values.push(self.cell.value(&measured, self.count));
        self.lost += lost(&measured);
        if let Some(reader) = measured.reports.get(1) {
            self.reader_cpu_ns.push(reader.cpu_ns as f64);
        }
        Ok(())
    }

    fn value(&self, plan: &Plan) -> Result<Value, NoResult> {
        let mut value = Value::of(self.cell.unit(), self.values.clone(), self.count);
        if self.cell.is_latency() {
            value.each = Some(self.each(plan)?);
        }
        if self.cell.family == Family::Messages {
            let scale = MESSAGES as f64 / self.count as f64 / 1e9;
            value.reader_cpu_s = Some(median(&self.reader_cpu_ns) * scale);
            value.lost = Some(self.lost);
        }
        Ok(value)
    }

    /// A pass of its own: reading the clock twice in each round would be part of the other values.
    fn each(&self, plan: &Plan) -> Result<Each, NoResult> {
        let measured = trial(plan, self.cell, self.count, true)?;
        let each = measured.reports.iter().find_map(|report| report.each);
        Ok(each.ok_or_else(|| Failure::Wrong("no single operation was timed".to_owned()))?)
    }
}
