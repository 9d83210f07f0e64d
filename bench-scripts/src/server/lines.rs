//! What a rung prints: a line when it listens, its counts when it is asked for them, and at the end.

use std::net::SocketAddr;

use serde::Deserialize;

use crate::record::WorkerCounts;

/// A rung's first line.
#[derive(Clone, Debug, Deserialize)]
pub struct Hello {
    /// Where it listens.
    pub addr: SocketAddr,
    /// Its threads.
    pub threads: u32,
    /// Its workers, each with connections of its own; none of a rung that does not say.
    #[serde(default)]
    pub workers: Option<u32>,
    /// `release` or `debug`.
    pub build: String,
    /// `jemalloc` or `system`.
    pub allocator: String,
}

/// A rung's counts at one moment.
#[derive(Clone, Debug, Deserialize)]
pub struct Counters {
    /// CLOCK_MONOTONIC, µs.
    pub at_us: u64,
    /// A row per worker.
    pub workers: Vec<WorkerTotals>,
}

/// What one worker has counted over its life.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub struct WorkerTotals {
    /// Connections open now. Where connections move between threads only the sum over all means something: one may be
    /// negative.
    pub open: i64,
    /// Requests answered.
    pub requests: u64,
    /// Bytes sent.
    pub bytes: u64,
    /// Returns from the wait for events; none where the runtime does not tell.
    pub wakeups: Option<u64>,
    /// Events that those returns brought; none where the runtime does not tell.
    pub events: Option<u64>,
}

/// A line of a rung's stdout.
#[derive(Debug, Deserialize)]
#[serde(tag = "event", rename_all = "lowercase")]
pub(super) enum Line {
    Listening(Hello),
    /// It cannot run on this machine, for the reason in the sentence.
    Unsupported {
        reason: String,
    },
    Counters(Counters),
    Stopped(Counters),
}

impl Counters {
    /// Connections open on all workers.
    #[must_use]
    pub fn open(&self) -> u64 {
        let open: i64 = self.workers.iter().map(|worker| worker.open).sum();
        open.try_into().unwrap_or(0)
    }

    /// Requests answered by all workers.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.workers.iter().map(|worker| worker.requests).sum()
    }

    /// What each worker counted since `first`.
    #[must_use]
    pub fn since(&self, first: &Self) -> Vec<WorkerCounts> {
        let difference = |last: Option<u64>, first: Option<u64>| Some(last?.saturating_sub(first?));
        let pairs = self.workers.iter().zip(&first.workers);
        pairs
            .map(|(last, first)| WorkerCounts {
                open: last.open,
                requests: last.requests.saturating_sub(first.requests),
                bytes: last.bytes.saturating_sub(first.bytes),
                wakeups: difference(last.wakeups, first.wakeups),
                events: difference(last.events, first.events),
            })
            .collect()
    }
}
