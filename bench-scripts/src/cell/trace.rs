//! A trace: the same fresh server loaded once under strace and once under `perf stat`.
//!
//! Each tool attaches once all connections are established and detaches before the load ends, so that what it counts is the
//! serving of requests and nothing else. Requests are counted between the same two moments, never over the whole load: its
//! rate is another before the tool is there.

use std::fs;
use std::time::{Duration, Instant};

use super::observer::{GivenUp, Observer, Subject, gone, sockets_in_use};
use super::{ESTABLISHED_BY, now};
use crate::check::{self, Evidence};
use crate::interrupt::Interrupted;
use crate::load::{Job, LoadGenerator, LoadRun};
use crate::matrix::Entrant;
use crate::observe::threads::Sample;
use crate::record::trace::{CountedBy, Counters, SystemCalls, Trace, TraceWindow, Traced};
use crate::record::{self, PlannedCell, Reason, System, Validity};
use crate::server::{self, Launch};
use crate::trace::perf::Perf;
use crate::trace::strace::Strace;
use crate::trace::{Attached, Tool, installed};

/// The share of the load's time by which a tool must be attached.
const ATTACHED_BY: f64 = 0.6;

/// How long before the load's end a tool is told to detach.
const DETACH_MARGIN: Duration = Duration::from_millis(200);

/// What all traces of a sweep have in common.
#[derive(Clone, Copy)]
pub struct TraceBench<'a> {
    /// What makes the load.
    pub generator: &'a dyn LoadGenerator,
    /// Who looks on.
    pub observer: Observer<'a>,
    /// Length of each of the two loads.
    pub duration: Duration,
}

/// What has been traced so far.
#[derive(Default)]
struct Seen {
    system_calls: Option<Traced<SystemCalls>>,
    counters: Option<Traced<Counters>>,
}

/// A load that a tool was attached to: what it counted, and in which time.
type Counted<T> = Traced<(TraceWindow, <T as Tool>::Counts)>;

/// What is read at either edge of a tool's time.
struct Edge {
    at: Instant,
    counters: Option<server::Counters>,
    usage: Sample,
    /// Bytes that the load generator has read so far; where the server does not count.
    client_read: Option<u64>,
}

