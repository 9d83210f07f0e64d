//! How rates and costs scale, in sentences made of the findings: falls, slopes, knees, crossings.

use super::decline_tables::{change, connections};
use super::decline_words::{falls, range};
use super::lead::{list, sentence};
use crate::findings::{Crossing, Curve, EntrantFindings, Estimate, Findings, Interval, Role};
use crate::quantity;

/// All that there is to say, a few sentences each; nothing where there is one count only.
pub(super) fn sentences(findings: &Findings) -> Vec<String> {
    let mut sentences = falls(findings);
    sentences.extend(slopes(findings));
    sentences.extend(opening(findings));
    sentences.extend(knees(findings, "rate", |entrant| entrant.scaling.rate));
    sentences.extend(knees(findings, "cost", |entrant| entrant.scaling.cost));
    if !sentences.is_empty() {
        sentences.extend(crossings(findings));
    }
    sentences
}

/// All counts together say more than the two ends: of those whose ends prove nothing, the slopes that do.
fn slopes(findings: &Findings) -> Option<String> {
    let falling: Vec<String> = findings
        .declines()
        .filter(|(_, decline)| !decline.rate_change.is_below_zero())
        .filter_map(|(entrant, _)| {
            let slope = entrant.scaling.rate?.per_doubling;
            let falls = slope.is_below_zero();
            falls.then(|| format!("that of {} changes by {}", entrant.label, change(slope)))
        })
        .collect();
    (!falling.is_empty()).then(|| {
        format!(
            "All counts taken together, {} for twice the connections.",
            list(&falling)
        )
    })
}

/// What the load generator's own rate loses beside all that.
fn opening(findings: &Findings) -> Option<String> {
    let changes: Vec<f64> = findings
        .declines()
        .filter_map(|(_, decline)| decline.opening_change)
        .filter(Estimate::is_below_zero)
        .map(|change| -change.value)
        .collect();
    (!changes.is_empty()).then(|| {
        format!(
            "These are rates once all connections are open. The load generator's own, in the other tables, also counts the time that their \
             opening takes: with more connections that costs it another {}.",
            range(&changes, quantity::fine_percent)
        )
    })
}

fn knees(
    findings: &Findings,
    figure: &str,
    curve: fn(&EntrantFindings) -> Option<Curve>,
) -> Option<String> {
    let curves: Vec<(&str, Curve)> = findings
        .entrants
        .iter()
        .filter(|entrant| entrant.role != Role::Again)
        .filter_map(|entrant| Some((entrant.label.as_str(), curve(entrant)?)))
        .collect();
    let knees: Vec<String> = curves
        .iter()
        .filter_map(|(label, curve)| {
            let knee = curve.knee?;
            let Interval { low, high } = knee.interval;
            let after = match knee.after_per_doubling.interval {
                Some(_) => format!(
                    "after which it changes by {} for twice the connections",
                    change(knee.after_per_doubling)
                ),
                None => "too near the last count to tell how fast".to_owned(),
            };
            Some(format!(
                "that of {label} at {} connections ({} to {}), {after}",
                connections(knee.connections),
                connections(low),
                connections(high)
            ))
        })
        .collect();
    match (curves.is_empty(), knees.is_empty()) {
        (true, _) => None,
        (false, true) => Some(format!("No knee of a {figure} is proven.")),
        (false, false) => Some(sentence(&format!(
            "the {figure} turns for the worse: {}",
            knees.join("; ")
        ))),
    }
}

fn crossings(findings: &Findings) -> Vec<String> {
    let found = &findings.crossings;
    if found.cost.is_empty() && found.rate.is_empty() {
        return vec!["No two contestants are proven to change places.".to_owned()];
    }
    let told = |of: &[Crossing], verb: &str| -> Vec<String> {
        of.iter().map(|crossing| told(crossing, verb)).collect()
    };
    [
        told(&found.cost, "costs less"),
        told(&found.rate, "answers fewer requests"),
    ]
    .concat()
}

fn told(crossing: &Crossing, verb: &str) -> String {
    let Crossing {
        less_before,
        less_after,
        last_before,
        first_after,
    } = crossing;
    format!(
        "Up to {} connections {less_before} {verb} than {less_after}, from {} on {less_after} {verb} than {less_before}.",
        quantity::whole(u64::from(*last_before)),
        quantity::whole(u64::from(*first_after))
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::Knee;
    use crate::made;

    fn estimate(value: f64, low: f64, high: f64) -> Estimate {
        let interval = Some(Interval { low, high });
        Estimate { value, interval }
    }

    #[test]
    fn a_knee_is_told_with_what_follows_it() {
        let mut findings = made::findings();
        for entrant in &mut findings.entrants {
            entrant.scaling.rate = None;
        }
        let rates = |findings: &Findings| knees(findings, "rate", |entrant| entrant.scaling.rate);
        assert_eq!(rates(&findings), None);
        findings.entrants[1].scaling.rate = Some(Curve {
            per_doubling: estimate(-0.03, -0.04, -0.02),
            knee: None,
        });
        assert_eq!(rates(&findings).unwrap(), "No knee of a rate is proven.");
        let curve = findings.entrants[1].scaling.rate.as_mut().unwrap();
        curve.knee = Some(Knee {
            connections: 420.4,
            interval: Interval {
                low: 316.0,
                high: 1560.0,
            },
            before_per_doubling: estimate(0.0, -0.01, 0.01),
            after_per_doubling: estimate(-0.06, -0.08, -0.04),
        });
        assert_eq!(
            rates(&findings).unwrap(),
            "The rate turns for the worse: that of epoll at 420 connections (316 to 1,560), after which it changes by -6.0% (-8.0% to \
             -4.0%) for twice the connections."
        );
    }

    #[test]
    fn a_crossing_is_told_from_both_sides() {
        let mut findings = made::findings();
        findings.crossings.cost.push(Crossing {
            less_before: "a".into(),
            less_after: "b".into(),
            last_before: 172,
            first_after: 1000,
        });
        assert_eq!(
            crossings(&findings),
            ["Up to 172 connections a costs less than b, from 1,000 on b costs less than a."]
        );
    }
}
