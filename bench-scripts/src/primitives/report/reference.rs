//! What the documents measured, on machines of their time. Printed beside ours for orientation, never mixed with them.
//!
//! W. R. Stevens, UNIX Network Programming, volume 2, appendix A, tables A.1 to A.7; and for messages the article on ZeroMQ.

use rungs_primitives::row::Family;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::key::Key;

/// A machine of a document.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
pub enum System {
    /// A SparcStation 4/110, of the appendix.
    #[serde(rename = "Solaris 2.6")]
    Solaris,
    /// A DEC 3000 model 300, of the appendix.
    #[serde(rename = "Digital Unix 4.0B")]
    DigitalUnix,
    /// An i7 with 4 cores and Linux 5.4, of the article.
    #[serde(rename = "i7, Linux 5.4")]
    Linux54,
}

impl System {
    /// Its name in tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Solaris => "Solaris 2.6",
            Self::DigitalUnix => "Digital Unix 4.0B",
            Self::Linux54 => "i7, Linux 5.4",
        }
    }
}

/// Where a document has no value.
const NONE: f64 = f64::NAN;

/// A table of a document: a row for each parameter, a column for each mechanism.
struct Table {
    family: Family,
    system: System,
    mechanisms: &'static [&'static str],
    /// Decimals that it prints.
    decimals: usize,
    /// The parameter, 0 where there is none, and the values in the unit of our rows.
    rows: &'static [(usize, &'static [f64])],
}

const LOCKS: &[&str] = &[
    "Posix mutex",
    "read-write lock",
    "Posix semaphore in memory",
    "named Posix semaphore",
    "System V semaphore",
    "System V semaphore with UNDO",
    "fcntl record lock",
];

const MESSAGES: &[&str] = &["ZeroMQ ipc", "Posix queue", "ZeroMQ tcp", "Unix datagram"];

const TABLES: &[Table] = &[
    Table {
        family: Family::Latency,
        system: System::Solaris,
        mechanisms: LATENCY,
        decimals: 0,
        rows: &[(0, &[324., 584., 260., 121., 1891., 1677., 798., 755., 465.])],
    },
    Table {
        family: Family::Latency,
        system: System::DigitalUnix,
        mechanisms: LATENCY,
        decimals: 0,
        rows: &[(0, &[574., 995., 625., NONE, 1648., 1373., 848., 639., 289.])],
    },
    Table {
        family: Family::Bandwidth,
        system: System::Solaris,
        mechanisms: BANDWIDTH,
        decimals: 1,
        rows: &[
            (1 << 10, &[6.3, 3.7, 4.9, 6.3, 0.5, 0.5]),
            (2 << 10, &[8.7, 5.3, 6.3, 10.0, 0.9, 1.0]),
            (4 << 10, &[9.8, 8.4, 6.6, 12.6, 1.6, 2.8]),
            (8 << 10, &[12.7, 10.2, 5.8, 14.4, 2.4, 2.8]),
            (16 << 10, &[13.1, 11.6, 6.1, 16.8, 3.2, 3.4]),
            (32 << 10, &[13.2, 13.4, NONE, 11.4, 3.5, 4.3]),
            (64 << 10, &[13.7, 14.4, NONE, 12.2, 3.7, NONE, 13.2, 11.3]),
        ],
    },
    Table {
        family: Family::Bandwidth,
        system: System::DigitalUnix,
        mechanisms: BANDWIDTH,
        decimals: 1,
        rows: &[
            (1 << 10, &[9.9, 1.8, 12.7, NONE, 0.6, 0.6]),
            (2 << 10, &[15.2, 3.5, 15.0, NONE, 0.8, 1.0]),
            (4 << 10, &[17.1, 5.9, 21.1, NONE, 1.3, 1.8]),
            (8 << 10, &[16.5, 8.6, 17.1, NONE, 1.8, 2.5]),
            (16 << 10, &[17.3, 11.7, 17.3, NONE, 2.3]),
            (32 << 10, &[15.9, 14.0, NONE, NONE, 2.6]),
            (64 << 10, &[14.2, 9.4, NONE, NONE, 2.8, NONE, 4.6, 18.0]),
        ],
    },
    Table {
        family: Family::Threads,
        system: System::Solaris,
        mechanisms: LOCKS,
        decimals: 1,
        rows: &[
            (1, &[0.7, 2.0, 4.5, 15.4, 16.3, 21.1, 89.4]),
            (2, &[1.5, 5.4, 9.0, 31.1, 31.5, 37.5]),
            (3, &[2.2, 7.5, 14.4, 46.5, 48.3, 57.7]),
            (4, &[2.9, 13.7, 18.2, 62.5, 65.8, 75.8]),
            (5, &[3.7, 19.7, 22.8, 76.8, 81.8, 90.0]),
        ],
    },
    Table {
        family: Family::Threads,
        system: System::DigitalUnix,
        mechanisms: LOCKS,
        decimals: 1,
        rows: &[
            (1, &[2.9, 12.9, 13.2, 14.2, 26.6, 46.6, 96.4]),
            (2, &[11.4, 40.8, 742.5, 771.6, 54.9, 93.9]),
            (3, &[28.4, 73.2, 1080.5, 1074.5, 84.5, 141.9]),
            (4, &[49.3, 95.0, 1534.1, 1502.2, 109.9, 188.4]),
            (5, &[67.3, 126.3, 1923.3, 1764.1, 137.3, 233.6]),
        ],
    },
    Table {
        family: Family::Processes,
        system: System::Solaris,
        mechanisms: LOCKS,
        decimals: 1,
        rows: &[
            (1, &[0.8, 1.6, 13.6, 14.3, 17.3, 22.1, 90.7]),
            (2, &[1.6, 3.9, 29.2, 29.2, 34.9, 41.6, 244.5]),
            (3, &[2.3, 6.4, 41.6, 42.9, 54.0, 60.1, 376.4]),
            (4, &[3.1, 12.2, 57.3, 58.8, 72.4, 81.9, 558.0]),
            (5, &[4.0, 20.4, 70.4, 73.5, 87.8, 102.6, 764.0]),
        ],
    },
    Table {
        family: Family::Processes,
        system: System::DigitalUnix,
        mechanisms: LOCKS,
        decimals: 1,
        rows: &[
            (1, &[NONE, NONE, 12.8, 12.5, 30.1, 49.0, 98.1]),
            (2, &[NONE, NONE, 664.8, 659.2, 58.6, 95.7, 477.1]),
            (3, &[NONE, NONE, 1236.1, 1269.8, 96.4, 146.2, 1785.2]),
            (4, &[NONE, NONE, 1772.9, 1804.1, 120.3, 197.0, 2582.8]),
            (5, &[NONE, NONE, 2179.9, 2196.8, 147.7, 250.9, 3419.2]),
        ],
    },
    Table {
        family: Family::Messages,
        system: System::Linux54,
        mechanisms: MESSAGES,
        decimals: 3,
        rows: &[(0, &[1.759, 1.923, 2.389, 5.197])],
    },
];

