//! Whether the rungs can run on this machine: each is started once, and says.

use super::{blocker, good, warning};
use crate::matrix::{Entrant, Matrix, Program};
use crate::record::{Advice, Reason};
use crate::server::{Launch, Server};

/// Starts every rung of `matrix`. A sweep does that itself, and skips those that cannot run.
#[must_use]
pub fn findings(matrix: &Matrix) -> Vec<Advice> {
    let is_rung = |entrant: &&Entrant| {
        entrant.repeat_of.is_none() && matches!(entrant.program, Program::Rung { .. })
    };
    let rungs = matrix.entrants.iter().filter(is_rung);
    let problems: Vec<_> = rungs.filter_map(problem).collect();
    if problems.is_empty() {
        return vec![good("support", "every rung of the matrix runs here")];
    }
    problems
}

fn problem(entrant: &Entrant) -> Option<Advice> {
    // One that is not there is another finding.
    let launch = Launch::of(entrant, None, 1, 1).ok()?;
    match Server::start(&launch).and_then(Server::stop) {
        Ok(_) => None,
        Err(Reason::Unsupported { sentence }) => Some(warning(
            "support",
            format!("{} cannot run here, and sweeps skip it", entrant.label),
            sentence,
        )),
        Err(reason) => Some(blocker(
            "support",
            format!("{} does not run: {reason}", entrant.label),
            "build it again with `cargo build --release --workspace`",
        )),
    }
}
