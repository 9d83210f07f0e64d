//! Opening connections: all of them before the load, and single ones again during it.

use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};
use socket2::{Domain, Protocol, Socket, Type};

use super::PacedError;
use crate::interrupt::Interrupt;
use crate::machine;

/// How long a first connection may take.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Descriptors besides the connections': the three standard ones, epoll, the timer, and what libraries hold.
const OTHER_DESCRIPTORS: u64 = 32;

/// Opens so many connections, established one after another, to the first of `addresses` that takes one: a name may have
/// several, and the server listen on one only.
pub(super) fn all(
    addresses: &[SocketAddr],
    connections: u32,
    interrupt: &Interrupt,
) -> Result<(SocketAddr, Vec<TcpStream>), PacedError> {
    check_descriptors(connections)?;
    let error = |addr, opened, source: io::Error| match source.kind() {
        ErrorKind::ConnectionRefused if opened == 0 => PacedError::Refused { addr },
        _ => PacedError::Connect {
            addr,
            opened,
            connections,
            source,
        },
    };
    let mut first = Err(PacedError::System(ErrorKind::AddrNotAvailable.into()));
    for &addr in addresses {
        first = established(addr)
            .map(|stream| (addr, stream))
            .map_err(|source| error(addr, 0, source));
        if first.is_ok() {
            break;
        }
    }
    let (addr, stream) = first?;
    let mut streams = vec![stream];
    for opened in 1..connections {
        interrupt.check()?;
        streams.push(established(addr).map_err(|source| error(addr, opened, source))?);
    }
    Ok((addr, streams))
}

fn check_descriptors(connections: u32) -> Result<(), PacedError> {
    machine::raise_open_files_limit();
    let needed = u64::from(connections) + OTHER_DESCRIPTORS;
    match getrlimit(Resource::Nofile).current {
        Some(limit) if limit < needed => Err(PacedError::Descriptors {
            connections,
            needed,
            limit,
        }),
        _ => Ok(()),
    }
}

fn established(addr: SocketAddr) -> io::Result<TcpStream> {
    let stream = TcpStream::connect_timeout(&addr, TIMEOUT)?;
    stream.set_nodelay(true)?;
    stream.set_nonblocking(true)?;
    Ok(stream)
}

/// Begins to open a connection: it is writable once it is open, or has failed.
pub(super) fn begin(addr: SocketAddr) -> io::Result<TcpStream> {
    let kind = Type::STREAM.nonblocking().cloexec();
    let socket = Socket::new(Domain::for_address(addr), kind, Some(Protocol::TCP))?;
    socket.set_tcp_nodelay(true)?;
    match socket.connect(&addr.into()) {
        Err(error) if error.raw_os_error() != Some(Errno::INPROGRESS.raw_os_error()) => Err(error),
        _ => Ok(socket.into()),
    }
}
