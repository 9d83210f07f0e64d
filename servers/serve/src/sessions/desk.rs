//! What a session works with while it is its turn.

use std::mem;
use std::time::Instant;

use rungs_http1::{Context, Limits};
use rungs_response::Encoder;

use super::Clock;
use crate::counters::Slot;

/// Clock, encoder, output and counts of one worker. Each session uses them for a moment, so none needs any while it is idle.
pub struct Desk {
    clock: Clock,
    now: Instant,
    limits: Limits,
    encoder: Encoder,
    /// What a session has to say. Empty between two sessions.
    pub out: Vec<u8>,
    /// Since the counters were last published.
    requests: u64,
    /// Bytes handed to the kernel for sending, since the counters were last published.
    pub bytes: u64,
}

impl Desk {
    /// A desk at the present time.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        let mut clock = Clock::new();
        Self {
            now: clock.now(),
            limits,
            encoder: Encoder::new(clock.unix_seconds()),
            clock,
            out: Vec::new(),
            requests: 0,
            bytes: 0,
        }
    }

    /// The time as it was last told.
    #[inline]
    #[must_use]
    pub fn now(&self) -> Instant {
        self.now
    }

    /// How long a client may take.
    #[inline]
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Events are waited for next, so the time will be another.
    pub fn let_time_pass(&mut self) {
        self.clock.expire();
    }

    /// Brings the time up to date, if events have been waited for since.
    #[inline]
    pub fn tell_time(&mut self) {
        self.now = self.clock.now();
        self.encoder.set_time(self.clock.unix_seconds());
    }

    /// What a call of [`Connection`](rungs_http1::Connection) may use.
    #[inline]
    pub fn lend(&mut self) -> Context<'_> {
        Context {
            now: self.now,
            limits: &self.limits,
            encoder: &self.encoder,
            out: &mut self.out,
            requests: &mut self.requests,
        }
    }

    /// Ends a turn of so many `events`: adds what was counted in it to `slot`.
    pub fn publish(&mut self, events: u64, slot: &Slot) {
        slot.requests.add(mem::take(&mut self.requests));
        slot.bytes.add(mem::take(&mut self.bytes));
        slot.wakeups.add(1);
        slot.events.add(events);
    }
}
