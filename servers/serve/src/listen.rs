//! Listening sockets: one for each worker, or one that all share.
//!
//! One helper for every rung: `TcpListener::bind` of std, mio and tokio fix the backlog, mostly at 128, and a sweep with
//! more connections than that would measure dropped SYNs.

use std::io;
use std::net::{SocketAddr, TcpListener};

use rustix::io::Errno;
use socket2::{Domain, Protocol, Socket, Type};

use crate::flags::Accept;

/// Why there is no listener.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ListenError {
    #[error(
        "address {addr} is in use: stop the other server or give another port with --listen, e.g. --listen {free}",
        free = SocketAddr::new(addr.ip(), 0)
    )]
    InUse { addr: SocketAddr },
    #[error("may not listen on {addr}: give a port above 1023 with --listen, e.g. --listen {free}",
        free = SocketAddr::new(addr.ip(), 0)
    )]
    Denied { addr: SocketAddr },
    #[error(
        "no interface of this machine has the address {addr}: give another with --listen, e.g. --listen 127.0.0.1:0"
    )]
    NotLocal { addr: SocketAddr },
    #[error("cannot listen on {addr}: {source}")]
    Other { addr: SocketAddr, source: io::Error },
}

impl ListenError {
    fn new(addr: SocketAddr, source: io::Error) -> Self {
        match Errno::from_io_error(&source) {
            Some(Errno::ADDRINUSE) => Self::InUse { addr },
            Some(Errno::ACCESS) => Self::Denied { addr },
            Some(Errno::ADDRNOTAVAIL) => Self::NotLocal { addr },
            _ => Self::Other { addr, source },
        }
    }
}

/// Opens a listener for each of `workers`, all on the same address; port 0 is resolved by the first.
pub(crate) fn open(
    addr: SocketAddr,
    workers: usize,
    accept: Accept,
    backlog: i32,
) -> Result<Vec<TcpListener>, ListenError> {
    open_all(addr, workers, accept, backlog).map_err(|source| ListenError::new(addr, source))
}

fn open_all(
    addr: SocketAddr,
    workers: usize,
    accept: Accept,
    backlog: i32,
) -> io::Result<Vec<TcpListener>> {
    let first = bind(addr, Port::Ours)?;
    let per_thread = workers > 1 && accept == Accept::PerThread;
    if per_thread {
        // Only now, with the port ours: a socket bound with SO_REUSEPORT would quietly join any other server of this
        // user that has set it too, and the two would share the traffic.
        first.set_reuse_port(true)?;
    }
    first.listen(backlog)?;
    let first = TcpListener::from(first);
    let addr = first.local_addr()?;
    let mut listeners = vec![first];
    while listeners.len() < workers {
        listeners.push(if per_thread {
            let next = bind(addr, Port::SharedWithinProcess)?;
            next.listen(backlog)?;
            next.into()
        } else {
            listeners[0].try_clone()?
        });
    }
    Ok(listeners)
}

/// Who may have the port already.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Port {
    Ours,
    SharedWithinProcess,
}

fn bind(addr: SocketAddr, port: Port) -> io::Result<Socket> {
    let kind = Type::STREAM.nonblocking().cloexec();
    let socket = Socket::new(Domain::for_address(addr), kind, Some(Protocol::TCP))?;
    // Lets a restarted server have its port while connections of its predecessor are in TIME_WAIT.
    socket.set_reuse_address(true)?;
    // On Linux accepted sockets inherit it, which saves a system call for each connection.
    socket.set_tcp_nodelay(true)?;
    if port == Port::SharedWithinProcess {
        socket.set_reuse_port(true)?;
    }
    socket.bind(&addr.into())?;
    Ok(socket)
}

/// The kernel's bound on any backlog, where it is below `backlog` and so cuts it.
pub(crate) fn lower_somaxconn(backlog: i32) -> Option<i32> {
    let text = std::fs::read_to_string("/proc/sys/net/core/somaxconn").ok()?;
    let somaxconn = text.trim().parse().ok()?;
    (somaxconn < backlog).then_some(somaxconn)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{Ipv4Addr, TcpStream};

    const ANY: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

    fn addr(listener: &TcpListener) -> SocketAddr {
        listener.local_addr().unwrap()
    }

    #[test]
    fn every_worker_gets_a_listener_on_the_same_port() {
        for accept in [Accept::PerThread, Accept::Shared] {
            let listeners = open(ANY, 3, accept, 16).unwrap();
            assert_eq!(listeners.len(), 3);
            assert_ne!(addr(&listeners[0]).port(), 0);
            assert!(listeners.iter().all(|l| addr(l) == addr(&listeners[0])));
        }
    }

    #[test]
    fn only_listeners_per_thread_set_reuse_port() {
        let reuse_port = |workers, accept| {
            let listeners = open(ANY, workers, accept, 16).unwrap();
            socket2::SockRef::from(&listeners[0]).reuse_port().unwrap()
        };
        assert!(!reuse_port(1, Accept::PerThread));
        assert!(!reuse_port(2, Accept::Shared));
        assert!(reuse_port(2, Accept::PerThread));
    }

    #[test]
    fn all_listeners_of_a_group_are_connected_to() {
        let listeners = open(ANY, 2, Accept::PerThread, 256).unwrap();
        let _clients: Vec<_> = (0..100)
            .map(|_| TcpStream::connect(addr(&listeners[0])).unwrap())
            .collect();
        for listener in &listeners {
            assert!(listener.accept().is_ok(), "100 clients, all on the other");
        }
    }

    #[test]
    fn a_port_in_use_is_an_error_even_if_its_holder_would_share() {
        let holder = bind(ANY, Port::SharedWithinProcess).unwrap();
        holder.listen(16).unwrap();
        let addr = addr(&holder.into());
        let holder = open(addr, 1, Accept::Shared, 16);
        assert!(holder.is_ok(), "a closed holder leaves the port free");

        let holder = {
            drop(holder);
            let socket = bind(addr, Port::SharedWithinProcess).unwrap();
            socket.listen(16).unwrap();
            socket
        };
        for workers in [1, 2] {
            let error = open(addr, workers, Accept::PerThread, 16).unwrap_err();
            assert_eq!(
                error.to_string(),
                format!(
                    "address {addr} is in use: stop the other server or give another port with --listen, \
                     e.g. --listen 127.0.0.1:0"
                )
            );
        }
        drop(holder);
    }

    #[test]
    fn accepted_sockets_inherit_nodelay() {
        let listeners = open(ANY, 1, Accept::PerThread, 16).unwrap();
        let _client = TcpStream::connect(addr(&listeners[0])).unwrap();
        let (accepted, _) = listeners[0].accept().unwrap();
        assert!(accepted.nodelay().unwrap());
    }

    #[test]
    fn other_errors_say_what_to_do() {
        let error = open("192.0.2.1:0".parse().unwrap(), 1, Accept::Shared, 16).unwrap_err();
        assert!(matches!(error, ListenError::NotLocal { .. }), "{error}");
    }

    #[test]
    fn a_backlog_above_any_bound_is_noticed() {
        assert_eq!(lower_somaxconn(1), None);
        assert!(lower_somaxconn(i32::MAX).is_some_and(|n| n > 0));
    }
}
