//! A ring in shared memory with one producer and one consumer, one each way: rtrb's.

use std::io;
use std::sync::Arc;

use rtrb::{Consumer, Producer, RingBuffer};

use super::futex::Word;
use super::{Handoff, Threads, ping_pong};
use crate::channels::Port;
use crate::row::Waits;

/// The consumer looks again and again.
pub(super) const SPINNING: Handoff = Handoff {
    name: "SPSC ring, spinning",
    waits: Waits::Spins,
    threads: Threads::Two,
    note: None,
    run: |cpus, count, each, hall| {
        let ((there, at_far), (back, at_near)) = (RingBuffer::new(SLOTS), RingBuffer::new(SLOTS));
        ping_pong(
            (Spinning(there, at_near), Spinning(back, at_far)),
            cpus,
            count,
            each,
            hall,
        )
    },
};

/// The consumer sleeps on a futex, and the producer wakes it.
pub(super) const WITH_FUTEX: Handoff = Handoff {
    name: "SPSC ring, futex",
    waits: Waits::Blocks,
    threads: Threads::Two,
    note: None,
    run: |cpus, count, each, hall| {
        let ((there, at_far), (back, at_near)) = (RingBuffer::new(SLOTS), RingBuffer::new(SLOTS));
        let (wake_far, wake_near) = (Arc::new(Word::default()), Arc::new(Word::default()));
        let near = Sleeping {
            ring: Spinning(there, at_near),
            wake: Arc::clone(&wake_far),
            woken: Arc::clone(&wake_near),
        };
        let far = Sleeping {
            ring: Spinning(back, at_far),
            wake: wake_near,
            woken: wake_far,
        };
        ping_pong((near, far), cpus, count, each, hall)
    },
};

/// Any number will do: a round trip never has more than one word in a ring.
const SLOTS: usize = 64;

struct Spinning(Producer<u8>, Consumer<u8>);

impl Port for Spinning {
    fn send(&mut self, message: &[u8]) -> io::Result<()> {
        self.0.push(message[0]).map_err(io::Error::other)
    }

    fn recv(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.1.pop() {
                Ok(byte) => {
                    buffer[0] = byte;
                    return Ok(1);
                }
                Err(_) => std::hint::spin_loop(),
            }
        }
    }
}

struct Sleeping {
    ring: Spinning,
    wake: Arc<Word>,
    woken: Arc<Word>,
}

impl Port for Sleeping {
    fn send(&mut self, message: &[u8]) -> io::Result<()> {
        self.ring.send(message)?;
        self.wake.put(1)
    }

    fn recv(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.woken.take()?;
        self.ring.recv(buffer) // it is there: it was pushed before the wake-up
    }
}
