//! Streams of bytes: the port that pipes and sockets share, and TCP.

use std::io;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::fd::{AsFd, OwnedFd};

use rustix::io::{read, retry_on_intr, write};
use rustix::net::sockopt;

use super::{Channel, Made, Port};
use crate::failure::{Absence, Failure};
use crate::wire::{End, Given, Pattern};

/// What every buffer is set to that can be set. The kernel doubles it for sockets (socket(7)).
pub(crate) const BUFFER_BYTES: usize = 64 << 10;

/// The buffer of sockets, as notes say it.
pub(crate) const SOCKET_BUFFER: &str = "socket buffers of 64 KiB";

/// An end of a stream: where it reads and where it writes, which for a socket are the same.
#[derive(Debug)]
pub(crate) struct Stream {
    rx: OwnedFd,
    tx: OwnedFd,
}

impl Stream {
    pub(crate) fn of(given: Given) -> Result<Self, Failure> {
        let mut fds = given.fds.into_iter();
        let rx = fds
            .next()
            .ok_or_else(|| Failure::Wrong("no descriptor came".to_owned()))?;
        let tx = match fds.next() {
            Some(fd) => fd,
            None => rx.try_clone().map_err(Failure::call("dup"))?,
        };
        Ok(Self { rx, tx })
    }
}

impl Port for Stream {
    fn send(&mut self, message: &[u8]) -> io::Result<()> {
        let mut rest = message;
        while !rest.is_empty() {
            let written = retry_on_intr(|| write(&self.tx, rest))?;
            rest = &rest[written..];
        }
        Ok(())
    }

    fn recv(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        while filled < buffer.len() {
            match retry_on_intr(|| read(&self.rx, &mut buffer[filled..]))? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                got => filled += got,
            }
        }
        Ok(filled)
    }
}

/// Sets both buffers of a socket.
pub(crate) fn set_buffers(socket: &impl AsFd) -> Result<(), Failure> {
    sockopt::set_socket_send_buffer_size(socket, BUFFER_BYTES)
        .and_then(|()| sockopt::set_socket_recv_buffer_size(socket, BUFFER_BYTES))
        .map_err(Failure::call("setsockopt"))
}

/// TCP over loopback.
pub(crate) struct Tcp;

impl Channel for Tcp {
    type Port = Stream;

    fn name(&self) -> &'static str {
        "TCP"
    }

    fn note(&self, _: Pattern) -> String {
        format!("TCP_NODELAY, {SOCKET_BUFFER}")
    }

    fn absent(&self, _: Pattern) -> Option<Absence> {
        None
    }

    fn make(&self, _: Pattern) -> Result<Made, Failure> {
        let (near, far) = connected()?;
        Ok(Made::ends(
            Given::descriptors([near]),
            Given::descriptors([far]),
        ))
    }

    fn open(&self, _: End, _: Pattern, given: Given) -> Result<Stream, Failure> {
        Stream::of(given)
    }
}

/// Two ends of one TCP connection over loopback. The port is the kernel's choice, and free again at once.
pub(crate) fn connected() -> Result<(OwnedFd, OwnedFd), Failure> {
    let pair = || {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let near = TcpStream::connect(listener.local_addr()?)?;
        let (far, _) = listener.accept()?;
        near.set_nodelay(true)?;
        far.set_nodelay(true)?;
        Ok::<_, io::Error>((near, far))
    };
    let (near, far) = pair().map_err(Failure::call("a TCP connection over loopback"))?;
    set_buffers(&near)?;
    set_buffers(&far)?;
    Ok((near.into(), far.into()))
}
