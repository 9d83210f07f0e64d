//! Why rates fall, in sentences made of the findings. What an interval does not hold is said to be not
//! proven.

use super::lead::{list, sentence};
use crate::findings::{
    Added, Critical, Decline, EntrantFindings, Estimate, Findings, Interval, Part, Side,
};
use crate::quantity;

const NOT_TOLD: &str = "Whether a rate fell from the one end of the counts to the other is not told: that takes two rounds that are valid at both.";

/// One sentence for the lead; none where no contestant has two counts to compare.
pub(super) fn summary(findings: &Findings) -> Option<String> {
    let all: Vec<(&str, &Decline)> = findings
        .declines()
        .filter(|(entrant, _)| entrant.role.is_contestant())
        .map(|(entrant, decline)| (entrant.label.as_str(), decline))
        .collect();
    let (fell, not_proven): (Vec<_>, Vec<_>) = all
        .iter()
        .copied()
        .partition(|(_, decline)| decline.rate_change.is_below_zero());
    let span = span(&all)?;
    let labels = |of: &[(&str, &Decline)]| {
        let labels: Vec<String> = of.iter().map(|(label, _)| (*label).to_owned()).collect();
        list(&labels)
    };
    if all.iter().all(|(_, d)| d.rate_change.interval.is_none()) {
        return Some(NOT_TOLD.to_owned());
    }
    if fell.is_empty() {
        return Some(format!("No fall of a rate {span} is proven."));
    }
    let who = if not_proven.is_empty() {
        "the rate of every contestant".to_owned()
    } else {
        format!("the rate of {}", labels(&fell))
    };
    let others = if not_proven.is_empty() {
        String::new()
    } else {
        format!("; of {} no fall is proven", labels(&not_proven))
    };
    let falls: Vec<f64> = fell.iter().map(|(_, d)| -d.rate_change.value).collect();
    let by = range(&falls, quantity::fine_percent);
    let fell: Vec<&Decline> = fell.into_iter().map(|(_, decline)| decline).collect();
    Some(format!(
        "{}{}",
        sentence(&format!("{span} {who} fell by {by}{others}")),
        shared_cause(&fell).unwrap_or_default()
    ))
}

/// `from 100 to 1,000 connections`, where that holds of all.
fn span(declines: &[(&str, &Decline)]) -> Option<String> {
    let (_, first) = declines.first()?;
    let same = declines
        .iter()
        .all(|(_, d)| d.from_connections_asked == first.from_connections_asked);
    Some(if same {
        from_to(first)
    } else {
        format!(
            "from its best count to {} connections",
            quantity::whole(u64::from(first.to_connections_asked))
        )
    })
}

fn from_to(decline: &Decline) -> String {
    format!(
        "from {} to {} connections",
        quantity::whole(u64::from(decline.from_connections_asked)),
        quantity::whole(u64::from(decline.to_connections_asked))
    )
}

/// Where the added time went, of all these declines; none where not all of them tell the same kind of thing.
fn shared_cause(fell: &[&Decline]) -> Option<String> {
    let critical: Vec<&Critical> = fell.iter().filter_map(|d| d.critical.as_ref()).collect();
    if critical.is_empty() {
        let shares = shares(fell.iter().map(|decline| client_share(decline)))?;
        return Some(format!(
            " Of the CPU time added to a request {shares} is the load generator's."
        ));
    }
    let side = critical.first()?.side;
    let one_side = critical.iter().all(|critical| critical.side == side);
    let shares = shares(critical.iter().map(|critical| critical.cpu_share))?;
    (one_side && critical.len() == fell.len()).then(|| {
        format!(
            " {} set these rates, and its own CPU time makes {shares} of the time added to a request there.",
            capital(side_name(side))
        )
    })
}

fn client_share(decline: &Decline) -> Option<Estimate> {
    let mut parts = decline.parts.iter();
    parts.find(|part| part.part == Part::Client)?.share
}

