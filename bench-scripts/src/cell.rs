//! One cell: a fresh server, its bytes checked, warmed up, loaded and watched, cross-checked, stopped.

mod trace;

use std::thread;
use std::time::{Duration, Instant, SystemTime};

use crate::answer::{self, Request};
use crate::check::{self, Evidence};
use crate::interrupt::{Interrupt, Interrupted};
use crate::load::{Job, LoadError, LoadGenerator, LoadRun};
use crate::matrix::Entrant;
use crate::observe::cgroup::CpuGroup;
use crate::observe::net::{self, Sockets};
use crate::observe::threads::ProcessGroup;
use crate::observe::{self, Edge, Watch};
use crate::record::{self, Cell, Load, PlannedCell, Reason, Spent, Validity};
use crate::server::{Counters, Launch, Server};

/// The share of the load's time by which all connections must be established.
const ESTABLISHED_BY: f64 = 0.4;

/// How long before the load's end the last edge is taken.
const LAST_EDGE_MARGIN: Duration = Duration::from_millis(60);

/// How often one looks whether all connections are established.
const POLL: Duration = Duration::from_millis(5);

/// How long the connections of a warm-up may take to go.
const SETTLE: Duration = Duration::from_millis(500);

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
    /// Raised by Ctrl-C.
    pub interrupt: &'a Interrupt,
}

/// Why a measurement was given up.
enum GivenUp {
    /// Something went wrong: the cell is invalid.
    Because(Reason),
    /// The user wants to stop: there is no cell.
    Interrupted,
}

impl From<Reason> for GivenUp {
    fn from(reason: Reason) -> Self {
        Self::Because(reason)
    }
}

impl From<Interrupted> for GivenUp {
    fn from(_: Interrupted) -> Self {
        Self::Interrupted
    }
}

impl From<LoadError> for GivenUp {
    fn from(error: LoadError) -> Self {
        match error {
            LoadError::Failed(detail) => Self::Because(Reason::LoadGeneratorFailed { detail }),
            LoadError::Interrupted(_) => Self::Interrupted,
        }
    }
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

/// Both edges of the telemetry window, and how many connections the kernel saw at the first.
struct Window {
    established: u32,
    first: Edge,
    last: Edge,
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
        let begin = Instant::now();
        let mut server = Server::start(launch)?;
        let response_bytes = answer::check(entrant, self.request, server.addr)
            .map_err(|detail| Reason::WrongResponse { detail })?;
        // Now that it has answered, a foreign server has started its workers too.
        let processes = server.processes();
        let rss_before_bytes = processes.rss_bytes();
        measured.spent.start_us = micros(begin);

        let begin = Instant::now();
        let warmup = if self.warmup.is_zero() {
            None
        } else {
            Some(self.warm_up(&mut server, planned)?)
        };
        measured.spent.warmup_us = micros(begin);

        let begin = Instant::now();
        let (window, load) = self.load(&mut server, planned, |server, run, sockets_before| {
            self.window(server, processes, planned, run, sockets_before)
        })?;
        let load = measured.load.insert(load);
        measured.spent.load_us = micros(begin);

        let begin = Instant::now();
        let (usage, client, system) = observe::between(&window.first, &window.last);
        let counters = window.last.counters.zip(window.first.counters);
        let workers = counters.map(|(last, first)| last.since(&first));
        measured.client = Some(client);
        let system = measured.system.insert(system);
        let requests_in_life = server.stop()?.as_ref().map(Counters::requests);
        let server = measured.server.insert(record::Server {
            usage,
            rss_before_bytes,
            established: window.established,
            workers,
            requests_in_life,
        });
        measured.spent.stop_us = micros(begin);
        Ok(check::reasons(&Evidence {
            planned,
            wanted_us: u64::try_from(self.duration.as_micros()).unwrap_or(u64::MAX),
            response_bytes,
            warmup: warmup.as_ref(),
            load,
            own_requests: 1,
            server,
            system,
        }))
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
        let before = sockets_in_use();
        let run = self
            .generator
            .start(&self.job(server, planned, self.warmup))?;
        let load = finish(run, server, self.interrupt)?;
        self.settle(server, before)?;
        Ok(load)
    }

    /// Waits until the connections of a load that ended are gone; `sockets_before` were in use before it.
    fn settle(&self, server: &Server, sockets_before: u64) -> Result<(), GivenUp> {
        let deadline = Instant::now() + SETTLE;
        while Instant::now() < deadline {
            let counters = server
                .counters()
                .map_err(|detail| Reason::ServerStuck { detail })?;
            let gone = match counters {
                Some(counters) => counters.open() == 0,
                None => sockets_in_use() <= sockets_before,
            };
            if gone {
                break;
            }
            self.interrupt.check()?;
            thread::sleep(POLL);
        }
        Ok(())
    }

    /// A load that is watched: `watch` gets the server, the load run, and how many sockets were in use before it.
    fn load<W>(
        &self,
        server: &mut Server,
        planned: &PlannedCell,
        watch: impl FnOnce(&mut Server, &mut dyn LoadRun, u64) -> Result<W, GivenUp>,
    ) -> Result<(W, Load), GivenUp> {
        let before = sockets_in_use();
        let mut run = self
            .generator
            .start(&self.job(server, planned, self.duration))?;
        match watch(server, run.as_mut(), before) {
            // How it ended says more than what was missed of it.
            Err(missed @ GivenUp::Because(_)) if run.has_ended() => {
                finish(run, server, self.interrupt)?;
                Err(missed)
            }
            Err(given_up) => Err(given_up),
            Ok(seen) => Ok((seen, finish(run, server, self.interrupt)?)),
        }
    }

