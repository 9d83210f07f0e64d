//! Where the curve of the rate is proven to turn for the worse.

use super::Curves;
use crate::findings::{EntrantFindings, Findings, Knee, Role};
use crate::quantity;

/// Marks the knees in the rate's curves, one for each entrant.
pub(super) fn mark(curves: &mut Curves, findings: &Findings) {
    for (series, entrant) in curves.series.iter_mut().zip(&findings.entrants) {
        series.knee = knee(entrant).map(|knee| knee.connections);
    }
}

/// A line for each mark.
pub(super) fn notes(findings: &Findings) -> impl Iterator<Item = String> {
    let entrants = findings.entrants.iter();
    entrants.filter_map(|entrant| Some(note(&entrant.label, knee(entrant)?)))
}

fn knee(entrant: &EntrantFindings) -> Option<Knee> {
    let shown = entrant.role != Role::Again;
    entrant.scaling.rate.filter(|_| shown)?.knee
}

fn note(label: &str, knee: Knee) -> String {
    let count = |connections: f64| quantity::whole(connections.round() as u64);
    format!(
        "│ knee: the rate of {label} turns for the worse at {} connections ({} to {})",
        count(knee.connections),
        count(knee.interval.low),
        count(knee.interval.high)
    )
}
