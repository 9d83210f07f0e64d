//! When each request is due. Arithmetic only.

use std::num::NonZeroU32;
use std::time::Duration;

const NANOS_PER_SECOND: u64 = 1_000_000_000;

/// Requests evenly spaced in time and dealt to the connections in turn, so that each connection has a fixed schedule of
/// its own, as in wrk2. Requests are numbered from 0; times count from the start.
#[derive(Clone, Copy, Debug)]
pub struct Schedule {
    /// Requests per second, over all connections.
    pub rate: NonZeroU32,
    /// Connections that share them.
    pub connections: NonZeroU32,
}

impl Schedule {
    /// When request `number` is due. It is computed from the number, so that no rounding adds up.
    #[must_use]
    pub fn due(self, number: u64) -> Duration {
        let rate = u64::from(self.rate.get());
        let nanos = number % rate * NANOS_PER_SECOND / rate;
        Duration::from_secs(number / rate) + Duration::from_nanos(nanos)
    }

    /// How many requests are due before `time`.
    #[must_use]
    pub fn count_before(self, time: Duration) -> u64 {
        let requests = time.as_nanos() * u128::from(self.rate.get());
        u64::try_from(requests.div_ceil(u128::from(NANOS_PER_SECOND))).unwrap_or(u64::MAX)
    }

    /// Which connection request `number` belongs to.
    #[must_use]
    pub fn connection_of(self, number: u64) -> usize {
        (number % u64::from(self.connections.get())) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schedule(rate: u32, connections: u32) -> Schedule {
        Schedule {
            rate: NonZeroU32::new(rate).unwrap(),
            connections: NonZeroU32::new(connections).unwrap(),
        }
    }

    #[test]
    fn requests_are_evenly_spaced_and_no_rounding_adds_up() {
        let thirds = schedule(3, 1);
        assert_eq!(thirds.due(0), Duration::ZERO);
        assert_eq!(thirds.due(1), Duration::from_nanos(333_333_333));
        assert_eq!(thirds.due(2), Duration::from_nanos(666_666_666));
        assert_eq!(
            thirds.due(3_000_000_000),
            Duration::from_secs(1_000_000_000)
        );
        assert_eq!(
            schedule(u32::MAX, 1).due(u64::from(u32::MAX)),
            Duration::from_secs(1)
        );
    }

    #[test]
    fn a_window_holds_its_rate_whatever_the_rounding() {
        for rate in [1, 3, 7, 999, 10_000, 4_000_000_000] {
            let schedule = schedule(rate, 1);
            assert_eq!(
                schedule.count_before(Duration::from_secs(2)),
                2 * u64::from(rate)
            );
            for time in [1, 333_333_333, 333_333_334, 1_000_000_001].map(Duration::from_nanos) {
                let count = schedule.count_before(time);
                assert!(schedule.due(count) >= time, "{rate} {time:?}");
                assert!(schedule.due(count - 1) < time, "{rate} {time:?}");
            }
        }
        assert_eq!(schedule(7, 1).count_before(Duration::ZERO), 0);
    }

    #[test]
    fn connections_take_turns() {
        let schedule = schedule(100, 3);
        let turns: Vec<_> = (0..7)
            .map(|number| schedule.connection_of(number))
            .collect();
        assert_eq!(turns, [0, 1, 2, 0, 1, 2, 0]);
    }
}
