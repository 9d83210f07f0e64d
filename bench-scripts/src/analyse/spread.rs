//! Summaries over rounds.

use crate::findings::Spread;
use crate::record::Cell;

/// Median, minimum and maximum of finite values; none where there are none.
pub(super) fn spread(values: impl Iterator<Item = f64>) -> Option<Spread> {
    let mut values: Vec<f64> = values.filter(|value| value.is_finite()).collect();
    values.sort_by(f64::total_cmp);
    let (&min, &max) = (values.first()?, values.last()?);
    Some(Spread {
        median: quantile(&values, 0.5)?,
        min,
        max,
        samples: values.len() as u64,
    })
}

/// The mean; none of no values.
pub(super) fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// A quantile of ascending values, between neighbours in proportion; none where there are none.
pub(super) fn quantile(sorted: &[f64], share: f64) -> Option<f64> {
    let place = share * sorted.len().checked_sub(1)? as f64;
    let (below, above) = (
        sorted[place.floor() as usize],
        sorted[place.ceil() as usize],
    );
    Some(below + (above - below) * place.fract())
}

/// The summary of one figure of some cells; cells that lack it are left out.
pub(super) fn spread_of(cells: &[&Cell], figure: impl Fn(&Cell) -> Option<f64>) -> Option<Spread> {
    spread(cells.iter().filter_map(|cell| figure(cell)))
}

/// The median of finite values; none where there are none.
pub(crate) fn median_of(values: impl Iterator<Item = f64>) -> Option<f64> {
    spread(values).map(|spread| spread.median)
}
