//! What a cell used: telemetry as the difference of two edges, both inside the measured load.
//!
//! The first edge is taken once all connections are established, so that the cost of accepting them is left out; the
//! last one shortly before the load ends, so that the cost of closing them is.

pub mod cgroup;
pub mod core_to_core;
pub mod cpu;
pub mod net;
pub mod threads;

use std::io;
use std::time::Instant;

use crate::record::{System, Usage};
use crate::server::Counters;
use cgroup::CpuGroup;
use cpu::CpuTimes;
use threads::{ProcessGroup, Sample};

/// What is watched during a cell.
#[derive(Debug)]
pub struct Watch {
    /// The server's processes.
    pub server: ProcessGroup,
    /// The load generator's; none where it is not watched.
    pub client: Option<ProcessGroup>,
    /// The CPUs that either may use.
    pub cpus: Vec<u32>,
    /// The control group, where it has a quota.
    pub quota: Option<CpuGroup>,
}

/// Everything that is read at one edge.
#[derive(Debug)]
pub struct Edge {
    at: Instant,
    /// The server's own counters; none of a foreign server.
    pub counters: Option<Counters>,
    server: Sample,
    client: Sample,
    cpu: CpuTimes,
    throttled_us: u64,
    listen_overflows: u64,
    retransmits: u64,
}

impl Watch {
    /// Reads everything but the server's counters, which the caller has taken a moment before.
    ///
    /// # Errors
    ///
    /// If a process is gone.
    pub fn edge(&self, counters: Option<Counters>) -> io::Result<Edge> {
        // First the server's CPU time: it belongs to the counters.
        let server = self.server.sample()?;
        let at = Instant::now();
        Ok(Edge {
            at,
            counters,
            server,
            client: match &self.client {
                Some(client) => client.sample()?,
                None => Sample::default(),
            },
            cpu: CpuTimes::read(&self.cpus)?,
            throttled_us: self.quota.as_ref().map_or(0, CpuGroup::throttled_us),
            listen_overflows: net::listen_overflows()?,
            retransmits: net::retransmits()?,
        })
    }
}

/// What was used between two edges: by the server, by the load generator (nothing where it was not watched), and by the
/// machine.
#[must_use]
pub fn between(first: &Edge, last: &Edge) -> (Usage, Usage, System) {
    let window = last.at.duration_since(first.at);
    let server = last.server.since(&first.server, window);
    let client = last.client.since(&first.client, window);
    let cpu = last.cpu.since(&first.cpu);
    let system = System {
        steal_percent: cpu.steal_percent(),
        throttled_us: last.throttled_us.saturating_sub(first.throttled_us),
        listen_overflows: last.listen_overflows.saturating_sub(first.listen_overflows),
        retransmits: last.retransmits.saturating_sub(first.retransmits),
        other_cpu_us: cpu.busy_us().saturating_sub(server.cpu_us + client.cpu_us),
        core_to_core: None,
    };
    (server, client, system)
}
