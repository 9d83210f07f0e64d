//! An eventfd in an epoll set, one each way: how a runtime wakes a worker that sleeps in epoll_wait(2).

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use rustix::event::{EventfdFlags, epoll, eventfd};
use rustix::io::{read, retry_on_intr, write};

use super::{Handoff, Threads, ping_pong};
use crate::channels::Port;
use crate::failure::Failure;
use crate::row::Waits;

/// The byte itself is in memory; the eventfd only wakes.
pub(super) const EVENTFD: Handoff = Handoff {
    name: "eventfd + epoll",
    waits: Waits::Blocks,
    threads: Threads::Two,
    note: Some("write, epoll_wait, read"),
    run: |cpus, count, each, hall| {
        let make = || {
            Inbox::new()
                .map(Arc::new)
                .map_err(Failure::call("eventfd + epoll"))
        };
        let (at_far, at_near) = (make()?, make()?);
        let near = Side {
            inbox: Arc::clone(&at_near),
            outbox: Arc::clone(&at_far),
        };
        ping_pong(
            (
                near,
                Side {
                    inbox: at_far,
                    outbox: at_near,
                },
            ),
            cpus,
            count,
            each,
            hall,
        )
    },
};

struct Inbox {
    byte: AtomicU8,
    bell: OwnedFd,
    epoll: OwnedFd,
}

impl Inbox {
    fn new() -> io::Result<Self> {
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        epoll::add(
            &epoll,
            &bell,
            epoll::EventData::new_u64(0),
            epoll::EventFlags::IN,
        )?;
        Ok(Self {
            byte: AtomicU8::new(0),
            bell,
            epoll,
        })
    }
}

struct Side {
    inbox: Arc<Inbox>,
    outbox: Arc<Inbox>,
}

impl Port for Side {
    fn send(&mut self, message: &[u8]) -> io::Result<()> {
        self.outbox.byte.store(message[0], Ordering::Release);
        write(&self.outbox.bell, &1u64.to_ne_bytes())?;
        Ok(())
    }

    fn recv(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut events = [epoll::Event {
            flags: epoll::EventFlags::empty(),
            data: epoll::EventData::new_u64(0),
        }];
        retry_on_intr(|| epoll::wait(&self.inbox.epoll, &mut events, None))?;
        let mut rings = [0; size_of::<u64>()];
        read(&self.inbox.bell, &mut rings)?;
        buffer[0] = self.inbox.byte.load(Ordering::Acquire);
        Ok(1)
    }
}
