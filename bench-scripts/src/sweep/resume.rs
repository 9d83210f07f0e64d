//! Going on with a sweep that was cut short: what is left of it, and whether it may go on.

use std::collections::HashMap;
use std::fmt::Display;
use std::path::Path;

use anyhow::bail;

use crate::difference::{self, Difference};
use crate::matrix::{Matrix, Overrides};
use crate::quantity;
use crate::record::{Attempt, Planned, Run};

/// A cell, of either pass, that is still to be measured.
#[derive(Clone, Copy, Debug)]
pub(super) struct Left<'a, P> {
    pub(super) planned: &'a P,
    /// The attempt that is next, from 1.
    pub(super) attempt: u32,
}

/// What of `order` has neither a valid attempt nor so many attempts behind it, in that order.
pub(super) fn left<'a, T: Attempt>(
    order: &'a [T::Planned],
    attempts: u32,
    recorded: &[T],
) -> Vec<Left<'a, T::Planned>> {
    // The last record of a cell decides: attempts end with the first valid one.
    let index = |cell: &T| cell.planned().index();
    let last: HashMap<usize, &T> = recorded.iter().map(|cell| (index(cell), cell)).collect();
    let next = |planned: &T::Planned| match last.get(&planned.index()) {
        None => Some(1),
        Some(cell) if cell.validity().is_valid() || cell.attempt() >= attempts => None,
        Some(cell) => Some(cell.attempt() + 1),
    };
    order
        .iter()
        .filter_map(|planned| {
            Some(Left {
                planned,
                attempt: next(planned)?,
            })
        })
        .collect()
}

/// What the command line asks for besides going on; none of all this if it is as it should be.
#[derive(Clone, Debug, Default)]
pub struct Asked {
    /// A matrix, by name or file.
    pub matrix: Option<String>,
    /// Changes of the matrix.
    pub overrides: Overrides,
    /// A seed.
    pub seed: Option<u64>,
    /// Attempts per cell.
    pub attempts: Option<u32>,
    /// Half the width of intervals, as a share.
    pub precision: Option<f64>,
    /// The time for that, seconds.
    pub budget_s: Option<u64>,
}

impl Asked {
    /// Fails if it is something else than what the run was begun with.
    pub(super) fn refuse_contradiction(self, run: &Run, dir: &Path) -> anyhow::Result<()> {
        // Rounds that were added for the sake of precision were never asked for.
        let begun = Matrix {
            rounds: run
                .precision
                .map_or(run.matrix.rounds, |goal| goal.least_rounds),
            ..run.matrix.clone()
        };
        let matrix = match &self.matrix {
            Some(name) => Matrix::find(name)?,
            None => begun.clone(),
        };
        let matrix = matrix.with(self.overrides)?;
        // What could not run then was asked for as well.
        let matrix = matrix.without(&run.skipped).map_err(anyhow::Error::msg)?;
        let mut differences = difference::between_matrices(&begun, &matrix);
        let mut note = |what: &str, before: &dyn Display, after: &dyn Display| {
            let (before, after) = (before.to_string(), after.to_string());
            if before != after {
                differences.push(Difference {
                    what: what.to_owned(),
                    before,
                    after,
                });
            }
        };
        note("seed", &run.seed, &self.seed.unwrap_or(run.seed));
        let attempts = self.attempts.unwrap_or(run.attempts);
        note("attempts", &run.attempts, &attempts);
        let goal = |share: Option<f64>| share.map_or("none".to_owned(), quantity::fine_percent);
        let begun = run.precision.map(|goal| goal.share);
        note("precision", &goal(begun), &goal(self.precision.or(begun)));
        let seconds = |budget: Option<u64>| budget.map_or("none".to_owned(), |s| format!("{s} s"));
        let begun = run.precision.map(|goal| goal.budget_s);
        note("budget", &seconds(begun), &seconds(self.budget_s.or(begun)));
        if !differences.is_empty() {
            bail!(
                "a sweep goes on as it was begun, and {} was begun otherwise ({}): leave these flags out, or begin a new sweep without --resume",
                dir.display(),
                difference::in_words(&differences)
            );
        }
        Ok(())
    }
}

