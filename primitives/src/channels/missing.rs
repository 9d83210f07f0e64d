//! Channels of the documents that cannot be had here: their rows say why.

use super::unix::Packets;
use super::{Channel, Made};
use crate::failure::{Absence, Failure};
use crate::wire::{End, Given, Pattern};

/// A row without a value.
pub(crate) struct Missing {
    name: &'static str,
    why: &'static str,
}

/// Solaris doors.
pub(crate) const DOORS: Missing = Missing {
    name: "doors",
    why: "Linux has no doors; see Unix seqpacket on one CPU",
};

#[cfg(not(feature = "zmq"))]
mod zmq {
    use super::Missing;

    const WHY: &str = "this build has no libzmq; build with --features zmq";

    pub(crate) const IPC: Missing = Missing {
        name: "ZeroMQ ipc",
        why: WHY,
    };
    pub(crate) const TCP: Missing = Missing {
        name: "ZeroMQ tcp",
        why: WHY,
    };
    pub(crate) const REQ_REP: Missing = Missing {
        name: "ZeroMQ REQ/REP tcp",
        why: WHY,
    };
}

#[cfg(not(feature = "zmq"))]
pub(crate) use zmq::{IPC, REQ_REP, TCP};

impl Missing {
    fn absence(&self) -> Absence {
        Absence::Skipped(self.why.to_owned())
    }
}

impl Channel for Missing {
    type Port = Packets;

    fn name(&self) -> &'static str {
        self.name
    }

    fn note(&self, _: Pattern) -> String {
        String::new()
    }

    fn absent(&self, _: Pattern) -> Option<Absence> {
        Some(self.absence())
    }

    fn make(&self, _: Pattern) -> Result<Made, Failure> {
        Err(Failure::Wrong(self.absence().to_string()))
    }

    fn open(&self, _: End, _: Pattern, _: Given) -> Result<Packets, Failure> {
        Err(Failure::Wrong(self.absence().to_string()))
    }
}
