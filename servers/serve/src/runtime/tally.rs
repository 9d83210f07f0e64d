//! Which slot of the counters a runtime's thread writes to.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::counters::{Counters, Slot};

thread_local! {
    /// The slot of this thread. A current-thread runtime serves on the worker's own thread, which has only the first.
    static SLOT: Cell<usize> = const { Cell::new(0) };
}

/// Hands out one slot to each thread that a runtime starts.
pub(super) struct Slots {
    counters: Counters,
    next: AtomicUsize,
}

impl Slots {
    pub(super) fn new(counters: Counters) -> Self {
        Self {
            counters,
            next: AtomicUsize::new(0),
        }
    }

    /// Gives the calling thread the next slot.
    ///
    /// # Panics
    ///
    /// If there are more threads than slots, as if something had called `spawn_blocking`.
    pub(super) fn take_one(&self) {
        let index = self.next.fetch_add(1, Ordering::Relaxed);
        self.counters.slot(index).wakeups.add(0);
        SLOT.set(index);
    }
}

/// The counters, as a task sees them that may run on any thread of its runtime.
#[derive(Clone, Debug)]
pub struct Tally(Counters);

impl Tally {
    pub(super) fn new(counters: Counters) -> Self {
        Self(counters)
    }

    /// The slot of the calling thread.
    #[inline]
    #[must_use]
    pub fn slot(&self) -> &Slot {
        self.0.slot(SLOT.get())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_thread_has_its_own_slot() {
        let counters = Counters::new(2);
        let slots = Slots::new(counters.clone());
        let tally = Tally::new(counters.clone());
        std::thread::scope(|scope| {
            for requests in [3, 4] {
                let (slots, tally) = (&slots, tally.clone());
                scope.spawn(move || {
                    slots.take_one();
                    tally.slot().requests.add(requests);
                });
            }
        });
        let mut counted = [0, 1].map(|index| counters.slot(index).requests.get());
        counted.sort_unstable();
        assert_eq!(counted, [Some(3), Some(4)]);
    }
}
