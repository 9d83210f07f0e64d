//! The children's side of a trial.

use std::io;

use rustix::process::{Signal, getppid, set_parent_process_death_signal};

use crate::channels::{self, Made};
use crate::clock::pin;
use crate::failure::{Absence, Failure};
use crate::trial::NoResult;
use crate::wire::{Given, Line, Order, Report, Role, Word};
use crate::{handoffs, locks, programs};

/// What a child of a trial runs: it hears its order from its stdin, follows it, and reports.
///
/// # Errors
///
/// When there is no parent to talk with, as when a person starts it.
pub fn main() -> Result<(), Failure> {
    let line = Line::stdin()?;
    let heard = line
        .hear::<(Order, String)>()
        .map_err(Failure::call("order"))?;
    let Some(((order, text), fds)) = heard else {
        return Ok(()); // the parent died before it said anything
    };
    if !order.role.keeps() && !tied_to(order.parent)? {
        return Ok(());
    }
    let hall = Hall { line };
    let result = follow(&order, Given { fds, text }, &hall);
    let said = match result {
        Ok(None) => return Ok(()),
        Ok(Some(report)) => hall.line.say(&Word::Done(report), &[]),
        Err(NoResult::Absent(absence)) => hall.line.say(&Word::Absent(absence), &[]),
        Err(NoResult::Failed(failure)) => hall.line.say(&Word::Failed(failure), &[]),
    };
    match said {
        Ok(()) => hall.wait_for_the_end(),
        // A parent that is gone hears nothing, and needs not.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
        Err(error) => return Err(Failure::call("report")(error)),
    }
    Ok(())
}

/// Asks the kernel to end this process with its parent (PR_SET_PDEATHSIG, prctl(2)). False if the parent is gone already.
fn tied_to(parent: u32) -> Result<bool, Failure> {
    set_parent_process_death_signal(Some(Signal::KILL)).map_err(Failure::call("prctl"))?;
    Ok(getppid().is_some_and(|pid| pid.as_raw_nonzero().get().unsigned_abs() == parent))
}

/// Follows the order; `None` from a keeper, whose work has no result.
fn follow(order: &Order, given: Given, hall: &Hall) -> Result<Option<Report>, NoResult> {
    if let Some(&first) = order.cpus.first() {
        pin(first)?;
    }
    match &order.role {
        Role::KeepChannel { channel, pattern } => {
            let channel = channels::named(channel).ok_or_else(|| unknown(channel))?;
            if let Some(absence) = channel.absent(*pattern) {
                return Err(absence.into());
            }
            hall.keep(channel.make(*pattern)?).map(|()| None)
        }
        Role::KeepLock { lock } => {
            let lock = locks::named(lock).ok_or_else(|| unknown(lock))?;
            hall.keep(lock.make()?).map(|()| None)
        }
        Role::KeepDirectory => hall.keep(programs::make()?).map(|()| None),
        Role::End {
            channel,
            end,
            pattern,
            count,
            each,
        } => {
            let channel = channels::named(channel).ok_or_else(|| unknown(channel))?;
            Ok(Some(
                channel.work(*end, *pattern, given, *count, *each, hall)?,
            ))
        }
        Role::Add {
            lock,
            threads,
            count,
        } => {
            let lock = locks::named(lock).ok_or_else(|| unknown(lock))?;
            Ok(Some(lock.work(
                &given,
                *threads,
                &order.cpus,
                *count,
                hall,
            )?))
        }
        Role::Hand {
            handoff,
            count,
            each,
        } => {
            let handoff = handoffs::named(handoff).ok_or_else(|| unknown(handoff))?;
            Ok(Some((handoff.run)(&order.cpus, *count, *each, hall)?))
        }
        Role::Start {
            program,
            count,
            rss_mb,
        } => {
            let program = programs::named(program).ok_or_else(|| unknown(program))?;
            Ok(Some(programs::work(
                program,
                *count,
                *rss_mb,
                &order.cpus,
                &given.text,
                hall,
            )?))
        }
    }
}

fn unknown(name: &str) -> Absence {
    Absence::Skipped(format!("{name}: this build of rungs has no such row"))
}

/// Where a child waits for its parent.
#[derive(Debug)]
pub struct Hall {
    line: Line,
}

impl Hall {
    /// Says that everything is open, and waits for go.
    ///
    /// # Errors
    ///
    /// [`Failure`] when the parent has hung up: there is nothing to be measured any more.
    pub fn ready(&self) -> Result<(), Failure> {
        self.line
            .say(&Word::Ready, &[])
            .map_err(Failure::call("ready"))?;
        match self.line.hear::<()>() {
            Ok(Some(_)) => Ok(()),
            Ok(None) => Err(Failure::Wrong(
                "the parent hung up before the start".to_owned(),
            )),
            Err(error) => Err(Failure::call("go")(error)),
        }
    }

    /// Tells what was made, and keeps it until the parent hangs up.
    fn keep(&self, made: Made) -> Result<(), NoResult> {
        for given in &made.given {
            self.line
                .say(&Word::Made(given.text.clone()), &given.fds)
                .map_err(Failure::call("made"))?;
        }
        drop(made.given); // an end that dies must be missed
        self.line
            .say(&Word::Ready, &[])
            .map_err(Failure::call("ready"))?;
        self.wait_for_the_end();
        drop(made.kept);
        Ok(())
    }

    fn wait_for_the_end(&self) {
        while let Ok(Some(_)) = self.line.hear::<()>() {}
    }
}
