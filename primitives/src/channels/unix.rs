//! Unix domain sockets: unix(7). All are socketpairs, which have no name that could be left behind.

use std::io;
use std::os::fd::OwnedFd;

use rustix::io::retry_on_intr;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socketpair,
};

use super::streams::{SOCKET_BUFFER, Stream, set_buffers};
use super::{Channel, Made, Port};
use crate::failure::{Absence, Failure};
use crate::limits;
use crate::wire::{End, Given, Pattern};

/// A stream socket.
pub(crate) struct UnixStream;

/// A socket that keeps the boundaries of messages.
pub(crate) struct UnixPackets {
    name: &'static str,
    kind: SocketType,
}

pub(crate) const STREAM: UnixStream = UnixStream;
pub(crate) const SEQPACKET: UnixPackets = UnixPackets {
    name: "Unix seqpacket",
    kind: SocketType::SEQPACKET,
};
pub(crate) const DATAGRAM: UnixPackets = UnixPackets {
    name: "Unix datagram",
    kind: SocketType::DGRAM,
};

impl Channel for UnixStream {
    type Port = Stream;

    fn name(&self) -> &'static str {
        "Unix stream"
    }

    fn note(&self, _: Pattern) -> String {
        SOCKET_BUFFER.to_owned()
    }

    fn absent(&self, _: Pattern) -> Option<Absence> {
        None
    }

    fn make(&self, _: Pattern) -> Result<Made, Failure> {
        pair(SocketType::STREAM)
    }

    fn open(&self, _: End, _: Pattern, given: Given) -> Result<Stream, Failure> {
        Stream::of(given)
    }
}

impl Channel for UnixPackets {
    type Port = Packets;

    fn name(&self) -> &'static str {
        self.name
    }

    fn note(&self, _: Pattern) -> String {
        match limits::read("net/unix/max_dgram_qlen") {
            Ok(depth) if self.kind == SocketType::DGRAM => {
                format!("{SOCKET_BUFFER}, at most {depth} + 1 datagrams waiting")
            }
            _ => SOCKET_BUFFER.to_owned(),
        }
    }

    fn absent(&self, _: Pattern) -> Option<Absence> {
        None
    }

    fn make(&self, _: Pattern) -> Result<Made, Failure> {
        pair(self.kind)
    }

    fn open(&self, _: End, _: Pattern, given: Given) -> Result<Packets, Failure> {
        given.into_fd().map(Packets)
    }
}

fn pair(kind: SocketType) -> Result<Made, Failure> {
    let (near, far) = socketpair(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None)
        .map_err(Failure::call("socketpair"))?;
    set_buffers(&near)?;
    set_buffers(&far)?;
    Ok(Made::ends(
        Given::descriptors([near]),
        Given::descriptors([far]),
    ))
}

/// An end of a connected socket that keeps boundaries.
#[derive(Debug)]
pub(crate) struct Packets(pub(crate) OwnedFd);

impl Port for Packets {
    fn send(&mut self, message: &[u8]) -> io::Result<()> {
        let sent = retry_on_intr(|| send(&self.0, message, SendFlags::NOSIGNAL))?;
        if sent == message.len() {
            Ok(())
        } else {
            Err(io::ErrorKind::WriteZero.into())
        }
    }

    fn recv(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // TRUNC: the message's own length, also if it is longer than expected.
        let (_, length) = retry_on_intr(|| recv(&self.0, &mut *buffer, RecvFlags::TRUNC))?;
        match length {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            length if length > buffer.len() => Err(io::Error::other(format!(
                "a message of {length} bytes came"
            ))),
            length => Ok(length),
        }
    }
}
