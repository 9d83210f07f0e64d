//! How much of the window the generator itself was at work: beyond some share, answers wait for it and not for the server.

use std::fs;
use std::ops::Range;
use std::time::Duration;

/// Times count from the start of the load.
#[derive(Debug)]
pub(super) struct Busy {
    window: Range<Duration>,
    /// Since when it waits for events, while it does.
    waiting_since: Option<Duration>,
    /// How much of the window it has waited for events.
    waited: Duration,
    /// Its run delay at the window's start and end.
    run_delay: Range<Option<Duration>>,
}

impl Busy {
    pub(super) fn new(window: Range<Duration>) -> Self {
        Self {
            window,
            waiting_since: None,
            waited: Duration::ZERO,
            run_delay: None..None,
        }
    }

    /// Looks at the run delay at the window's edges; to be called before, between and after waits.
    pub(super) fn look(&mut self, now: Duration, run_delay: impl Fn() -> Duration) {
        if now >= self.window.start {
            self.run_delay.start.get_or_insert_with(&run_delay);
        }
        if now >= self.window.end {
            self.run_delay.end.get_or_insert_with(&run_delay);
        }
    }

    /// It is about to wait for events.
    pub(super) fn waits(&mut self, now: Duration) {
        self.waiting_since = Some(now);
    }

    /// The wait is over; only the first call after it counts.
    pub(super) fn woke(&mut self, now: impl Fn() -> Duration) {
        if let Some(since) = self.waiting_since.take() {
            let until = now().min(self.window.end);
            self.waited += until.saturating_sub(since.max(self.window.start));
        }
    }

    /// The share of the window that it worked, or was ready to but had no CPU.
    ///
    /// A thread waits for a CPU mostly on its way out of a wait for events, so that time is taken from the wait.
    pub(super) fn share(&self) -> f64 {
        let run_delay = match self.run_delay {
            Range {
                start: Some(start),
                end: Some(end),
            } => end.saturating_sub(start),
            _ => Duration::ZERO,
        };
        let idle = self.waited.saturating_sub(run_delay);
        let window = self.window.end - self.window.start;
        (1.0 - idle.as_secs_f64() / window.as_secs_f64()).max(0.0)
    }
}

/// How long the calling thread has been ready to run, and was not run (the second field of schedstat: proc_pid_schedstat(5)); zero
/// where the kernel does not tell.
pub(super) fn run_delay() -> Duration {
    let schedstat = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanos = schedstat.split_whitespace().nth(1);
    Duration::from_nanos(nanos.and_then(|nanos| nanos.parse().ok()).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn only_the_window_counts_and_waiting_for_a_cpu_is_not_idle() {
        let mut busy = Busy::new(SECOND..SECOND * 11);
        let wait = |busy: &mut Busy, from, to, run_delay| {
            busy.look(SECOND * from, || SECOND * run_delay);
            busy.waits(SECOND * from);
            busy.woke(|| SECOND * to);
        };
        // Before and into the window: one of its seconds.
        wait(&mut busy, 0, 2, 0);
        // Another handler of the same wait.
        busy.woke(|| SECOND * 3);
        // Five seconds, two of which it would rather have run.
        wait(&mut busy, 4, 9, 7);
        // Out of the window: one of its seconds.
        wait(&mut busy, 10, 20, 8);
        wait(&mut busy, 20, 30, 9);
        wait(&mut busy, 30, 40, 99);
        assert!((busy.share() - 0.5).abs() < 1e-9, "{}", busy.share());
    }

    #[test]
    fn the_kernel_tells_the_run_delay() {
        // It never falls, and this thread has not waited for an hour.
        let first = run_delay();
        assert!(run_delay() >= first && first < SECOND * 3600);
    }
}
