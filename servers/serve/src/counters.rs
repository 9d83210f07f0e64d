//! What a worker counts: written by its own thread, read by the main thread at any time without disturbing it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A number that one thread adds to while others may look.
///
/// Adding is a relaxed load and store, not an atomic addition: with one writer nothing is lost, and it costs what a
/// plain variable costs.
#[derive(Debug)]
pub struct Count(AtomicU64);

impl Count {
    /// Stands for "nobody counts this here".
    const ABSENT: u64 = u64::MAX;

    const fn zero() -> Self {
        Self(AtomicU64::new(0))
    }

    const fn absent() -> Self {
        Self(AtomicU64::new(Self::ABSENT))
    }

    /// Adds `n`; only the slot's own thread may. Adding 0 to a count that was absent makes it 0.
    #[inline]
    pub fn add(&self, n: u64) {
        let old = match self.0.load(Ordering::Relaxed) {
            Self::ABSENT => 0,
            old => old,
        };
        self.0.store(old + n, Ordering::Relaxed);
    }

    /// The number, or none where nobody has ever counted.
    #[must_use]
    pub fn get(&self) -> Option<u64> {
        Some(self.0.load(Ordering::Relaxed)).filter(|&n| n != Self::ABSENT)
    }
}

/// The counts of one thread, on cache lines of its own (two of them, since they are fetched in pairs).
#[derive(Debug)]
#[repr(align(128))]
pub struct Slot {
    /// Connections accepted.
    pub accepted: Count,
    /// Connections closed, by either side.
    pub closed: Count,
    /// Requests answered, errors included.
    pub requests: Count,
    /// Bytes handed to the kernel for sending.
    pub bytes: Count,
    /// Returns from the selector, time-outs included. Absent until first added to.
    pub wakeups: Count,
    /// Events that the selector reported. Absent until first added to.
    pub events: Count,
}

impl Slot {
    const fn new() -> Self {
        Self {
            accepted: Count::zero(),
            closed: Count::zero(),
            requests: Count::zero(),
            bytes: Count::zero(),
            wakeups: Count::absent(),
            events: Count::absent(),
        }
    }

    fn snapshot(&self) -> Snapshot {
        let closed = self.closed.get().unwrap_or(0);
        let connections = self.accepted.get().unwrap_or(0);
        Snapshot {
            connections,
            open: connections.cast_signed() - closed.cast_signed(),
            requests: self.requests.get().unwrap_or(0),
            bytes: self.bytes.get().unwrap_or(0),
            wakeups: self.wakeups.get(),
            events: self.events.get(),
        }
    }
}

/// The slots of one worker, one for each thread that serves; clones look at the same slots.
#[derive(Clone, Debug)]
pub struct Counters(Arc<[Slot]>);

impl Counters {
    /// All at zero, for `threads` threads.
    #[must_use]
    pub fn new(threads: usize) -> Self {
        Self((0..threads).map(|_| Slot::new()).collect())
    }

    /// The slot that the worker's thread number `index` writes to, and no other thread.
    ///
    /// # Panics
    ///
    /// If the worker has no such thread.
    #[must_use]
    pub fn slot(&self, index: usize) -> &Slot {
        &self.0[index]
    }

    pub(crate) fn snapshots(&self) -> impl Iterator<Item = Snapshot> {
        self.0.iter().map(Slot::snapshot)
    }
}

/// A [`Slot`] as it is printed.
#[derive(Debug, PartialEq, Eq, serde::Serialize)]
pub(crate) struct Snapshot {
    connections: u64,
    /// Connections now open. Where tasks move between threads only the sum over all slots means something: one slot
    /// may be negative.
    open: i64,
    requests: u64,
    bytes: u64,
    wakeups: Option<u64>,
    events: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snapshot_tells_absent_from_zero() {
        let counters = Counters::new(2);
        let slot = counters.slot(1);
        slot.accepted.add(3);
        slot.closed.add(1);
        slot.requests.add(5);
        slot.bytes.add(700);
        slot.wakeups.add(0);
        let printed: Vec<_> = counters.snapshots().collect();
        assert_eq!(
            serde_json::to_string(&printed).unwrap(),
            r#"[{"connections":0,"open":0,"requests":0,"bytes":0,"wakeups":null,"events":null},"#
                .to_owned()
                + r#"{"connections":3,"open":2,"requests":5,"bytes":700,"wakeups":0,"events":null}]"#
        );
    }

    #[test]
    fn slots_share_no_cache_line() {
        assert_eq!(size_of::<Slot>(), 128);
        assert_eq!(align_of::<Slot>(), 128);
    }

    #[test]
    fn clones_look_at_the_same_slots() {
        let counters = Counters::new(1);
        let seen = counters.clone();
        std::thread::spawn(move || counters.slot(0).requests.add(1))
            .join()
            .unwrap();
        assert_eq!(seen.slot(0).requests.get(), Some(1));
    }
}
