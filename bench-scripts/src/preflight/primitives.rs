//! What about this machine would spoil, or leave out, rows of `rungs primitives`.

use rungs_primitives::limits::Limit;
use rungs_primitives::plan::SIZES;

use super::{fonts, good, others, settings, warning};
use crate::record::{Advice, Machine};

/// What bounds the size of a queue's message.
const OF_QUEUES: [&str; 3] = ["fs.mqueue.msgsize_max", "kernel.msgmax", "kernel.msgmnb"];

/// Looks at everything that matters to the primitives.
#[must_use]
pub fn findings(machine: &Machine, limits: &[Limit]) -> Vec<Advice> {
    let mut findings = vec![cpus(machine), queues(limits)];
    findings.extend(settings(machine));
    findings.extend(others(machine));
    findings.push(fonts());
    findings
}

fn cpus(machine: &Machine) -> Advice {
    match machine.cpus_allowed.as_slice() {
        [cpu] => warning(
            "CPUs",
            format!("only CPU {cpu} may be used: rows across CPUs are skipped"),
            "use a machine with two cores, or a wider --cpuset-cpus",
        ),
        cpus => good("CPUs", format!("{} may be used", cpus.len())),
    }
}

/// Queues whose limits are below the largest message of the bandwidth tables.
fn queues(limits: &[Limit]) -> Advice {
    let needed = SIZES.into_iter().max().unwrap_or(0) as u64;
    let low: Vec<(&str, u64)> = limits
        .iter()
        .filter(|limit| OF_QUEUES.contains(&limit.name.as_str()))
        .filter_map(|limit| Some((limit.name.as_str(), limit.value?)))
        .filter(|(_, value)| *value < needed)
        .collect();
    if low.is_empty() {
        return good("message queues", "their limits allow every row");
    }
    let found: Vec<_> = low
        .iter()
        .map(|(name, value)| format!("{name} is {value}"))
        .collect();
    let set: Vec<_> = low
        .iter()
        .map(|(name, _)| format!("{name}={needed}"))
        .collect();
    warning(
        "message queues",
        format!("{}: rows with larger messages are absent", found.join(", ")),
        format!(
            "`sysctl -w {}` as root; in a container, `docker run --sysctl NAME=VALUE` for each",
            set.join(" ")
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_low_limit_is_named_with_what_raises_it() {
        let limit = |name: &str, value| Limit {
            name: name.to_owned(),
            value: Some(value),
        };
        let low = [limit("kernel.msgmax", 8192), limit("kernel.msgmnb", 65_536)];
        let advice = queues(&low);
        assert!(
            advice.found.contains("kernel.msgmax is 8192: "),
            "{advice:?}"
        );
        assert!(
            advice
                .advice
                .starts_with("`sysctl -w kernel.msgmax=65536` "),
            "{advice:?}"
        );
        assert_eq!(queues(&low[1..]).advice, "");
    }
}
