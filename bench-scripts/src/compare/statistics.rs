//! The statistics of a comparison: the difference of two means with its interval.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// Values of one run, each of another block.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Mean.
    pub mean: f64,
    /// How many values.
    pub count: usize,
    /// Variance of the mean; none of a single value.
    variance_of_mean: Option<f64>,
}

impl Sample {
    /// The sample of these values; none where there are none.
    #[must_use]
    pub fn of(values: &[f64]) -> Option<Self> {
        let count = values.len();
        let mean = values.iter().sum::<f64>() / count as f64;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        (count > 0).then(|| Self {
            mean,
            count,
            variance_of_mean: (count > 1).then(|| squares / (count - 1) as f64 / count as f64),
        })
    }
}

/// The difference of two means whose variances need not be equal.
///
/// Welch's t (B. L. Welch, Biometrika 34, 1947) with the degrees of freedom of Welch and Satterthwaite (F. E.
/// Satterthwaite, Biometrics Bulletin 2, 1946).
#[derive(Clone, Copy, Debug)]
pub struct Welch {
    difference: f64,
    standard_error: f64,
    freedom: f64,
}

impl Welch {
    /// The mean of `after` less that of `before`; none where one of them is a single value, which has no variance.
    #[must_use]
    pub fn between(before: &Sample, after: &Sample) -> Option<Self> {
        let (b, a) = (before.variance_of_mean?, after.variance_of_mean?);
        let term = |variance: f64, sample: &Sample| variance.powi(2) / (sample.count - 1) as f64;
        let freedom = (b + a).powi(2) / (term(b, before) + term(a, after));
        Some(Self {
            difference: after.mean - before.mean,
            standard_error: (b + a).sqrt(),
            // Without any spread, all degrees of freedom are alike.
            freedom: if freedom.is_finite() { freedom } else { 1.0 },
        })
    }

    fn distribution(&self) -> StudentsT {
        StudentsT::new(0.0, 1.0, self.freedom).expect("degrees of freedom are positive")
    }

    /// The interval that holds the true difference with this confidence, 0 to 1.
    #[must_use]
    pub fn interval(&self, confidence: f64) -> (f64, f64) {
        let quantile = self
            .distribution()
            .inverse_cdf(f64::midpoint(1.0, confidence));
        let half = quantile * self.standard_error;
        (self.difference - half, self.difference + half)
    }

    /// The chance of a difference at least so far from zero, to either side, where there is none in truth.
    #[must_use]
    pub fn p_value(&self) -> f64 {
        if self.difference == 0.0 {
            return 1.0;
        }
        let t = (self.difference / self.standard_error).abs();
        2.0 * self.distribution().sf(t)
    }
}

#[cfg(test)]
mod tests {
    use rand::{Rng, SeedableRng};
    use rand_chacha::ChaCha8Rng;
    use statrs::distribution::Normal;

    use super::*;

    fn welch(before: &[f64], after: &[f64]) -> Welch {
        Welch::between(&Sample::of(before).unwrap(), &Sample::of(after).unwrap()).unwrap()
    }

    /// Values with figures that can be followed by hand: means 20 and 23, variances of the mean 2 and 1.
    #[test]
    fn a_difference_worked_out_by_hand() {
        let welch = welch(&[18.0, 20.0, 22.0, 16.0, 24.0], &[21.0, 23.0, 25.0, 23.0]);
        assert!((welch.difference - 3.0).abs() < 1e-12);
        let variances: (f64, f64) = (10.0 / 5.0, 8.0 / 3.0 / 4.0);
        assert!((welch.standard_error - (variances.0 + variances.1).sqrt()).abs() < 1e-12);
        let freedom = (variances.0 + variances.1).powi(2)
            / (variances.0.powi(2) / 4.0 + variances.1.powi(2) / 3.0);
        assert!((welch.freedom - freedom).abs() < 1e-12);
    }

    /// Quantiles of Student's t as tables print them.
    #[test]
    fn intervals_are_as_tables_have_them() {
        for (freedom, quantile) in [(1.0, 12.706), (4.0, 2.776), (10.0, 2.228)] {
            let welch = Welch {
                difference: 0.0,
                standard_error: 1.0,
                freedom,
            };
            let (low, high) = welch.interval(0.95);
            assert!((high - quantile).abs() < 5e-4, "{high}");
            assert!((low + high).abs() < 1e-12);
            let at_the_bound = Welch {
                difference: high,
                ..welch
            };
            assert!((at_the_bound.p_value() - 0.05).abs() < 1e-6);
        }
    }

    #[test]
    fn values_without_spread_differ_or_do_not() {
        assert_eq!(welch(&[1.0, 1.0], &[1.0, 1.0]).p_value(), 1.0);
        assert_eq!(welch(&[1.0, 1.0], &[2.0, 2.0]).p_value(), 0.0);
        assert_eq!(welch(&[1.0, 1.0], &[2.0, 2.0]).interval(0.95), (1.0, 1.0));
        assert!(
            Welch::between(
                &Sample::of(&[1.0]).unwrap(),
                &Sample::of(&[1.0, 2.0]).unwrap()
            )
            .is_none()
        );
        assert_eq!(Sample::of(&[]), None);
    }

    /// 95% of 2,000 intervals hold the truth, though spreads and sizes differ.
    #[test]
    fn intervals_hold_what_they_promise() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let mut sample = |mean: f64, deviation: f64, count: usize| {
            let normal = Normal::new(mean, deviation).unwrap();
            let uniform = |bits: u64| ((bits >> 11) as f64 + 0.5) / (1_u64 << 53) as f64;
            let values: Vec<_> = (0..count)
                .map(|_| normal.inverse_cdf(uniform(rng.next_u64())))
                .collect();
            Sample::of(&values).unwrap()
        };
        let held = (0..2000)
            .filter(|_| {
                let (before, after) = (sample(1.0, 0.03, 5), sample(1.1, 0.01, 7));
                let (low, high) = Welch::between(&before, &after).unwrap().interval(0.95);
                low <= 0.1 && 0.1 <= high
            })
            .count();
        // Three standard errors of a binomial's share.
        assert!((0.935..=0.965).contains(&(held as f64 / 2000.0)), "{held}");
    }
}
