//! How far a run is: a bar on a terminal, plain lines elsewhere.

use std::fmt::Display;
use std::io::{IsTerminal, stderr};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use crate::output::note;
use crate::record::Attempt;

/// Says on stderr how far a run is.
#[derive(Debug)]
pub struct Progress {
    cells: usize,
    cell_time: Duration,
    begun: Instant,
    measured: u32,
    /// Cells that the time so far was spent on: more than those told of, where several were measured together.
    settled: u32,
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
            settled: 0,
            bar,
        }
    }

    /// Says that a cell begins; `last` is the one before it.
    pub fn begin<T: Attempt>(&self, next: &T::Planned, last: Option<&T>) {
        let last = last.map_or(String::new(), |cell| format!("  (last: {})", outcome(cell)));
        self.announce(next, &last);
    }

    /// Says that something begins, and more about it behind the time that is left.
    pub fn announce(&self, next: impl Display, more: &str) {
        let Some(bar) = &self.bar else { return };
        bar.set_message(format!("{next}, {} left{more}", self.time_left()));
        bar.tick();
    }

    /// Says that an attempt at a cell failed, and that another one follows.
    pub fn again(&self, cell: &impl Attempt) {
        let text = format!("{}: {}; once more", cell.planned(), outcome(cell));
        match &self.bar {
            Some(bar) => bar.println(text),
            None => note(text),
        }
    }

    /// Says how a cell ended.
    pub fn end(&mut self, cell: &impl Attempt) {
        self.count(cell.planned(), &outcome(cell), cell.validity().is_valid());
    }

    /// The next so many were measured together, and none of them takes more time.
    pub fn together(&mut self, cells: u32) {
        self.settled = self.measured + cells;
    }

    /// Says how something ended. Beside a bar only what did not end well is worth a line.
    pub fn count(&mut self, what: impl Display, outcome: &str, is_well: bool) {
        self.measured += 1;
        self.settled = self.settled.max(self.measured);
        match &self.bar {
            Some(bar) => {
                if !is_well {
                    bar.println(format!("{what}: {outcome}"));
                }
                bar.inc(1);
            }
            None => note(format_args!(
                "[{:>width$}/{}] {what}: {outcome}, {} left",
                self.measured,
                self.cells,
                self.time_left(),
                width = self.cells.to_string().len()
            )),
        }
    }

    /// Prints something beside the bar.
    pub fn aside<R>(&self, print: impl FnOnce() -> R) -> R {
        match &self.bar {
            Some(bar) => bar.suspend(print),
            None => print(),
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
        let each = match self.settled {
            0 => self.cell_time,
            settled => self.begun.elapsed() / settled,
        };
        let left = u32::try_from(self.cells).unwrap_or(u32::MAX) - self.settled;
        in_words(each * left)
    }
}

/// `4m 50s`: whole seconds.
#[must_use]
pub fn in_words(time: Duration) -> String {
    humantime::format_duration(Duration::from_secs(time.as_secs())).to_string()
}

fn outcome(cell: &impl Attempt) -> String {
    let reasons = cell.validity().reasons().iter();
    let reasons: Vec<_> = reasons.map(ToString::to_string).collect();
    if reasons.is_empty() {
        cell.figures()
    } else {
        format!("invalid, {}", reasons.join("; "))
    }
}
