//! The flow of a sweep: preflight, plan, a short verification, every cell, the report.

mod setup;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::cell::Bench;
use crate::interrupt::{Interrupt, Interrupted};
use crate::matrix::Matrix;
use crate::progress::{Progress, in_words};
use crate::record::{Cell, PlannedCell, Run};
use crate::store::{Store, StoreError};
use crate::{output, plan};
use setup::Setup;

/// What a sweep is to do.
#[derive(Clone, Debug)]
pub struct Options {
    /// The matrix, as resolved.
    pub matrix: Matrix,
    /// Where to write; none for a new directory under `results/`.
    pub out: Option<PathBuf>,
    /// Seed of the order of cells; none for a new one.
    pub seed: Option<u64>,
    /// The command line, for the record.
    pub command_line: Vec<String>,
}

/// How a sweep ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Outcome {
    /// There are valid cells.
    Measured,
    /// Not one cell is valid.
    NothingValid,
    /// The user stopped it.
    Interrupted,
}

/// What came out of the measuring itself.
#[derive(Debug, Default)]
struct Tally {
    valid: usize,
    invalid: usize,
    interrupted: bool,
}

/// Measures a matrix, and reports.
///
/// # Errors
///
/// When the sweep cannot begin, or its results cannot be written.
pub fn run(options: Options, interrupt: &Interrupt) -> anyhow::Result<Outcome> {
    let begun = Instant::now();
    let (setup, mut store) = match setup::prepare(options, interrupt) {
        Err(error) if error.is::<Interrupted>() => return Ok(nothing_kept()),
        result => result?,
    };
    let tally = measure(&setup, &mut store, interrupt)?;
    if tally.cells() == 0 {
        return Ok(nothing_kept());
    }
    let matrix = &setup.run.matrix;
    let loading = Duration::from_secs(u64::from(matrix.warmup_s + matrix.duration_s));
    let overhead = overhead(loading * u32::try_from(tally.cells())?, begun.elapsed());
    conclude(store.dir(), &tally, begun.elapsed(), overhead)
}

fn nothing_kept() -> Outcome {
    eprintln!("interrupted before the first cell ended: nothing was kept");
    Outcome::Interrupted
}

/// Measures every cell.
fn measure(setup: &Setup, store: &mut Store, interrupt: &Interrupt) -> anyhow::Result<Tally> {
    let Run {
        matrix, cpu_plan, ..
    } = &setup.run;
    let mut cpus = [cpu_plan.server.clone(), cpu_plan.client.clone()].concat();
    cpus.sort_unstable();
    cpus.dedup();
    let bench = Bench {
        generator: &setup.wrk,
        request: &setup.request,
        warmup: Duration::from_secs(matrix.warmup_s.into()),
        duration: Duration::from_secs(matrix.duration_s.into()),
        cpus: &cpus,
        interrupt,
    };
    let mut progress = Progress::new(setup.run.order.len(), plan::cell_time(matrix));
    let measure = |planned: &PlannedCell| {
        let mut entrants = matrix.entrants.iter().zip(&setup.launches);
        let (entrant, launch) = entrants
            .find(|(entrant, _)| entrant.label == planned.entrant)
            .expect("the order is made of the matrix's entrants");
        bench.measure(planned, entrant, launch)
    };
    let tally = in_order(
        &setup.run.order,
        interrupt,
        measure,
        |cell| store.append(cell),
        &mut progress,
    );
    progress.finish();
    Ok(tally?)
}

/// Measures the cells one by one and has each kept before the next begins, until all are measured or the user stops.
fn in_order(
    order: &[PlannedCell],
    interrupt: &Interrupt,
    mut measure: impl FnMut(&PlannedCell) -> Result<Cell, Interrupted>,
    mut keep: impl FnMut(&Cell) -> Result<(), StoreError>,
    progress: &mut Progress,
) -> Result<Tally, StoreError> {
    let mut tally = Tally::default();
    let mut last = None;
    for planned in order {
        progress.begin(planned, last.as_ref());
        let measured = interrupt.check().and_then(|()| measure(planned));
        let Ok(cell) = measured else {
            tally.interrupted = true;
            break;
        };
        keep(&cell)?;
        progress.end(&cell);
        tally.add(&cell);
        last = Some(cell);
    }
    Ok(tally)
}

