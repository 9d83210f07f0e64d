//! The flow of a sweep: preflight, plan, a short verification, every cell, the report.

mod resume;
mod setup;
mod traces;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::cell::Bench;
use crate::interrupt::{Interrupt, Interrupted};
use crate::matrix::Matrix;
use crate::output::{self, note};
use crate::plan;
use crate::progress::{Progress, in_words};
use crate::record::{Cell, CpuPlan, PlannedCell, Run};
use crate::report::Record;
use crate::store::{Store, StoreError};
use resume::Left;
use setup::Setup;

pub use resume::Asked;

/// What a sweep is to do.
#[derive(Clone, Debug)]
pub struct Options {
    /// The matrix, as resolved.
    pub matrix: Matrix,
    /// Where to write; none for a new directory under `results/`.
    pub out: Option<PathBuf>,
    /// Seed of the order of cells; none for a new one.
    pub seed: Option<u64>,
    /// How often a cell is measured at most: again at once, until an attempt is valid.
    pub attempts: u32,
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
    /// Cells that have a valid attempt.
    valid: usize,
    /// Cells that have none.
    invalid: usize,
    /// Invalid attempts that were followed by another one.
    repeated: usize,
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
    let left = resume::left(&setup.run, &[]);
    let mut tally = measure(&setup, &left, Tally::default(), &mut store, interrupt)?;
    if tally.attempts() == 0 {
        return Ok(nothing_kept());
    }
    let matrix = &setup.run.matrix;
    let loading = Duration::from_secs(u64::from(matrix.warmup_s + matrix.duration_s));
    let overhead = overhead(loading * u32::try_from(tally.attempts())?, begun.elapsed());
    note(format_args!(
        "{} for the cells, {:.0}% of it outside warm-ups and windows",
        in_words(begun.elapsed()),
        100.0 * overhead
    ));
    traces::measure(&setup, &[], &mut tally, &store, interrupt)?;
    conclude(store.dir(), &tally)
}

/// Goes on with the sweep in `dir` that was cut short, and reports.
///
/// # Errors
///
/// When there is no run in `dir`, when it is to go on otherwise than it was begun, or as for [`run`].
pub fn go_on(dir: &Path, asked: Asked, interrupt: &Interrupt) -> anyhow::Result<Outcome> {
    let (mut store, mut record) = Store::reopen(dir)?;
    asked.refuse_contradiction(&record.run, dir)?;
    let left = resume::left(&record.run, &record.cells).len();
    let traces_left = traces::left(&record.run, &record.traces)?.len();
    let tally = Tally::recorded(&record, left);
    if left + traces_left == 0 {
        note(format_args!(
            "{} is complete: nothing is left to measure",
            dir.display()
        ));
        return conclude(dir, &tally);
    }
    note(format_args!(
        "going on in {}: {left} of {} cells and {traces_left} traces are left",
        dir.display(),
        record.run.order.len()
    ));
    let setup = match setup::prepare_again(&record.run, dir, interrupt) {
        Err(error) if error.is::<Interrupted>() => return Ok(nothing_kept()),
        result => result?,
    };
    record.run = setup.run.clone();
    store.go_on(&record)?;
    let left = resume::left(&setup.run, &record.cells);
    let mut tally = measure(&setup, &left, tally, &mut store, interrupt)?;
    traces::measure(&setup, &record.traces, &mut tally, &store, interrupt)?;
    conclude(dir, &tally)
}

fn nothing_kept() -> Outcome {
    note("interrupted before a cell ended: nothing was added");
    Outcome::Interrupted
}

/// Measures the cells that are left.
fn measure(
    setup: &Setup,
    left: &[Left],
    tally: Tally,
    store: &mut Store,
    interrupt: &Interrupt,
) -> anyhow::Result<Tally> {
    let Run {
        matrix, cpu_plan, ..
    } = &setup.run;
    let cpus = all_cpus(cpu_plan);
    let bench = Bench {
        generator: &setup.wrk,
        request: &setup.request,
        warmup: Duration::from_secs(matrix.warmup_s.into()),
        duration: Duration::from_secs(matrix.duration_s.into()),
        cpus: &cpus,
        interrupt,
    };
    let mut progress = Progress::new(left.len(), plan::cell_time(matrix));
    let measure = |planned: &PlannedCell, attempt: u32| {
        let (entrant, launch) = setup.entrant(planned);
        bench.measure(planned, attempt, entrant, launch)
    };
    let schedule = Schedule {
        left,
        attempts: setup.run.attempts,
        interrupt,
    };
    let tally = schedule.run(tally, measure, |cell| store.append(cell), &mut progress);
    progress.finish();
    Ok(tally?)
}

/// The CPUs of both sides.
fn all_cpus(plan: &CpuPlan) -> Vec<u32> {
    let mut cpus = [plan.server.clone(), plan.client.clone()].concat();
    cpus.sort_unstable();
    cpus.dedup();
    cpus
}

/// Which cells are to be measured, and how often at most.
struct Schedule<'a> {
    left: &'a [Left<'a>],
    attempts: u32,
    interrupt: &'a Interrupt,
}

impl Schedule<'_> {
    /// Measures the cells one by one, an invalid one again at once, and has each attempt kept before the next begins,
    /// until all are measured or the user stops.
    fn run(
        &self,
        mut tally: Tally,
        mut measure: impl FnMut(&PlannedCell, u32) -> Result<Cell, Interrupted>,
        mut keep: impl FnMut(&Cell) -> Result<(), StoreError>,
        progress: &mut Progress,
    ) -> Result<Tally, StoreError> {
        let mut last = None;
        for &Left { planned, attempt } in self.left {
            for attempt in attempt..=self.attempts {
                progress.begin(planned, last.as_ref());
                let measured = self.interrupt.check();
                let Ok(cell) = measured.and_then(|()| measure(planned, attempt)) else {
                    tally.interrupted = true;
                    return Ok(tally);
                };
                keep(&cell)?;
                let settled = cell.is_valid() || attempt == self.attempts;
                if settled {
                    progress.end(&cell);
                } else {
                    progress.again(&cell);
                }
                tally.add(&cell, settled);
                last = Some(cell);
                if settled {
                    break;
                }
            }
        }
        Ok(tally)
    }
}

