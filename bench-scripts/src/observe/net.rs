//! What the kernel knows of connections: /proc/net/{tcp,tcp6,sockstat,sockstat6,netstat,snmp} (proc_pid_net(5)).

use std::collections::HashSet;
use std::{fs, io};

use super::sock_diag;

/// State of an established connection, `TCP_ESTABLISHED` of the kernel's tcp_states.h, as those files write it.
const ESTABLISHED: &str = "01";

/// Connections of the server's side to `port` that are established, accepted or not.
///
/// # Errors
///
/// If the kernel tells them neither by sock_diag(7) nor in /proc/net/tcp.
pub fn established(port: u16) -> io::Result<u32> {
    match sock_diag::established(port) {
        Ok(count) => Ok(u32::try_from(count).unwrap_or(u32::MAX)),
        Err(_) => established_by_list(port),
    }
}

/// The same, from the list of all sockets: a line each, those in TIME_WAIT included.
fn established_by_list(port: u16) -> io::Result<u32> {
    let version_4 = count_established(&fs::read_to_string("/proc/net/tcp")?, port);
    // A server that listens on [::] has its connections here. Without IPv6 there is no such file.
    let version_6 = fs::read_to_string("/proc/net/tcp6").unwrap_or_default();
    Ok(version_4 + count_established(&version_6, port))
}

/// The kernel writes the table piece by piece, and a socket that moves meanwhile (as others open and close) can stand in
/// it twice: so different peers are counted, not lines.
fn count_established(table: &str, port: u16) -> u32 {
    let port = format!(":{port:04X}");
    let peer = |line: &str| -> Option<String> {
        let mut words = line.split_whitespace().skip(1);
        let (local, peer, state) = (words.next()?, words.next()?, words.next()?);
        (local.ends_with(&port) && state == ESTABLISHED).then(|| peer.to_owned())
    };
    let peers: HashSet<String> = table.lines().skip(1).filter_map(peer).collect();
    u32::try_from(peers.len()).unwrap_or(u32::MAX)
}

/// TCP sockets in use and in TIME_WAIT on this system. Cheap, whatever their number.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Sockets {
    /// In use: listening, or of a connection that is open on this side.
    pub in_use: u64,
    /// Closed, and kept until late segments are gone (TIME_WAIT).
    pub time_wait: u64,
}

impl Sockets {
    /// Reads them.
    ///
    /// # Errors
    ///
    /// If /proc/net/sockstat cannot be read.
    pub fn read() -> io::Result<Self> {
        let version_4 = fs::read_to_string("/proc/net/sockstat")?;
        let version_6 = fs::read_to_string("/proc/net/sockstat6").unwrap_or_default();
        Ok(Self::parse(&version_4, &version_6))
    }

    fn parse(sockstat: &str, sockstat6: &str) -> Self {
        Self {
            in_use: pair(sockstat, "TCP:", "inuse").unwrap_or(0)
                + pair(sockstat6, "TCP6:", "inuse").unwrap_or(0),
            // The kernel counts TIME_WAIT of both families here.
            time_wait: pair(sockstat, "TCP:", "tw").unwrap_or(0),
        }
    }
}

/// The number behind `name` in the line that begins with `start`.
fn pair(text: &str, start: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(start))?;
    let mut words = line.split_whitespace();
    words.find(|word| *word == name)?;
    words.next()?.parse().ok()
}

/// Times that the accept queue of some listener overflowed, so far.
///
/// # Errors
///
/// If /proc/net/netstat cannot be read.
pub fn listen_overflows() -> io::Result<u64> {
    let text = fs::read_to_string("/proc/net/netstat")?;
    Ok(column(&text, "TcpExt:", "ListenOverflows").unwrap_or(0))
}

/// TCP segments sent again, so far.
///
/// # Errors
///
/// If /proc/net/snmp cannot be read.
pub fn retransmits() -> io::Result<u64> {
    let text = fs::read_to_string("/proc/net/snmp")?;
    Ok(column(&text, "Tcp:", "RetransSegs").unwrap_or(0))
}

/// These files have a line of names and then one of values, both beginning with `start`.
fn column(text: &str, start: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix(start));
    let (names, values) = (lines.next()?, lines.next()?);
    let at = names.split_whitespace().position(|word| word == name)?;
    values.split_whitespace().nth(at)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_established_connections_of_the_servers_side_count() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr\n\
             0: 0100007F:4826 00000000:0000 0A 00000000:00000000 00:00000000\n\
             1: 0100007F:4826 0100007F:C001 01 00000000:00000000 00:00000000\n\
             2: 0100007F:C001 0100007F:4826 01 00000000:00000000 00:00000000\n\
             3: 0100007F:4826 0100007F:C002 06 00000000:00000000 00:00000000\n\
             4: 0100007F:4827 0100007F:C003 01 00000000:00000000 00:00000000\n\
             5: 0100007F:4826 0100007F:C001 01 00000000:00000000 00:00000000\n";
        assert_eq!(count_established(table, 18470), 1);
        assert_eq!(count_established("", 18470), 0);
    }

    #[test]
    fn sockets_of_both_families_are_summed() {
        let four =
            "sockets: used 14\nTCP: inuse 11 orphan 0 tw 5 alloc 12 mem 1\nUDP: inuse 7 mem 0\n";
        let six = "TCP6: inuse 2\nUDP6: inuse 9\n";
        let sockets = Sockets {
            in_use: 13,
            time_wait: 5,
        };
        assert_eq!(Sockets::parse(four, six), sockets);
        assert_eq!(Sockets::parse(four, "").in_use, 11);
    }

    #[test]
    fn columns_are_found_by_name() {
        let text = "IpExt: A B\nIpExt: 8 9\nTcpExt: A ListenOverflows C\nTcpExt: 1 22 3\n";
        assert_eq!(column(text, "TcpExt:", "ListenOverflows"), Some(22));
        assert_eq!(column(text, "TcpExt:", "Nothing"), None);
    }
}
