//! How each entrant's rate and cost run over connections: from fits to findings.

use super::logs::Blocks;
use super::segmented::{Bend, Fit, Observation, Slope, fit};
use crate::findings::{Curve, Estimate, Interval, Knee};
use crate::holm::holm;

/// Chance of one false knee or more among all entrants, by each figure.
const FALSE_KNEES: f64 = 0.05;

/// Which way a figure gets worse.
#[derive(Clone, Copy)]
pub(super) enum Worse {
    /// A cost.
    More,
    /// A rate.
    Less,
}

impl Worse {
    fn sign(self) -> f64 {
        match self {
            Self::More => 1.0,
            Self::Less => -1.0,
        }
    }
}

/// The curves of one figure, by entrant. `points` are its logarithms: of each entrant, the connections of each point and its blocks.
pub(super) fn curves(points: &[Vec<(u32, Blocks)>], worse: Worse) -> Vec<Option<Curve>> {
    let fits: Vec<Option<Fit>> = points
        .iter()
        .map(|points| fit(&observations(points, worse)))
        .collect();
    let chances: Vec<Option<f64>> = fits
        .iter()
        .map(|fit| Some(fit.as_ref()?.bend.as_ref()?.chance))
        .collect();
    let proven = holm(&chances, FALSE_KNEES);
    let fits = fits.into_iter().zip(proven);
    fits.map(|(fit, proven)| {
        let fit = fit?;
        let bend = fit.bend.filter(|bend| proven && bend.is_located);
        Some(Curve {
            per_doubling: change(fit.slope, worse),
            knee: bend.map(|bend| knee(&bend, worse)),
        })
    })
    .collect()
}

fn observations(points: &[(u32, Blocks)], worse: Worse) -> Vec<Observation> {
    let of_point = |(connections, blocks): &(u32, Blocks)| {
        let connections = *connections;
        let blocks = blocks.clone().into_iter();
        blocks.map(move |(block, log)| Observation {
            block,
            connections,
            log: worse.sign() * log,
        })
    };
    points.iter().flat_map(of_point).collect()
}

fn knee(bend: &Bend, worse: Worse) -> Knee {
    let (connections, low, high) = bend.connections;
    Knee {
        connections,
        interval: Interval { low, high },
        before_per_doubling: change(bend.before, worse),
        after_per_doubling: change(bend.after, worse),
    }
}

/// A slope as the share by which the figure changes for twice the connections.
fn change(slope: Slope, worse: Worse) -> Estimate {
    let share = |log: f64| (worse.sign() * log).exp_m1();
    Estimate {
        value: share(slope.value),
        interval: slope.bounds.map(|bounds| {
            let (a, b) = (share(bounds.low), share(bounds.high));
            Interval {
                low: a.min(b),
                high: a.max(b),
            }
        }),
    }
}