/// Fails if machine, CPU plan or programs are not those that the run was begun with.
pub(super) fn refuse_changes(recorded: &Run, now: &Run, dir: &Path) -> anyhow::Result<()> {
    let differences = difference::between_runs(recorded, now);
    if differences.is_empty() && recorded.order == now.order {
        return Ok(());
    }
    let what = match differences.as_slice() {
        [] => "the order of cells, which this version of rungs makes otherwise".to_owned(),
        some => difference::in_words(some),
    };
    bail!(
        "{} cannot go on, for what it would measure now is something else ({what}): restore that, or begin a new sweep and look at both with `rungs compare`",
        dir.display()
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made;
    use crate::record::{Cell, Reason, Validity};

    /// Attempts at the first cell, all of them invalid, and what is then left of it.
    fn next_attempt(run: &Run, cell: &Cell, attempts: u32) -> Option<u32> {
        let attempt = |attempt| Cell {
            attempt,
            validity: Validity::Invalid {
                reasons: vec![Reason::NoRequests],
            },
            ..cell.clone()
        };
        let cells: Vec<_> = (1..=attempts).map(attempt).collect();
        let left = left(&run.order, run.attempts, &cells);
        let first = left.iter().find(|left| left.planned.index == 0);
        first.map(|left| left.attempt)
    }

    #[test]
    fn what_is_left_is_what_is_not_on_record_in_the_recorded_order() {
        let (run, cells) = made::run_and_cells();
        let valid = |cell: &&Cell| cell.is_valid() && cell.planned.index % 3 != 1;
        let kept: Vec<_> = cells.iter().filter(valid).cloned().collect();
        let left: Vec<_> = left(&run.order, 1, &kept)
            .iter()
            .map(|l| l.planned.index)
            .collect();
        let is_kept = |index: &usize| kept.iter().any(|cell| cell.planned.index == *index);
        let expected: Vec<_> = (0..60).filter(|index| !is_kept(index)).collect();
        assert_eq!(left, expected);
        assert!(super::left(&run.order, 1, &cells).is_empty());
    }

    #[test]
    fn attempts_go_on_where_they_ended() {
        let (mut run, cells) = made::run_and_cells();
        run.attempts = 3;
        assert_eq!(next_attempt(&run, &cells[0], 0), Some(1));
        assert_eq!(next_attempt(&run, &cells[0], 2), Some(3));
        assert_eq!(next_attempt(&run, &cells[0], 3), None);
    }

    #[test]
    fn flags_may_repeat_what_was_begun_and_not_contradict_it() {
        let (run, _) = made::run_and_cells();
        let dir = Path::new("DIR");
        let same = Asked {
            overrides: Overrides {
                rounds: Some(3),
                ..Overrides::default()
            },
            seed: Some(20_260_102),
            ..Asked::default()
        };
        same.refuse_contradiction(&run, dir).unwrap();
        let other = Asked {
            overrides: Overrides {
                rounds: Some(4),
                shared: true,
                ..Overrides::default()
            },
            seed: Some(1),
            attempts: Some(2),
            ..Asked::default()
        };
        let message = other
            .refuse_contradiction(&run, dir)
            .unwrap_err()
            .to_string();
        assert!(
            message.contains(
                "(rounds: 3 → 4; pinned: true → false; seed: 20260102 → 1; attempts: 1 → 2)"
            ),
            "{message}"
        );
    }

    #[test]
    fn a_changed_program_is_refused_and_named() {
        let (run, _) = made::run_and_cells();
        refuse_changes(&run, &run, Path::new("DIR")).unwrap();
        let mut now = run.clone();
        now.entrants[2].sha256 = "00".repeat(32);
        let error = refuse_changes(&run, &now, Path::new("DIR")).unwrap_err();
        assert!(error.to_string().contains("program of mio: "), "{error}");
    }
}
