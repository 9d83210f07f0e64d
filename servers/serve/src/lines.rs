//! The lines on stdout: one JSON object each, flushed, for whoever started the server.

use std::io::{self, Write};
use std::net::SocketAddr;

use rustix::time::{ClockId, clock_gettime};
use serde::Serialize;

use crate::counters::{Counters, Snapshot};

/// One line.
#[derive(Serialize)]
#[serde(tag = "event", rename_all = "lowercase")]
pub(crate) enum Line {
    /// Connections are accepted from now on.
    Listening {
        rung: &'static str,
        /// As bound, so with a real port.
        addr: SocketAddr,
        threads: u16,
        /// Workers, each with connections of its own: fewer than threads where connections move between threads.
        workers: usize,
        pid: u32,
        build: &'static str,
        allocator: &'static str,
        version: &'static str,
    },
    /// It cannot run on this machine, and ends with exit status 1.
    Unsupported {
        rung: &'static str,
        /// A sentence: what is missing, and what to do about it.
        reason: String,
    },
    /// The counts so far; asked for with SIGUSR1.
    Counters(Totals),
    /// The counts at the end.
    Stopped(Totals),
}

/// The counts of all workers at one moment.
#[derive(Serialize)]
pub(crate) struct Totals {
    /// `CLOCK_MONOTONIC`, in microseconds, which any process of this machine can compare with its own.
    at_us: u64,
    workers: Vec<Snapshot>,
}

impl Line {
    pub(crate) fn listening(
        rung: &'static str,
        addr: SocketAddr,
        threads: u16,
        workers: usize,
    ) -> Self {
        Self::Listening {
            rung,
            addr,
            threads,
            workers,
            pid: std::process::id(),
            build: if cfg!(debug_assertions) {
                "debug"
            } else {
                "release"
            },
            allocator: if cfg!(feature = "jemalloc") {
                "jemalloc"
            } else {
                "system"
            },
            version: env!("CARGO_PKG_VERSION"),
        }
    }

    pub(crate) fn unsupported(rung: &'static str, reason: &io::Error) -> Self {
        Self::Unsupported {
            rung,
            reason: reason.to_string(),
        }
    }

    /// Writes the line and flushes it.
    ///
    /// # Errors
    ///
    /// Those of write(2): mostly that nobody reads the pipe any more.
    pub(crate) fn print(&self) -> io::Result<()> {
        let mut line = serde_json::to_vec(self)?;
        line.push(b'\n');
        let mut stdout = io::stdout().lock();
        stdout.write_all(&line)?;
        stdout.flush()
    }
}

impl Totals {
    pub(crate) fn now(workers: &[Counters]) -> Self {
        let now = clock_gettime(ClockId::Monotonic);
        let (seconds, nanoseconds) = (now.tv_sec.cast_unsigned(), now.tv_nsec.cast_unsigned());
        Self {
            at_us: seconds * 1_000_000 + nanoseconds / 1_000,
            workers: workers.iter().flat_map(Counters::snapshots).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_tagged_objects() {
        let line = Line::listening("rung-test", "127.0.0.1:9".parse().unwrap(), 2, 1);
        let json = serde_json::to_value(line).unwrap();
        assert_eq!(json["event"], "listening");
        assert_eq!(json["addr"], "127.0.0.1:9");
        assert_eq!(json["pid"], std::process::id());

        let reason = io::Error::new(io::ErrorKind::Unsupported, "no \"ring\"");
        let line = Line::unsupported("rung-test", &reason);
        let json = serde_json::to_value(line).unwrap();
        assert_eq!(
            json,
            serde_json::json!({"event": "unsupported", "rung": "rung-test", "reason": "no \"ring\""})
        );

        let line = Line::Stopped(Totals::now(&[Counters::new(1), Counters::new(2)]));
        let json = serde_json::to_value(line).unwrap();
        assert_eq!(json["event"], "stopped");
        assert_eq!(json["workers"].as_array().unwrap().len(), 3);
        assert!(json["at_us"].as_u64().unwrap() > 0);
    }
}
