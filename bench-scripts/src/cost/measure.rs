//! One entrant with so many connections open: what an idle one holds, and what a request takes in user space.

use std::fs;
use std::io;
use std::time::{Duration, Instant};

use rustix::thread::sched_yield;

use super::allocator::Allocator;
use super::client::Client;
use super::stepper::Stepper;
use crate::answer::Request;
use crate::interrupt::{Interrupt, Interrupted};
use crate::record::Reason;
use crate::record::cost::{IdleMemory, StepCounts};
use crate::record::trace::{Absence, Traced};
use crate::server::{Launch, Server};

/// Requests that are run step by step at least: a step takes up to 20 µs where a hypervisor takes part in it.
const REQUESTS: u32 = 100;

/// How many of them come at a time at most.
const AT_ONCE: u32 = 100;

/// How long the answers to requests that came at a time may take of a server that runs step by step.
const TIMEOUT: Duration = Duration::from_secs(60);

/// How an entrant is measured.
pub(super) struct Subject<'a> {
    pub(super) launch: &'a Launch,
    pub(super) request: &'a Request,
    pub(super) response_bytes: u64,
    pub(super) connections: u32,
}

/// Why there is no figure.
pub(super) enum Problem {
    Interrupted,
    /// The server does not start here.
    NotReady(Reason),
    /// The server or the kernel failed.
    Failed(Absence),
}

impl From<Interrupted> for Problem {
    fn from(_: Interrupted) -> Self {
        Self::Interrupted
    }
}

impl From<io::Error> for Problem {
    fn from(error: io::Error) -> Self {
        Self::Failed(Absence {
            what: format!("the server failed while it was measured ({error})"),
            remedy: "look at it with `rungs serve` and `rungs verify`".into(),
        })
    }
}

impl Subject<'_> {
    /// Measures a fresh server: first the memory, with nobody looking on, then the steps.
    pub(super) fn measure(
        &self,
        interrupt: &Interrupt,
    ) -> Result<(IdleMemory, Traced<StepCounts>), Problem> {
        let server = Server::start(self.launch).map_err(Problem::NotReady)?;
        let processes = server.processes();
        let memory = || processes.pids().iter().map(|pid| private_bytes(*pid)).sum();
        let mut client = Client::new(self.request.encode(server.addr), self.response_bytes);
        // What a server makes once, when it is first asked, is no connection's.
        client.open(server.addr, 1)?;
        let before_bytes = memory();
        client.open(server.addr, self.connections)?;
        let after_bytes = memory();
        let idle = IdleMemory {
            before_bytes,
            after_bytes,
        };
        // As many at a time as are counted: what it sets aside for that it sets aside once.
        client.have_answered(self.at_once(), TIMEOUT)?;
        let steps = self.count_steps(processes.pids(), &client, interrupt)?;
        Ok((idle, steps))
    }

    fn at_once(&self) -> u32 {
        self.connections.min(AT_ONCE)
    }

    fn count_steps(
        &self,
        pids: &[u32],
        client: &Client,
        interrupt: &Interrupt,
    ) -> Result<Traced<StepCounts>, Problem> {
        let allocator = Allocator::of(pids[0]);
        let mut stepper = match Stepper::attach(pids, allocator.as_ref().ok()) {
            Ok(stepper) => stepper,
            Err(absence) => return Ok(Traced::Absent(absence)),
        };
        let at_once = self.at_once();
        // What the server does when it finds itself interrupted is no request's.
        serve(&mut stepper, client, 1, interrupt)?;
        let first = stepper.steps();
        let turns = REQUESTS.div_ceil(at_once);
        for _ in 0..turns {
            serve(&mut stepper, client, at_once, interrupt)?;
        }
        let last = stepper.steps();
        Ok(Traced::Counted(StepCounts {
            requests: u64::from(turns * at_once),
            at_once,
            instructions: last.instructions - first.instructions,
            allocations: match &allocator {
                Ok(_) => Traced::Counted(last.allocations - first.allocations),
                Err(absence) => Traced::Absent(absence.clone()),
            },
        }))
    }
}

/// Has so many requests answered step by step, and the server go to sleep again.
///
/// It stops as soon as the first of them has woken it up, and goes on when all of them are there.
fn serve(
    stepper: &mut Stepper,
    client: &Client,
    at_once: u32,
    interrupt: &Interrupt,
) -> Result<(), Problem> {
    let deadline = Instant::now() + TIMEOUT;
    let mut awaited = client.ask(at_once as usize)?;
    loop {
        if stepper.advance()? {
            continue;
        }
        interrupt.check()?;
        // It is on the same CPU, or waits for one of us.
        sched_yield();
        while let Some(answer) = awaited.last_mut() {
            if !answer.is_complete()? {
                break;
            }
            awaited.pop();
        }
        if awaited.is_empty() && stepper.is_asleep() {
            return Ok(());
        }
        if Instant::now() > deadline {
            return Err(io::Error::from(io::ErrorKind::TimedOut).into());
        }
    }
}

/// Memory that only this process has, and has written to; 0 of one that is gone.
fn private_bytes(pid: u32) -> u64 {
    let rollup = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap_or_default();
    let line = rollup
        .lines()
        .find_map(|line| line.strip_prefix("Private_Dirty:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    kib.unwrap_or(0) << 10
}
