//! In what a run is shorter than the documents that it follows.

use rungs_primitives::cell::{INCREMENTS, MESSAGES, ROUND_TRIPS};
use rungs_primitives::plan::{Counts, Plan};
use rungs_primitives::row::Family;

use crate::quantity::{millis, whole};

/// A sentence each; none with the documents' own counts.
pub(super) fn sentences(plan: &Plan) -> Vec<String> {
    if plan.counts == Counts::Documents {
        return Vec::new();
    }
    let batch = millis(u64::try_from(plan.batch.as_millis()).unwrap_or(u64::MAX));
    let of_family = |&family: &Family| {
        let both = [fewer(family, &batch), left_out(plan, family)];
        let sentence = move |what| format!("{}: {what}.", family.name());
        both.into_iter().flatten().map(sentence)
    };
    plan.families.iter().flat_map(of_family).collect()
}

fn fewer(family: Family, batch: &str) -> Option<String> {
    let (what, documents) = match family {
        Family::Latency => ("round trips", ROUND_TRIPS),
        Family::Threads | Family::Processes => ("increments of each worker", INCREMENTS),
        Family::Messages => ("messages", MESSAGES),
        // The documents do not say how many.
        Family::Bandwidth | Family::Spawn | Family::Wakeups => return None,
    };
    Some(format!(
        "as many {what} as take {batch}, where the document has {}",
        whole(documents)
    ))
}

/// Rows that the default has no time for. Each says so itself.
fn left_out(plan: &Plan, family: Family) -> Option<String> {
    let cells = plan.groups().into_iter().flatten();
    let left_out = cells.filter(|cell| cell.family == family && plan.leaves_out(cell).is_some());
    let count = left_out.count();
    (count > 0).then(|| format!("{count} rows are left out, and say so"))
}
