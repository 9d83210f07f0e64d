//! io_uring's message from one ring to another, one each way: IORING_OP_MSG_RING, io_uring_enter(2). How a
//! thread-per-core runtime hands something to another core without a lock.

use std::io;
use std::os::fd::RawFd;

use super::{Handoff, Threads, ping_pong};
use crate::channels::Port;
use crate::failure::Absence;
use crate::row::Waits;
use crate::sys::uring::Ring;

/// The byte is the completion's user data.
pub(super) const MSG_RING: Handoff = Handoff {
    name: "io_uring MSG_RING",
    waits: Waits::Blocks,
    threads: Threads::Two,
    note: None,
    run: |cpus, count, each, hall| {
        let skipped = |error| Absence::Skipped(format!("io_uring_setup: {error}"));
        let (near, far) = (Ring::new().map_err(skipped)?, Ring::new().map_err(skipped)?);
        let (at_near, at_far) = (near.id(), far.id());
        ping_pong(
            (
                Side {
                    ring: near,
                    other: at_far,
                },
                Side {
                    ring: far,
                    other: at_near,
                },
            ),
            cpus,
            count,
            each,
            hall,
        )
    },
};

struct Side {
    ring: Ring,
    other: RawFd,
}

impl Port for Side {
    fn send(&mut self, message: &[u8]) -> io::Result<()> {
        self.ring.tell(self.other, u64::from(message[0]))
    }

    fn recv(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        buffer[0] = u8::try_from(self.ring.hear()?).map_err(io::Error::other)?;
        Ok(1)
    }
}
