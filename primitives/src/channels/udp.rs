//! UDP over loopback: udp(7).

use std::io;
use std::net::{Ipv4Addr, UdpSocket};
use std::time::Duration;

use super::streams::{SOCKET_BUFFER, set_buffers};
use super::unix::Packets;
use super::{Channel, Made};
use crate::failure::{Absence, Failure};
use crate::limits;
use crate::wire::{End, Given, Pattern};

/// Two connected UDP sockets. What the reader has no room for is lost.
pub(crate) struct Udp;

/// How long a reader of a flow waits for more: the writer's markers may all have been lost.
const END_OF_FLOW: Duration = Duration::from_millis(500);

impl Channel for Udp {
    type Port = Packets;

    fn name(&self) -> &'static str {
        "UDP"
    }

    fn note(&self, _: Pattern) -> String {
        SOCKET_BUFFER.to_owned()
    }

    fn absent(&self, pattern: Pattern) -> Option<Absence> {
        limits::udp(pattern.bytes())
    }

    fn loses(&self) -> bool {
        true
    }

    fn make(&self, _: Pattern) -> Result<Made, Failure> {
        connected()
    }

    fn open(&self, end: End, pattern: Pattern, given: Given) -> Result<Packets, Failure> {
        let port = Packets(given.into_fd()?);
        if let (End::Far, Pattern::OneWay { .. }) = (end, pattern) {
            use rustix::net::sockopt::{Timeout, set_socket_timeout};
            set_socket_timeout(&port.0, Timeout::Recv, Some(END_OF_FLOW))
                .map_err(Failure::call("setsockopt"))?;
        }
        Ok(port)
    }
}

/// Two sockets that hear only each other.
pub(crate) fn connected() -> Result<Made, Failure> {
    let pair = || {
        let near = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        let far = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        near.connect(far.local_addr()?)?;
        far.connect(near.local_addr()?)?;
        Ok::<_, io::Error>((near, far))
    };
    let (near, far) = pair().map_err(Failure::call("a pair of UDP sockets over loopback"))?;
    set_buffers(&near)?;
    set_buffers(&far)?;
    Ok(Made::ends(
        Given::descriptors([near.into()]),
        Given::descriptors([far.into()]),
    ))
}
