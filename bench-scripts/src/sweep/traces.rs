//! The last pass of a sweep: what the entrants do is traced, apart from the cells.

use std::time::Duration;

use super::setup::Setup;
use super::{Schedule, Tally, resume};
use crate::cell::Observer;
use crate::cell::trace::TraceBench;
use crate::interrupt::Interrupt;
use crate::output::note;
use crate::plan::{self, TooFewConnections};
use crate::progress::{Progress, in_words};
use crate::record::{PlannedCell, Run};
use crate::report;
use crate::store::Store;

/// A trace is made once, valid or not.
pub(super) const ATTEMPTS: u32 = 1;

/// Every trace of a run, in the order in which it is made.
///
/// # Errors
///
/// [`TooFewConnections`].
pub(super) fn planned(run: &Run) -> Result<Vec<PlannedCell>, TooFewConnections> {
    plan::traces(&run.matrix, run.load_generator.threads)
}

/// Makes the traces that are left, unless the user stopped a pass before; those have these tallies.
///
/// # Errors
///
/// If a record cannot be kept, or the record so far cannot be read.
pub(super) fn measure(
    setup: &Setup,
    before: [&Tally; 2],
    store: &Store,
    interrupt: &Interrupt,
) -> anyhow::Result<Tally> {
    let matrix = &setup.run.matrix;
    let interrupted = before.iter().any(|tally| tally.interrupted);
    let Some(settings) = matrix.trace.as_ref().filter(|_| !interrupted) else {
        return Ok(Tally::default());
    };
    let made = report::read(store.dir())?.traces;
    let planned = planned(&setup.run)?;
    let left = resume::left(&planned, ATTEMPTS, &made);
    let each = plan::trace_time(matrix);
    note(format_args!(
        "system calls and counters, traced apart: {} traces, about {}",
        left.len(),
        in_words(each * u32::try_from(left.len())?)
    ));
    let bench = TraceBench {
        generator: &setup.wrk,
        observer: Observer {
            request: &setup.request,
            cpus: &setup.cpus(),
            interrupt,
        },
        duration: Duration::from_secs(settings.duration_s.into()),
    };
    let measure = |planned: &PlannedCell, _attempt: u32| {
        let (entrant, launch) = setup.entrant(&planned.entrant);
        bench.measure(planned, entrant, launch)
    };
    let tally = Tally::recorded(&made, planned.len() - left.len());
    let mut progress = Progress::new(left.len(), each);
    let schedule = Schedule {
        left: &left,
        attempts: ATTEMPTS,
        interrupt,
    };
    let tally = schedule.run(
        tally,
        measure,
        |trace| store.append_trace(trace),
        &mut progress,
    );
    progress.finish();
    Ok(tally?)
}
