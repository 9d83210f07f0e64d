//! One cell: a fresh server, its bytes checked, warmed up, loaded and watched, cross-checked, stopped.

mod observer;
pub mod paced;
pub mod trace;

use std::time::{Duration, Instant, SystemTime};

use crate::answer::Request;
use crate::check::{self, Evidence};
use crate::interrupt::{Interrupt, Interrupted};
use crate::load::{Job, LoadGenerator, LoadRun};
use crate::matrix::Entrant;
use crate::observe::core_to_core;
use crate::record::{self, Cell, CoreToCore, Load, PlannedCell, Reason, Spent, Validity};
use crate::server::{Launch, Server};
use observer::{GivenUp, Subject, Window, micros, sockets_in_use};

pub use observer::Observer;

/// The share of the load's time by which all connections must be established.
const ESTABLISHED_BY: f64 = 0.4;

/// How long before the load's end the last edge is taken.
const LAST_EDGE_MARGIN: Duration = Duration::from_millis(60);

/// What all cells of a sweep have in common.
#[derive(Clone, Copy)]
pub struct Bench<'a> {
    /// What makes the load.
    pub generator: &'a dyn LoadGenerator,
    /// What is asked for.
    pub request: &'a Request,
    /// Length of the warm-up; zero for none.
    pub warmup: Duration,
    /// Length of the measured load.
    pub duration: Duration,
    /// The CPUs that either side may use.
    pub cpus: &'a [u32],
    /// One CPU of either side, whose distance is measured.
    pub ends: Option<(u32, u32)>,
    /// Raised by Ctrl-C.
    pub interrupt: &'a Interrupt,
}

/// What has been measured of a cell so far.
#[derive(Default)]
struct Measured {
    load: Option<Load>,
    server: Option<record::Server>,
    client: Option<record::Usage>,
    system: Option<record::System>,
    spent: Spent,
}

impl Bench<'_> {
    /// Measures one cell. Whatever goes wrong with the server or the load makes the cell invalid, with its reason.
    ///
    /// # Errors
    ///
    /// [`Interrupted`], if the user wants to stop; the server is ended then.
    pub fn measure(
        &self,
        planned: &PlannedCell,
        attempt: u32,
        entrant: &Entrant,
        launch: &Launch,
    ) -> Result<Cell, Interrupted> {
        let started_at = now();
        let mut measured = Measured::default();
        let reasons = match self.run(planned, entrant, launch, &mut measured) {
            Ok(reasons) => reasons,
            Err(GivenUp::Because(reason)) => vec![reason],
            Err(GivenUp::Interrupted) => return Err(Interrupted),
        };
        Ok(Cell {
            planned: planned.clone(),
            attempt,
            started_at,
            validity: Validity::of(reasons),
            load: measured.load,
            server: measured.server,
            client: measured.client,
            system: measured.system,
            spent: measured.spent,
        })
    }

    /// The stages of a cell, each with its time; gives what the cross-checks found.
    fn run(
        &self,
        planned: &PlannedCell,
        entrant: &Entrant,
        launch: &Launch,
        measured: &mut Measured,
    ) -> Result<Vec<Reason>, GivenUp> {
        let observer = self.observer();
        let begin = Instant::now();
        let mut subject = observer.begin(entrant, launch)?;
        measured.spent.start_us = micros(begin);

        let begin = Instant::now();
        let warmup = if self.warmup.is_zero() {
            None
        } else {
            Some(self.warm_up(&mut subject.server, planned)?)
        };
        measured.spent.warmup_us = micros(begin);

        let begin = Instant::now();
        let before_ns = self.core_to_core_ns();
        let (window, load) = self.load(&mut subject, planned)?;
        let after_ns = self.core_to_core_ns();
        let load = measured.load.insert(load);
        measured.spent.load_us = micros(begin);

        let begin = Instant::now();
        let seen = subject.seen(&window);
        measured.client = Some(seen.client);
        let ends = before_ns.zip(after_ns);
        let system = measured.system.insert(record::System {
            core_to_core: ends.map(|(before_ns, after_ns)| CoreToCore {
                before_ns,
                after_ns,
            }),
            ..seen.system
        });
        let server = measured.server.insert(seen.server);
        let response_bytes = subject.response_bytes;
        server.requests_in_life = subject.stop()?;
        measured.spent.stop_us = micros(begin);
        Ok(check::reasons(&Evidence {
            planned,
            wanted_us: u64::try_from(self.duration.as_micros()).unwrap_or(u64::MAX),
            response_bytes,
            warmup: warmup.as_ref(),
            load,
            pipeline: self.generator.pipeline(),
            own_requests: 1,
            server,
            system,
        }))
    }

    /// How far apart the two sides' CPUs are now, while nothing runs on them.
    fn core_to_core_ns(&self) -> Option<f64> {
        let (server, client) = self.ends?;
        core_to_core::round_trip_ns(server, client)
    }

    fn observer(&self) -> Observer<'_> {
        Observer {
            request: self.request,
            cpus: self.cpus,
            interrupt: self.interrupt,
        }
    }

    fn job(&self, server: &Server, planned: &PlannedCell, duration: Duration) -> Job {
        Job {
            addr: server.addr,
            request: self.request.clone(),
            connections: planned.connections,
            duration,
        }
    }

    /// Loads the server for a while, and waits until the connections of that are gone.
    fn warm_up(&self, server: &mut Server, planned: &PlannedCell) -> Result<Load, GivenUp> {
        let observer = self.observer();
        let before = sockets_in_use();
        let job = self.job(server, planned, self.warmup);
        let run = self.generator.start(&job)?;
        let load = observer.finish(run, server)?;
        observer.settle(server, before)?;
        Ok(load)
    }

    /// The measured load, watched from one edge to the other.
    fn load(
        &self,
        subject: &mut Subject,
        planned: &PlannedCell,
    ) -> Result<(Window, Load), GivenUp> {
        let job = self.job(&subject.server, planned, self.duration);
        let window = |subject: &mut Subject, run: &mut dyn LoadRun, before| {
            self.window(subject, planned, run, before)
        };
        self.observer().load(self.generator, &job, subject, window)
    }

    /// The telemetry window inside a load run.
    fn window(
        &self,
        subject: &mut Subject,
        planned: &PlannedCell,
        run: &mut dyn LoadRun,
        sockets_before: u64,
    ) -> Result<Window, GivenUp> {
        let begin = Instant::now();
        let observer = self.observer();
        let watch = observer.watch(subject.processes.clone(), Some(run.pid()));
        let (server, connections) = (&mut subject.server, planned.connections);
        let by = begin + self.duration.mul_f64(ESTABLISHED_BY);
        let established =
            observer.await_connections(server, run, connections, sockets_before, by)?;
        let first = observer.first_edge(&watch, server, run, connections, by)?;
        let end = begin + self.duration.saturating_sub(LAST_EDGE_MARGIN);
        observer.wait_until(end, server, run)?;
        let last = observer.edge(&watch, server, run)?;
        Ok(Window {
            established,
            first,
            last,
        })
    }
}

/// RFC 3339, UTC, to the millisecond.
fn now() -> String {
    humantime::format_rfc3339_millis(SystemTime::now()).to_string()
}
