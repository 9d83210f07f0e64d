//! The system's limits, read before anything is made: what is beyond them is an absence, never a smaller size.

use rustix::process::{Resource, getrlimit};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::failure::{Absence, Failure};

/// Bytes that one UDP datagram over IPv4 can carry: 65,535 less the two headers (RFC 768, RFC 791).
const UDP_BYTES: usize = 65_535 - 20 - 8;

/// Kernel bytes for each message of a Posix queue beside its text: getrlimit(2), RLIMIT_MSGQUEUE.
const POSIX_QUEUE_OVERHEAD: u64 = 96;

/// A limit as it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Limit {
    /// As sysctl(8) or getrlimit(2) names it.
    pub name: String,
    /// Its value; none where there is no limit, or the system does not tell.
    pub value: Option<u64>,
}

/// The limits that bound rows.
#[must_use]
pub fn all() -> Vec<Limit> {
    let of_proc = [
        "fs/mqueue/msg_max",
        "fs/mqueue/msgsize_max",
        "fs/pipe-max-size",
        "kernel/msgmax",
        "kernel/msgmnb",
        "net/unix/max_dgram_qlen",
    ];
    let of_proc = of_proc.map(|name| Limit {
        name: name.replace('/', "."),
        value: read(name).ok(),
    });
    let queues = Limit {
        name: "RLIMIT_MSGQUEUE".to_owned(),
        value: getrlimit(Resource::Msgqueue).current,
    };
    of_proc.into_iter().chain([queues]).collect()
}

/// The number in `/proc/sys/NAME`.
///
/// # Errors
///
/// It cannot be read, or is no number.
pub fn read(name: &str) -> Result<u64, Failure> {
    let path = format!("/proc/sys/{name}");
    let text = std::fs::read_to_string(&path).map_err(Failure::call(&path))?;
    text.trim()
        .parse()
        .map_err(|_| Failure::Wrong(format!("{path} holds {text:?}, which is no number")))
}

/// Why a Posix queue of `messages` messages of `bytes` cannot be: mq_overview(7).
#[must_use]
pub fn posix_queue(messages: usize, bytes: usize) -> Option<Absence> {
    let over = beyond("fs/mqueue/msg_max", messages, "messages")
        .or_else(|| beyond("fs/mqueue/msgsize_max", bytes, "bytes"));
    let needed = messages as u64 * (bytes as u64 + POSIX_QUEUE_OVERHEAD);
    over.or_else(|| {
        let limit = getrlimit(Resource::Msgqueue).current?;
        (needed > limit).then(|| {
            Absence::Limit(format!(
                "RLIMIT_MSGQUEUE is {limit}; the queue takes {needed} bytes"
            ))
        })
    })
}

/// Why a System V queue cannot hold a message of `bytes`: msgop(2).
#[must_use]
pub fn sysv_queue(bytes: usize) -> Option<Absence> {
    beyond("kernel/msgmax", bytes, "bytes").or_else(|| beyond("kernel/msgmnb", bytes, "bytes"))
}

/// Why a UDP datagram cannot carry `bytes`.
#[must_use]
pub fn udp(bytes: usize) -> Option<Absence> {
    (bytes > UDP_BYTES).then(|| {
        Absence::Limit(format!(
            "a UDP datagram carries {UDP_BYTES} bytes; {bytes} are needed"
        ))
    })
}

fn beyond(name: &str, needed: usize, unit: &str) -> Option<Absence> {
    match read(name) {
        Ok(limit) if needed as u64 > limit => Some(Absence::Limit(format!(
            "{} is {limit}; {needed} {unit} are needed",
            name.replace('/', ".")
        ))),
        Ok(_) => None,
        Err(failure) => Some(Absence::Skipped(failure.to_string())),
    }
}
