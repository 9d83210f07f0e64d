//! What requests cost servers, taken from a sweep: the upper part of the ladder.

use std::fs;
use std::path::Path;

use anyhow::Context;

use super::record::{ServerCost, Servers};
use crate::analyse::analyse_record;
use crate::findings::EntrantFindings;
use crate::output::note;
use crate::report;
use crate::store::{LATEST, RESULTS};

/// Those of the sweep in `dir`, at its lowest connection count, as in the sweep's own ladder.
///
/// # Errors
///
/// When there is no sweep in `dir`, or it has no valid cell of a server.
pub fn of_sweep(dir: &Path) -> anyhow::Result<Servers> {
    let record = report::read(dir)?;
    let findings = analyse_record(&record);
    let count = findings.connection_counts().into_iter().min();
    let contestants = findings.entrants.iter();
    let contestants = contestants.filter(|entrant| entrant.repeat_of.is_none());
    let costs: Vec<ServerCost> = contestants
        .filter_map(|entrant| cost(entrant, count?))
        .collect();
    let connections = count.filter(|_| !costs.is_empty()).with_context(|| {
        format!(
            "{} has no valid cell: measure again with `rungs sweep`",
            dir.display()
        )
    })?;
    // results/latest is a link; the run is to say which sweep it was.
    let dir = fs::canonicalize(dir)?;
    Ok(Servers {
        sweep: dir.file_name().unwrap_or_default().to_string_lossy().into(),
        measured_at: record.run.started_at,
        machine: record.run.machine,
        connections,
        costs,
    })
}

fn cost(entrant: &EntrantFindings, connections: u32) -> Option<ServerCost> {
    let mut points = entrant.points.iter();
    let point = points.find(|point| point.connections_asked == connections)?;
    Some(ServerCost {
        label: entrant.label.clone(),
        cost_us: point.cost?.total_us.median,
        interval_us: point.intervals.cost_us,
        to_control: point.cost_to_control.map(|ratio| ratio.median),
    })
}

/// Those of the last sweep, or a word on how to get some.
pub(super) fn of_last_sweep() -> Option<Servers> {
    let latest = Path::new(RESULTS).join(LATEST);
    let why = if latest.exists() {
        match of_sweep(&latest) {
            Ok(servers) => return Some(servers),
            Err(error) => format!("{error:#}"),
        }
    } else {
        format!("there is no {}", latest.display())
    };
    note(format_args!(
        "the ladder has no servers, for {why}; `rungs sweep` measures them, and `rungs report DIR --sweep {}` then adds them",
        latest.display()
    ));
    None
}
