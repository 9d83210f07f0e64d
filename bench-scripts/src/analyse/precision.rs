//! Whether a run is as precise as it was asked to be.

use crate::findings::{EntrantFindings, NoiseFloor, Precision, Widest};
use crate::record::Run;

/// How far the costs' intervals are from what was asked for; none where nothing was.
pub(super) fn precision(
    run: &Run,
    entrants: &[EntrantFindings],
    noise_floor: Option<&NoiseFloor>,
) -> Option<Precision> {
    let asked = run.precision?;
    let contestants = || {
        entrants
            .iter()
            .filter(|entrant| entrant.role.is_contestant())
    };
    let half_widths: Vec<Option<Widest>> = contestants()
        .flat_map(|entrant| {
            entrant.points.iter().map(|point| {
                let interval = point.intervals.cost_to_control?;
                Some(Widest {
                    entrant: entrant.label.clone(),
                    connections_asked: point.connections_asked,
                    share: (interval.high / interval.low).sqrt() - 1.0,
                })
            })
        })
        .collect();
    let all_known = half_widths.iter().all(Option::is_some);
    let widest = half_widths
        .into_iter()
        .flatten()
        .max_by(|a, b| a.share.total_cmp(&b.share));
    let is_narrow = widest.as_ref().is_some_and(|w| w.share <= asked.share);
    let again = entrants.iter().any(|entrant| entrant.repeat_of.is_some());
    let is_quiet = noise_floor.map_or(!again, |floor| floor.cost_share <= asked.share);
    Some(Precision {
        asked_share: asked.share,
        reached: all_known && is_narrow && is_quiet,
        widest,
    })
}
