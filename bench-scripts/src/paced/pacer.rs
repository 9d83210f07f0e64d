//! Which connection sends when, and what is recorded of it. No socket and no clock: times are told, counted from the start.
//!
//! Each connection carries one request at a time. A request whose connection is busy when it is due waits for it, and its
//! latency counts from when it was due: a stall is seen by every request that it holds up.

#[cfg(test)]
mod tests;

use std::time::Duration;

use super::distribution::Times;
use super::outcome::{Errors, Failure, Problem, Requests};
use super::{Distribution, Schedule};

/// Share of the window's requests that must be sent before its end.
const LEAST_SENT: f64 = 0.99;

/// Share of the time that the generator may be busy. Beyond, answers wait for it and not for the server.
const MOST_BUSY: f64 = 0.9;

/// The 99th percentile of lateness may be this part of the latency's …
const LATENESS_PART: f64 = 0.25;

/// … but is always good below the first, and never above the second, µs.
const LATENESS_BOUNDS_US: (f64, f64) = (100.0, 1000.0);

/// A load on its way.
#[derive(Debug)]
pub struct Pacer {
    schedule: Schedule,
    window_end: Duration,
    window_begin: Duration,
    /// Numbers of the first request in the window, and of the first after it.
    first: u64,
    end: u64,
    /// The next request whose time has not come yet.
    cursor: u64,
    lanes: Vec<Lane>,
    in_flight: usize,
    window: Window,
    answered_in_all: u64,
    answered: u64,
    failed: u64,
    sent: u64,
    sent_in_window: u64,
    errors: Errors,
    latency: Times,
    service_time: Times,
    lateness: Times,
}

/// How far the load is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Window {
    Open,
    /// Its end has come and the rate was held: what is still to be sent is sent.
    Draining,
    /// Its end has come and the rate was not held: nothing more is sent.
    Abandoned,
}

/// A connection's part of the schedule.
#[derive(Debug)]
struct Lane {
    /// Number of its next request.
    next: u64,
    state: LaneState,
}

#[derive(Clone, Copy, Debug)]
enum LaneState {
    /// There is no connection.
    Down,
    /// Nothing is in flight since then.
    Free(Duration),
    InFlight(InFlight),
}

#[derive(Clone, Copy, Debug)]
struct InFlight {
    number: u64,
    due: Duration,
    sent: Duration,
}

/// What a [`Pacer`] recorded of the window.
#[derive(Debug)]
pub struct Recorded {
    /// Where its requests have gone.
    pub requests: Requests,
    /// Answers over the whole life of the load, warm-up included.
    pub answered_in_all: u64,
    /// What failed.
    pub errors: Errors,
    /// From due to answered.
    pub latency: Distribution,
    /// From sent to answered.
    pub service_time: Distribution,
    /// From due, and the connection free, to sent.
    pub lateness: Distribution,
    /// What stands against all that.
    pub problems: Vec<Problem>,
}

impl Pacer {
    /// A load of `warmup` and then `duration`, in which the window lies. All connections are still to be made.
    #[must_use]
    pub fn new(schedule: Schedule, warmup: Duration, duration: Duration) -> Self {
        let lanes = 0..u64::from(schedule.connections.get());
        let lane = |next| Lane {
            next,
            state: LaneState::Down,
        };
        Self {
            schedule,
            window_begin: warmup,
            window_end: warmup + duration,
            first: schedule.count_before(warmup),
            end: schedule.count_before(warmup + duration),
            cursor: 0,
            lanes: lanes.map(lane).collect(),
            in_flight: 0,
            window: Window::Open,
            answered_in_all: 0,
            answered: 0,
            failed: 0,
            sent: 0,
            sent_in_window: 0,
            errors: Errors::default(),
            latency: Times::new(),
            service_time: Times::new(),
            lateness: Times::new(),
        }
    }

    /// How many requests are due in the window.
    #[must_use]
    pub fn requests_due(&self) -> u64 {
        self.end - self.first
    }

    /// Connection `lane` can carry requests from `now` on.
    pub fn connected(&mut self, lane: usize, now: Duration) {
        self.lanes[lane].state = LaneState::Free(now);
    }

    /// Connection `lane`, on which nothing is in flight, is gone.
    pub fn disconnected(&mut self, lane: usize) {
        debug_assert!(!self.is_in_flight(lane));
        self.lanes[lane].state = LaneState::Down;
    }

    /// Connection `lane` could not be made.
    pub fn connect_failed(&mut self, now: Duration) {
        if now >= self.window_begin {
            self.errors.count(Failure::Connect);
        }
    }

    /// A free connection with a request that is due; call it until there is none.
    pub fn next_to_send(&mut self, now: Duration) -> Option<usize> {
        while self.wake_at().is_some_and(|due| due <= now) {
            let lane = self.schedule.connection_of(self.cursor);
            self.cursor += 1;
            if self.may_send(lane, now) {
                return Some(lane);
            }
        }
        None
    }

    /// When [`Pacer::next_to_send`] is to be called again; none if never.
    #[must_use]
    pub fn wake_at(&self) -> Option<Duration> {
        (self.cursor < self.end).then(|| self.schedule.due(self.cursor))
    }

