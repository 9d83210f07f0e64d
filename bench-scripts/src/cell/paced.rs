//! One paced cell: a fresh server, its bytes checked, loaded at a fixed rate and watched, cross-checked, stopped.
//!
//! The load's warm-up and window are one run of the generator. What we read ourselves is read beside the window, in the middle
//! of the warm-up and after the load: it takes the generator's CPU for up to a millisecond, which the 99.9th percentile of a
//! second would show.

use std::time::{Duration, Instant};

use super::observer::{GivenUp, Observer, Subject, Window, micros, sockets_in_use};
use super::{now, record};
use crate::check::paced::{self as check, Evidence};
use crate::interrupt::Interrupted;
use crate::load::paced::{PacedGenerator, PacedJob};
use crate::matrix::Entrant;
use crate::paced::PacedLoad;
use crate::record::{PacedCell, PlannedPacedCell, Reason, Spent, Validity};
use crate::server::Launch;

/// How long connections may take to be established: the load begins only then.
const ESTABLISHED_WITHIN: Duration = Duration::from_secs(10);

/// What all paced cells of a sweep have in common.
#[derive(Clone, Copy)]
pub struct PacedBench<'a> {
    /// What makes the load.
    pub generator: &'a PacedGenerator,
    /// Who looks on.
    pub observer: Observer<'a>,
    /// Load before the window.
    pub warmup: Duration,
    /// The window.
    pub duration: Duration,
}

/// What has been measured of a paced cell so far.
#[derive(Default)]
struct Measured {
    load: Option<PacedLoad>,
    server: Option<record::Server>,
    system: Option<record::System>,
    spent: Spent,
}

impl PacedBench<'_> {
    /// Measures one paced cell. Whatever goes wrong with the server or the load makes it invalid, with its reason.
    ///
    /// # Errors
    ///
    /// [`Interrupted`], if the user wants to stop; the server is ended then.
    pub fn measure(
        &self,
        planned: &PlannedPacedCell,
        attempt: u32,
        entrant: &Entrant,
        launch: &Launch,
    ) -> Result<PacedCell, Interrupted> {
        let started_at = now();
        let mut measured = Measured::default();
        let reasons = match self.run(planned, entrant, launch, &mut measured) {
            Ok(reasons) => reasons,
            Err(GivenUp::Because(reason)) => vec![reason],
            Err(GivenUp::Interrupted) => return Err(Interrupted),
        };
        Ok(PacedCell {
            planned: planned.clone(),
            attempt,
            started_at,
            validity: Validity::of(reasons),
            load: measured.load,
            server: measured.server,
            system: measured.system,
            spent: measured.spent,
        })
    }

    /// The stages of a paced cell, each with its time; gives what the cross-checks found.
    fn run(
        &self,
        planned: &PlannedPacedCell,
        entrant: &Entrant,
        launch: &Launch,
        measured: &mut Measured,
    ) -> Result<Vec<Reason>, GivenUp> {
        let begin = Instant::now();
        let mut subject = self.observer.begin(entrant, launch)?;
        measured.spent.start_us = micros(begin);

        let begin = Instant::now();
        let window = self.load(&mut subject, planned, &mut measured.load)?;
        measured.spent.load_us = micros(begin);

        let begin = Instant::now();
        let seen = subject.seen(&window);
        let system = measured.system.insert(seen.system);
        let server = measured.server.insert(seen.server);
        let response_bytes = subject.response_bytes;
        server.requests_in_life = subject.stop()?;
        measured.spent.stop_us = micros(begin);
        Ok(measured.load.as_ref().map_or_else(Vec::new, |load| {
            check::reasons(&Evidence {
                planned,
                response_bytes,
                load,
                own_requests: 1,
                server,
                system,
            })
        }))
    }

    /// The load, from the first edge in its warm-up to the last behind its end.
    fn load(
        &self,
        subject: &mut Subject,
        planned: &PlannedPacedCell,
        load: &mut Option<PacedLoad>,
    ) -> Result<Window, GivenUp> {
        let before = sockets_in_use();
        let watch = self.observer.watch(subject.processes.clone(), None);
        let server = &mut subject.server;
        let mut run = self.generator.start(&PacedJob {
            addr: server.addr,
            request: self.observer.request.clone(),
            connections: planned.connections,
            rate_per_s: planned.rate_per_s,
            warmup: self.warmup,
            duration: self.duration,
        })?;
        let by = Instant::now() + ESTABLISHED_WITHIN;
        let connections = planned.connections;
        let established =
            self.observer
                .await_connections(server, run.as_mut(), connections, before, by)?;
        let begun = Instant::now();
        self.observer
            .wait_until(begun + self.warmup / 2, server, run.as_mut())?;
        let first = match self.observer.edge(&watch, server, run.as_mut()) {
            // How it ended says more than what was missed of it.
            Err(missed @ GivenUp::Because(_)) if run.has_ended() => {
                self.observer.finish(run, server)?;
                return Err(missed);
            }
            first => first?,
        };
        let end = begun + self.warmup + self.duration;
        self.observer.wait_until(end, server, run.as_mut())?;
        *load = Some(self.observer.finish(run, server)?);
        let stuck = |detail| Reason::ServerStuck { detail };
        let counters = server.counters().map_err(stuck)?;
        let last = watch
            .edge(counters)
            .map_err(|error| stuck(error.to_string()))?;
        Ok(Window {
            established,
            first,
            last,
        })
    }
}
