//! Channels for threads: std's and crossbeam's, one each way, with room for one word as far as they can be bounded.

use std::io;
use std::sync::mpsc;

use super::{Handoff, Threads, ping_pong};
use crate::channels::Port;
use crate::row::Waits;

/// `std::sync::mpsc`.
pub(super) const STD: Handoff = Handoff {
    name: "std channel",
    waits: Waits::SpinsThenBlocks,
    threads: Threads::Two,
    note: Some("sync_channel of 1"),
    run: |cpus, count, each, hall| {
        let ((there, at_far), (back, at_near)) = (mpsc::sync_channel(1), mpsc::sync_channel(1));
        ping_pong(
            (Std(there, at_near), Std(back, at_far)),
            cpus,
            count,
            each,
            hall,
        )
    },
};

/// `crossbeam_channel`.
pub(super) const CROSSBEAM: Handoff = Handoff {
    name: "crossbeam channel",
    waits: Waits::SpinsThenBlocks,
    threads: Threads::Two,
    note: Some("bounded, 1"),
    run: |cpus, count, each, hall| {
        let ((there, at_far), (back, at_near)) =
            (crossbeam_channel::bounded(1), crossbeam_channel::bounded(1));
        ping_pong(
            (Crossbeam(there, at_near), Crossbeam(back, at_far)),
            cpus,
            count,
            each,
            hall,
        )
    },
};

struct Std(mpsc::SyncSender<u8>, mpsc::Receiver<u8>);

impl Port for Std {
    fn send(&mut self, message: &[u8]) -> io::Result<()> {
        self.0
            .send(message[0])
            .map_err(|_| io::ErrorKind::BrokenPipe.into())
    }

    fn recv(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        buffer[0] = self.1.recv().map_err(|_| io::ErrorKind::UnexpectedEof)?;
        Ok(1)
    }
}

struct Crossbeam(
    crossbeam_channel::Sender<u8>,
    crossbeam_channel::Receiver<u8>,
);

impl Port for Crossbeam {
    fn send(&mut self, message: &[u8]) -> io::Result<()> {
        self.0
            .send(message[0])
            .map_err(|_| io::ErrorKind::BrokenPipe.into())
    }

    fn recv(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        buffer[0] = self.1.recv().map_err(|_| io::ErrorKind::UnexpectedEof)?;
        Ok(1)
    }
}
