//! Posix message queues: mq_overview(7).

use std::io;
use std::os::fd::OwnedFd;

use super::{Channel, Made, Port};
use crate::failure::{Absence, Failure};
use crate::limits;
use crate::sys::mqueue;
use crate::wire::{End, Given, Pattern};

/// A Posix queue; for round trips one each way.
pub(crate) struct PosixQueue;

/// How many messages a queue holds: the most that an unprivileged process may ask for (`fs.mqueue.msg_max`).
const DEPTH: usize = 10;

impl Channel for PosixQueue {
    type Port = Queues;

    fn name(&self) -> &'static str {
        "Posix queue"
    }

    fn note(&self, _: Pattern) -> String {
        format!("depth {DEPTH} messages")
    }

    fn absent(&self, pattern: Pattern) -> Option<Absence> {
        limits::posix_queue(DEPTH, pattern.bytes())
    }

    fn make(&self, pattern: Pattern) -> Result<Made, Failure> {
        let queue = || mqueue::unnamed(DEPTH, pattern.bytes()).map_err(Failure::call("mq_open"));
        let (there, back) = (queue()?, queue()?);
        let again = |queue: &OwnedFd| queue.try_clone().map_err(Failure::call("dup"));
        let near = Given::descriptors([again(&back)?, again(&there)?]);
        Ok(Made::ends(near, Given::descriptors([there, back])))
    }

    fn open(&self, _: End, _: Pattern, given: Given) -> Result<Queues, Failure> {
        let fds = <[OwnedFd; 2]>::try_from(given.fds);
        let [rx, tx] = fds.map_err(|_| Failure::Wrong("two queues were expected".to_owned()))?;
        Ok(Queues { rx, tx })
    }
}

/// The queues that one end reads from and writes to.
#[derive(Debug)]
pub(crate) struct Queues {
    rx: OwnedFd,
    tx: OwnedFd,
}

impl Port for Queues {
    fn send(&mut self, message: &[u8]) -> io::Result<()> {
        mqueue::send(&self.tx, message, 0)
    }

    fn recv(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        mqueue::receive(&self.rx, buffer).map(|(length, _)| length)
    }
}
