//! What it does to one program to be run or built otherwise: each variant against the plain entrant, with the blocks of all
//! connection counts together, since a few per cent do not show at one count alone.

use super::intervals::Noise;
use super::logs::{Blocks, Logs};
use crate::findings::{Estimate, Interval, VariantFindings, VariantPoint};
use crate::holm::holm;
use crate::matrix::{Entrant, Matrix, Program};

/// Chance of one false find or more in a whole run.
const FALSE_FINDS: f64 = 0.05;

/// Every entrant that has a plain one, and that plain one's repetition; `costs` are logarithms.
pub(super) fn findings(matrix: &Matrix, costs: &Logs) -> Vec<VariantFindings> {
    let pairs = pairs(&matrix.entrants);
    let ratios: Vec<Vec<Blocks>> = pairs
        .iter()
        .map(|&(variant, plain)| {
            let counts = 0..costs.counts();
            counts.map(|c| costs.ratio(variant, plain, c)).collect()
        })
        .collect();
    let pooled: Vec<Blocks> = ratios.iter().map(|ratios| together(ratios)).collect();
    let of_points = Noise::learn(ratios.iter().flatten(), 1.0);
    let of_pooled = Noise::learn(&pooled, 1.0);
    let chances = pooled.iter().map(|blocks| of_pooled?.chance_of(blocks));
    let differs = holm(&chances.collect::<Vec<_>>(), FALSE_FINDS);
    let label = |position: usize| matrix.entrants[position].label.clone();
    let mut findings = Vec::with_capacity(pairs.len());
    for (at, (variant, plain)) in pairs.into_iter().enumerate() {
        let points = matrix.connections.iter().zip(&ratios[at]);
        findings.push(VariantFindings {
            label: label(variant),
            plain: label(plain),
            points: points
                .map(|(&connections_asked, blocks)| VariantPoint {
                    connections_asked,
                    cost_ratio: estimate(of_points, blocks),
                })
                .collect(),
            overall: estimate(of_pooled, &pooled[at]),
            differs: differs[at],
        });
    }
    findings
}

/// Positions of each variant and of its plain entrant. A repetition alone makes no variants.
fn pairs(entrants: &[Entrant]) -> Vec<(usize, usize)> {
    let is_same = |a: &Entrant, b: &Entrant| {
        a.threads == b.threads && rung(a).is_some() && rung(a) == rung(b)
    };
    let plain = |entrant: &Entrant| {
        let mut contestants = entrants.iter().enumerate();
        let plain = contestants.find(|(_, other)| other.is_contestant() && is_same(other, entrant));
        plain.map(|(position, _)| position)
    };
    let pairs = entrants.iter().enumerate().filter(|(_, e)| !e.control);
    let pairs = pairs.filter_map(|(position, entrant)| Some((position, plain(entrant)?)));
    let pairs: Vec<_> = pairs.filter(|(variant, plain)| variant != plain).collect();
    let has_variants = |wanted: usize| {
        let mut variants = pairs.iter().filter(|(_, plain)| *plain == wanted);
        variants.any(|&(variant, _)| entrants[variant].is_contestant())
    };
    let kept = pairs.iter().filter(|(_, plain)| has_variants(*plain));
    kept.copied().collect()
}

/// The rung; none for what others wrote, of which one program may be two servers.
fn rung(entrant: &Entrant) -> Option<&str> {
    match &entrant.program {
        Program::Rung { name, .. } => Some(name),
        Program::Foreign { .. } => None,
    }
}

/// The blocks of all connection counts, numbered anew.
fn together(counts: &[Blocks]) -> Blocks {
    let logs = counts.iter().flat_map(|blocks| blocks.values().copied());
    (0..).zip(logs).collect()
}

fn estimate(noise: Option<Noise>, blocks: &Blocks) -> Option<Estimate> {
    let noise = noise?;
    let interval = noise.interval(blocks);
    Some(Estimate {
        value: noise.mean(blocks)?.exp(),
        interval: interval.map(|log| Interval {
            low: log.low.exp(),
            high: log.high.exp(),
        }),
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::cell;
    use super::super::{Distance, Index};
    use super::*;
    use crate::record::Cell;

    /// Twelve blocks at two counts: plain, again with nothing but noise, and a variant that costs 3% more; noise of 2%.
    fn findings_of(labels: &[&str]) -> Vec<VariantFindings> {
        let mut matrix = Matrix::find("quick").unwrap();
        matrix.connections = vec![100, 200];
        let epoll = Entrant::rung("epoll");
        let named = |label: &&str| Entrant {
            label: (*label).into(),
            repeat_of: label.ends_with("again").then(|| "plain".into()),
            ..epoll.clone()
        };
        matrix.entrants = labels.iter().map(named).collect();
        matrix.entrants.insert(0, Entrant::rung("null"));
        let noise = [0.98, 1.01, 1.0, 1.02, 0.99, 1.0];
        let mut cells: Vec<Cell> = Vec::new();
        for (count, connections) in [(0, 100), (1, 200)] {
            for block in 0..12 {
                for (which, label) in labels.iter().enumerate() {
                    let factor = if *label == "slow" { 1.03 } else { 1.0 };
                    let noise = noise[(block * (which + 1) + count) % noise.len()];
                    let cpu_us = (1e6 * factor * noise) as u64;
                    cells.push(cell(label, connections, block as u32, 1000, cpu_us));
                }
            }
        }
        let index = Index::new(&cells);
        let distance = Distance::learn(&cells);
        let costs = Logs::new(&matrix, &index, |cell| distance.total_cost(cell));
        findings(&matrix, &costs)
    }

    #[test]
    fn three_per_cent_show_over_all_counts_and_noise_does_not() {
        let findings = findings_of(&["plain", "plain again", "slow"]);
        let [again, slow] = findings.as_slice() else {
            panic!("{findings:?}");
        };
        assert_eq!(
            (slow.label.as_str(), slow.plain.as_str()),
            ("slow", "plain")
        );
        let overall = slow.overall.unwrap();
        let Interval { low, high } = overall.interval.unwrap();
        assert!(low < 1.03 && 1.03 < high && low > 1.01, "{overall:?}");
        assert!(slow.differs && !again.differs, "{findings:?}");
        assert_eq!(slow.points.len(), 2);
        let interval = slow.points[0].cost_ratio.unwrap().interval.unwrap();
        assert!(interval.high - interval.low > high - low);
    }

    #[test]
    fn a_ladder_without_variants_has_none() {
        assert_eq!(findings_of(&["plain", "plain again"]), []);
        let quick = Matrix::find("quick").unwrap();
        assert_eq!(pairs(&quick.entrants), []);
        // Other numbers of threads are another question.
        let article = Matrix::find("article").unwrap();
        assert_eq!(pairs(&article.entrants), []);
    }
}
