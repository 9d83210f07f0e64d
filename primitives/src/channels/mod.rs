//! Channels that carry messages: one file for each mechanism.

#[cfg(test)]
mod faulty;
pub(crate) mod fifo;
mod missing;
pub(crate) mod pipe;
pub(crate) mod posix_mq;
mod rpc;
pub(crate) mod streams;
pub(crate) mod sysv_mq;
pub(crate) mod udp;
pub(crate) mod unix;
#[cfg(feature = "zmq")]
mod zmq;

#[cfg(not(feature = "zmq"))]
use self::missing as zmq;

use std::any::Any;
use std::fmt::Debug;
use std::io;
use std::mem;

use crate::child::Hall;
use crate::failure::{Absence, Failure};
use crate::roles;
use crate::row::Waits;
use crate::wire::{End, Given, Pattern, Report};

/// One end of an open channel.
pub trait Port {
    /// Sends all of `message`, as one.
    ///
    /// # Errors
    ///
    /// Those of the mechanism's call.
    fn send(&mut self, message: &[u8]) -> io::Result<()>;

    /// Receives one message into `buffer`, which is as long as the messages are; says how long the message was.
    ///
    /// # Errors
    ///
    /// Those of the mechanism's call; [`io::ErrorKind::UnexpectedEof`] if the other end is gone.
    fn recv(&mut self, buffer: &mut [u8]) -> io::Result<usize>;
}

/// A mechanism between two processes.
pub trait Channel: Sync {
    /// What an open end is.
    type Port: Port;

    /// Its name in tables.
    fn name(&self) -> &'static str;

    /// In what it differs from its neighbours when it is used so; as a rule its buffer or its depth.
    fn note(&self, pattern: Pattern) -> String;

    /// What is known, before anything is made, to stand against `pattern` here.
    fn absent(&self, pattern: Pattern) -> Option<Absence>;

    /// Whether messages can be lost.
    fn loses(&self) -> bool {
        false
    }

    /// Makes the kernel's objects, in the keeper.
    ///
    /// # Errors
    ///
    /// Those of the mechanism's calls.
    fn make(&self, pattern: Pattern) -> Result<Made, Failure>;

    /// Opens one end, in the process that will use it.
    ///
    /// # Errors
    ///
    /// Those of the mechanism's calls.
    fn open(&self, end: End, pattern: Pattern, given: Given) -> Result<Self::Port, Failure>;
}

/// What a keeper made.
#[derive(Debug)]
pub struct Made {
    /// For the near and the far end, or once for all workers.
    pub given: Vec<Given>,
    /// Removes, when dropped, what would outlive its users.
    pub kept: Box<dyn Any>,
}

impl Made {
    /// Of descriptors that need nobody to remove them.
    #[must_use]
    pub fn ends(near: Given, far: Given) -> Self {
        Self {
            given: vec![near, far],
            kept: Box::new(()),
        }
    }
}

/// A [`Channel`] whose loops are compiled for its own ports.
pub trait AnyChannel: Sync {
    /// See [`Channel::name`].
    fn name(&self) -> &'static str;
    /// See [`Channel::note`].
    fn note(&self, pattern: Pattern) -> String;
    /// All of them sleep in the kernel.
    fn waits(&self) -> Waits {
        Waits::Blocks
    }
    /// See [`Channel::absent`].
    fn absent(&self, pattern: Pattern) -> Option<Absence>;
    /// See [`Channel::make`].
    ///
    /// # Errors
    ///
    /// Those of the mechanism's calls.
    fn make(&self, pattern: Pattern) -> Result<Made, Failure>;
    /// One end's part of a trial.
    ///
    /// # Errors
    ///
    /// What went wrong, or was found to be wrong.
    fn work(
        &self,
        end: End,
        pattern: Pattern,
        given: Given,
        count: u64,
        each: bool,
        hall: &Hall,
    ) -> Result<Report, Failure>;
}

impl<C: Channel> AnyChannel for C {
    fn name(&self) -> &'static str {
        Channel::name(self)
    }

    fn note(&self, pattern: Pattern) -> String {
        Channel::note(self, pattern)
    }

    fn absent(&self, pattern: Pattern) -> Option<Absence> {
        Channel::absent(self, pattern)
    }

    fn make(&self, pattern: Pattern) -> Result<Made, Failure> {
        Channel::make(self, pattern)
    }

    fn work(
        &self,
        end: End,
        pattern: Pattern,
        given: Given,
        count: u64,
        each: bool,
        hall: &Hall,
    ) -> Result<Report, Failure> {
        let mut port = self.open(end, pattern, given)?;
        hall.ready()?;
        let result = match (pattern, end) {
            (Pattern::RoundTrip, End::Near) => roles::round_trip::call(&mut port, count, each),
            (Pattern::RoundTrip, End::Far) => roles::round_trip::answer(&mut port, count),
            (Pattern::OneWay { bytes, body }, End::Near) => {
                roles::one_way::write(&mut port, bytes, body, count, self.loses())
            }
            (Pattern::OneWay { bytes, body }, End::Far) => {
                roles::one_way::read(&mut port, bytes, body, count, self.loses())
            }
        };
        if result.is_err() {
            // The parent has to hear why before the other end can notice that this one is gone.
            mem::forget(port);
        }
        result
    }
}

/// Which tables a channel is in.
#[derive(Clone, Copy)]
pub struct Entry {
    /// The mechanism.
    pub channel: &'static dyn AnyChannel,
    /// Round trips of one byte.
    pub latency: bool,
    /// MB/s by message size.
    pub bandwidth: bool,
    /// 2,000,000 messages of 1,032 bytes.
    pub messages: bool,
    /// Beside the documents' rows: what a reader wants today.
    pub wakeups: bool,
}

impl Debug for Entry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.channel.name())
    }
}

const fn entry(channel: &'static dyn AnyChannel, tables: &str) -> Entry {
    let mut entry = Entry {
        channel,
        latency: false,
        bandwidth: false,
        messages: false,
        wakeups: false,
    };
    let mut i = 0;
    while i < tables.len() {
        match tables.as_bytes()[i] {
            b'L' => entry.latency = true,
            b'B' => entry.bandwidth = true,
            b'M' => entry.messages = true,
            _ => entry.wakeups = true,
        }
        i += 1;
    }
    entry
}

/// Every channel, in the order of the documents' tables, with the families it is in: Latency, Bandwidth, Messages, Wakeups.
pub const ALL: &[Entry] = &[
    entry(&pipe::Pipe, "LB"),
    entry(&fifo::Fifo, "LB"),
    entry(&posix_mq::PosixQueue, "LBM"),
    entry(&sysv_mq::SysvQueue, "LB"),
    entry(&missing::DOORS, "LB"),
    entry(&rpc::RPC_OVER_TCP, "LB"),
    entry(&rpc::RPC_OVER_UDP, "LB"),
    entry(&streams::Tcp, "LB"),
    entry(&udp::Udp, "LM"),
    entry(&unix::STREAM, "LB"),
    entry(&unix::SEQPACKET, "L"),
    entry(&unix::DATAGRAM, "LM"),
    entry(&zmq::IPC, "M"),
    entry(&zmq::TCP, "M"),
    entry(&zmq::REQ_REP, "L"),
];

/// The channel of that name.
#[must_use]
pub fn named(name: &str) -> Option<&'static dyn AnyChannel> {
    #[cfg(test)]
    let all = ALL.iter().chain(faulty::ALL);
    #[cfg(not(test))]
    let all = ALL.iter();
    all.map(|entry| entry.channel)
        .find(|channel| channel.name() == name)
}
