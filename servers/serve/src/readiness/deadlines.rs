//! Which session may be due next.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Instant;

/// A queue of deadlines by place in the slab, kept lazily.
///
/// Deadlines nearly always move later, with each request. So an entry that is there already and not later is left alone,
/// which makes [`Deadlines::arm`] one comparison; when that entry comes up, the caller looks at the real deadline and
/// arms it. For the same reason nothing is done when a session ends: whoever takes its place next finds an entry armed.
#[derive(Debug, Default)]
pub struct Deadlines {
    /// May hold entries that an earlier one for the same place has overtaken; `armed` tells them.
    queue: BinaryHeap<Reverse<(Instant, u32)>>,
    /// For each place, the entry that counts.
    armed: Vec<Option<Instant>>,
}

impl Deadlines {
    /// Sees to it that `index` comes up no later than `when`.
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
        self.queue.push(Reverse((when, index)));
    }

    /// When the next place comes up. Entries of places that are not `in_use` are dropped first, so nobody is woken for
    /// a session that has ended.
    pub fn next(&mut self, in_use: impl Fn(u32) -> bool) -> Option<Instant> {
        while let Some(&Reverse((when, index))) = self.queue.peek() {
            let counts = self.armed[index as usize] == Some(when);
            if counts && in_use(index) {
                return Some(when);
            }
            self.queue.pop();
            if counts {
                self.armed[index as usize] = None;
            }
        }
        None
    }

    /// Takes out one place whose entry is due at `now`.
    pub fn pop(&mut self, now: Instant) -> Option<u32> {
        while let Some(&Reverse((when, index))) = self.queue.peek() {
            if when > now {
                return None;
            }
            self.queue.pop();
            let armed = &mut self.armed[index as usize];
            if *armed == Some(when) {
                *armed = None;
                return Some(index);
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

    fn seconds() -> impl Fn(u64) -> Instant {
        let start = Instant::now();
        move |n| start + Duration::from_secs(n)
    }

    #[test]
    fn places_come_up_in_order_of_time() {
        let at = seconds();
        let mut deadlines = Deadlines::default();
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
        let at = seconds();
        let mut deadlines = Deadlines::default();
        for when in 10..1_000 {
            deadlines.arm(0, at(when));
        }
        assert_eq!(deadlines.queue.len(), 1);
        assert_eq!(deadlines.pop(at(10)), Some(0), "the caller looks again");
        assert_eq!(deadlines.next(ALL), None);
    }

    #[test]
    fn an_earlier_deadline_overtakes_and_the_old_entry_is_skipped() {
        let at = seconds();
        let mut deadlines = Deadlines::default();
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
        let at = seconds();
        let mut deadlines = Deadlines::default();
        deadlines.arm(0, at(1));
        deadlines.arm(1, at(2));
        assert_eq!(deadlines.next(|index| index != 0), Some(at(2)));
        assert_eq!(deadlines.next(|_| false), None);
        deadlines.arm(0, at(5));
        assert_eq!(deadlines.next(ALL), Some(at(5)), "taken again, armed again");
    }

    #[test]
    fn a_place_taken_over_keeps_one_entry() {
        let at = seconds();
        let mut deadlines = Deadlines::default();
        for client in 0..1_000 {
            deadlines.arm(0, at(75 + client));
        }
        assert_eq!(deadlines.queue.len(), 1);
    }
}
