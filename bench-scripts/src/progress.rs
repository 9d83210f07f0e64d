//! How far a sweep is: a bar on a terminal, plain lines elsewhere.

use std::io::{IsTerminal, stderr};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use crate::output::note;
use crate::quantity;
use crate::record::trace::Trace;
use crate::record::{Cell, PlannedCell, Reason};

/// Says on stderr how far a sweep is.
#[derive(Debug)]
pub struct Progress {
    cells: usize,
    cell_time: Duration,
    begun: Instant,
    measured: u32,
    bar: Option<ProgressBar>,
}

impl Progress {
    /// For so many cells that are to be measured, each of which takes about `cell_time`.
    #[must_use]
    pub fn new(cells: usize, cell_time: Duration) -> Self {
        let bar = stderr().is_terminal().then(|| {
            let style = ProgressStyle::with_template("{bar:24.cyan/blue} {pos}/{len}  {msg}")
                .expect("the template is well-formed");
            // Drawn when something happens, not on a timer: a thread that draws would take the load generator's CPU.
            ProgressBar::new(cells as u64).with_style(style)
        });
        Self {
            cells,
            cell_time,
            begun: Instant::now(),
            measured: 0,
            bar,
        }
    }

    /// Says that a cell begins; `last` is the one before it.
    pub fn begin(&self, next: &PlannedCell, last: Option<&Cell>) {
        let Some(bar) = &self.bar else { return };
        let last = last.map_or(String::new(), |cell| format!("  (last: {})", outcome(cell)));
        bar.set_message(format!(
            "{} at {} connections, {} left{last}",
            next.entrant,
            next.connections,
            self.time_left()
        ));
        bar.tick();
    }

    /// Says that an attempt at a cell failed, and that another one follows.
    pub fn again(&self, cell: &Cell) {
        let text = format!("{}: {}; once more", name(&cell.planned), outcome(cell));
        match &self.bar {
            Some(bar) => bar.println(text),
            None => note(text),
        }
    }

    /// Says how a cell ended.
    pub fn end(&mut self, cell: &Cell) {
        self.step(&cell.planned, cell.is_valid(), &outcome(cell));
    }

    /// Says how a trace ended.
    pub fn end_trace(&mut self, trace: &Trace) {
        let invalid = invalid(trace.reasons());
        let outcome = invalid.as_deref().unwrap_or("traced");
        self.step(&trace.planned, invalid.is_none(), outcome);
    }

    fn step(&mut self, planned: &PlannedCell, is_valid: bool, outcome: &str) {
        self.measured += 1;
        match &self.bar {
            Some(bar) => {
                if !is_valid {
                    bar.println(format!("{}: {outcome}", name(planned)));
                }
                bar.inc(1);
            }
            None => note(format_args!(
                "[{:>width$}/{}] {}: {outcome}, {} left",
                self.measured,
                self.cells,
                name(planned),
                self.time_left(),
                width = self.cells.to_string().len()
            )),
        }
    }

    /// Removes the bar.
    pub fn finish(self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    /// From the cells measured so far, once there are some.
    fn time_left(&self) -> String {
        let each = match self.measured {
            0 => self.cell_time,
            measured => self.begun.elapsed() / measured,
        };
        let left = u32::try_from(self.cells).unwrap_or(u32::MAX) - self.measured;
        in_words(each * left)
    }
}

/// `4m 50s`: whole seconds.
#[must_use]
pub fn in_words(time: Duration) -> String {
    humantime::format_duration(Duration::from_secs(time.as_secs())).to_string()
}

fn name(cell: &PlannedCell) -> String {
    format!("{} at {} connections", cell.entrant, cell.connections)
}

fn invalid(reasons: &[Reason]) -> Option<String> {
    let reasons: Vec<_> = reasons.iter().map(ToString::to_string).collect();
    (!reasons.is_empty()).then(|| format!("invalid, {}", reasons.join("; ")))
}

fn outcome(cell: &Cell) -> String {
    if let Some(invalid) = invalid(cell.reasons()) {
        return invalid;
    }
    let rate = cell.requests_per_minute().map(quantity::large);
    let cost = cell.cost().map(|cost| quantity::micros(cost.total_us()));
    format!(
        "{}/min, {} of CPU per request",
        rate.as_deref().unwrap_or("0"),
        cost.as_deref().unwrap_or("no")
    )
}