const LATENCY: &[&str] = &[
    "pipe",
    "Posix queue",
    "System V queue",
    "doors",
    "RPC form, TCP",
    "RPC form, UDP",
    "TCP",
    "UDP",
    "Unix stream",
];

const BANDWIDTH: &[&str] = &[
    "pipe",
    "Posix queue",
    "System V queue",
    "doors",
    "RPC form, TCP",
    "RPC form, UDP",
    "TCP",
    "Unix stream",
];

/// CPU seconds of the article's reader, in the order of [`MESSAGES`].
const READER_CPU_S: &[f64] = &[2.935, 1.881, 3.251, 4.004];

/// What a system's document says of a row, in the unit of ours.
pub(super) fn value(system: System, key: Key) -> Option<f64> {
    look_up(system, key).map(|(value, _)| value)
}

/// The same with the document's own digits.
pub(super) fn text(system: System, key: Key) -> Option<String> {
    look_up(system, key).map(|(value, decimals)| format!("{value:.decimals$}"))
}

/// A value, and how many decimals it has.
fn look_up(system: System, key: Key) -> Option<(f64, usize)> {
    let table = TABLES
        .iter()
        .find(|table| table.family == key.family && table.system == system)?;
    let column = table.mechanisms.iter().position(|m| *m == key.mechanism)?;
    let wanted = key.parameter.unwrap_or(0);
    let (_, values) = table.rows.iter().find(|(at, _)| *at == wanted)?;
    let value = values.get(column).filter(|value| !value.is_nan())?;
    Some((*value, table.decimals))
}

/// The systems that a document measured for a family, in its order.
pub(super) fn systems(family: Family) -> impl Iterator<Item = System> {
    let of_family = TABLES.iter().filter(move |table| table.family == family);
    of_family.map(|table| table.system)
}

/// CPU seconds that the article's reader used for all messages.
pub(super) fn reader_cpu_s(mechanism: &str) -> Option<String> {
    let column = MESSAGES.iter().position(|m| *m == mechanism)?;
    READER_CPU_S.get(column).map(|value| format!("{value:.3}"))
}

/// Every mechanism that a document has, for the test that looks whether we have it too.
#[cfg(test)]
pub(super) fn keys() -> impl Iterator<Item = Key<'static>> {
    TABLES.iter().flat_map(|table| {
        table.rows.iter().flat_map(|(parameter, values)| {
            table
                .mechanisms
                .iter()
                .zip(*values)
                .map(|(mechanism, _)| Key {
                    family: table.family,
                    mechanism,
                    parameter: Some(*parameter).filter(|parameter| *parameter > 0),
                })
        })
    })
}
