//! Core-to-core latency: how far apart two CPUs are, as a cache line that goes to and fro between them shows it.
//!
//! A virtual machine's CPUs run on cores that the hypervisor picks, and picks anew. Two that share a last-level cache hand
//! a line over in some 40 ns; two that do not take several times as long. Server and load generator hand each other every
//! request, so that a request costs more on both sides, by a quarter or a third, whatever the server is. Nothing
//! else tells: not the clock rate, not steal time.

use std::hint;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::process;

/// Round trips that are timed at once.
const BATCH: u32 = 200;

/// How often: the quickest counts, since the others were interrupted.
const BATCHES: u32 = 12;

/// How long all of it may take, where one of the CPUs is busy with something else.
const PATIENCE: Duration = Duration::from_millis(20);

/// Looks at the line between two looks at the clock.
const SPINS: u32 = 4096;

/// The line, alone on two lines of a CPU that fetches them in pairs: the number of the throw that comes next.
#[repr(align(128))]
#[derive(Default)]
struct Ball(AtomicU32);

/// What a cache line takes from CPU `a` to CPU `b` and back, in nanoseconds: the mean of the quickest batch of round trips.
///
/// None where it cannot be told: the two are one, this process may not use them, or they had no time for it. Takes half a
/// millisecond to two.
#[must_use]
pub fn round_trip_ns(a: u32, b: u32) -> Option<f64> {
    if a == b {
        return None;
    }
    let ball = Ball::default();
    let deadline = Instant::now() + PATIENCE;
    thread::scope(|scope| {
        scope.spawn(|| play(&ball, 1, b, deadline));
        scope.spawn(|| play(&ball, 0, a, deadline)).join().ok()?
    })
}

/// Throws the ball back whenever it is this player's turn, the even or the odd throws. Gives the quickest batch.
fn play(ball: &Ball, turn: u32, cpu: u32, deadline: Instant) -> Option<f64> {
    process::run_on(&[cpu]).ok()?;
    let mut quickest = Duration::MAX;
    // The first batch is spent until both are there.
    for batch in 0..=BATCHES {
        let begin = Instant::now();
        for trip in 0..BATCH {
            let throw = 2 * (batch * BATCH + trip) + turn;
            await_throw(ball, throw, deadline)?;
            ball.0.store(throw + 1, Ordering::Release);
        }
        if batch > 0 {
            quickest = quickest.min(begin.elapsed());
        }
    }
    Some(quickest.as_nanos() as f64 / f64::from(BATCH))
}

/// Spins until it is the turn of `throw`; none if that takes too long.
fn await_throw(ball: &Ball, throw: u32, deadline: Instant) -> Option<()> {
    loop {
        for _ in 0..SPINS {
            if ball.0.load(Ordering::Acquire) == throw {
                return Some(());
            }
            hint::spin_loop();
        }
        if Instant::now() > deadline {
            return None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine;

    #[test]
    fn two_cpus_are_a_few_cycles_to_some_microseconds_apart() {
        let cpus = machine::cpus_allowed();
        let [a, .., b] = cpus[..] else {
            return;
        };
        // Others may have the CPUs busy: then there is no answer, but never a wrong one.
        let told = (0..50).find_map(|_| round_trip_ns(a, b));
        let nanoseconds = told.expect("two CPUs are there");
        assert!((1.0..100_000.0).contains(&nanoseconds), "{nanoseconds}");
    }

    #[test]
    fn one_cpu_is_no_distance_and_a_cpu_that_is_not_there_is_none() {
        let cpu = machine::cpus_allowed()[0];
        assert_eq!(round_trip_ns(cpu, cpu), None);
        assert_eq!(round_trip_ns(cpu, 1000), None);
    }
}
