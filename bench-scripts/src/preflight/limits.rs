//! Limits of the kernel that a number of connections runs into.

use super::{blocker, good, warning};
use crate::observe::net::Sockets;
use crate::record::{Advice, Machine};

/// Descriptors that a server and a load generator need beside their connections.
const SPARE_DESCRIPTORS: u64 = 64;

/// Connections that may wait to be accepted; the rungs ask for so many.
const BACKLOG: u64 = 4096;

pub(super) fn open_files(machine: &Machine, connections: u64) -> Advice {
    let (limit, needed) = (machine.open_files_limit, connections + SPARE_DESCRIPTORS);
    let found = format!("{limit} descriptors may be open, {needed} are needed");
    if limit < needed {
        blocker(
            "open files",
            found,
            format!(
                "raise the limit (`ulimit -Hn {needed}` as root, or `docker run --ulimit nofile={needed}`), or ask for fewer --connections"
            ),
        )
    } else {
        good("open files", found)
    }
}

pub(super) fn accept_queue(machine: &Machine, connections: u64) -> Advice {
    let wanted = BACKLOG.max(connections);
    let found = format!("net.core.somaxconn is {}", machine.somaxconn);
    if machine.somaxconn < connections {
        warning(
            "accept queue",
            format!("{found}, and {connections} connections arrive at once"),
            format!("`sysctl -w net.core.somaxconn={wanted}`, or some connections may open late"),
        )
    } else {
        good("accept queue", found)
    }
}

/// A warm-up's connections stay in TIME_WAIT while the measured ones open to the same port, so twice as many local ports
/// are needed. Those of earlier cells went to other ports and do not stand in the way.
pub(super) fn ports(machine: &Machine, connections: u64) -> Advice {
    let (first, last) = machine.local_ports;
    let ports = u64::from(last.saturating_sub(first)) + 1;
    let time_wait = Sockets::read().map_or(0, |sockets| sockets.time_wait);
    let found = format!("{ports} ({first} to {last}), {time_wait} sockets in TIME_WAIT");
    if ports < 2 * connections {
        blocker(
            "local ports",
            format!("{found}; {connections} connections need twice as many"),
            "`sysctl -w net.ipv4.ip_local_port_range=\"1024 65535\"`, or ask for fewer --connections",
        )
    } else {
        good("local ports", found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine;
    use crate::record::AdviceLevel;

    #[test]
    fn limits_are_compared_with_what_is_needed() {
        let mut machine = machine::look();
        machine.open_files_limit = 1024;
        assert_eq!(open_files(&machine, 960).level, AdviceLevel::Good);
        assert_eq!(open_files(&machine, 961).level, AdviceLevel::Blocking);
        machine.somaxconn = 128;
        assert_eq!(accept_queue(&machine, 128).level, AdviceLevel::Good);
        assert_eq!(accept_queue(&machine, 129).level, AdviceLevel::Warning);
        machine.local_ports = (32_768, 60_999);
        assert_eq!(ports(&machine, 14_116).level, AdviceLevel::Good);
        assert_eq!(ports(&machine, 14_117).level, AdviceLevel::Blocking);
    }
}
