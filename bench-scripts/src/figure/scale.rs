//! Scales: how values become positions along an axis, and which values are written on it.

/// How values become positions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scale {
    /// Equal differences are equal distances.
    Linear {
        /// Value at the start of the axis.
        min: f64,
        /// Value at its end.
        max: f64,
    },
    /// Equal ratios are equal distances.
    Log {
        /// Value at the start of the axis, above 0.
        min: f64,
        /// Value at its end.
        max: f64,
    },
}

/// Factors inside one power of ten that axes are cut at.
const STEPS: [f64; 3] = [1.0, 2.0, 5.0];

impl Scale {
    /// From zero to a round value at or above `max`.
    #[must_use]
    pub fn from_zero(max: f64) -> Self {
        let max = if max > 0.0 { max } else { 1.0 };
        let step = linear_step(max);
        Self::Linear {
            min: 0.0,
            max: step * (max / step - 1e-9).ceil(),
        }
    }

    /// Logarithmic, between round values around the positive ones of `values`; from 1 to 10 where there are none.
    #[must_use]
    pub fn log_around(values: impl Iterator<Item = f64>) -> Self {
        let (min, max) = values
            .filter(|value| *value > 0.0 && value.is_finite())
            .fold((f64::INFINITY, 0.0_f64), |(min, max), v| {
                (min.min(v), max.max(v))
            });
        if max == 0.0 {
            return Self::Log {
                min: 1.0,
                max: 10.0,
            };
        }
        let all = round_values(min / 10.0, max * 10.0);
        let below = all.iter().rev().find(|v| **v <= min).copied();
        let above = all.iter().find(|v| **v > max).copied();
        Self::Log {
            min: below.unwrap_or(min),
            max: above.unwrap_or(max),
        }
    }

    /// For counts that are set by hand: logarithmic where they span a factor above 20, else linear; with a little room
    /// on both sides.
    #[must_use]
    pub fn for_counts(counts: &[f64]) -> Self {
        let min = counts.iter().copied().fold(f64::INFINITY, f64::min);
        let max = counts.iter().copied().fold(0.0, f64::max);
        if max > 20.0 * min {
            let room = (max / min).powf(0.025);
            return Self::Log {
                min: min / room,
                max: max * room,
            };
        }
        let room = if max > min { (max - min) * 0.025 } else { 1.0 };
        Self::Linear {
            min: min - room,
            max: max + room,
        }
    }

    /// The same axis in a unit that is `1 / factor` of this one.
    #[must_use]
    pub fn times(self, factor: f64) -> Self {
        match self {
            Self::Linear { min, max } => Self::Linear {
                min: min * factor,
                max: max * factor,
            },
            Self::Log { min, max } => Self::Log {
                min: min * factor,
                max: max * factor,
            },
        }
    }

    /// Where a value lies on the axis, 0 at its start to 1 at its end. Values beyond the ends lie beyond.
    #[must_use]
    pub fn position(self, value: f64) -> f64 {
        match self {
            Self::Linear { min, max } => (value - min) / (max - min),
            Self::Log { min, max } => (value.max(f64::MIN_POSITIVE) / min).ln() / (max / min).ln(),
        }
    }

    /// The round values to write on it.
    #[must_use]
    pub fn round_ticks(self) -> Vec<f64> {
        match self {
            Self::Linear { min, max } => {
                let step = linear_step(max - min);
                let first = (min / step - 1e-9).ceil() as i64;
                let last = (max / step + 1e-9).floor() as i64;
                (first..=last).map(|k| k as f64 * step).collect()
            }
            Self::Log { min, max } => {
                let all = round_values(min * (1.0 - 1e-9), max * (1.0 + 1e-9));
                let decades = (max / min).log10();
                all.into_iter()
                    .filter(|v| decades <= 3.0 || is_power_of_ten(*v))
                    .collect()
            }
        }
    }
}

/// A step of 1, 2 or 5 times a power of ten that cuts a length into four to eight pieces.
fn linear_step(length: f64) -> f64 {
    let wanted = length / 4.0;
    let power = 10f64.powf(wanted.log10().floor());
    STEPS
        .iter()
        .rev()
        .map(|factor| factor * power)
        .find(|step| *step <= wanted * (1.0 + 1e-9))
        .unwrap_or(power)
}

/// Every 1, 2 and 5 times a power of ten in a range.
fn round_values(min: f64, max: f64) -> Vec<f64> {
    let first = min.log10().floor() as i32;
    let last = max.log10().ceil() as i32;
    (first..=last)
        .flat_map(|exponent| STEPS.map(|factor| factor * 10f64.powi(exponent)))
        .filter(|value| (min..=max).contains(value))
        .collect()
}

fn is_power_of_ten(value: f64) -> bool {
    (value.log10() - value.log10().round()).abs() < 1e-9
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zero_based_axis_ends_at_a_round_value() {
        let scale = Scale::from_zero(8_700_000.0);
        assert_eq!(
            scale,
            Scale::Linear {
                min: 0.0,
                max: 10_000_000.0
            }
        );
        assert_eq!(scale.round_ticks(), [0.0, 2e6, 4e6, 6e6, 8e6, 10e6]);
        assert_eq!(scale.position(5_000_000.0), 0.5);
        assert_eq!(
            Scale::from_zero(10.0),
            Scale::Linear {
                min: 0.0,
                max: 10.0
            }
        );
    }

    #[test]
    fn an_axis_without_values_still_is_one() {
        assert_eq!(Scale::from_zero(0.0), Scale::Linear { min: 0.0, max: 1.0 });
        assert_eq!(
            Scale::log_around([0.0, f64::NAN].into_iter()),
            Scale::Log {
                min: 1.0,
                max: 10.0
            }
        );
    }

    #[test]
    fn logarithmic_axes_lie_around_their_values() {
        let Scale::Log { min, max } = Scale::log_around([370.0, 4200.0].into_iter()) else {
            panic!("not logarithmic");
        };
        assert!(
            (min - 200.0).abs() < 1e-6 && (max - 5000.0).abs() < 1e-6,
            "{min} to {max}"
        );
        let scale = Scale::Log {
            min: 100.0,
            max: 10_000.0,
        };
        assert!((scale.position(1000.0) - 0.5).abs() < 1e-12);
        let ticks = scale.round_ticks();
        assert_eq!(ticks.len(), 7, "{ticks:?}");
    }

    #[test]
    fn counts_are_logarithmic_only_where_they_span_much() {
        assert!(matches!(
            Scale::for_counts(&[100.0, 1000.0]),
            Scale::Linear { .. }
        ));
        assert!(matches!(
            Scale::for_counts(&[100.0, 10_000.0]),
            Scale::Log { .. }
        ));
        assert!(matches!(Scale::for_counts(&[8.0]), Scale::Linear { .. }));
    }
}