impl Tally {
    /// What is on record of a run of which so many cells are left.
    fn recorded(record: &Record, left: usize) -> Self {
        let settled = record.run.order.len() - left;
        let valid = record.cells.iter().filter(|cell| cell.is_valid()).count();
        Self {
            valid,
            invalid: settled - valid,
            repeated: record.cells.len() - settled,
            interrupted: false,
        }
    }

    fn add(&mut self, cell: &Cell, settled: bool) {
        match (cell.is_valid(), settled) {
            (true, _) => self.valid += 1,
            (false, true) => self.invalid += 1,
            (false, false) => self.repeated += 1,
        }
    }

    fn cells(&self) -> usize {
        self.valid + self.invalid
    }

    fn attempts(&self) -> usize {
        self.cells() + self.repeated
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
fn conclude(dir: &Path, tally: &Tally) -> anyhow::Result<Outcome> {
    if tally.interrupted {
        // Before it is rendered: the user may have no patience for that.
        note(format_args!(
            "interrupted: the {} cells measured so far are kept; go on with: rungs sweep --resume {dir}; or render them again with: rungs report {dir}",
            tally.cells(),
            dir = dir.display()
        ));
    }
    if tally.invalid > 0 {
        note(format_args!(
            "{} of {} cells are invalid and count for nothing: the report lists them with reasons",
            tally.invalid,
            tally.cells()
        ));
    }
    if tally.repeated > 0 {
        note(format_args!(
            "{} attempts were invalid and followed by another: the report lists them with reasons",
            tally.repeated
        ));
    }
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

    fn scripted(planned: &PlannedCell, attempt: u32, validity: Validity) -> Cell {
        Cell {
            planned: planned.clone(),
            attempt,
            started_at: String::new(),
            validity,
            load: None,
            server: None,
            client: None,
            system: None,
            spent: Spent::default(),
        }
    }

    fn invalid() -> Validity {
        Validity::Invalid {
            reasons: vec![Reason::NoRequests],
        }
    }

    /// Runs the quick matrix's schedule with a scripted measurement; gives what was kept, and the tally.
    fn schedule(
        interrupt: &Interrupt,
        attempts: u32,
        measure: impl FnMut(&PlannedCell, u32) -> Result<Cell, Interrupted>,
    ) -> (Vec<usize>, Tally) {
        let order = plan::order(&Matrix::find("quick").unwrap(), 1, 3).unwrap();
        let first = |planned| Left {
            planned,
            attempt: 1,
        };
        let left: Vec<_> = order.iter().map(first).collect();
        let schedule = Schedule {
            left: &left,
            attempts,
            interrupt,
        };
        let kept = RefCell::new(Vec::new());
        let keep = |cell: &Cell| {
            kept.borrow_mut().push(cell.planned.index);
            Ok(())
        };
        let mut progress = Progress::new(order.len(), Duration::ZERO);
        let tally = schedule
            .run(Tally::default(), measure, keep, &mut progress)
            .unwrap();
        (kept.into_inner(), tally)
    }

    #[test]
    fn every_cell_is_measured_once_in_order_and_kept() {
        let interrupt = Interrupt::default();
        let (kept, tally) = schedule(&interrupt, 3, |planned, attempt| {
            Ok(scripted(planned, attempt, Validity::Valid))
        });
        assert_eq!(kept, (0..150).collect::<Vec<_>>());
        assert_eq!((tally.valid, tally.invalid), (150, 0));
        assert_eq!(tally.outcome(), Outcome::Measured);
    }

    #[test]
    fn an_invalid_cell_does_not_stop_the_sweep() {
        let interrupt = Interrupt::default();
        let (kept, tally) = schedule(&interrupt, 1, |planned, attempt| {
            Ok(scripted(planned, attempt, invalid()))
        });
        assert_eq!((kept.len(), tally.invalid), (150, 150));
        assert_eq!(tally.outcome(), Outcome::NothingValid);
    }

    #[test]
    fn an_invalid_cell_is_measured_again_at_once_and_each_attempt_is_kept() {
        let interrupt = Interrupt::default();
        let (kept, tally) = schedule(&interrupt, 3, |planned, attempt| {
            // Cell 0 is valid at its third attempt, cell 1 never, all others at once.
            let valid = planned.index > 1 || (planned.index == 0 && attempt == 3);
            let validity = if valid { Validity::Valid } else { invalid() };
            Ok(scripted(planned, attempt, validity))
        });
        assert_eq!(kept[..8], [0, 0, 0, 1, 1, 1, 2, 3]);
        assert_eq!((tally.valid, tally.invalid, tally.repeated), (149, 1, 4));
    }

    #[test]
    fn an_interrupt_keeps_what_was_measured() {
        let interrupt = Interrupt::default();
        let (kept, tally) = schedule(&interrupt, 1, |planned, attempt| {
            if planned.index == 4 {
                interrupt.raise();
            }
            Ok(scripted(planned, attempt, Validity::Valid))
        });
        assert_eq!(kept, [0, 1, 2, 3, 4]);
        assert_eq!(tally.outcome(), Outcome::Interrupted);
    }
}
