//! Who is proven to differ from whom, and who ties.
//!
//! Every pair of contestants at every connection count is one comparison, made on the ratios inside blocks. Many comparisons
//! make false finds likely, so [`holm`] keeps the chance of a single one in the whole run at 5%. What it finds and the noise
//! floor covers is a tie all the same.
//!
//! Ties are not transitive: a may tie with b, b with c, and a still be proven less than c. So an entrant can be in more
//! than one group: H.-P. Piepho, "An algorithm for a letter-based representation of all-pairwise comparisons", Journal
//! of Computational and Graphical Statistics 13 (2004).

use std::cmp::Ordering;

use super::intervals::Noise;
use super::logs::{Blocks, Logs};
use super::spread::spread;
use crate::findings::{Compared, Comparison};
use crate::holm::holm;

/// Chance of one false find or more in a whole run.
const FALSE_FINDS: f64 = 0.05;

/// What two contestants at one connection count are to each other.
struct Pair {
    count: usize,
    /// Positions among the contestants; `a` stands before `b`.
    a: usize,
    b: usize,
    /// b over a.
    ratios: Blocks,
}

impl Pair {
    /// What the logarithms of its ratios are about; 0 where nothing is known of their noise.
    fn mean(&self, noise: Option<Noise>) -> f64 {
        noise
            .and_then(|noise| noise.mean(&self.ratios))
            .unwrap_or(0.0)
    }
}

/// Compares the contestants, given by position and label, at each connection count.
///
/// `stand_in` is the noise of runs whose points have none of their own. `floor` is the logarithm below which a difference is
/// a tie. A pair that `comparable` does not hold of is a tie, and no comparison.
pub(super) fn compare(
    logs: &Logs,
    contestants: &[(usize, &str)],
    stand_in: Option<Noise>,
    floor: f64,
    comparable: impl Fn(usize, usize, usize) -> bool,
) -> Vec<Compared> {
    let pairs = pairs(logs, contestants);
    let independent = 2.0 / contestants.len().max(2) as f64;
    let noise = Noise::learn(pairs.iter().map(|pair| &pair.ratios), independent).or(stand_in);
    let chances: Vec<Option<f64>> = pairs
        .iter()
        .map(|pair| {
            let (a, b) = (contestants[pair.a].0, contestants[pair.b].0);
            comparable(pair.count, a, b).then_some(())?;
            noise?.chance_of(&pair.ratios)
        })
        .collect();
    let found: Vec<bool> = pairs
        .iter()
        .zip(holm(&chances, FALSE_FINDS))
        .map(|(pair, holds)| holds && pair.mean(noise).abs() > floor)
        .collect();
    (0..logs.counts())
        .map(|count| {
            let here = pairs.iter().zip(found.iter().copied());
            let here: Vec<(&Pair, bool)> = here.filter(|(pair, _)| pair.count == count).collect();
            let median_of = |c: usize| {
                let logs = logs.point(contestants[c].0, count).values();
                spread(logs.copied()).map(|logs| logs.median)
            };
            let medians: Vec<Option<f64>> = (0..contestants.len()).map(median_of).collect();
            compared(&here, &medians, noise, |c| contestants[c].1.to_owned())
        })
        .collect()
}

/// The pairs of one connection count, each with whether it differs, and the medians of all contestants there.
fn compared(
    pairs: &[(&Pair, bool)],
    medians: &[Option<f64>],
    noise: Option<Noise>,
    label: impl Fn(usize) -> String,
) -> Compared {
    let differ = pairs.iter().filter(|(_, found)| *found);
    let differ: Vec<(usize, usize)> = differ.map(|(pair, _)| (pair.a, pair.b)).collect();
    let present = (0..medians.len())
        .filter(|&c| medians[c].is_some())
        .collect();
    let groups = groups(present, &differ, |c| medians[c].unwrap_or(f64::INFINITY));
    Compared {
        ties: groups
            .into_iter()
            .map(|group| group.into_iter().map(&label).collect())
            .collect(),
        pairs: pairs
            .iter()
            .map(|(pair, found)| comparison(pair, *found, noise, &label))
            .collect(),
    }
}

fn pairs(logs: &Logs, contestants: &[(usize, &str)]) -> Vec<Pair> {
    let mut pairs = Vec::new();
    for count in 0..logs.counts() {
        for b in 1..contestants.len() {
            for a in 0..b {
                let ratios = logs.ratio(contestants[b].0, contestants[a].0, count);
                if !ratios.is_empty() {
                    pairs.push(Pair {
                        count,
                        a,
                        b,
                        ratios,
                    });
                }
            }
        }
    }
    pairs
}

fn comparison(
    pair: &Pair,
    found: bool,
    noise: Option<Noise>,
    label: impl Fn(usize) -> String,
) -> Comparison {
    let ratio = spread(pair.ratios.values().map(|log| log.exp())).map_or(1.0, |s| s.median);
    let interval = noise.and_then(|noise| noise.interval(&pair.ratios));
    let less = if pair.mean(noise) > 0.0 {
        pair.a
    } else {
        pair.b
    };
    Comparison {
        a: label(pair.a),
        b: label(pair.b),
        ratio,
        interval: interval.map(|interval| interval.of_figure(1.0, ratio)),
        blocks: pair.ratios.len() as u64,
        less: found.then(|| label(less)),
    }
}

/// The largest groups whose members do not differ from each other, each in the order given; first the group whose smallest member
/// is smallest.
fn groups(
    members: Vec<usize>,
    differ: &[(usize, usize)],
    figure: impl Fn(usize) -> f64,
) -> Vec<Vec<usize>> {
    let mut groups = vec![members];
    for (a, b) in differ {
        let split = groups.into_iter().flat_map(|group: Vec<usize>| {
            if group.contains(a) && group.contains(b) {
                let without = |m: &usize| group.iter().copied().filter(|g| g != m).collect();
                vec![without(a), without(b)]
            } else {
                vec![group]
            }
        });
        groups = largest(split.collect());
    }
    groups.retain(|group| !group.is_empty());
    let least = |group: &[usize]| group.iter().map(|m| figure(*m)).reduce(f64::min);
    groups.sort_by(|a, b| least(a).partial_cmp(&least(b)).unwrap_or(Ordering::Equal));
    groups
}

/// The groups that are not part of another; of equal ones the first.
fn largest(groups: Vec<Vec<usize>>) -> Vec<Vec<usize>> {
    let mut largest: Vec<Vec<usize>> = Vec::new();
    for group in groups {
        let within = |a: &[usize], b: &[usize]| a.iter().all(|m| b.contains(m));
        if !largest.iter().any(|other| within(&group, other)) {
            largest.retain(|other| !within(other, &group));
            largest.push(group);
        }
    }
    largest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_ties_with_two_that_differ_is_in_two_groups() {
        let figure = |member: usize| member as f64;
        let all = || vec![0, 1, 2, 3];
        assert_eq!(groups(all(), &[], figure), [all()]);
        let chain = [(0, 2), (0, 3), (1, 3)];
        assert_eq!(groups(all(), &chain, figure), [[0, 1], [1, 2], [2, 3]]);
        let split = [(0, 2), (0, 3), (1, 2), (1, 3)];
        assert_eq!(groups(all(), &split, figure), [[0, 1], [2, 3]]);
        let each = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)];
        assert_eq!(groups(all(), &each, figure), [[0], [1], [2], [3]]);
        assert_eq!(groups(Vec::new(), &[], figure), [[0; 0]; 0]);
    }
}
