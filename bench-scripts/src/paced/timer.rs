//! Waking in time. epoll_wait(2) counts milliseconds, too coarse for requests that are µs apart; timerfd_create(2) counts
//! nanoseconds, but a sleeping thread is on its CPU again only some tens of µs later. So the timer is set that much
//! early, and the last bit is spent looking for events without sleeping.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};

/// What a thread may take from its timer's expiry until it runs.
const WAKE_UP: Duration = Duration::from_micros(50);

/// A timer that makes its descriptor readable. Watched edge-triggered it needs no reading: each expiry is an edge.
#[derive(Debug)]
pub(super) struct Timer {
    timer: OwnedFd,
    /// What it is set for, counted as the caller counts.
    set_for: Option<Duration>,
}

impl Timer {
    pub(super) fn new() -> io::Result<Self> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        Ok(Self {
            timer: timerfd_create(TimerfdClockId::Monotonic, flags)?,
            set_for: None,
        })
    }

    /// How long to wait for events where `wake_at` must not be missed and it is `now`: not at all, since there is no time
    /// left to sleep, or, with none, until the timer is an event itself.
    pub(super) fn wait(
        &mut self,
        now: Duration,
        wake_at: Duration,
    ) -> io::Result<Option<Duration>> {
        let Some(sleep) = wake_at
            .checked_sub(now + WAKE_UP)
            .filter(|sleep| !sleep.is_zero())
        else {
            return Ok(Some(Duration::ZERO));
        };
        if self.set_for != Some(wake_at) {
            let once = Itimerspec {
                it_interval: Timespec::default(),
                it_value: Timespec {
                    tv_sec: i64::try_from(sleep.as_secs()).unwrap_or(i64::MAX),
                    tv_nsec: sleep.subsec_nanos().into(),
                },
            };
            timerfd_settime(&self.timer, TimerfdTimerFlags::empty(), &once)?;
            self.set_for = Some(wake_at);
        }
        Ok(None)
    }
}

impl AsFd for Timer {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.timer.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use rungs_epoll::{Interest, Reactor};

    use super::*;

    #[test]
    fn it_fires_once_each_time_it_is_set_and_never_much_too_early() {
        let mut reactor: Reactor<u32> = Reactor::new(4).unwrap();
        let mut timer = Timer::new().unwrap();
        let interest = Interest::READ.edge_triggered();
        let count = |fired: &mut u32, _: &mut Reactor<u32>, _, _| *fired += 1;
        reactor.register(&timer, interest, count, 0).unwrap();
        let start = Instant::now();
        for _ in 0..3 {
            let mut fired = 0;
            let now = start.elapsed();
            let wake_at = now + Duration::from_millis(5);
            // Asked for twice, set once.
            for _ in 0..2 {
                assert_eq!(timer.wait(now, wake_at).unwrap(), None);
            }
            reactor
                .run(&mut fired, Some(Duration::from_secs(10)))
                .unwrap();
            assert_eq!(fired, 1);
            assert!(start.elapsed() + WAKE_UP >= wake_at);
        }
    }

    #[test]
    fn the_last_moment_is_not_slept_away() {
        let mut timer = Timer::new().unwrap();
        let now = Duration::from_secs(1);
        for wake_at in [Duration::ZERO, now, now + WAKE_UP] {
            assert_eq!(timer.wait(now, wake_at).unwrap(), Some(Duration::ZERO));
        }
        assert_eq!(timer.wait(now, now * 2).unwrap(), None);
    }
}
