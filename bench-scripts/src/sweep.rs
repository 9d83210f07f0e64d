//! The flow of a sweep: preflight, plan, a short verification, every cell, latency at fixed rates, traces, the report.

mod precision;
mod rates;
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
use crate::record::{Attempt, Planned, PlannedCell, PrecisionGoal, Run};
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
    /// How precise costs are to become; none for the matrix's number of rounds.
    pub precision: Option<PrecisionGoal>,
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
    let (mut setup, mut store) = match setup::prepare(options, interrupt) {
        Err(error) if error.is::<Interrupted>() => return Ok(nothing_kept()),
        result => result?,
    };
    let tally = precision::blocks(&mut setup, Tally::default(), &mut store, interrupt)?;
    if tally.attempts() == 0 {
        return Ok(nothing_kept());
    }
    let paced = rates::measure(&setup, &tally, &store, interrupt)?;
    let matrix = &setup.run.matrix;
    let cell = matrix.warmup() + matrix.duration();
    let loading = cell * u32::try_from(tally.attempts())? + rates::loading(matrix, &paced);
    note(format_args!(
        "{} for what is timed, {:.0}% of it outside warm-ups and windows",
        in_words(begun.elapsed()),
        100.0 * overhead(loading, begun.elapsed())
    ));
    let traces = traces::measure(&setup, [&tally, &paced], &store, interrupt)?;
    conclude(store.dir(), [&tally, &paced, &traces])
}

/// Goes on with the sweep in `dir` that was cut short, and reports.
///
/// # Errors
///
/// When there is no run in `dir`, when it is to go on otherwise than it was begun, or as for [`run`].
pub fn go_on(dir: &Path, asked: Asked, interrupt: &Interrupt) -> anyhow::Result<Outcome> {
    let (mut store, mut record) = Store::reopen(dir)?;
    asked.refuse_contradiction(&record.run, dir)?;
    if resume::left(&record.run.order, record.run.attempts, &record.cells).is_empty() {
        precision::extend(&mut record.run, &record.cells)?;
    }
    let Run {
        order, attempts, ..
    } = &record.run;
    let left = resume::left(order, *attempts, &record.cells).len();
    let tally = Tally::recorded(&record.cells, order.len() - left);
    // Until all cells are measured, nobody knows the rates.
    let rates = match left {
        0 => rates::planned(&record)?,
        _ => Vec::new(),
    };
    let rates_left = resume::left(&rates, *attempts, &record.paced).len();
    let traces = traces::planned(&record.run)?;
    let traces_left = resume::left(&traces, traces::ATTEMPTS, &record.traces).len();
    let what = match (left, rates_left, traces_left) {
        (0, 0, 0) => {
            note(format_args!(
                "{} is complete: nothing is left to measure",
                dir.display()
            ));
            let paced = Tally::recorded(&record.paced, rates.len());
            let traced = Tally::recorded(&record.traces, traces.len());
            return conclude(dir, [&tally, &paced, &traced]);
        }
        (0, 0, left) => format!("{left} of {} traces", traces.len()),
        (0, left, _) => format!("{left} of {} fixed rates", rates.len()),
        (left, _, _) => format!("{left} of {} cells", order.len()),
    };
    note(format_args!(
        "going on in {}: {what} are left",
        dir.display()
    ));
    let mut setup = match setup::prepare_again(&record.run, dir, interrupt) {
        Err(error) if error.is::<Interrupted>() => return Ok(nothing_kept()),
        result => result?,
    };
    record.run = setup.run.clone();
    store.go_on(&record)?;
    let tally = precision::blocks(&mut setup, tally, &mut store, interrupt)?;
    let paced = rates::measure(&setup, &tally, &store, interrupt)?;
    let traces = traces::measure(&setup, [&tally, &paced], &store, interrupt)?;
    conclude(dir, [&tally, &paced, &traces])
}

fn nothing_kept() -> Outcome {
    note("interrupted before a cell ended: nothing was added");
    Outcome::Interrupted
}

