//! ZeroMQ, by libzmq.

use std::io;
use std::os::fd::OwnedFd;

use zmq::{Context, Socket, SocketType};

use super::{Channel, Made, Port};
use crate::failure::{Absence, Failure};
use crate::sys::unique_name;
use crate::wire::{End, Given, Pattern};

/// PUSH to PULL over a Unix socket in the abstract namespace, which leaves no file behind.
pub(crate) const IPC: ZeroMq = ZeroMq {
    name: "ZeroMQ ipc",
    transport: Transport::Ipc,
    near: zmq::PUSH,
    far: zmq::PULL,
};
/// PUSH to PULL over TCP.
pub(crate) const TCP: ZeroMq = ZeroMq {
    name: "ZeroMQ tcp",
    transport: Transport::Tcp,
    near: zmq::PUSH,
    far: zmq::PULL,
};
/// REQ and REP over TCP.
pub(crate) const REQ_REP: ZeroMq = ZeroMq {
    name: "ZeroMQ REQ/REP tcp",
    transport: Transport::Tcp,
    near: zmq::REQ,
    far: zmq::REP,
};

/// A pair of ZeroMQ sockets.
pub(crate) struct ZeroMq {
    name: &'static str,
    transport: Transport,
    near: SocketType,
    far: SocketType,
}

#[derive(Clone, Copy)]
enum Transport {
    Ipc,
    Tcp,
}

impl Channel for ZeroMq {
    type Port = Zmq;

    fn name(&self) -> &'static str {
        self.name
    }

    fn note(&self, pattern: Pattern) -> String {
        let (major, minor, patch) = zmq::version();
        let depth = match pattern {
            Pattern::RoundTrip => "",
            Pattern::OneWay { .. } => {
                "high-water marks of 1,000 messages at each end, a hundred times what a Posix queue holds; "
            }
        };
        format!(
            "libzmq {major}.{minor}.{patch}; {depth}one I/O thread for each end, on its end's CPU"
        )
    }

    fn absent(&self, _: Pattern) -> Option<Absence> {
        None
    }

    fn make(&self, _: Pattern) -> Result<Made, Failure> {
        match self.transport {
            Transport::Ipc => {
                let name = format!("ipc://@{}", unique_name());
                Ok(Made::ends(Given::text(&name), Given::text(&name)))
            }
            Transport::Tcp => {
                let (port, held) = reserved_port().map_err(Failure::call("bind"))?;
                let name = format!("tcp://127.0.0.1:{port}");
                Ok(Made {
                    kept: Box::new(held),
                    ..Made::ends(Given::text(&name), Given::text(&name))
                })
            }
        }
    }

    fn open(&self, end: End, _: Pattern, given: Given) -> Result<Zmq, Failure> {
        let open = || {
            let context = Context::new();
            let socket = match end {
                End::Near => {
                    let socket = context.socket(self.near)?;
                    socket.bind(&given.text)?;
                    socket
                }
                End::Far => {
                    let socket = context.socket(self.far)?;
                    socket.connect(&given.text)?;
                    socket
                }
            };
            greet(&socket, end, self.near == zmq::REQ)?;
            Ok::<_, zmq::Error>(Zmq(socket))
        };
        open().map_err(Failure::call("ZeroMQ"))
    }
}

/// libzmq connects in the background: an empty message there, and back where that can be, ends when it has.
fn greet(socket: &Socket, end: End, both_ways: bool) -> zmq::Result<()> {
    if end == End::Near {
        socket.send(&b""[..], 0)?;
    } else {
        socket.recv_msg(0)?;
    }
    if both_ways && end == End::Near {
        socket.recv_msg(0)?;
    } else if both_ways {
        socket.send(&b""[..], 0)?;
    }
    Ok(())
}

/// A port that nobody else is given while the socket lives: bound, with SO_REUSEADDR as libzmq's own, but not listening.
fn reserved_port() -> io::Result<(u16, OwnedFd)> {
    use socket2::{Domain, Socket, Type};
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    socket.set_reuse_address(true)?;
    socket.bind(&std::net::SocketAddr::from(([127, 0, 0, 1], 0)).into())?;
    let address = socket.local_addr()?.as_socket();
    let port = address.ok_or(io::ErrorKind::AddrNotAvailable)?.port();
    Ok((port, socket.into()))
}

/// An end of a ZeroMQ connection. Dropped, it waits until what was sent has left.
pub(crate) struct Zmq(Socket);

impl Port for Zmq {
    fn send(&mut self, message: &[u8]) -> io::Result<()> {
        Ok(self.0.send(message, 0)?)
    }

    fn recv(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.0.recv_into(buffer, 0)?;
        if length > buffer.len() {
            return Err(io::Error::other(format!(
                "a message of {length} bytes came"
            )));
        }
        Ok(length)
    }
}
