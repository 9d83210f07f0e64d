//! 95% intervals from few blocks.
//!
//! The logarithms of a figure over blocks get Student's t interval, with a *moderated* variance: a point's own variance
//! rests on two to a dozen blocks and says little, but a run has dozens of points. So each variance is drawn towards
//! what is typical of the run, as strongly as the run's variances resemble each other. From G. K. Smyth, "Linear models and
//! empirical Bayes methods for assessing differential expression in microarray experiments", Statistical
//! Applications in Genetics and Molecular Biology 3 (2004), article 3, sections 4 and 6.2.
//!
//! Cells that are far off, since a neighbour slowed one of two CPUs down, count only so far: see [`crate::robust`].

use statrs::distribution::{ContinuousCDF, StudentsT};
use statrs::function::gamma::digamma;

use super::logs::Blocks;
use crate::findings::Interval;
use crate::robust::Scale;

/// How sure the intervals are, 0 to 1.
const CONFIDENCE: f64 = 0.95;

/// Smallest variance, as a share of the run's median variance: no point is free of noise.
const LEAST_VARIANCE_SHARE: f64 = 1e-5;

/// Variance of logarithms below which rounding is all that there is to see.
const ROUNDING_VARIANCE: f64 = 1e-18;

/// Logarithms of one figure at one point, summed up.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Sample {
    mean: f64,
    /// Sum of the squares of the deviations from the mean.
    squares: f64,
    blocks: usize,
}

impl Sample {
    /// None where there are no blocks. Without a scale each block counts in full.
    fn of(blocks: &Blocks, scale: Option<Scale>) -> Option<Self> {
        let logs: Vec<f64> = blocks.values().copied().collect();
        let logs = match scale {
            Some(scale) => scale.pseudo_values(&logs),
            None => logs,
        };
        let mean = logs.iter().sum::<f64>() / logs.len() as f64;
        let squares = logs.iter().map(|log| (log - mean).powi(2)).sum();
        (!logs.is_empty()).then_some(Self {
            mean,
            squares,
            blocks: logs.len(),
        })
    }

    /// Degrees of freedom of its own variance.
    fn freedom(&self) -> f64 {
        self.blocks as f64 - 1.0
    }
}

/// The variance that is typical of a run's points for one kind of figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Noise {
    /// How far a block lies from the others as a rule; none where no point has two blocks.
    scale: Option<Scale>,
    /// The typical variance of one block's logarithm.
    variance: f64,
    /// How many blocks' worth of evidence it is beside a point's own: infinite where all points are equally noisy.
    freedom: f64,
    /// Degrees of freedom that all points have together: no single point can have more.
    most_freedom: f64,
}

