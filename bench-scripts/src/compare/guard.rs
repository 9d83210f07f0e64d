//! `--fail-on`: a comparison as a gate of CI.

use std::str::FromStr;

use super::{Comparison, Line, Verdict};

/// What a comparison must not show.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FailOn {
    /// The largest rise in cost that passes, as a share.
    worse: f64,
}

impl FromStr for FailOn {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let percent = text
            .strip_prefix("worse:")
            .and_then(|rest| rest.strip_suffix('%'))
            .and_then(|number| number.parse::<f64>().ok())
            .filter(|percent| percent.is_finite() && *percent >= 0.0);
        match percent {
            Some(percent) => Ok(Self {
                worse: percent / 100.0,
            }),
            None => Err("write worse:PERCENT%, such as worse:5%".into()),
        }
    }
}

/// What the gate says. Lines are named as `epoll at 100 connections`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Judgement {
    /// Nothing is worse by more than allowed.
    Passed,
    /// These are, with confidence.
    Worse(Vec<String>),
    /// Nothing is for all one can see, but of these nothing can be said: a gate must not pass what it did not see.
    Unseen(Vec<String>),
}

impl FailOn {
    /// Judges the cost of every line. One fails if it is worse, and its whole interval lies beyond what is allowed.
    #[must_use]
    pub fn judge(self, comparison: &Comparison) -> Judgement {
        let named = |is_one: &dyn Fn(&Line) -> bool| -> Vec<String> {
            let entrants = comparison.entrants.iter();
            entrants
                .flat_map(|entrant| entrant.lines.iter().map(move |line| (entrant, line)))
                .filter(|(_, line)| is_one(line))
                .map(|(entrant, line)| match line.connections_asked {
                    Some(count) => format!("{} at {count} connections", entrant.label),
                    None => format!("{} over all counts", entrant.label),
                })
                .collect()
        };
        let worse = named(&|line| {
            line.cost.is_some_and(|cost| {
                let beyond = |interval: super::Interval| interval.low > 1.0 + self.worse;
                cost.verdict == Verdict::Worse && cost.interval.is_some_and(beyond)
            })
        });
        // The line over all counts is made of the others.
        let unseen = named(&|line| {
            let interval = line.cost.and_then(|cost| cost.interval);
            line.connections_asked.is_some() && interval.is_none()
        });
        if !worse.is_empty() {
            Judgement::Worse(worse)
        } else if !unseen.is_empty() {
            Judgement::Unseen(unseen)
        } else {
            Judgement::Passed
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_percentage_is_understood() {
        assert_eq!("worse:5%".parse(), Ok(FailOn { worse: 0.05 }));
        assert_eq!("worse:0.5%".parse(), Ok(FailOn { worse: 0.005 }));
        for wrong in ["5%", "worse:5", "worse:-5%", "worse:NaN%", "better:5%", ""] {
            assert!(wrong.parse::<FailOn>().is_err(), "{wrong}");
        }
    }
}
