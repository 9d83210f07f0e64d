//! Block after block, until the costs are as precise as they were asked to be, or the time for that is spent.

use std::time::Duration;

use super::resume::{self, Left};
use super::setup::Setup;
use super::{Tally, measure};
use crate::analyse::analyse;
use crate::findings::Precision;
use crate::interrupt::Interrupt;
use crate::output::note;
use crate::plan::{self, TooFewConnections};
use crate::progress::in_words;
use crate::quantity;
use crate::record::{Cell, PlannedCell, PrecisionGoal, Run, Spent};
use crate::report;
use crate::store::Store;

/// Measures the cells that are left, and then block after block as long as that is asked for.
///
/// # Errors
///
/// If a record cannot be kept, or the record so far cannot be read.
pub(super) fn blocks(
    setup: &mut Setup,
    mut tally: Tally,
    store: &mut Store,
    interrupt: &Interrupt,
) -> anyhow::Result<Tally> {
    loop {
        let before = report::read(store.dir())?.cells;
        let run = &setup.run;
        let left: Vec<Left<PlannedCell>> = resume::left(&run.order, run.attempts, &before);
        tally = measure(setup, &left, tally, store, interrupt)?;
        if tally.interrupted || setup.run.precision.is_none() {
            return Ok(tally);
        }
        let cells = report::read(store.dir())?.cells;
        if !extend(&mut setup.run, &cells)? {
            return Ok(tally);
        }
        store.write_run(&setup.run)?;
    }
}

/// Adds a block to the plan of a run that is measured to its end, where it is not precise enough and there is time for one more.
/// Says how it stands, and whether it added one.
pub(super) fn extend(run: &mut Run, cells: &[Cell]) -> Result<bool, TooFewConnections> {
    let Some(goal) = run.precision else {
        return Ok(false);
    };
    let Some(stand) = analyse(run, cells).precision else {
        return Ok(false);
    };
    let widest = in_short(&stand);
    let rounds = run.matrix.rounds;
    if stand.reached {
        note(format_args!(
            "as precise as asked for after {rounds} rounds: {widest}"
        ));
        return Ok(false);
    }
    if !has_time(run, goal, cells) {
        note(format_args!(
            "the budget of {} is spent after {rounds} rounds, and the costs are not as precise as asked for: {widest}",
            in_words(Duration::from_secs(goal.budget_s))
        ));
        return Ok(false);
    }
    note(format_args!("{widest} after {rounds} rounds: one more"));
    run.matrix.rounds += 1;
    run.order = plan::order(&run.matrix, run.load_generator.threads, run.seed)?;
    Ok(true)
}

/// Whether one more block fits the budget. What was spent is what the cells on record took, so that it comes out the same when
/// the sweep is resumed.
fn has_time(run: &Run, goal: PrecisionGoal, cells: &[Cell]) -> bool {
    let of_cell = |spent: Spent| spent.start_us + spent.warmup_us + spent.load_us + spent.stop_us;
    let spent_us: u64 = cells.iter().map(|cell| of_cell(cell.spent)).sum();
    let per_block = plan::cells(&run.matrix) / run.matrix.rounds as usize;
    let block = plan::cell_time(&run.matrix) * u32::try_from(per_block).unwrap_or(u32::MAX);
    Duration::from_micros(spent_us) + block <= Duration::from_secs(goal.budget_s)
}

/// `±2.7% at most (hyper at 1,000 connections)`.
fn in_short(stand: &Precision) -> String {
    stand.widest.as_ref().map_or_else(
        || "no interval is known yet".to_owned(),
        |widest| {
            format!(
                "costs to ±{} at most ({} at {} connections)",
                quantity::fine_percent(widest.share),
                widest.entrant,
                quantity::whole(widest.connections_asked.into())
            )
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made;

    fn asked(share: f64, budget_s: u64) -> (Run, Vec<Cell>) {
        let (mut run, cells) = made::run_and_cells();
        run.precision = Some(PrecisionGoal {
            share,
            budget_s,
            least_rounds: run.matrix.rounds,
        });
        (run, cells)
    }

    #[test]
    fn a_block_is_added_and_those_before_stay_as_they_were() {
        let (mut run, cells) = asked(0.0001, 10_000);
        run.order = plan::order(&run.matrix, run.load_generator.threads, run.seed).unwrap();
        let before = run.clone();
        assert!(extend(&mut run, &cells).unwrap());
        assert_eq!(run.matrix.rounds, before.matrix.rounds + 1);
        assert_eq!(run.order[..before.order.len()], before.order);
        assert_eq!(run.order.len(), plan::cells(&run.matrix));
    }

    #[test]
    fn nothing_is_added_without_a_goal_at_the_goal_or_without_time() {
        let (run, cells) = made::run_and_cells();
        for (precision, what) in [(None, "no goal"), (asked(0.0001, 1).0.precision, "no time")] {
            let mut run = Run {
                precision,
                ..run.clone()
            };
            assert!(!extend(&mut run, &cells).unwrap(), "{what}");
            assert_eq!(run.order.len(), 60, "{what}");
        }
        let (mut run, cells) = asked(10.0, 10_000);
        assert!(!extend(&mut run, &cells).unwrap(), "as precise as asked");
    }

    #[test]
    fn a_point_of_which_nothing_is_known_is_not_precise() {
        let (mut run, mut cells) = asked(10.0, 10_000);
        cells.retain(|cell| cell.planned.entrant != "mio");
        assert!(extend(&mut run, &cells).unwrap());
    }
}