impl Noise {
    /// Learns from the points of a run. Of points that share cells, `independent` says which share of their degrees of
    /// freedom counts.
    ///
    /// None where no point has two blocks.
    pub(super) fn learn<'a>(
        points: impl IntoIterator<Item = &'a Blocks>,
        independent: f64,
    ) -> Option<Self> {
        let points: Vec<&Blocks> = points.into_iter().filter(|p| p.len() > 1).collect();
        let logs = points.iter().map(|p| p.values().copied().collect());
        let scale = Some(Scale::of(&logs.collect::<Vec<_>>()));
        let samples = points.iter().filter_map(|point| Sample::of(point, scale));
        let samples: Vec<Sample> = samples.collect();
        let freedoms: f64 = samples.iter().map(Sample::freedom).sum();
        let mut variances: Vec<f64> = samples.iter().map(|s| s.squares / s.freedom()).collect();
        variances.sort_by(f64::total_cmp);
        let least = variances.get(variances.len() / 2)? * LEAST_VARIANCE_SHARE;
        let least = least.max(ROUNDING_VARIANCE);
        // Of a variance with d degrees of freedom, ln(variance) - digamma(d/2) + ln(d/2) has the true one's logarithm as
        // its mean, and trigamma(d/2) as its variance: what is left over is how much the true ones differ.
        let logs = samples.iter().map(|s| {
            let half = s.freedom() / 2.0;
            (s.squares / s.freedom()).max(least).ln() - digamma(half) + half.ln()
        });
        let logs: Vec<f64> = logs.collect();
        let count = logs.len() as f64;
        let mean = logs.iter().sum::<f64>() / count;
        let spread = logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / (count - 1.0);
        let chance = samples.iter().map(|s| trigamma(s.freedom() / 2.0));
        let chance = chance.sum::<f64>() / count;
        // Few variances hide how much they differ: two standard errors more, so that loud points do not pass for quiet ones.
        let doubt = 2.0 * chance * (2.0 / (count * independent - 1.0).max(1.0)).sqrt();
        let differing = spread - chance + doubt;
        let (variance, freedom) = if samples.len() == 1 {
            (0.0, 0.0)
        } else if differing > 0.0 {
            let half = inverse_trigamma(differing);
            ((mean + digamma(half) - half.ln()).exp(), 2.0 * half)
        } else {
            let squares: f64 = samples.iter().map(|s| s.squares).sum();
            ((squares / freedoms).max(least), f64::INFINITY)
        };
        Some(Self {
            scale,
            variance,
            freedom,
            most_freedom: (freedoms * independent).max(1.0),
        })
    }

    /// Learns from ratios that are known to be 1: those of one server entered twice. For runs of one round, whose points
    /// have no variance of their own: each is taken to be as noisy as this pair.
    pub(super) fn of_equals(ratios: impl Iterator<Item = f64>) -> Option<Self> {
        let squares: Vec<f64> = ratios.map(|log| log * log).collect();
        let count = squares.len() as f64;
        let variance = (squares.iter().sum::<f64>() / count).max(ROUNDING_VARIANCE);
        (squares.len() > 1).then_some(Self {
            scale: None,
            variance,
            freedom: count,
            most_freedom: count,
        })
    }

    /// Whether one block of such a figure is typically less noisy.
    pub(super) fn is_less_than(&self, other: &Self) -> bool {
        self.variance < other.variance
    }

    /// The standard error of a sample's mean, and the distribution of the mean over it.
    fn error_of(&self, sample: &Sample) -> Option<(f64, StudentsT)> {
        let own = sample.freedom();
        let variance = if self.freedom.is_infinite() {
            self.variance
        } else {
            (self.freedom * self.variance + sample.squares) / (self.freedom + own)
        };
        let freedom = (self.freedom + own).min(self.most_freedom);
        let t = StudentsT::new(0.0, 1.0, freedom).ok()?;
        let variance = variance.max(ROUNDING_VARIANCE);
        Some(((variance / sample.blocks as f64).sqrt(), t))
    }

    /// What a point's logarithms are about; none where there are none.
    pub(super) fn mean(&self, point: &Blocks) -> Option<f64> {
        Some(Sample::of(point, self.scale)?.mean)
    }

    /// Its 95% interval; none where nothing is known of its noise.
    pub(super) fn interval(&self, point: &Blocks) -> Option<LogInterval> {
        let sample = Sample::of(point, self.scale)?;
        let (error, t) = self.error_of(&sample)?;
        let half = t.inverse_cdf(f64::midpoint(1.0, CONFIDENCE)) * error;
        Some(LogInterval {
            low: sample.mean - half,
            high: sample.mean + half,
        })
    }

    /// How likely a mean so far from 0 is where the truth is 0 (two-sided).
    pub(super) fn chance_of(&self, point: &Blocks) -> Option<f64> {
        let sample = Sample::of(point, self.scale)?;
        let (error, t) = self.error_of(&sample)?;
        Some(2.0 * t.sf(sample.mean.abs() / error))
    }
}

/// An interval of a logarithm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct LogInterval {
    pub(super) low: f64,
    pub(super) high: f64,
}

impl LogInterval {
    /// The interval of the figure itself, in units of `unit`.
    ///
    /// It is about the geometric mean, and stretched to the median, which is printed with it, where that lies outside: with eight
    /// blocks or more and outliers among them it can.
    pub(super) fn of_figure(self, unit: f64, median: f64) -> Interval {
        Interval {
            low: (unit * self.low.exp()).min(median),
            high: (unit * self.high.exp()).max(median),
        }
    }
}

