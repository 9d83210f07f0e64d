//! The peers of a port's established connections, asked of the kernel itself (sock_diag(7)).
//!
//! A sweep leaves tens of thousands of sockets in TIME_WAIT behind, each a line of /proc/net/tcp: to read that takes longer
//! than to open a thousand connections. Here the kernel picks out what is wanted.

use std::collections::HashSet;
use std::io;
use std::net::IpAddr;

use netlink_packet_core::{
    NLM_F_DUMP, NLM_F_REQUEST, NetlinkHeader, NetlinkMessage, NetlinkPayload,
};
use netlink_packet_sock_diag::SockDiagMessage;
use netlink_packet_sock_diag::constants::{AF_INET, AF_INET6, IPPROTO_TCP};
use netlink_packet_sock_diag::inet::{ExtensionFlags, InetRequest, SocketId, StateFlags};
use netlink_sys::protocols::NETLINK_SOCK_DIAG;
use netlink_sys::{Socket, SocketAddr};

/// Established connections of the side that has `port`, of both families.
///
/// # Errors
///
/// Those of netlink(7), such as where a sandbox forbids it.
pub(super) fn established(port: u16) -> io::Result<usize> {
    let version_4 = peers(AF_INET, SocketId::new_v4(), port)?;
    // Without IPv6 the kernel knows no such family.
    let version_6 = peers(AF_INET6, SocketId::new_v6(), port).unwrap_or_default();
    Ok(version_4.len() + version_6.len())
}

/// A socket that moves while the kernel writes its list can stand in it twice: so peers are kept, not lines.
fn peers(family: u8, any: SocketId, port: u16) -> io::Result<HashSet<(IpAddr, u16)>> {
    let mut socket = Socket::new(NETLINK_SOCK_DIAG)?;
    socket.bind_auto()?;
    socket.connect(&SocketAddr::new(0, 0))?;
    socket.send(&request(family, any, port), 0)?;
    let mut peers = HashSet::new();
    loop {
        let (datagram, _) = socket.recv_from_full()?;
        let mut rest = datagram.as_slice();
        while !rest.is_empty() {
            let message = <NetlinkMessage<SockDiagMessage>>::deserialize(rest);
            let message = message.map_err(io::Error::other)?;
            match message.payload {
                NetlinkPayload::InnerMessage(SockDiagMessage::InetResponse(response)) => {
                    let id = response.header.socket_id;
                    if id.source_port == port {
                        peers.insert((id.destination_address, id.destination_port));
                    }
                }
                NetlinkPayload::Done(_) => return Ok(peers),
                NetlinkPayload::Error(error) => return Err(error.to_io()),
                _ => {}
            }
            // Messages begin at multiples of four bytes (NLMSG_ALIGN).
            let length = (message.header.length as usize).next_multiple_of(4);
            rest = rest.get(length.max(4)..).unwrap_or_default();
        }
    }
}

/// Asks for the list of TCP connections of a family that are established and have `port` on their side.
fn request(family: u8, any: SocketId, port: u16) -> Vec<u8> {
    let mut header = NetlinkHeader::default();
    header.flags = NLM_F_REQUEST | NLM_F_DUMP;
    let request = SockDiagMessage::InetRequest(InetRequest {
        family,
        protocol: IPPROTO_TCP,
        extensions: ExtensionFlags::empty(),
        states: StateFlags::ESTABLISHED,
        socket_id: SocketId {
            source_port: port,
            ..any
        },
    });
    let mut message = NetlinkMessage::new(header, request.into());
    message.finalize();
    let mut bytes = vec![0; message.buffer_len()];
    message.serialize(&mut bytes);
    bytes
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn the_connections_of_a_port_are_counted_and_no_others() {
        let listen = || TcpListener::bind("127.0.0.1:0").unwrap();
        let (wanted, other) = (listen(), listen());
        let connect = |listener: &TcpListener| TcpStream::connect(listener.local_addr().unwrap());
        let port = wanted.local_addr().unwrap().port();
        assert_eq!(established(port).unwrap(), 0);
        let open: Vec<_> = (0..40).map(|_| connect(&wanted).unwrap()).collect();
        let _other = connect(&other).unwrap();
        assert_eq!(established(port).unwrap(), 40);
        drop(open);
        assert_eq!(established(port).unwrap(), 0);
    }
}
