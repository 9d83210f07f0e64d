//! In what a run is shorter than the documents that it follows.

use rungs_primitives::cell::{INCREMENTS, MESSAGES, ROUND_TRIPS};
use rungs_primitives::plan::{Counts, LONG_SIZES, LONG_WORKERS, Plan};
use rungs_primitives::row::Family;

use crate::quantity::{millis, whole};

/// A sentence each; none with the documents' own counts.
pub(super) fn sentences(plan: &Plan) -> Vec<String> {
    if plan.counts == Counts::Documents {
        return Vec::new();
    }
    let batch = millis(u64::try_from(plan.batch.as_millis()).unwrap_or(u64::MAX));
    let of_family = |&family: &Family| {
        let both = [fewer(family, &batch), left_out(family)];
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

fn left_out(family: Family) -> Option<String> {
    let list = |values: &[usize]| {
        let values = values.iter().map(|&value| whole(value as u64));
        values.collect::<Vec<_>>().join(" and ")
    };
    match family {
        Family::Bandwidth => Some(format!("no messages of {} bytes", list(&LONG_SIZES))),
        Family::Threads | Family::Processes => {
            Some(format!("not with {} workers", list(&LONG_WORKERS)))
        }
        Family::Latency | Family::Messages | Family::Spawn | Family::Wakeups => None,
    }
}
