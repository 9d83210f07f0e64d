//! Summaries over rounds.

use crate::findings::Spread;
use crate::record::Cell;

/// Median, minimum and maximum of finite values; none where there are none.
pub(super) fn spread(values: impl Iterator<Item = f64>) -> Option<Spread> {
    let mut values: Vec<f64> = values.filter(|value| value.is_finite()).collect();
    values.sort_by(f64::total_cmp);
    let (&min, &max) = (values.first()?, values.last()?);
    let middle = values.len() / 2;
    let median = if values.len().is_multiple_of(2) {
        f64::midpoint(values[middle - 1], values[middle])
    } else {
        values[middle]
    };
    Some(Spread {
        median,
        min,
        max,
        samples: values.len() as u64,
    })
}

/// The summary of one figure of some cells; cells that lack it are left out.
pub(super) fn spread_of(cells: &[&Cell], figure: impl Fn(&Cell) -> Option<f64>) -> Option<Spread> {
    spread(cells.iter().filter_map(|cell| figure(cell)))
}
