//! The time as a worker sees it: it stands still while a batch of events is handled.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Read once for each return of the selector; the calendar only when its next second is due.
#[derive(Debug)]
pub struct Clock {
    now: Instant,
    unix_seconds: u64,
    second_ends: Instant,
    stale: bool,
}

impl Clock {
    /// A clock at the present time.
    #[must_use]
    pub fn new() -> Self {
        let now = Instant::now();
        let mut clock = Self {
            now,
            unix_seconds: 0,
            second_ends: now,
            stale: false,
        };
        clock.read_calendar();
        clock
    }

    /// Lets the next look read the time anew; to be called when the selector returns.
    pub fn expire(&mut self) {
        self.stale = true;
    }

    /// The time of this turn. Costs a comparison but for the first look of the turn.
    #[inline]
    pub fn now(&mut self) -> Instant {
        if self.stale {
            self.stale = false;
            self.now = Instant::now();
            if self.now >= self.second_ends {
                self.read_calendar();
            }
        }
        self.now
    }

    /// Seconds since 1970, right to the second as of the last [`Clock::now`].
    #[must_use]
    pub fn unix_seconds(&self) -> u64 {
        self.unix_seconds
    }

    fn read_calendar(&mut self) {
        // A calendar before 1970 is a machine without a battery: say 1970.
        let calendar = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        self.unix_seconds = calendar.as_secs();
        let passed = Duration::from_nanos(calendar.subsec_nanos().into());
        self.second_ends = self.now + (Duration::from_secs(1) - passed);
    }
}

impl Default for Clock {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread::sleep;

    #[test]
    fn time_stands_still_within_a_turn() {
        let mut clock = Clock::new();
        let before = clock.now();
        sleep(Duration::from_millis(2));
        assert_eq!(clock.now(), before);
        clock.expire();
        assert!(clock.now() > before);
    }

    #[test]
    fn the_second_is_right_at_its_edge() {
        let unix = || {
            let calendar = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
            calendar.as_secs()
        };
        let mut clock = Clock::new();
        let first = clock.unix_seconds();
        while clock.unix_seconds() == first {
            let before = unix();
            clock.expire();
            clock.now();
            assert!((before..=unix()).contains(&clock.unix_seconds()));
            sleep(Duration::from_millis(1));
        }
        assert_eq!(clock.unix_seconds(), first + 1);
    }
}
