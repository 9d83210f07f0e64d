//! Futexes: futex(2).

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::io::Errno;
use rustix::thread::futex::{Flags, wait, wake};

use super::{Handoff, Threads, ping_pong};
use crate::channels::Port;
use crate::clock::{cpu_ns, now_ns};
use crate::failure::Failure;
use crate::roles::round_trip::rounds;
use crate::row::Waits;
use crate::wire::Report;

/// FUTEX_WAKE while nobody waits: what a careless notifier pays each time.
pub(super) const WITHOUT_WAITER: Handoff = Handoff {
    name: "futex wake, no waiter",
    waits: Waits::Blocks,
    threads: Threads::One,
    note: Some("one FUTEX_WAKE, not a round trip"),
    run: |_, count, each, hall| {
        let word = AtomicU32::new(0);
        hall.ready()?;
        let cpu = cpu_ns();
        let each = rounds(count, each, |_| {
            let woken = wake(&word, Flags::PRIVATE, 1).map_err(Failure::call("futex"))?;
            if woken == 0 {
                Ok(())
            } else {
                Err(Failure::Wrong(format!(
                    "{woken} threads were woken, of none"
                )))
            }
        })?;
        Ok(Report {
            end_ns: now_ns(),
            cpu_ns: cpu_ns() - cpu,
            each,
            ..Report::default()
        })
    },
};

/// A word that one thread writes and wakes for, and another sleeps on; one each way.
pub(super) const WITH_WAITER: Handoff = Handoff {
    name: "futex",
    waits: Waits::Blocks,
    threads: Threads::Two,
    note: None,
    run: |cpus, count, each, hall| {
        let (there, back) = (Arc::new(Word::default()), Arc::new(Word::default()));
        let near = Words {
            rx: Arc::clone(&back),
            tx: Arc::clone(&there),
        };
        ping_pong(
            (
                near,
                Words {
                    rx: there,
                    tx: back,
                },
            ),
            cpus,
            count,
            each,
            hall,
        )
    },
};

/// A futex on cache lines of its own: 0 is empty, anything else a byte plus 1.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(super) struct Word(AtomicU32);

impl Word {
    /// Puts `value` in, which is not 0, and wakes who waits.
    pub(super) fn put(&self, value: u32) -> io::Result<()> {
        self.0.store(value, Ordering::Release);
        wake(&self.0, Flags::PRIVATE, 1)?;
        Ok(())
    }

    /// Waits for a value and takes it out.
    pub(super) fn take(&self) -> io::Result<u32> {
        loop {
            match self.0.swap(0, Ordering::Acquire) {
                0 => match wait(&self.0, Flags::PRIVATE, 0, None) {
                    Ok(()) | Err(Errno::AGAIN | Errno::INTR) => {}
                    Err(error) => return Err(error.into()),
                },
                value => return Ok(value),
            }
        }
    }
}

struct Words {
    rx: Arc<Word>,
    tx: Arc<Word>,
}

impl Port for Words {
    fn send(&mut self, message: &[u8]) -> io::Result<()> {
        self.tx.put(u32::from(message[0]) + 1)
    }

    fn recv(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        buffer[0] = u8::try_from(self.rx.take()? - 1).map_err(io::Error::other)?;
        Ok(1)
    }
}
