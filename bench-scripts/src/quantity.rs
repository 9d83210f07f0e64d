//! Quantities as people read them: three significant digits and a unit.

/// What a number counts, and so how it is written.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Quantity {
    /// Things, or things per minute.
    Count,
    /// Time in µs.
    Micros,
    /// Time in ns.
    Nanos,
    /// CPU time of one request in µs: to the hundredth, whatever its size, so that two are compared digit by digit.
    Cost,
    /// Memory in bytes.
    Bytes,
    /// A ratio.
    Ratio,
}

impl Quantity {
    /// The unit in which values up to `max` are round: memory is counted in powers of 1024.
    #[must_use]
    pub fn round_unit(self, max: f64) -> f64 {
        match self {
            Self::Bytes => 1024_f64.powf(max.max(1.0).log(1024.0).floor()),
            Self::Count | Self::Micros | Self::Nanos | Self::Cost | Self::Ratio => 1.0,
        }
    }

    /// A value of it, with its unit.
    #[must_use]
    pub fn write(self, value: f64) -> String {
        match self {
            Self::Count => large(value),
            Self::Micros => micros(value),
            Self::Nanos => nanos(value),
            Self::Cost => format!("{value:.2} µs"),
            Self::Bytes => bytes(value),
            Self::Ratio => format!("{value:.2}"),
        }
    }
}

/// A count per minute, or any large count: `12.3 M`, `840 k`, `97`.
#[must_use]
pub fn large(value: f64) -> String {
    scaled(value, 1000.0, &["", " k", " M", " G", " T"])
}

/// A time given in µs: `8.91 µs`, `1.24 ms`, `2.00 s`.
#[must_use]
pub fn micros(us: f64) -> String {
    scaled(us, 1000.0, &[" µs", " ms", " s"])
}

/// A time given in ns: `8.91 ns`, `1.24 µs`.
#[must_use]
pub fn nanos(ns: f64) -> String {
    scaled(ns, 1000.0, &[" ns", " µs", " ms", " s"])
}

/// Three significant digits without a unit, thousands set apart: `0.0123`, `1.23`, `1,234`.
#[must_use]
pub fn significant(value: f64) -> String {
    if value.abs() >= 999.5 {
        return whole(value.round() as u64);
    }
    let magnitude = value.abs().max(1e-12).log10().floor() as i32;
    // What rounds to the next power of ten has a digit more already.
    let rounded = rounded(value, 2 - magnitude);
    let magnitude = rounded.abs().max(1e-12).log10().floor() as i32;
    let decimals = (2 - magnitude).max(0) as usize;
    format!("{rounded:.decimals$}")
}

/// A time of whole ms, as people set it: `800 ms`, `2 s`.
#[must_use]
pub fn millis(ms: u64) -> String {
    without_idle_zeros(&micros(ms as f64 * 1e3))
}

/// An amount of memory given in bytes: `12.3 MiB`.
#[must_use]
pub fn bytes(bytes: f64) -> String {
    scaled(bytes, 1024.0, &[" B", " KiB", " MiB", " GiB", " TiB"])
}

/// A share from 0 to 1: `97%`.
#[must_use]
pub fn percent(share: f64) -> String {
    format!("{:.0}%", rounded(share * 100.0, 0))
}

/// A share from 0 to 1, to the tenth of a percent: `1.8%`.
#[must_use]
pub fn fine_percent(share: f64) -> String {
    format!("{:.1}%", share * 100.0)
}

/// A change as a share of what it was, with its sign: `-1.8%`.
#[must_use]
pub fn change(share: f64) -> String {
    format!("{:+.1}%", rounded(share * 100.0, 1))
}

/// So many decimals of a value; what rounds to nothing is 0 without a sign.
#[must_use]
pub fn rounded(value: f64, decimals: i32) -> f64 {
    let unit = 10f64.powi(decimals);
    (value * unit).round() / unit + 0.0
}

/// A whole number with its thousands set apart: `10,000`.
#[must_use]
pub fn whole(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number of rounds: `one round`, `5 rounds`.
#[must_use]
pub fn rounds(rounds: u32) -> String {
    match rounds {
        1 => "one round".to_owned(),
        rounds => format!("{rounds} rounds"),
    }
}

/// A value on an axis: as the other functions write it, without idle zeros (`10 M`, not `10.0 M`).
#[must_use]
pub fn without_idle_zeros(text: &str) -> String {
    let (number, unit) = text
        .split_once(' ')
        .map_or((text, None), |(n, u)| (n, Some(u)));
    let number = if number.contains('.') {
        number.trim_end_matches('0').trim_end_matches('.')
    } else {
        number
    };
    unit.map_or_else(|| number.to_owned(), |unit| format!("{number} {unit}"))
}

/// Three significant digits in the largest unit of which there is at least one.
fn scaled(value: f64, step: f64, units: &[&str]) -> String {
    let mut value = value;
    let mut unit = 0;
    // What rounds to a whole step (999.7 k) is already one of the next unit.
    while value.abs() >= step - 0.5 && unit + 1 < units.len() {
        value /= step;
        unit += 1;
    }
    let decimals = match value.abs() {
        _ if unit == 0 && value.fract() == 0.0 => 0,
        size if size >= 99.95 => 0,
        size if size >= 9.995 => 1,
        _ => 2,
    };
    format!("{value:.decimals$}{}", units[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_significant_digits_and_the_right_unit() {
        assert_eq!(large(12_345_678.0), "12.3 M");
        assert_eq!(large(999_700.0), "1.00 M");
        assert_eq!(large(839_600.0), "840 k");
        assert_eq!(large(97.0), "97");
        assert_eq!(large(0.0), "0");
        assert_eq!(micros(8.912), "8.91 µs");
        assert_eq!(micros(1240.0), "1.24 ms");
        assert_eq!(micros(99.96), "100 µs");
        assert_eq!([200, 2000, 2500].map(millis), ["200 ms", "2 s", "2.5 s"]);
        assert_eq!(bytes(12.9 * 1024.0 * 1024.0), "12.9 MiB");
        assert_eq!(bytes(-2048.0), "-2.00 KiB");
        assert_eq!(percent(0.973), "97%");
        assert_eq!(percent(-0.004), "0%");
        assert_eq!(change(-0.0181), "-1.8%");
        assert_eq!(change(-0.0001), "+0.0%");
    }

    #[test]
    fn three_significant_digits_whatever_the_size() {
        assert_eq!(significant(0.012_345), "0.0123");
        assert_eq!(significant(1.0), "1.00");
        assert_eq!(significant(9.996), "10.0");
        assert_eq!(significant(99.96), "100");
        assert_eq!(significant(999.6), "1,000");
        assert_eq!(significant(12_345.6), "12,346");
        assert_eq!(nanos(3_210.0), "3.21 µs");
    }

    #[test]
    fn thousands_are_set_apart() {
        assert_eq!(whole(7), "7");
        assert_eq!(whole(1000), "1,000");
        assert_eq!(whole(1_234_567), "1,234,567");
    }

    #[test]
    fn idle_zeros_go() {
        assert_eq!(without_idle_zeros("10.0 M"), "10 M");
        assert_eq!(without_idle_zeros("2.50 ms"), "2.5 ms");
        assert_eq!(without_idle_zeros("100 µs"), "100 µs");
        assert_eq!(without_idle_zeros("0"), "0");
    }
}