/// The range of shares; none where one of them is not told.
fn shares(of: impl Iterator<Item = Option<Estimate>>) -> Option<String> {
    let values: Vec<f64> = of.map(|share| Some(share?.value)).collect::<Option<_>>()?;
    Some(range(&values, quantity::percent))
}

/// `8.0% to 14.2%`, or one figure where they are written alike.
pub(super) fn range(values: &[f64], write: fn(f64) -> String) -> String {
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let (low, high) = (write(low), write(high));
    if low == high {
        low
    } else {
        format!("{low} to {high}")
    }
}

fn side_name(side: Side) -> &'static str {
    match side {
        Side::Server => "the server",
        Side::Client => "the load generator",
    }
}

fn capital(text: &str) -> String {
    sentence(text).trim_end_matches('.').to_owned()
}

/// What became of each entrant's rate, a few sentences each; nothing where there is one count only.
pub(super) fn falls(findings: &Findings) -> Vec<String> {
    let falls = findings
        .declines()
        .filter(|(_, decline)| decline.rate_change.is_below_zero())
        .map(|(entrant, decline)| fall(entrant, decline));
    falls.chain(not_proven(findings)).collect()
}

fn fall(entrant: &EntrantFindings, decline: &Decline) -> String {
    let Estimate { value, interval } = decline.rate_change;
    let around = interval.map_or_else(String::new, |Interval { low, high }| {
        let (least, most) = (quantity::fine_percent(-high), quantity::fine_percent(-low));
        format!(" ({least} to {most})")
    });
    let fell = format!(
        "{}: {} the rate fell by {}{around}.",
        entrant.label,
        from_to(decline),
        quantity::fine_percent(-value)
    );
    let cause = match &decline.critical {
        Some(critical) => cause(critical),
        None => parts(decline),
    };
    fell + &cause
}

/// The parts that are proven to have grown, where no side alone set the rate.
fn parts(decline: &Decline) -> String {
    let grown = decline.parts.iter().filter_map(|part| {
        let Interval { low, high } = part.time.added_us.interval?;
        part.time.added_us.is_above_zero().then(|| {
            format!(
                "{} {} ({low:.2} to {high:.2})",
                part.part.name(),
                quantity::micros(part.time.added_us.value)
            )
        })
    });
    let grown: Vec<String> = grown.collect();
    if grown.is_empty() {
        return " No part is proven to have grown.".to_owned();
    }
    format!(
        " A request takes {} of CPU time more, used or not; proven to have grown: {}.",
        quantity::micros(decline.total.added_us.value),
        grown.join("; ")
    )
}

/// What the full side did with the time that was added, and the other side beside it.
fn cause(critical: &Critical) -> String {
    let cpu = &critical.cpu;
    let share = critical.cpu_share.map_or_else(String::new, |share| {
        let around = share
            .interval
            .map_or_else(String::new, |Interval { low, high }| {
                format!(
                    " ({} to {})",
                    quantity::percent(low),
                    quantity::percent(high)
                )
            });
        format!(
            ", {}{around} of the time added there",
            quantity::percent(share.value)
        )
    });
    let other = match critical.side {
        Side::Server => Side::Client,
        Side::Client => Side::Server,
    };
    format!(
        " {} set it: its own CPU time per request went from {} to {}{share}{}. That of {} {} meanwhile{}.",
        capital(side_name(critical.side)),
        quantity::micros(cpu.from_us),
        quantity::micros(cpu.to_us),
        beyond(critical.side, cpu),
        side_name(other),
        growth(critical.other.added_us),
        beyond(other, &critical.other),
    )
}

/// `grew by 2.10 µs (1.90 to 2.30)`, where that is proven.
fn growth(added: Estimate) -> String {
    let Some(Interval { low, high }) = added.interval else {
        return "changed by what one round cannot tell".to_owned();
    };
    let of = |sign: f64| {
        let (a, b) = (sign * low, sign * high);
        let (size, low, high) = ((sign * added.value), a.min(b), a.max(b));
        format!("{} ({low:.2} to {high:.2})", quantity::micros(size))
    };
    if added.is_above_zero() {
        format!("grew by {}", of(1.0))
    } else if added.is_below_zero() {
        format!("shrank by {}", of(-1.0))
    } else {
        format!("is not proven to have changed ({low:+.2} to {high:+.2} µs)")
    }
}