    /// The telemetry window inside a load run.
    fn window(
        &self,
        server: &mut Server,
        processes: ProcessGroup,
        planned: &PlannedCell,
        run: &mut dyn LoadRun,
        sockets_before: u64,
    ) -> Result<Window, GivenUp> {
        let begin = Instant::now();
        let watch = Watch {
            server: processes,
            client: ProcessGroup::single(run.pid()),
            cpus: self.cpus.into(),
            quota: CpuGroup::of_this_process().filter(|group| group.quota_cpus().is_some()),
        };
        let by = begin + self.duration.mul_f64(ESTABLISHED_BY);
        let (established, counters) =
            self.all_accepted(server, run, planned, sockets_before, by)?;
        let first = self.edge(&watch, counters, server, run)?;
        self.watch_until(begin + self.duration - LAST_EDGE_MARGIN, server, run)?;
        let counters = self.counters(server, run)?;
        let last = self.edge(&watch, counters, server, run)?;
        Ok(Window {
            established,
            first,
            last,
        })
    }

    /// Waits until all connections are established and the server has accepted them, at most until `by`. Gives how many
    /// the kernel shows, and the server's counts.
    fn all_accepted(
        &self,
        server: &mut Server,
        run: &mut dyn LoadRun,
        planned: &PlannedCell,
        sockets_before: u64,
        by: Instant,
    ) -> Result<(u32, Option<Counters>), GivenUp> {
        let established = self.await_connections(server, run, planned, sockets_before, by)?;
        loop {
            let counters = self.counters(server, run)?;
            let open = counters.as_ref().map(Counters::open);
            let all_accepted = open.is_none_or(|open| open >= u64::from(planned.connections));
            if all_accepted || Instant::now() >= by {
                return Ok((established, counters));
            }
            thread::sleep(POLL);
        }
    }

    /// Lets a load run go on until `end`, or its own.
    fn watch_until(
        &self,
        end: Instant,
        server: &mut Server,
        run: &mut dyn LoadRun,
    ) -> Result<(), GivenUp> {
        while Instant::now() < end && !run.has_ended() {
            server.check_alive()?;
            let step = Instant::now() + Duration::from_millis(50);
            self.interrupt.sleep_until(end.min(step))?;
        }
        Ok(())
    }

    /// Waits until all connections are established, at most until `by`; gives how many then are.
    ///
    /// The kernel's count of all sockets is cheap, and so asked first and often. But others open sockets too: only the
    /// list of those of the server's port is proof.
    fn await_connections(
        &self,
        server: &Server,
        run: &mut dyn LoadRun,
        planned: &PlannedCell,
        sockets_before: u64,
        by: Instant,
    ) -> Result<u32, Interrupted> {
        // Each connection has a socket on either side.
        let wanted = sockets_before + 2 * u64::from(planned.connections);
        loop {
            let over = Instant::now() >= by || run.has_ended();
            if over || sockets_in_use() >= wanted {
                let established = net::established(server.addr.port()).unwrap_or(0);
                if over || established >= planned.connections {
                    return Ok(established);
                }
            }
            self.interrupt.check()?;
            thread::sleep(POLL);
        }
    }

    fn counters(
        &self,
        server: &mut Server,
        run: &mut dyn LoadRun,
    ) -> Result<Option<Counters>, GivenUp> {
        self.interrupt.check()?;
        server
            .counters()
            .map_err(|detail| self.gone(server, run, detail))
    }

    fn edge(
        &self,
        watch: &Watch,
        counters: Option<Counters>,
        server: &mut Server,
        run: &mut dyn LoadRun,
    ) -> Result<Edge, GivenUp> {
        watch
            .edge(counters)
            .map_err(|error| self.gone(server, run, error.to_string()))
    }

    /// Why the telemetry failed: mostly because one of the two processes is gone.
    fn gone(&self, server: &mut Server, run: &mut dyn LoadRun, detail: String) -> GivenUp {
        if let Err(reason) = server.check_alive() {
            return reason.into();
        }
        if run.has_ended() {
            let detail = "it ended before its time was over".into();
            return Reason::LoadGeneratorFailed { detail }.into();
        }
        Reason::ServerStuck { detail }.into()
    }
}

/// Waits for the end of a load run. If the server died under it, that is the reason for whatever else went wrong.
fn finish(
    run: Box<dyn LoadRun>,
    server: &mut Server,
    interrupt: &Interrupt,
) -> Result<Load, GivenUp> {
    let load = run.finish(interrupt);
    server.check_alive()?;
    Ok(load?)
}

/// TCP sockets in use; zero where the kernel does not tell, so that nothing is waited for.
fn sockets_in_use() -> u64 {
    Sockets::read().map_or(0, |sockets| sockets.in_use)
}

/// RFC 3339, UTC, to the millisecond.
fn now() -> String {
    humantime::format_rfc3339_millis(SystemTime::now()).to_string()
}

fn micros(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_micros()).unwrap_or(u64::MAX)
}
