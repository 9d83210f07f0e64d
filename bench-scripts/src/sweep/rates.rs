//! The second pass of a sweep: latency at fixed rates.

use std::env;
use std::time::Duration;

use anyhow::bail;

use super::setup::Setup;
use super::{Schedule, Tally, resume};
use crate::cell::Observer;
use crate::cell::paced::PacedBench;
use crate::cpu_plan::client_cpus;
use crate::interrupt::Interrupt;
use crate::load::paced::PacedGenerator;
use crate::matrix::{LatencySettings, Matrix};
use crate::output::note;
use crate::plan;
use crate::progress::{Progress, in_words};
use crate::record::PlannedPacedCell;
use crate::report::{self, CELLS_FILE, RATES_FILE, Record};
use crate::store::Store;

/// Every paced cell of a run whose cells are all measured, in the order in which it is measured.
///
/// # Errors
///
/// If something else is on record than what follows from the cells.
pub(super) fn planned(record: &Record) -> anyhow::Result<Vec<PlannedPacedCell>> {
    let plan = plan::rates::plan(&record.run, &record.cells);
    let planned = plan.map_or_else(Vec::new, |plan| plan.cells);
    let recorded = record.paced.iter().map(|cell| &cell.planned);
    let is_other = |cell: &&PlannedPacedCell| planned.get(cell.index) != Some(cell);
    if let Some(other) = recorded.into_iter().find(is_other) {
        bail!(
            "{RATES_FILE} cannot be gone on with: paced cell {} in it is {other}, and by {CELLS_FILE} it would be another. \
             Restore both files; or move {RATES_FILE} away, and it is measured anew",
            other.index
        );
    }
    Ok(planned)
}

/// Measures the paced cells that are left, unless the user stopped the first pass, of which this is the tally.
///
/// # Errors
///
/// If a record cannot be kept, or the record so far cannot be read or gone on with.
pub(super) fn measure(
    setup: &Setup,
    first_pass: &Tally,
    store: &Store,
    interrupt: &Interrupt,
) -> anyhow::Result<Tally> {
    let matrix = &setup.run.matrix;
    let Some(settings) = matrix.latency.as_ref().filter(|_| !first_pass.interrupted) else {
        return Ok(Tally::default());
    };
    let record = report::read(store.dir())?;
    let planned = planned(&record)?;
    let left = resume::left(&planned, setup.run.attempts, &record.paced);
    note(format_args!(
        "latency at fixed rates: {} loads, about {}",
        left.len(),
        in_words(plan::rates::cell_time(settings) * u32::try_from(left.len())?)
    ));
    let generator = PacedGenerator {
        program: env::current_exe()?,
        cpus: client_cpus(&setup.run.cpu_plan).map(<[u32]>::to_vec),
        timeout: Duration::from_secs(matrix.load.timeout_s.into()),
    };
    let bench = PacedBench {
        generator: &generator,
        observer: Observer {
            request: &setup.request,
            cpus: &setup.cpus(),
            interrupt,
        },
        warmup: Duration::from_millis(settings.warmup_ms),
        duration: Duration::from_millis(settings.duration_ms),
    };
    let measure = |planned: &PlannedPacedCell, attempt: u32| {
        let (entrant, launch) = setup.entrant(&planned.entrant);
        bench.measure(planned, attempt, entrant, launch)
    };
    let tally = Tally::recorded(&record.paced, planned.len() - left.len());
    let mut progress = Progress::new(left.len(), plan::rates::cell_time(settings));
    let schedule = Schedule {
        left: &left,
        attempts: setup.run.attempts,
        interrupt,
    };
    let tally = schedule.run(
        tally,
        measure,
        |cell| store.append_paced(cell),
        &mut progress,
    );
    progress.finish();
    Ok(tally?)
}

/// How long the loads of a pass took, as long as the matrix asks for.
pub(super) fn loading(matrix: &Matrix, tally: &Tally) -> Duration {
    let millis = |settings: &LatencySettings| {
        (settings.warmup_ms + settings.duration_ms) * tally.attempts() as u64
    };
    Duration::from_millis(matrix.latency.as_ref().map_or(0, millis))
}
