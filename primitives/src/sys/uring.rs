//! Two rings that tell each other a number: io_uring(7).

use std::io;
use std::os::fd::{AsRawFd, RawFd};

use io_uring::{IoUring, opcode, squeue, types};

/// A ring of one thread.
pub struct Ring(IoUring);

/// Entries of the submission queue: never more than one is in use.
const ENTRIES: u32 = 4;

impl Ring {
    /// Makes one.
    ///
    /// # Errors
    ///
    /// Those of io_uring_setup(2): EPERM where a container or `kernel.io_uring_disabled` forbids it.
    pub fn new() -> io::Result<Self> {
        IoUring::new(ENTRIES).map(Self)
    }

    /// The descriptor that the other ring's thread sends to.
    #[must_use]
    pub fn id(&self) -> RawFd {
        self.0.as_raw_fd()
    }

    /// Puts a completion with `number` into the ring `other`.
    ///
    /// # Errors
    ///
    /// Those of io_uring_enter(2).
    pub fn tell(&mut self, other: RawFd, number: u64) -> io::Result<()> {
        // Only a failure completes here; a success would have to be reaped.
        let entry = opcode::MsgRingData::new(types::Fd(other), 0, number, None)
            .build()
            .flags(squeue::Flags::SKIP_SUCCESS)
            .user_data(FAILED);
        // SAFETY: the entry points to no memory of ours.
        unsafe { self.0.submission().push(&entry) }.map_err(io::Error::other)?;
        self.0.submit().map(drop)
    }

    /// Waits for the next completion; its number.
    ///
    /// # Errors
    ///
    /// Those of io_uring_enter(2), and that of a message that could not be sent.
    pub fn hear(&mut self) -> io::Result<u64> {
        loop {
            if let Some(completion) = self.0.completion().next() {
                return match completion.user_data() {
                    FAILED => Err(io::Error::from_raw_os_error(-completion.result())),
                    number => Ok(number),
                };
            }
            match self.0.submit_and_wait(1) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => drop(result?),
            }
        }
    }
}

/// The user data of a message that failed.
const FAILED: u64 = u64::MAX;
