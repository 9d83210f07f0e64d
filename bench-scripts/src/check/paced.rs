//! The cross-checks of a load at a fixed rate.

use super::{Counted, count_mismatch, fewer_connections, size_mismatch, steal, throttled};
use crate::paced::{PacedLoad, Problem};
use crate::record::{PlannedPacedCell, Reason, Server, System};

/// What is known of a paced cell whose load came to its end.
#[derive(Clone, Copy, Debug)]
pub struct Evidence<'a> {
    /// What was planned.
    pub planned: &'a PlannedPacedCell,
    /// Length of one whole answer, bytes.
    pub response_bytes: u64,
    /// The load.
    pub load: &'a PacedLoad,
    /// Requests that `rungs` itself made of this server: the byte check.
    pub own_requests: u64,
    /// The server's side.
    pub server: &'a Server,
    /// The machine's side.
    pub system: &'a System,
}

/// Everything that is wrong with a paced cell.
#[must_use]
pub fn reasons(evidence: &Evidence<'_>) -> Vec<Reason> {
    let Evidence {
        planned,
        response_bytes,
        load,
        own_requests,
        server,
        system,
    } = *evidence;
    let counted = Counted {
        requests: load.answered_in_all,
        bytes: load.bytes,
        in_flight: u64::from(planned.connections) + load.errors.total(),
    };
    let checks = [
        (load.requests.answered == 0).then_some(Reason::NoRequests),
        fewer_connections(planned.connections, server.established),
        size_mismatch(counted, response_bytes),
        count_mismatch(counted, own_requests, server),
        throttled(server, system),
        steal(system),
    ];
    let problems = load.problems.iter().map(of_problem);
    problems.chain(checks.into_iter().flatten()).collect()
}

/// What the load generator itself has to say.
fn of_problem(problem: &Problem) -> Reason {
    match problem {
        Problem::Errors { errors } => Reason::RequestsFailed { errors: *errors },
        problem => Reason::RateNotHeld {
            problem: problem.clone(),
        },
    }
}