/// Measures the cells that are left.
fn measure(
    setup: &Setup,
    left: &[Left<PlannedCell>],
    tally: Tally,
    store: &mut Store,
    interrupt: &Interrupt,
) -> anyhow::Result<Tally> {
    let matrix = &setup.run.matrix;
    let cpus = setup.cpus();
    let cpu_plan = &setup.run.cpu_plan;
    let bench = Bench {
        generator: &setup.wrk,
        request: &setup.request,
        warmup: matrix.warmup(),
        duration: matrix.duration(),
        cpus: &cpus,
        ends: cpu_plan
            .server
            .first()
            .copied()
            .zip(cpu_plan.client.last().copied()),
        interrupt,
    };
    let mut progress = Progress::new(left.len(), plan::cell_time(matrix));
    let measure = |planned: &PlannedCell, attempt: u32| {
        let (entrant, launch) = setup.entrant(&planned.entrant);
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

/// Which cells are to be measured, and how often at most.
struct Schedule<'a, P> {
    left: &'a [Left<'a, P>],
    attempts: u32,
    interrupt: &'a Interrupt,
}

impl<P: Planned> Schedule<'_, P> {
    /// Measures the cells one by one, an invalid one again at once, and has each attempt kept before the next begins,
    /// until all are measured or the user stops.
    fn run<T: Attempt<Planned = P>>(
        &self,
        mut tally: Tally,
        mut measure: impl FnMut(&P, u32) -> Result<T, Interrupted>,
        mut keep: impl FnMut(&T) -> Result<(), StoreError>,
        progress: &mut Progress,
    ) -> Result<Tally, StoreError> {
        let mut last: Option<T> = None;
        for &Left { planned, attempt } in self.left {
            for attempt in attempt..=self.attempts {
                progress.begin(planned, last.as_ref());
                let measured = self.interrupt.check();
                let Ok(cell) = measured.and_then(|()| measure(planned, attempt)) else {
                    tally.interrupted = true;
                    return Ok(tally);
                };
                keep(&cell)?;
                let settled = cell.validity().is_valid() || attempt == self.attempts;
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
    /// What is on record where so many cells are settled.
    fn recorded(cells: &[impl Attempt], settled: usize) -> Self {
        let is_valid = |cell: &&_| Attempt::validity(*cell).is_valid();
        let valid = cells.iter().filter(is_valid).count();
        Self {
            valid,
            invalid: settled - valid,
            repeated: cells.len() - settled,
            interrupted: false,
        }
    }

    fn add(&mut self, cell: &impl Attempt, settled: bool) {
        match (cell.validity().is_valid(), settled) {
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

    /// Says what is not as it should be.
    fn say(&self, what: &str) {
        if self.invalid > 0 {
            note(format_args!(
                "{} of {} {what} are invalid and count for nothing: the report lists them with reasons",
                self.invalid,
                self.cells()
            ));
        }
        if self.repeated > 0 {
            note(format_args!(
                "{} attempts were invalid and followed by another: the report lists them with reasons",
                self.repeated
            ));
        }
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

/// Renders what is there, and says what came out of all passes: cells, loads at fixed rates, traces.
fn conclude(dir: &Path, passes: [&Tally; 3]) -> anyhow::Result<Outcome> {
    let interrupted = passes.iter().any(|pass| pass.interrupted);
    if interrupted {
        // Before it is rendered: the user may have no patience for that.
        note(format_args!(
            "interrupted: the {} cells measured so far are kept; go on with: rungs sweep --resume {dir}; or render them again with: rungs report {dir}",
            passes.map(Tally::cells).iter().sum::<usize>(),
            dir = dir.display()
        ));
    }
    let [cells, paced, traces] = passes;
    cells.say("cells");
    paced.say("loads at fixed rates");
    traces.say("traces");
    output::report(dir)?;
    Ok(match interrupted {
        true => Outcome::Interrupted,
        false => cells.outcome(),
    })
}

/// The share of the time that was neither warm-up nor measured load, as long as the matrix asks for both.
fn overhead(loading: Duration, elapsed: Duration) -> f64 {
    1.0 - loading.as_secs_f64() / elapsed.as_secs_f64()
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;
    use crate::record::{Cell, Reason, Spent, Validity};

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
        assert_eq!(kept, (0..140).collect::<Vec<_>>());
        assert_eq!((tally.valid, tally.invalid), (140, 0));
        assert_eq!(tally.outcome(), Outcome::Measured);
    }

    #[test]
    fn an_invalid_cell_does_not_stop_the_sweep() {
        let interrupt = Interrupt::default();
        let (kept, tally) = schedule(&interrupt, 1, |planned, attempt| {
            Ok(scripted(planned, attempt, invalid()))
        });
        assert_eq!((kept.len(), tally.invalid), (140, 140));
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
        assert_eq!((tally.valid, tally.invalid, tally.repeated), (139, 1, 4));
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
