//! Looks on while a server is loaded: starts it, awaits its connections, takes the edges, stops it. What a cell of either
//! pass does with a server, but for the load itself.

use std::thread;
use std::time::{Duration, Instant};

use crate::answer::{self, Request};
use crate::interrupt::{Interrupt, Interrupted};
use crate::load::{Job, LoadError, LoadGenerator, LoadRun};
use crate::matrix::Entrant;
use crate::observe::cgroup::CpuGroup;
use crate::observe::net::{self, Sockets};
use crate::observe::threads::ProcessGroup;
use crate::observe::{self, Edge, Watch};
use crate::record::{self, Load, Reason};
use crate::server::{Counters, Launch, Server};

/// How often one looks whether all connections are established.
const POLL: Duration = Duration::from_millis(5);

/// How often one counts the connections to the server's port themselves: the list takes 1 ms for each thousand or so.
const PROVE: Duration = Duration::from_millis(25);

/// How long the connections of a load may take to go.
const SETTLE: Duration = Duration::from_millis(500);

/// How often one looks whether the server still lives while nothing else is to do.
const WATCH: Duration = Duration::from_millis(50);

/// What all cells of a sweep need to be looked at.
#[derive(Clone, Copy)]
pub struct Observer<'a> {
    /// What is asked for.
    pub request: &'a Request,
    /// The CPUs that either side may use.
    pub cpus: &'a [u32],
    /// Raised by Ctrl-C.
    pub interrupt: &'a Interrupt,
}

/// Why a measurement was given up.
pub(super) enum GivenUp {
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

/// A server that has answered as it must.
pub(super) struct Subject {
    pub(super) server: Server,
    /// Its processes.
    pub(super) processes: ProcessGroup,
    /// Length of its whole answer, bytes.
    pub(super) response_bytes: u64,
    rss_before_bytes: u64,
}

/// Both edges of a telemetry window, and how many connections the kernel saw at the first.
pub(super) struct Window {
    pub(super) established: u32,
    pub(super) first: Edge,
    pub(super) last: Edge,
}

/// What a window held: the server's side, the load generator's where it was watched, and the machine's.
pub(super) struct Seen {
    pub(super) server: record::Server,
    pub(super) client: record::Usage,
    pub(super) system: record::System,
}

impl Observer<'_> {
    /// Starts a fresh server, and checks its bytes.
    pub(super) fn begin(&self, entrant: &Entrant, launch: &Launch) -> Result<Subject, GivenUp> {
        let server = Server::start(launch)?;
        let response_bytes = answer::check(entrant, self.request, server.addr)
            .map_err(|detail| Reason::WrongResponse { detail })?;
        // Now that it has answered, a foreign server has started its workers too.
        let processes = server.processes();
        Ok(Subject {
            response_bytes,
            rss_before_bytes: processes.rss_bytes(),
            processes,
            server,
        })
    }

    /// Watches a server and, if there is one, its load generator.
    pub(super) fn watch(&self, server: ProcessGroup, client: Option<u32>) -> Watch {
        Watch {
            server,
            client: client.map(ProcessGroup::single),
            cpus: self.cpus.into(),
            quota: CpuGroup::of_this_process().filter(|group| group.quota_cpus().is_some()),
        }
    }

    /// Waits until all connections of a load are established, at most until `by`; gives how many then are.
    ///
    /// The kernel's count of all sockets is cheap, and so asked first and often. But others open and close sockets too: only
    /// the list of those of the server's port is proof, and is asked for now and then whatever the count says.
    pub(super) fn await_connections<T>(
        &self,
        server: &Server,
        run: &mut dyn LoadRun<T>,
        connections: u32,
        sockets_before: u64,
        by: Instant,
    ) -> Result<u32, Interrupted> {
        // Each connection has a socket on either side.
        let wanted = sockets_before + 2 * u64::from(connections);
        let mut prove_at = Instant::now() + PROVE;
        loop {
            let over = Instant::now() >= by || run.has_ended();
            if over || sockets_in_use() >= wanted || Instant::now() >= prove_at {
                let established = net::established(server.addr.port()).unwrap_or(0);
                if over || established >= connections {
                    return Ok(established);
                }
                prove_at = Instant::now() + PROVE;
            }
            self.interrupt.check()?;
            thread::sleep(POLL);
        }
    }

    /// Starts a load and has it watched until it ends. `watch` gets the load run, and how many sockets were in use before it.
    pub(super) fn load<W>(
        &self,
        generator: &dyn LoadGenerator,
        job: &Job,
        subject: &mut Subject,
        watch: impl FnOnce(&mut Subject, &mut dyn LoadRun, u64) -> Result<W, GivenUp>,
    ) -> Result<(W, Load), GivenUp> {
        let before = sockets_in_use();
        let mut run = generator.start(job)?;
        match watch(subject, run.as_mut(), before) {
            // How it ended says more than what was missed of it.
            Err(missed @ GivenUp::Because(_)) if run.has_ended() => {
                self.finish(run, &mut subject.server)?;
                Err(missed)
            }
            Err(given_up) => Err(given_up),
            Ok(seen) => Ok((seen, self.finish(run, &mut subject.server)?)),
        }
    }

