//! System V message queues: sysvipc(7).

use std::io;

use super::{Channel, Made, Port};
use crate::failure::{Absence, Failure};
use crate::limits;
use crate::sys::sysv::{MessageQueue, Owned};
use crate::wire::{End, Given, Pattern};

/// A System V queue; for round trips one each way.
pub(crate) struct SysvQueue;

impl Channel for SysvQueue {
    type Port = Queues;

    fn name(&self) -> &'static str {
        "System V queue"
    }

    fn note(&self, _: Pattern) -> String {
        limits::read("kernel/msgmnb")
            .map_or_else(|_| String::new(), |bytes| format!("depth {bytes} bytes"))
    }

    fn absent(&self, pattern: Pattern) -> Option<Absence> {
        limits::sysv_queue(pattern.bytes())
    }

    fn make(&self, _: Pattern) -> Result<Made, Failure> {
        let queue = || Owned::<MessageQueue>::make().map_err(Failure::call("msgget"));
        let (there, back) = (queue()?, queue()?);
        let given = |rx: &Owned<MessageQueue>, tx: &Owned<MessageQueue>| {
            Given::text(format!("{} {}", rx.id(), tx.id()))
        };
        let given = vec![given(&back, &there), given(&there, &back)];
        // Removal destroys a queue at once, whoever uses it: the keeper does so at the end.
        Ok(Made {
            given,
            kept: Box::new((there, back)),
        })
    }

    fn open(&self, _: End, pattern: Pattern, given: Given) -> Result<Queues, Failure> {
        let ids = given
            .text
            .split_once(' ')
            .and_then(|(rx, tx)| Some((rx.parse().ok()?, tx.parse().ok()?)));
        let (rx, tx) = ids
            .ok_or_else(|| Failure::Wrong(format!("{:?} does not name two queues", given.text)))?;
        let room = || MessageQueue::room(pattern.bytes());
        Ok(Queues {
            rx: MessageQueue::of(rx),
            tx: MessageQueue::of(tx),
            incoming: room(),
            outgoing: room(),
        })
    }
}

/// The queues that one end reads from and writes to, and a message for each: msgsnd(2) wants the type before the text.
#[derive(Debug)]
pub(crate) struct Queues {
    rx: MessageQueue,
    tx: MessageQueue,
    incoming: Vec<u64>,
    outgoing: Vec<u64>,
}

impl Port for Queues {
    fn send(&mut self, message: &[u8]) -> io::Result<()> {
        self.tx.send(&mut self.outgoing, message)
    }

    fn recv(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.rx.receive(&mut self.incoming, buffer)
    }
}
