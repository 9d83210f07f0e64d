//! Means that a few values far off do not move.
//!
//! A virtual CPU runs at one of several speeds, as its neighbours come and go: most ratios inside a block spread by two per
//! cent, and one in eight is off by twenty-five, because the speed changed between its two cells. A mean follows those few;
//! Huber's does not. P. J. Huber, "Robust Estimation of a Location Parameter", Annals of Mathematical Statistics 35 (1964).

/// Standard deviations from where on a value's weight is bounded: 98% as efficient as the mean where all is normal.
const BOUND: f64 = 1.7;

/// Median distance of two values of one normal distribution, in standard deviations: √2 × the normal's upper quartile.
const MEDIAN_DISTANCE: f64 = 0.953_873;

/// So many values' worth is what is usual of all samples, where the share of far ones in a single sample is estimated: of
/// five values it says little, of fifteen more than all others do.
const PRIOR: f64 = 10.0;

/// Steps of the iteration; it has converged long before.
const STEPS: usize = 50;

/// What is usual of the values of one kind, which the few far off have no say in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    /// Distance from where on a value's weight is bounded.
    bound: f64,
    /// Share of values within it, 0 to 1.
    near: f64,
}

impl Scale {
    /// The standard deviation that the distances of values inside each sample suggest, whatever the samples' means are.
    ///
    /// The median of all distances, after P. J. Rousseeuw and C. Croux, "Alternatives to the Median Absolute Deviation",
    /// Journal of the American Statistical Association 88 (1993). It bears one value in seven being far off.
    #[must_use]
    pub fn of(samples: &[Vec<f64>]) -> Self {
        let mut distances: Vec<f64> = samples
            .iter()
            .flat_map(|sample| {
                let pairs = sample.iter().enumerate();
                pairs.flat_map(|(i, a)| sample[..i].iter().map(move |b| (a - b).abs()))
            })
            .collect();
        let middle = distances.len() / 2;
        let median = if distances.is_empty() {
            0.0
        } else {
            *distances.select_nth_unstable_by(middle, f64::total_cmp).1
        };
        let bound = BOUND * median / MEDIAN_DISTANCE;
        let near_in = |sample: &Vec<f64>| {
            let location = location(sample, bound);
            let near = |value: &&f64| (*value - location).abs() <= bound;
            sample.iter().filter(near).count()
        };
        let (near, all): (usize, usize) = samples
            .iter()
            .map(|sample| (near_in(sample), sample.len()))
            .fold((0, 0), |sum, of| (sum.0 + of.0, sum.1 + of.1));
        Self {
            bound,
            near: near as f64 / all as f64,
        }
    }

    /// The values that stand for these: their mean is Huber's, and its error is theirs, so that one may go on with them as with
    /// any sample. Where all values of a kind are near each other they are the values themselves.
    ///
    /// P. J. Huber, "Studentizing Robust Estimates", in: Nonparametric Techniques in Statistical Inference (1970).
    #[must_use]
    pub fn pseudo_values(self, values: &[f64]) -> Vec<f64> {
        let Self { bound, near } = self;
        if bound == 0.0 || near == 0.0 {
            // Nothing is known of what is usual.
            return values.to_vec();
        }
        let location = location(values, bound);
        let own = values.iter().filter(|v| (*v - location).abs() <= bound);
        let near = (own.count() as f64 + PRIOR * near) / (values.len() as f64 + PRIOR);
        let pseudo = |value: &f64| location + (value - location).clamp(-bound, bound) / near;
        values.iter().map(pseudo).collect()
    }
}

/// Where values that count up to `bound` only, above and below, balance.
fn location(values: &[f64], bound: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let mut location = sorted.get(sorted.len() / 2).copied().unwrap_or(0.0);
    for _ in 0..STEPS {
        let pulls = values.iter().map(|v| (v - location).clamp(-bound, bound));
        location += pulls.sum::<f64>() / values.len() as f64;
    }
    location
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean(values: &[f64]) -> f64 {
        values.iter().sum::<f64>() / values.len() as f64
    }

    #[test]
    fn values_that_lie_together_stand_for_themselves() {
        let values = vec![0.9, 1.0, 1.1, 1.0];
        let scale = Scale {
            bound: 0.2,
            near: 1.0,
        };
        let pseudo = scale.pseudo_values(&values);
        let same = |(value, pseudo): (&f64, &f64)| (value - pseudo).abs() < 1e-9;
        assert!(values.iter().zip(&pseudo).all(same), "{pseudo:?}");
    }

    /// Six values about 1 and one far off: it pulls by the bound, and the other six hold against it.
    #[test]
    fn one_far_off_pulls_no_further_than_the_bound() {
        let scale = Scale {
            bound: 0.3,
            near: 6.0 / 7.0,
        };
        let at = |far: f64| mean(&scale.pseudo_values(&[0.9, 0.95, 1.0, 1.0, 1.05, 1.1, far]));
        assert!((at(10.0) - at(100.0)).abs() < 1e-9);
        assert!((at(10.0) - (1.0 + 0.3 / 6.0)).abs() < 1e-6, "{}", at(10.0));
    }

    #[test]
    fn the_usual_spread_is_that_of_the_many() {
        // Quantiles of a normal distribution of spread 2, about another mean in each sample.
        let normal = |mean: f64| -> Vec<f64> {
            let quantiles = [
                -1.64, -1.04, -0.67, -0.39, -0.13, 0.13, 0.39, 0.67, 1.04, 1.64,
            ];
            quantiles.map(|q| mean + 2.0 * q).to_vec()
        };
        let far = |mut sample: Vec<f64>| {
            sample[0] = 1e6;
            sample
        };
        let quiet = Scale::of(&[normal(0.0), normal(50.0)]);
        let spread = quiet.bound / BOUND;
        assert!((1.7..2.3).contains(&spread), "{spread}");
        let loud = Scale::of(&[far(normal(0.0)), far(normal(50.0))]);
        let spread = loud.bound / BOUND;
        assert!((1.7..2.8).contains(&spread), "{spread}");
        assert!((0.7..=0.9).contains(&loud.near), "{loud:?}");
    }

    #[test]
    fn nothing_and_one_value_are_left_alone() {
        let scale = Scale::of(&[]);
        assert_eq!(scale.pseudo_values(&[]), Vec::<f64>::new());
        assert_eq!(scale.pseudo_values(&[3.0]), [3.0]);
    }
}
