//! The tools of the traced pass: whether they are there, and whether they may do their work.

use std::time::{Duration, Instant};

use super::{good, warning};
use crate::interrupt::{Interrupt, Interrupted};
use crate::matrix::Matrix;
use crate::process::Process;
use crate::record::Advice;
use crate::record::trace::{Absence, Event, Traced};
use crate::trace::perf::{NOT_COUNTED, Perf};
use crate::trace::strace::Strace;
use crate::trace::{Attached, Tool};

/// How long a tool may take to attach to a process that sleeps.
const ATTACH_TIMEOUT: Duration = Duration::from_secs(2);

/// A finding for each tool, if the matrix has a traced pass. Both are tried on a process that sleeps, since a setting, a
/// container or a missing kernel module may forbid what is installed.
pub(super) fn findings(matrix: &Matrix) -> Vec<Advice> {
    if matrix.trace.is_none() {
        return Vec::new();
    }
    let Ok(sleeper) = Process::start("sleep", &["10".into()], None) else {
        return Vec::new();
    };
    let strace = attach::<Strace>(&sleeper).map(|_| "strace may trace".to_owned());
    let counters = attach::<Perf>(&sleeper).and_then(Attached::detach);
    vec![
        finding("system calls", strace),
        finding("counters", counters.map(|events| may_count(&events))),
    ]
}

fn attach<T: Tool>(sleeper: &Process) -> Result<Attached<T>, Absence> {
    let by = Instant::now() + ATTACH_TIMEOUT;
    match Attached::to(&[sleeper.id()], by, &Interrupt::default()) {
        Ok(attached) => attached,
        Err(Interrupted) => unreachable!("nobody raises an interrupt of our own"),
    }
}

fn finding(subject: &str, result: Result<String, Absence>) -> Advice {
    match result {
        Ok(found) => good(subject, found),
        Err(Absence { what, remedy }) => {
            let found = format!("{what}, so the traced pass leaves them out");
            warning(subject, found, remedy)
        }
    }
}

/// A process that sleeps gives nothing to count; what cannot be counted shows all the same.
fn may_count(events: &[Event]) -> String {
    let missing: Vec<_> = events
        .iter()
        .filter(|event| matches!(&event.count, Traced::Absent(why) if why.what != NOT_COUNTED))
        .map(|event| event.name.as_str())
        .collect();
    if missing.is_empty() {
        "perf may count".to_owned()
    } else {
        format!("perf may count, but not {}", missing.join(", "))
    }
}