impl TraceBench<'_> {
    /// Traces one entrant at one connection count. Whatever goes wrong with the server or the load makes the trace invalid,
    /// with its reason; a tool that cannot do its work is an absence.
    ///
    /// # Errors
    ///
    /// [`Interrupted`], if the user wants to stop; server and tool are ended then.
    pub fn measure(
        &self,
        planned: &PlannedCell,
        entrant: &Entrant,
        launch: &Launch,
    ) -> Result<Trace, Interrupted> {
        let started_at = now();
        let mut seen = Seen::default();
        let reasons = match self.run(planned, entrant, launch, &mut seen) {
            Ok(reasons) => reasons,
            Err(GivenUp::Because(reason)) => vec![reason],
            Err(GivenUp::Interrupted) => return Err(Interrupted),
        };
        Ok(Trace {
            planned: planned.clone(),
            started_at,
            validity: Validity::of(reasons),
            system_calls: seen.system_calls,
            counters: seen.counters,
        })
    }

    /// Both loads; gives what the cross-checks found.
    fn run(
        &self,
        planned: &PlannedCell,
        entrant: &Entrant,
        launch: &Launch,
        seen: &mut Seen,
    ) -> Result<Vec<Reason>, GivenUp> {
        let mut subject = self.observer.begin(entrant, launch)?;
        let (calls, mut reasons) = self.load_under::<Strace>(&mut subject, planned)?;
        seen.system_calls = Some(calls.map(|(window, by_name)| SystemCalls { window, by_name }));
        let (events, more) = self.load_under::<Perf>(&mut subject, planned)?;
        seen.counters = Some(events.map(|(window, events)| Counters { window, events }));
        reasons.extend(more);
        subject.stop()?;
        Ok(reasons)
    }

    /// A load with a tool attached; without the tool, there is none.
    fn load_under<T: Tool>(
        &self,
        subject: &mut Subject,
        planned: &PlannedCell,
    ) -> Result<(Counted<T>, Vec<Reason>), GivenUp> {
        if let Err(absence) = installed::<T>() {
            return Ok((Traced::Absent(absence), Vec::new()));
        }
        let observer = &self.observer;
        let sockets_before = sockets_in_use();
        let job = Job {
            addr: subject.server.addr,
            request: observer.request.clone(),
            connections: planned.connections,
            duration: self.duration,
        };
        let count = |subject: &mut Subject, run: &mut dyn LoadRun, before| {
            self.count::<T>(subject, planned, run, before)
        };
        let ((established, counted), load) = observer.load(self.generator, &job, subject, count)?;
        observer.settle(&mut subject.server, sockets_before)?;
        let usage = match &counted {
            Traced::Counted((window, _)) => window.usage,
            Traced::Absent(_) => record::Usage::default(),
        };
        let mut reasons = check::reasons(&Evidence {
            planned,
            wanted_us: u64::try_from(self.duration.as_micros()).unwrap_or(u64::MAX),
            response_bytes: subject.response_bytes,
            warmup: None,
            load: &load,
            pipeline: self.generator.pipeline(),
            own_requests: 1,
            server: &record::Server {
                usage,
                rss_before_bytes: 0,
                established,
                workers: None,
                requests_in_life: None,
            },
            // Counts do not depend on the machine's speed, as times do.
            system: &System::default(),
        });
        if matches!(&counted, Traced::Counted((window, _)) if window.requests == 0) {
            reasons.push(Reason::NoRequests);
        }
        Ok((counted, reasons))
    }

    /// Attaches a tool to a server under load, and detaches it before the load ends. Gives how many connections the kernel
    /// showed, too.
    fn count<T: Tool>(
        &self,
        subject: &mut Subject,
        planned: &PlannedCell,
        run: &mut dyn LoadRun,
        sockets_before: u64,
    ) -> Result<(u32, Counted<T>), GivenUp> {
        let begin = Instant::now();
        let by = |share| begin + self.duration.mul_f64(share);
        let (observer, connections) = (&self.observer, planned.connections);
        let (server, open_by) = (&mut subject.server, by(ESTABLISHED_BY));
        let established =
            observer.await_connections(server, run, connections, sockets_before, open_by)?;
        observer.accepted(server, run, connections, open_by)?;
        let pids = subject.processes.pids();
        let tool = Attached::<T>::to(pids, by(ATTACHED_BY), observer.interrupt)?;
        let tool = match tool {
            Ok(tool) => tool,
            Err(absence) => return Ok((established, Traced::Absent(absence))),
        };
        let first = self.edge(subject, run)?;
        let end = begin + self.duration.saturating_sub(DETACH_MARGIN);
        observer.wait_until(end, &mut subject.server, run)?;
        let last = self.edge(subject, run)?;
        let counted = match tool.detach() {
            Ok(counts) => Traced::Counted((between(&first, &last, subject.response_bytes), counts)),
            Err(absence) => Traced::Absent(absence),
        };
        Ok((established, counted))
    }

    fn edge(&self, subject: &mut Subject, run: &mut dyn LoadRun) -> Result<Edge, GivenUp> {
        let server = &mut subject.server;
        let counters = self.observer.counters(server, run)?;
        let client_read = match &counters {
            Some(_) => None,
            None => Some(bytes_read(run.pid()).map_err(|detail| gone(server, run, detail))?),
        };
        let usage = subject.processes.sample();
        Ok(Edge {
            at: Instant::now(),
            counters,
            usage: usage.map_err(|error| gone(server, run, error.to_string()))?,
            client_read,
        })
    }
}

/// What a server did between two edges.
fn between(first: &Edge, last: &Edge, response_bytes: u64) -> TraceWindow {
    let counters = last.counters.as_ref().zip(first.counters.as_ref());
    let workers = counters.map(|(last, first)| last.since(first));
    let sum = |pick: fn(&record::WorkerCounts) -> Option<u64>| -> Option<u64> {
        workers.as_ref()?.iter().map(pick).sum()
    };
    let answers = |read: (u64, u64)| read.0.saturating_sub(read.1) / response_bytes;
    let (requests, counted_by) = match sum(|worker| Some(worker.requests)) {
        Some(requests) => (Some(requests), CountedBy::Server),
        None => (
            last.client_read.zip(first.client_read).map(answers),
            CountedBy::Client,
        ),
    };
    TraceWindow {
        usage: last
            .usage
            .since(&first.usage, last.at.duration_since(first.at)),
        requests: requests.unwrap_or(0),
        counted_by,
        wakeups: sum(|worker| worker.wakeups),
        events: sum(|worker| worker.events),
    }
}

/// Bytes that a process has read so far, sockets included (proc_pid_io(5)).
fn bytes_read(pid: u32) -> Result<u64, String> {
    let path = format!("/proc/{pid}/io");
    let io = fs::read_to_string(&path).map_err(|error| format!("cannot read {path}: {error}"))?;
    let read = io.lines().find_map(|line| line.strip_prefix("rchar: "));
    read.and_then(|bytes| bytes.parse().ok())
        .ok_or_else(|| format!("{path} does not tell the bytes read"))
}
