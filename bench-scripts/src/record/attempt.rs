//! What all records of a run's logs have in common.

use std::fmt::Display;

use super::{Cell, Cost, PlannedCell, Validity};
use crate::quantity;

/// Something that is to be measured. Its [`Display`] names it: `epoll at 100 connections`.
pub trait Planned: Display {
    /// Position in its pass of the sweep, from 0.
    fn index(&self) -> usize;

    /// The entrant's label.
    fn entrant(&self) -> &str;
}

/// An attempt at something planned: a line of a log.
pub trait Attempt {
    /// What was planned.
    type Planned: Planned;

    /// What was planned.
    fn planned(&self) -> &Self::Planned;

    /// Which attempt it is, from 1. At most one is valid: the last.
    fn attempt(&self) -> u32;

    /// Whether its numbers may be used.
    fn validity(&self) -> &Validity;

    /// What came of a valid one, in a few words.
    fn figures(&self) -> String;
}

impl Display for PlannedCell {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} at {} connections", self.entrant, self.connections)
    }
}

impl Planned for PlannedCell {
    fn index(&self) -> usize {
        self.index
    }

    fn entrant(&self) -> &str {
        &self.entrant
    }
}

impl Attempt for Cell {
    type Planned = PlannedCell;

    fn planned(&self) -> &PlannedCell {
        &self.planned
    }

    fn attempt(&self) -> u32 {
        self.attempt
    }

    fn validity(&self) -> &Validity {
        &self.validity
    }

    fn figures(&self) -> String {
        let rate = self.requests_per_minute().map(quantity::large);
        let cost = self.cost().map(Cost::total_us).map(quantity::micros);
        format!(
            "{}/min, {} of CPU per request",
            rate.as_deref().unwrap_or("0"),
            cost.as_deref().unwrap_or("no")
        )
    }
}
