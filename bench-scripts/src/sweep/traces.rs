//! The traced pass: after the blocks, apart from them.

use std::time::Duration;

use super::setup::Setup;
use super::{Tally, all_cpus};
use crate::cell::Bench;
use crate::interrupt::Interrupt;
use crate::output::note;
use crate::plan::{self, TooFewConnections};
use crate::progress::{Progress, in_words};
use crate::record::trace::Trace;
use crate::record::{PlannedCell, Run};
use crate::store::Store;

/// The traces of a run that are not on record. An invalid one is: what a trace tells does not hang on a lucky moment, so it is
/// made once.
pub(super) fn left(run: &Run, made: &[Trace]) -> Result<Vec<PlannedCell>, TooFewConnections> {
    let mut planned = plan::traces(&run.matrix, run.load_generator.threads)?;
    planned.retain(|planned| {
        made.iter()
            .all(|trace| trace.planned.index != planned.index)
    });
    Ok(planned)
}

/// Makes the traces that are left, unless the user has stopped the sweep.
pub(super) fn measure(
    setup: &Setup,
    made: &[Trace],
    tally: &mut Tally,
    store: &Store,
    interrupt: &Interrupt,
) -> anyhow::Result<()> {
    let matrix = &setup.run.matrix;
    let left = left(&setup.run, made)?;
    let Some(settings) = matrix.trace.as_ref().filter(|_| !left.is_empty()) else {
        return Ok(());
    };
    if tally.interrupted {
        return Ok(());
    }
    let each = plan::trace_time(matrix);
    note(format_args!(
        "tracing system calls and counters, apart from the cells: {} traces, about {}",
        left.len(),
        in_words(each * u32::try_from(left.len())?)
    ));
    let bench = Bench {
        generator: &setup.wrk,
        request: &setup.request,
        warmup: Duration::ZERO,
        duration: Duration::from_secs(settings.duration_s.into()),
        cpus: &all_cpus(&setup.run.cpu_plan),
        interrupt,
    };
    let mut progress = Progress::new(left.len(), each);
    for planned in &left {
        progress.begin(planned, None);
        let (entrant, launch) = setup.entrant(planned);
        let Ok(trace) = bench.trace(planned, entrant, launch) else {
            tally.interrupted = true;
            break;
        };
        store.append_trace(&trace)?;
        progress.end_trace(&trace);
    }
    progress.finish();
    Ok(())
}
