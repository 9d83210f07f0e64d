//! Which session may be due next.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::{Duration, Instant};

/// A queue of deadlines by place in the table, kept lazily.
///
/// Deadlines nearly always move later, with each request. So an entry that is there already and not later is left alone,
/// which makes [`Deadlines::arm`] one comparison; when that entry comes up, the caller looks at the real deadline and
/// arms it. For the same reason nothing is done when a session ends: whoever takes its place next finds an entry armed.
#[derive(Debug)]
pub struct Deadlines {
    /// What entries count from.
    start: Instant,
    /// May hold entries that an earlier one for the same place has overtaken; `armed` tells them.
    queue: BinaryHeap<Reverse<Entry>>,
    /// For each place, the time of the entry that counts.
    armed: Vec<Option<Instant>>,
}

/// A place, and the millisecond from the start, rounded up, at which it comes up: in one word, since each connection has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entry(u64);

impl Entry {
    /// The lower bits name the place: more connections than a kernel has memory for. Above them is room for 34 years.
    const PLACE_BITS: u32 = 24;

    fn new(after: Duration, index: u32) -> Self {
        assert!(index >> Self::PLACE_BITS == 0, "connections are fewer");
        let millis = after.as_secs() * 1_000 + u64::from(after.subsec_nanos().div_ceil(1_000_000));
        Self(millis << Self::PLACE_BITS | u64::from(index))
    }

    const fn after(self) -> Duration {
        Duration::from_millis(self.0 >> Self::PLACE_BITS)
    }

    const fn index(self) -> u32 {
        self.0 as u32 & ((1 << Self::PLACE_BITS) - 1)
    }
}

impl Deadlines {
    /// An empty queue, for times that are not before `start`.
    #[must_use]
    pub fn new(start: Instant) -> Self {
        Self {
            start,
            queue: BinaryHeap::new(),
            armed: Vec::new(),
        }
    }

    /// Sees to it that `index` comes up no later than `when`, rounded up to a millisecond.
    ///
    /// # Panics
    ///
    /// If `index` is 2²⁴ or more.
    #[inline]
    pub fn arm(&mut self, index: u32, when: Instant) {
        match self.armed.get(index as usize) {
            Some(&Some(armed)) if armed <= when => {}
            _ => self.insert(index, when),
        }
    }

    fn insert(&mut self, index: u32, when: Instant) {
        let place = index as usize;
        if place >= self.armed.len() {
            self.armed.resize(place + 1, None);
        }
        self.armed[place] = Some(when);
        self.queue.push(Reverse(self.entry(index, when)));
    }

    fn entry(&self, index: u32, when: Instant) -> Entry {
        Entry::new(when.saturating_duration_since(self.start), index)
    }

    /// Whether no earlier one has overtaken `entry`.
    fn counts(&self, entry: Entry) -> bool {
        let index = entry.index();
        self.armed[index as usize].is_some_and(|when| self.entry(index, when) == entry)
    }

    /// When the next place comes up. Entries of places that are not `in_use` are dropped first, so nobody is woken for
    /// a session that has ended.
    pub fn next(&mut self, in_use: impl Fn(u32) -> bool) -> Option<Instant> {
        while let Some(&Reverse(entry)) = self.queue.peek() {
            let counts = self.counts(entry);
            if counts && in_use(entry.index()) {
                return Some(self.start + entry.after());
            }
            self.queue.pop();
            if counts {
                self.armed[entry.index() as usize] = None;
            }
        }
        None
    }

    /// Takes out one place whose entry is due at `now`.
    pub fn pop(&mut self, now: Instant) -> Option<u32> {
        while let Some(&Reverse(entry)) = self.queue.peek() {
            if self.start + entry.after() > now {
                return None;
            }
            self.queue.pop();
            if self.counts(entry) {
                self.armed[entry.index() as usize] = None;
                return Some(entry.index());
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    const ALL: fn(u32) -> bool = |_| true;

    /// An empty queue, and its times in seconds from the start.
    fn deadlines() -> (Deadlines, impl Fn(u64) -> Instant) {
        let start = Instant::now();
        let at = move |seconds| start + Duration::from_secs(seconds);
        (Deadlines::new(start), at)
    }

    #[test]
    fn places_come_up_in_order_of_time() {
        let (mut deadlines, at) = deadlines();
        for (index, when) in [(4, 30), (0, 10), (2, 20)] {
            deadlines.arm(index, at(when));
        }
        assert_eq!(deadlines.next(ALL), Some(at(10)));
        assert_eq!(deadlines.pop(at(9)), None);
        assert_eq!(deadlines.pop(at(20)), Some(0));
        assert_eq!(deadlines.pop(at(20)), Some(2));
        assert_eq!(deadlines.pop(at(20)), None);
        assert_eq!(deadlines.next(ALL), Some(at(30)));
    }

    #[test]
    fn a_later_deadline_leaves_the_entry_alone() {
        let (mut deadlines, at) = deadlines();
        for when in 10..1_000 {
            deadlines.arm(0, at(when));
        }
        assert_eq!(deadlines.queue.len(), 1);
        assert_eq!(deadlines.pop(at(10)), Some(0), "the caller looks again");
        assert_eq!(deadlines.next(ALL), None);
    }

    #[test]
    fn an_earlier_deadline_overtakes_and_the_old_entry_is_skipped() {
        let (mut deadlines, at) = deadlines();
        deadlines.arm(0, at(75));
        deadlines.arm(0, at(30));
        assert_eq!(deadlines.pop(at(30)), Some(0));
        assert_eq!(deadlines.pop(at(75)), None, "stale");
        deadlines.arm(0, at(75));
        deadlines.arm(0, at(30));
        deadlines.pop(at(30));
        deadlines.arm(0, at(80));
        assert_eq!(deadlines.next(ALL), Some(at(80)), "stale is not waited for");
    }

    #[test]
    fn nobody_is_woken_for_a_place_without_a_session() {
        let (mut deadlines, at) = deadlines();
        deadlines.arm(0, at(1));
        deadlines.arm(1, at(2));
        assert_eq!(deadlines.next(|index| index != 0), Some(at(2)));
        assert_eq!(deadlines.next(|_| false), None);
        deadlines.arm(0, at(5));
        assert_eq!(deadlines.next(ALL), Some(at(5)), "taken again, armed again");
    }

    #[test]
    fn a_place_taken_over_keeps_one_entry() {
        let (mut deadlines, at) = deadlines();
        for client in 0..1_000 {
            deadlines.arm(0, at(75 + client));
        }
        assert_eq!(deadlines.queue.len(), 1);
    }

    #[test]
    fn times_are_rounded_up_to_a_millisecond() {
        let (mut deadlines, at) = deadlines();
        deadlines.arm(9, at(1) + Duration::from_nanos(1));
        let up = at(1) + Duration::from_millis(1);
        assert_eq!(deadlines.next(ALL), Some(up));
        assert_eq!(deadlines.pop(up - Duration::from_nanos(1)), None);
        assert_eq!(deadlines.pop(up), Some(9));
    }

    #[test]
    fn an_entry_has_room_for_years_and_millions() {
        let (years, last) = (Duration::from_secs(30 * 366 * 86_400), (1 << 24) - 1);
        let entry = Entry::new(years, last);
        assert_eq!((entry.after(), entry.index()), (years, last));
        assert!(Entry::new(years, 0) > Entry::new(Duration::ZERO, last));
    }
}