impl Tally {
    fn add(&mut self, cell: &Cell) {
        if cell.is_valid() {
            self.valid += 1;
        } else {
            self.invalid += 1;
        }
    }

    fn cells(&self) -> usize {
        self.valid + self.invalid
    }

    fn outcome(&self) -> Outcome {
        match self {
            Self {
                interrupted: true, ..
            } => Outcome::Interrupted,
            Self { valid: 0, .. } => Outcome::NothingValid,
            _ => Outcome::Measured,
        }
    }
}

/// Renders what is there, and says what came out.
fn conclude(
    dir: &Path,
    tally: &Tally,
    elapsed: Duration,
    overhead: f64,
) -> anyhow::Result<Outcome> {
    if tally.interrupted {
        // Before it is rendered: the user may have no patience for that.
        eprintln!(
            "interrupted: the {} cells measured so far are kept; render them again with: rungs report {}",
            tally.cells(),
            dir.display()
        );
    }
    if tally.invalid > 0 {
        eprintln!(
            "{} of {} cells are invalid and count for nothing: the report lists them with reasons",
            tally.invalid,
            tally.cells()
        );
    }
    eprintln!(
        "{} in all, {:.0}% of it outside warm-ups and windows",
        in_words(elapsed),
        100.0 * overhead
    );
    output::report(dir)?;
    Ok(tally.outcome())
}

/// The share of the time that was neither warm-up nor measured load, as long as the matrix asks for both.
fn overhead(loading: Duration, elapsed: Duration) -> f64 {
    1.0 - loading.as_secs_f64() / elapsed.as_secs_f64()
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;
    use crate::record::{Reason, Spent, Validity};

    fn scripted(planned: &PlannedCell, validity: Validity) -> Cell {
        Cell {
            planned: planned.clone(),
            started_at: String::new(),
            validity,
            load: None,
            server: None,
            client: None,
            system: None,
            spent: Spent::default(),
        }
    }

    /// Runs the quick matrix's schedule with a scripted measurement; gives what was kept, and the tally.
    fn schedule(
        interrupt: &Interrupt,
        measure: impl FnMut(&PlannedCell) -> Result<Cell, Interrupted>,
    ) -> (Vec<usize>, Tally) {
        let order = plan::order(&Matrix::find("quick").unwrap(), 1, 3).unwrap();
        let kept = RefCell::new(Vec::new());
        let keep = |cell: &Cell| {
            kept.borrow_mut().push(cell.planned.index);
            Ok(())
        };
        let mut progress = Progress::new(order.len(), Duration::ZERO);
        let tally = in_order(&order, interrupt, measure, keep, &mut progress).unwrap();
        (kept.into_inner(), tally)
    }

    #[test]
    fn every_cell_is_measured_once_in_order_and_kept() {
        let interrupt = Interrupt::default();
        let (kept, tally) = schedule(&interrupt, |planned| Ok(scripted(planned, Validity::Valid)));
        assert_eq!(kept, (0..150).collect::<Vec<_>>());
        assert_eq!((tally.valid, tally.invalid), (150, 0));
        assert_eq!(tally.outcome(), Outcome::Measured);
    }

    #[test]
    fn an_invalid_cell_does_not_stop_the_sweep() {
        let interrupt = Interrupt::default();
        let invalid = Validity::Invalid {
            reasons: vec![Reason::NoRequests],
        };
        let (kept, tally) = schedule(&interrupt, |planned| Ok(scripted(planned, invalid.clone())));
        assert_eq!((kept.len(), tally.invalid), (150, 150));
        assert_eq!(tally.outcome(), Outcome::NothingValid);
    }

    #[test]
    fn an_interrupt_keeps_what_was_measured() {
        let interrupt = Interrupt::default();
        let (kept, tally) = schedule(&interrupt, |planned| {
            if planned.index == 4 {
                interrupt.raise();
            }
            Ok(scripted(planned, Validity::Valid))
        });
        assert_eq!(kept, [0, 1, 2, 3, 4]);
        assert_eq!(tally.outcome(), Outcome::Interrupted);
    }
}