    /// Whether connection `lane` is free and its next request due. To be asked of a connection that has become free.
    #[must_use]
    pub fn may_send(&self, lane: usize, now: Duration) -> bool {
        let Lane { next, state } = &self.lanes[lane];
        matches!(state, LaneState::Free(_))
            && self.window != Window::Abandoned
            && *next < self.end
            && self.schedule.due(*next) <= now
    }

    /// The next request of `lane`, which [may be sent](Pacer::may_send), is sent now.
    pub fn sent(&mut self, lane: usize, now: Duration) {
        let LaneState::Free(since) = self.lanes[lane].state else {
            unreachable!("only a free connection sends");
        };
        let number = self.lanes[lane].next;
        let due = self.schedule.due(number);
        self.lanes[lane] = Lane {
            next: number + u64::from(self.schedule.connections.get()),
            state: LaneState::InFlight(InFlight {
                number,
                due,
                sent: now,
            }),
        };
        self.in_flight += 1;
        self.sent += 1;
        if number >= self.first {
            self.lateness.record(now.saturating_sub(due.max(since)));
            self.sent_in_window += u64::from(now < self.window_end);
        }
    }

    /// The request in flight on `lane` is answered wholly; the connection is free.
    pub fn answered(&mut self, lane: usize, now: Duration) {
        let request = self.take_in_flight(lane, now);
        self.answered_in_all += 1;
        if request.number >= self.first {
            self.answered += 1;
            self.latency.record(now.saturating_sub(request.due));
            self.service_time.record(now.saturating_sub(request.sent));
        }
    }

    /// The request in flight on `lane` is lost, or answered badly; the connection counts as free until it is said to be
    /// [gone](Pacer::disconnected).
    pub fn failed(&mut self, lane: usize, now: Duration, failure: Failure) {
        let request = self.take_in_flight(lane, now);
        if request.number >= self.first {
            self.failed += 1;
            self.errors.count(failure);
        }
    }

    /// Whether a request is in flight on `lane`.
    #[must_use]
    pub fn is_in_flight(&self, lane: usize) -> bool {
        matches!(self.lanes[lane].state, LaneState::InFlight(_))
    }

    /// The connections whose request in flight was sent at `time` or before.
    #[must_use]
    pub fn in_flight_since(&self, time: Duration) -> Vec<usize> {
        let waits = |lane: &Lane| match lane.state {
            LaneState::InFlight(request) => request.sent <= time,
            LaneState::Down | LaneState::Free(_) => false,
        };
        let lanes = self.lanes.iter().enumerate();
        lanes
            .filter_map(|(index, lane)| waits(lane).then_some(index))
            .collect()
    }

    /// True once nothing is left to send or to wait for. Only after the window's end is that looked at closely: then it
    /// is settled whether the rate was held, and so whether what is left is sent.
    pub fn is_finished(&mut self, now: Duration) -> bool {
        if now < self.window_end {
            return false;
        }
        if self.window == Window::Open {
            self.window = if self.is_short() {
                Window::Abandoned
            } else {
                Window::Draining
            };
        }
        self.in_flight == 0 && (self.window == Window::Abandoned || self.sent == self.end)
    }

    /// What came of the window's requests. `busy` is the share of the window in which the generator was.
    #[must_use]
    pub fn recorded(self, busy: f64) -> Recorded {
        let due = self.requests_due();
        Recorded {
            requests: Requests {
                due,
                sent_in_window: self.sent_in_window,
                answered: self.answered,
                failed: self.failed,
                not_sent: due - self.answered - self.failed,
            },
            answered_in_all: self.answered_in_all,
            errors: self.errors,
            latency: self.latency.summary(),
            service_time: self.service_time.summary(),
            lateness: self.lateness.summary(),
            problems: self.problems(busy),
        }
    }

    fn take_in_flight(&mut self, lane: usize, now: Duration) -> InFlight {
        let LaneState::InFlight(request) = self.lanes[lane].state else {
            unreachable!("only a request in flight ends");
        };
        self.lanes[lane].state = LaneState::Free(now);
        self.in_flight -= 1;
        request
    }

    fn is_short(&self) -> bool {
        (self.sent_in_window as f64) < LEAST_SENT * self.requests_due() as f64
    }

    fn problems(&self, busy: f64) -> Vec<Problem> {
        let (least, most) = LATENESS_BOUNDS_US;
        let bound_us = (self.latency.quantile_us(0.99) * LATENESS_PART).clamp(least, most);
        let p99_us = self.lateness.quantile_us(0.99);
        let problems = [
            (p99_us > bound_us).then_some(Problem::GeneratorLate { p99_us, bound_us }),
            (busy > MOST_BUSY).then_some(Problem::GeneratorBusy {
                busy,
                bound: MOST_BUSY,
            }),
            self.is_short().then_some(Problem::RateShort {
                due: self.requests_due(),
                sent_in_window: self.sent_in_window,
            }),
            (self.errors.total() > 0).then_some(Problem::Errors {
                errors: self.errors,
            }),
        ];
        problems.into_iter().flatten().collect()
    }
}
