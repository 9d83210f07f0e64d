//! Channels that go wrong, each in one way, so that every check can be seen to fail.

use std::io;

use super::unix::{Packets, SEQPACKET};
use super::{Channel, Entry, Made, Port, entry};
use crate::failure::{Absence, Failure};
use crate::wire::{End, Given, Pattern};

/// How it goes wrong.
#[derive(Clone, Copy)]
enum Fault {
    Skips,
    Loses,
    Corrupts,
    Shortens,
    Dies,
    Hangs,
    LeavesEarly,
}

struct Faulty(&'static str, Fault);

pub(crate) const ALL: &[Entry] = &[
    entry(&Faulty("skips", Fault::Skips), ""),
    entry(&Faulty("loses", Fault::Loses), ""),
    entry(&Faulty("corrupts", Fault::Corrupts), ""),
    entry(&Faulty("shortens", Fault::Shortens), ""),
    entry(&Faulty("dies", Fault::Dies), ""),
    entry(&Faulty("hangs", Fault::Hangs), ""),
    entry(&Faulty("leaves early", Fault::LeavesEarly), ""),
];

impl Channel for Faulty {
    type Port = FaultyPort;

    fn name(&self) -> &'static str {
        self.0
    }

    fn note(&self, _: Pattern) -> String {
        String::new()
    }

    fn absent(&self, _: Pattern) -> Option<Absence> {
        None
    }

    fn loses(&self) -> bool {
        matches!(self.1, Fault::Loses)
    }

    fn make(&self, pattern: Pattern) -> Result<Made, Failure> {
        Channel::make(&SEQPACKET, pattern)
    }

    fn open(&self, end: End, _: Pattern, given: Given) -> Result<FaultyPort, Failure> {
        let fault = (end == End::Near).then_some(self.1);
        Ok(FaultyPort {
            port: Some(Packets(given.into_fd()?)),
            fault,
            sent: 0,
        })
    }
}

/// Its tenth message goes wrong.
struct FaultyPort {
    port: Option<Packets>,
    fault: Option<Fault>,
    sent: u64,
}

impl Port for FaultyPort {
    fn send(&mut self, message: &[u8]) -> io::Result<()> {
        self.sent += 1;
        let Some(port) = &mut self.port else {
            return Ok(());
        };
        let fault = self.fault.filter(|_| self.sent == 10);
        match fault {
            None => port.send(message),
            Some(Fault::Skips | Fault::Loses) => Ok(()),
            Some(Fault::Corrupts) => {
                let mut message = message.to_vec();
                let middle = message.len() / 2;
                message[middle] ^= 1;
                port.send(&message)
            }
            Some(Fault::Shortens) => port.send(&message[1..]),
            Some(Fault::Dies) => std::process::abort(),
            Some(Fault::Hangs) => loop {
                std::thread::park();
            },
            Some(Fault::LeavesEarly) => {
                self.port = None;
                Ok(())
            }
        }
    }

    fn recv(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &mut self.port {
            Some(port) => port.recv(buffer),
            None => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}
