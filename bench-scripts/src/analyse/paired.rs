//! Means of few differences, and ratios of such means.
//!
//! What is told apart here may be of either sign, so there are no logarithms; and all entrants of a block share its luck, so
//! their variances are not pooled: each interval is Student's own.

use statrs::distribution::{ContinuousCDF, StudentsT};

use super::spread::mean;
use crate::findings::{Estimate, Interval};

/// The mean of one value per block, with its 95% interval; none where there are no values.
pub(super) fn mean_of(values: &[f64]) -> Option<Estimate> {
    let value = mean(values)?;
    let interval = reach(values.len()).map(|t| {
        let half = t * covariance(values, values).sqrt();
        Interval {
            low: value - half,
            high: value + half,
        }
    });
    Some(Estimate { value, interval })
}

/// The ratio of two means, one pair of values per block, with its 95% interval.
///
/// The interval holds every ratio r for which the mean of `above` - r · `below` is not proven to differ from 0: E. C. Fieller,
/// "Some problems in interval estimation", Journal of the Royal Statistical Society B 16 (1954). It ends only where the mean of
/// `below` is proven to differ from 0: none where it is not.
pub(super) fn ratio_of(above: &[f64], below: &[f64]) -> Option<Estimate> {
    let (a, b) = (mean(above)?, mean(below)?);
    let squared = reach(below.len())?.powi(2);
    let (aa, ab, bb) = (
        a * a - squared * covariance(above, above),
        a * b - squared * covariance(above, below),
        b * b - squared * covariance(below, below),
    );
    (bb > 0.0).then(|| {
        let half = (ab * ab - aa * bb).max(0.0).sqrt();
        Estimate {
            value: a / b,
            interval: Some(Interval {
                low: (ab - half) / bb,
                high: (ab + half) / bb,
            }),
        }
    })
}

/// The 97.5% quantile of Student's t for the mean of so many values; none for a single one.
fn reach(values: usize) -> Option<f64> {
    let freedom = values.checked_sub(1)? as f64;
    let t = StudentsT::new(0.0, 1.0, freedom).ok()?;
    Some(t.inverse_cdf(0.975))
}

/// Of the means of two samples.
fn covariance(a: &[f64], b: &[f64]) -> f64 {
    let count = a.len() as f64;
    let (mean_a, mean_b) = (mean(a).unwrap_or(0.0), mean(b).unwrap_or(0.0));
    let products = a.iter().zip(b).map(|(a, b)| (a - mean_a) * (b - mean_b));
    products.sum::<f64>() / (count - 1.0) / count
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::analyse::simulation::normal;

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-3
    }

    /// t is 2.776 with 4 degrees of freedom, the standard error √(2.5 ÷ 5).
    #[test]
    fn a_mean_has_students_interval() {
        let of_five = mean_of(&[0.0, 1.0, 2.0, 3.0, 4.0]).unwrap();
        let interval = of_five.interval.unwrap();
        let half = 2.776 * (2.5_f64 / 5.0).sqrt();
        assert!(close(interval.low, 2.0 - half), "{interval:?}");
        assert!(close(interval.high, 2.0 + half), "{interval:?}");
        assert_eq!(mean_of(&[7.0]).unwrap().interval, None);
        assert_eq!(mean_of(&[]), None);
    }

    /// A part that is half of the whole in every block is half of it for certain, however much the whole varies.
    #[test]
    fn a_share_is_as_sure_as_the_blocks_agree_on_it() {
        let whole = [2.0, 4.0, 3.0, 6.0];
        let half = whole.map(|w| w / 2.0);
        let share = ratio_of(&half, &whole).unwrap();
        let interval = share.interval.unwrap();
        assert!(close(share.value, 0.5) && close(interval.low, 0.5) && close(interval.high, 0.5));
    }

    /// At either end of the interval the difference is just not proven.
    #[test]
    fn the_ends_of_a_share_are_those_of_a_proof() {
        let (part, whole) = ([1.0, 2.5, 1.5, 2.0], [2.0, 4.0, 4.0, 3.0]);
        let Interval { low, high } = ratio_of(&part, &whole).unwrap().interval.unwrap();
        for end in [low, high] {
            let left: Vec<f64> = part.iter().zip(whole).map(|(p, w)| p - end * w).collect();
            let Interval { low, high } = mean_of(&left).unwrap().interval.unwrap();
            assert!(low.abs().min(high.abs()) < 1e-9, "{low} to {high}");
        }
    }

    /// A part of 30% of a whole, both noisy, in five blocks.
    #[test]
    fn a_share_holds_the_truth_as_often_as_it_says() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let held = (0..2000).filter(|_| {
            let whole: Vec<f64> = (0..5).map(|_| 2.0 + 0.5 * normal(&mut rng)).collect();
            let part = whole.iter().map(|w| 0.3 * w + 0.1 * normal(&mut rng));
            let share = ratio_of(&part.collect::<Vec<f64>>(), &whole).unwrap();
            let Interval { low, high } = share.interval.unwrap();
            (low..=high).contains(&0.3)
        });
        let held = held.count() as f64 / 2000.0;
        assert!((0.935..=0.965).contains(&held), "{held}");
    }

    #[test]
    fn there_is_no_share_of_nothing() {
        assert_eq!(ratio_of(&[1.0, 2.0, 1.0], &[1.0, -1.0, 0.5]), None);
        assert_eq!(ratio_of(&[1.0], &[2.0]), None);
    }
}