/// A server's own part: what it adds to what null's kernel work grew by.
fn beyond(side: Side, added: &Added) -> String {
    match (side, added.beyond_control_us) {
        (Side::Server, Some(beyond)) if beyond.is_above_zero() => {
            let Some(Interval { low, high }) = beyond.interval else {
                return String::new();
            };
            format!(
                ", {} ({low:.2} to {high:.2}) more than null's grew by",
                quantity::micros(beyond.value)
            )
        }
        (Side::Server, Some(_)) => ", not proven to be more than null's grew by".to_owned(),
        _ => String::new(),
    }
}

fn not_proven(findings: &Findings) -> Option<String> {
    let others: Vec<(&str, Option<Interval>)> = findings
        .declines()
        .map(|(entrant, decline)| (entrant.label.as_str(), decline.rate_change))
        .filter(|(_, change)| !change.is_below_zero())
        .map(|(label, change)| (label, change.interval))
        .collect();
    if !others.is_empty() && others.iter().all(|(_, interval)| interval.is_none()) {
        return Some(NOT_TOLD.to_owned());
    }
    let others: Vec<String> = others
        .into_iter()
        .map(|(label, interval)| match interval {
            Some(Interval { low, high }) => {
                let (low, high) = (quantity::change(low), quantity::change(high));
                format!("{label} ({low} to {high})")
            }
            None => format!("{label} (one valid round)"),
        })
        .collect();
    (!others.is_empty()).then(|| format!("No fall of the rate is proven of {}.", list(&others)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made;

    fn estimate(value: f64, low: f64, high: f64) -> Estimate {
        let interval = Some(Interval { low, high });
        Estimate { value, interval }
    }

    /// The made run with every contestant's rate changed so.
    fn with_change(change: Estimate) -> Findings {
        let mut findings = made::findings();
        for entrant in &mut findings.entrants {
            if let Some(decline) = &mut entrant.decline {
                decline.rate_change = change;
            }
        }
        findings
    }

    #[test]
    fn what_an_interval_does_not_prove_is_not_said() {
        let told = |change| summary(&with_change(change)).unwrap();
        assert_eq!(
            told(estimate(-0.1, -0.3, 0.1)),
            "No fall of a rate from 100 to 1,000 connections is proven."
        );
        let fell = told(estimate(-0.1, -0.12, -0.08));
        let start = "From 100 to 1,000 connections the rate of every contestant fell by 10.0%.";
        assert!(fell.starts_with(start), "{fell}");
        let alone = Estimate {
            value: -0.1,
            interval: None,
        };
        assert_eq!(told(alone), NOT_TOLD);
    }

    #[test]
    fn growth_is_said_with_the_sign_that_is_proven() {
        assert_eq!(
            growth(estimate(2.1, 1.9, 2.3)),
            "grew by 2.10 µs (1.90 to 2.30)"
        );
        assert_eq!(
            growth(estimate(-2.1, -2.3, -1.9)),
            "shrank by 2.10 µs (1.90 to 2.30)"
        );
        assert_eq!(
            growth(estimate(0.1, -0.2, 0.4)),
            "is not proven to have changed (-0.20 to +0.40 µs)"
        );
    }

    #[test]
    fn only_a_servers_time_is_held_against_nulls() {
        let added = Added {
            from_us: 1.0,
            to_us: 2.0,
            added_us: estimate(1.0, 0.9, 1.1),
            beyond_control_us: Some(estimate(0.4, 0.2, 0.6)),
        };
        let own = beyond(Side::Server, &added);
        assert_eq!(own, ", 0.40 µs (0.20 to 0.60) more than null's grew by");
        assert_eq!(beyond(Side::Client, &added), "");
    }
}