/// The second derivative of ln Γ, for positive arguments: recurrence up to where the asymptotic series holds
/// (Abramowitz and Stegun, 6.4.6 and 6.4.12).
fn trigamma(x: f64) -> f64 {
    let (mut x, mut sum) = (x, 0.0);
    while x < 12.0 {
        sum += 1.0 / (x * x);
        x += 1.0;
    }
    let y = 1.0 / (x * x);
    sum + 1.0 / x + y / 2.0 + y / x * (1.0 / 6.0 - y * (1.0 / 30.0 - y * (1.0 / 42.0 - y / 30.0)))
}

/// The argument at which trigamma has a positive value. It falls from ∞ to 0: bisection in the exponent.
fn inverse_trigamma(value: f64) -> f64 {
    let (mut low, mut high) = (1e-6_f64.ln(), 1e9_f64.ln());
    for _ in 0..80 {
        let middle = f64::midpoint(low, high);
        if trigamma(middle.exp()) > value {
            low = middle;
        } else {
            high = middle;
        }
    }
    low.exp()
}

#[cfg(test)]
mod tests {
    use std::f64::consts::PI;

    use super::*;

    fn point(logs: &[f64]) -> Blocks {
        (0..).zip(logs.iter().copied()).collect()
    }

    fn width(noise: &Noise, point: &Blocks) -> f64 {
        let interval = noise.interval(point).unwrap();
        interval.high - interval.low
    }

    #[test]
    fn trigamma_has_its_known_values() {
        for (x, value) in [
            (1.0, PI * PI / 6.0),
            (0.5, PI * PI / 2.0),
            (2.0, PI * PI / 6.0 - 1.0),
        ] {
            assert!((trigamma(x) - value).abs() < 1e-12, "{x}");
            assert!((inverse_trigamma(value) - x).abs() < 1e-9, "{x}");
        }
    }

    /// Alone in its run, a point gets Student's own interval: t is 2.776 with 4 degrees of freedom.
    #[test]
    fn a_single_point_has_the_plain_t_interval() {
        let alone = point(&[0.0, 1.0, 2.0, 3.0, 4.0]);
        let interval = Noise::learn([&alone], 1.0)
            .unwrap()
            .interval(&alone)
            .unwrap();
        let half = 2.776_445 * (2.5_f64 / 5.0).sqrt();
        assert!((interval.low - (2.0 - half)).abs() < 1e-4, "{interval:?}");
        assert!((interval.high - (2.0 + half)).abs() < 1e-4, "{interval:?}");
    }

    /// Points that are equally noisy are pooled: of forty pairs of blocks each point has forty degrees of freedom.
    #[test]
    fn points_of_equal_noise_share_their_variance() {
        let points = vec![point(&[0.0, 1.0]); 40];
        let noise = Noise::learn(&points, 1.0).unwrap();
        assert!(noise.freedom.is_infinite());
        assert!((noise.variance - 0.5).abs() < 1e-12);
        let half = width(&noise, &points[0]) / 2.0;
        assert!((half - 2.021_075 * 0.5).abs() < 1e-4, "{half}");
    }

    /// Points whose noise differs a hundredfold are not pooled.
    #[test]
    fn points_of_different_noise_keep_their_own() {
        let points: Vec<Blocks> = (0..8)
            .map(|n| {
                let size = if n % 2 == 0 { 0.01 } else { 1.0 };
                point(&[0.0, size, -size, size / 2.0])
            })
            .collect();
        let noise = Noise::learn(&points, 1.0).unwrap();
        assert!(noise.freedom < 1.0, "{noise:?}");
        assert!(width(&noise, &points[1]) > 20.0 * width(&noise, &points[0]));
    }

    #[test]
    fn one_round_says_nothing_of_noise_but_equals_do() {
        let once = [point(&[0.1]), point(&[0.2])];
        assert_eq!(Noise::learn(&once, 1.0), None);
        let noise = Noise::of_equals([0.01, -0.01, 0.02, -0.02].into_iter()).unwrap();
        assert!(noise.chance_of(&once[0]).unwrap() < 0.01);
        assert_eq!(Noise::of_equals([0.01].into_iter()), None);
    }

    #[test]
    fn an_interval_holds_the_median_that_stands_beside_it() {
        let interval = LogInterval {
            low: 0.0,
            high: 0.1,
        };
        assert_eq!(interval.of_figure(2.0, 1.5).low, 1.5);
        assert_eq!(interval.of_figure(2.0, 2.1).low, 2.0);
    }
}
