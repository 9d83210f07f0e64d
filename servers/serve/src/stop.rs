//! The wish to stop, in a form that every kind of selector can wait for.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::event::{EventfdFlags, eventfd};

/// A flag that can be raised once, by anybody, and is never lowered.
///
/// As a descriptor it is an eventfd(2) that nobody reads, so it stays readable for every selector that watches it.
/// A level-triggered watcher must stop watching once it has seen it.
#[derive(Clone, Debug)]
pub struct Stop(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    raised: AtomicBool,
    eventfd: OwnedFd,
}

impl Stop {
    /// A flag not yet raised.
    ///
    /// # Errors
    ///
    /// Those of eventfd(2): no descriptor is left.
    pub fn new() -> io::Result<Self> {
        let eventfd = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self(Arc::new(Inner {
            raised: AtomicBool::new(false),
            eventfd,
        })))
    }

    /// Raises the flag; raising it again changes nothing.
    pub fn raise(&self) {
        if !self.0.raised.swap(true, Ordering::Release) {
            rustix::io::write(&self.0.eventfd, &1u64.to_ne_bytes())
                .expect("an eventfd takes its first write");
        }
    }

    /// Whether it is time to stop.
    #[must_use]
    pub fn is_raised(&self) -> bool {
        self.0.raised.load(Ordering::Acquire)
    }
}

impl AsFd for Stop {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.eventfd.as_fd()
    }
}

impl AsRawFd for Stop {
    fn as_raw_fd(&self) -> RawFd {
        self.0.eventfd.as_raw_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    fn is_readable(stop: &Stop) -> bool {
        let mut fds = [PollFd::new(stop, PollFlags::IN)];
        poll(&mut fds, Some(&Timespec::default())).unwrap() == 1
    }

    #[test]
    fn once_raised_it_stays_readable_for_all() {
        let stop = Stop::new().unwrap();
        let other = stop.clone();
        assert!(!other.is_raised() && !is_readable(&other));
        stop.raise();
        stop.raise();
        assert!(other.is_raised() && is_readable(&other));
        assert!(is_readable(&stop), "looking does not lower it");
    }
}
