//! What a run says of itself: the noise floor, the machine's drift, and the cells that are far off.

use std::collections::BTreeMap;

use super::intervals::Noise;
use super::logs::{Blocks, Logs};
use super::spread::{quantile, spread};
use crate::findings::{BlockSpeed, Outlier};

/// Cells beyond so many quartile distances outside the quartiles are outliers: the outer fence of J. W. Tukey, "Exploratory
/// Data Analysis" (1977).
const OUTER_FENCE: f64 = 3.0;

/// Blocks that a point needs before one of them can be said to be far off the others.
const LEAST_BLOCKS: usize = 5;

/// The logarithms of every ratio of an entrant to its repetition, over blocks and connection counts.
pub(super) fn pairs(logs: &Logs, entrant: usize, again: usize) -> Vec<f64> {
    (0..logs.counts())
        .flat_map(|count| logs.ratio(again, entrant, count).into_values())
        .collect()
}

/// The largest difference that the 95% interval of the mean of such logarithms allows, as a logarithm; none for fewer than two.
pub(super) fn floor(pairs: &[f64]) -> Option<f64> {
    let blocks: Blocks = (0..).zip(pairs.iter().copied()).collect();
    let interval = Noise::learn([&blocks], 1.0)?.interval(&blocks)?;
    Some(interval.low.abs().max(interval.high.abs()))
}

/// The control's cost in each block over its medians.
pub(super) fn drift(costs: &Logs, control: usize) -> Vec<BlockSpeed> {
    let mut blocks: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for count in 0..costs.counts() {
        let point = costs.point(control, count);
        if let Some(costs) = spread(point.values().copied()) {
            for (block, cost) in point {
                blocks.entry(*block).or_default().push(cost - costs.median);
            }
        }
    }
    blocks
        .into_iter()
        .map(|(block, logs)| BlockSpeed {
            block,
            cost_to_median: (logs.iter().sum::<f64>() / logs.len() as f64).exp(),
        })
        .collect()
}

/// One point's logarithms, and what an outlier among them is to say of itself.
pub(super) struct Group<'a> {
    pub(super) entrant: &'a str,
    pub(super) connections_asked: u32,
    pub(super) ratios: Blocks,
}

/// The cells far off their points' medians, measured by the quartiles of all points together. `index_of` gives a cell's position in
/// the sweep.
pub(super) fn outliers(groups: &[Group], index_of: impl Fn(&Group, u32) -> usize) -> Vec<Outlier> {
    let mut residuals = Vec::new();
    for group in groups.iter().filter(|g| g.ratios.len() >= LEAST_BLOCKS) {
        if let Some(ratios) = spread(group.ratios.values().copied()) {
            let blocks = group.ratios.iter();
            residuals.extend(blocks.map(|(block, log)| (group, *block, log - ratios.median)));
        }
    }
    // The cells in the middle of their points, whose distance is 0 by construction, say nothing of what is usual.
    let distances = residuals.iter().map(|(_, _, log)| *log);
    let mut sorted: Vec<f64> = distances.filter(|log| *log != 0.0).collect();
    sorted.sort_by(f64::total_cmp);
    let (Some(lower), Some(upper)) = (quantile(&sorted, 0.25), quantile(&sorted, 0.75)) else {
        return Vec::new();
    };
    let reach = OUTER_FENCE * (upper - lower);
    let mut outliers: Vec<Outlier> = residuals
        .into_iter()
        .filter(|(_, _, log)| reach > 0.0 && (*log < lower - reach || *log > upper + reach))
        .map(|(group, block, log)| Outlier {
            index: index_of(group, block),
            block,
            entrant: group.entrant.to_owned(),
            connections_asked: group.connections_asked,
            cost_to_median: log.exp(),
        })
        .collect();
    outliers.sort_by_key(|outlier| outlier.index);
    outliers
}