    /// The first edge, once the server has accepted all connections, or at `by`.
    pub(super) fn first_edge<T>(
        &self,
        watch: &Watch,
        server: &mut Server,
        run: &mut dyn LoadRun<T>,
        connections: u32,
        by: Instant,
    ) -> Result<Edge, GivenUp> {
        let counters = self.accepted(server, run, connections, by)?;
        edge(watch, counters, server, run)
    }

    /// The server's counts, once it has accepted all connections, or at `by`.
    pub(super) fn accepted<T>(
        &self,
        server: &mut Server,
        run: &mut dyn LoadRun<T>,
        connections: u32,
        by: Instant,
    ) -> Result<Option<Counters>, GivenUp> {
        loop {
            let counters = self.counters(server, run)?;
            let open = counters.as_ref().map(Counters::open);
            let all_accepted = open.is_none_or(|open| open >= u64::from(connections));
            if all_accepted || Instant::now() >= by {
                return Ok(counters);
            }
            thread::sleep(POLL);
        }
    }

    /// An edge, now.
    pub(super) fn edge<T>(
        &self,
        watch: &Watch,
        server: &mut Server,
        run: &mut dyn LoadRun<T>,
    ) -> Result<Edge, GivenUp> {
        let counters = self.counters(server, run)?;
        edge(watch, counters, server, run)
    }

    /// The server's counts, now; none of a foreign server.
    pub(super) fn counters<T>(
        &self,
        server: &mut Server,
        run: &mut dyn LoadRun<T>,
    ) -> Result<Option<Counters>, GivenUp> {
        self.interrupt.check()?;
        server
            .counters()
            .map_err(|detail| gone(server, run, detail))
    }

    /// Waits until `end`, or until the load is over.
    pub(super) fn wait_until<T>(
        &self,
        end: Instant,
        server: &mut Server,
        run: &mut dyn LoadRun<T>,
    ) -> Result<(), GivenUp> {
        while Instant::now() < end && !run.has_ended() {
            server.check_alive()?;
            self.interrupt
                .sleep_until(end.min(Instant::now() + WATCH))?;
        }
        Ok(())
    }

    /// Waits for the end of a load run. If the server died under it, that is the reason for whatever else went wrong.
    pub(super) fn finish<T>(
        &self,
        run: Box<dyn LoadRun<T>>,
        server: &mut Server,
    ) -> Result<T, GivenUp> {
        let load = run.finish(self.interrupt);
        server.check_alive()?;
        Ok(load?)
    }

    /// Waits a moment until no connection of a load is left, of which there were `sockets_before` sockets before.
    pub(super) fn settle(&self, server: &mut Server, sockets_before: u64) -> Result<(), GivenUp> {
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
}

impl Subject {
    /// What a window held. How many requests the server counts over its life, it tells when it [stops](Subject::stop).
    pub(super) fn seen(&self, window: &Window) -> Seen {
        let Window {
            established,
            first,
            last,
        } = window;
        let (usage, client, system) = observe::between(first, last);
        let counters = last.counters.as_ref().zip(first.counters.as_ref());
        Seen {
            server: record::Server {
                usage,
                rss_before_bytes: self.rss_before_bytes,
                established: *established,
                workers: counters.map(|(last, first)| last.since(first)),
                requests_in_life: None,
            },
            client,
            system,
        }
    }

    /// Stops the server; gives the requests that it counted over its life.
    pub(super) fn stop(self) -> Result<Option<u64>, Reason> {
        Ok(self.server.stop()?.as_ref().map(Counters::requests))
    }
}

fn edge<T>(
    watch: &Watch,
    counters: Option<Counters>,
    server: &mut Server,
    run: &mut dyn LoadRun<T>,
) -> Result<Edge, GivenUp> {
    watch
        .edge(counters)
        .map_err(|error| gone(server, run, error.to_string()))
}

/// Why the telemetry failed: mostly because one of the two processes is gone.
pub(super) fn gone<T>(server: &mut Server, run: &mut dyn LoadRun<T>, detail: String) -> GivenUp {
    if let Err(reason) = server.check_alive() {
        return reason.into();
    }
    if run.has_ended() {
        let detail = "it ended before its time was over".into();
        return Reason::LoadGeneratorFailed { detail }.into();
    }
    Reason::ServerStuck { detail }.into()
}

/// TCP sockets in use; zero where the kernel does not tell, so that nothing is waited for.
pub(super) fn sockets_in_use() -> u64 {
    Sockets::read().map_or(0, |sockets| sockets.in_use)
}

pub(super) fn micros(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_micros()).unwrap_or(u64::MAX)
}
