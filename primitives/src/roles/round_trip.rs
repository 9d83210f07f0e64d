//! One byte there and back.

use hdrhistogram::Histogram;

use crate::channels::Port;
use crate::clock::{cpu_ns, now_ns};
use crate::failure::Failure;
use crate::row::Each;
use crate::wire::Report;

/// Calls `count` times, and checks every answer.
///
/// # Errors
///
/// A call of the mechanism failed, or an answer was not what was sent.
pub fn call(port: &mut impl Port, count: u64, each: bool) -> Result<Report, Failure> {
    let cpu = cpu_ns();
    let timed = rounds(count, each, |byte| {
        port.send(&[byte]).map_err(Failure::call("send"))?;
        receive(port, byte)
    })?;
    Ok(Report {
        end_ns: now_ns(),
        cpu_ns: cpu_ns() - cpu,
        each: timed,
        ..Report::default()
    })
}

/// Answers `count` times, and checks every call.
///
/// # Errors
///
/// A call of the mechanism failed, or something else came than was expected.
pub fn answer(port: &mut impl Port, count: u64) -> Result<Report, Failure> {
    let cpu = cpu_ns();
    rounds(count, false, |byte| {
        receive(port, byte)?;
        port.send(&[byte]).map_err(Failure::call("send"))
    })?;
    Ok(Report {
        end_ns: now_ns(),
        cpu_ns: cpu_ns() - cpu,
        ..Report::default()
    })
}

fn receive(port: &mut impl Port, expected: u8) -> Result<(), Failure> {
    let mut buffer = [!expected];
    let length = port.recv(&mut buffer).map_err(Failure::call("receive"))?;
    if (length, buffer) == (1, [expected]) {
        return Ok(());
    }
    Err(Failure::Wrong(format!(
        "{length} bytes came, the first is {}, not {expected}",
        buffer[0]
    )))
}

/// Runs `round` for every index, of which it gets the last byte; with `each`, times every one of them.
///
/// # Errors
///
/// The first that `round` returns.
pub fn rounds(
    count: u64,
    each: bool,
    mut round: impl FnMut(u8) -> Result<(), Failure>,
) -> Result<Option<Each>, Failure> {
    if !each {
        for index in 0..count {
            round(last_byte(index))?;
        }
        return Ok(None);
    }
    let mut times = Times::new();
    for index in 0..count {
        let start = now_ns();
        round(last_byte(index))?;
        times.took(now_ns() - start);
    }
    Ok(Some(times.percentiles()))
}

/// The byte that round `index` carries.
#[must_use]
pub fn last_byte(index: u64) -> u8 {
    index.to_le_bytes()[0]
}

/// How long single operations took.
#[derive(Debug)]
pub struct Times(Histogram<u64>);

impl Times {
    /// None so far.
    ///
    /// # Panics
    ///
    /// Never: the bounds are constants that the histogram takes.
    #[must_use]
    #[expect(clippy::new_without_default, reason = "nobody needs a default")]
    pub fn new() -> Self {
        Self(Histogram::new_with_bounds(1, 60_000_000_000, 3).expect("1 ns to a minute, 3 digits"))
    }

    /// One took so long.
    pub fn took(&mut self, ns: u64) {
        self.0.saturating_record(ns);
    }

    /// What is told of them.
    #[must_use]
    pub fn percentiles(&self) -> Each {
        let us = |quantile| self.0.value_at_quantile(quantile) as f64 / 1e3;
        Each {
            p50_us: us(0.5),
            p99_us: us(0.99),
        }
    }
}
