//! Plays one script against one server.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::case::{Case, Pace, ProcessStep, Step};
use crate::expect::{Mismatch, PROBE, closed, describe, expect};
use crate::reply::page;
use crate::server::{self, Server};
use crate::wire::{PATIENCE, Wire};
use crate::{Kind, process};

/// How a rung kept a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Agreement {
    /// As all must.
    Full,
    /// As declared for its kind, for these reasons.
    Declared(Vec<&'static str>),
    /// Its kind is not held to this case, for this reason.
    Exempt(&'static str),
}

/// How a rung broke a case.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{case} (step {step} of its script)\n    expected: {expected}\n    got:      {got}")]
pub struct Failure {
    /// The case's name.
    pub case: &'static str,
    /// Which step of its script, counted from 1.
    pub step: usize,
    /// What was expected; bytes are escaped.
    pub expected: String,
    /// What came instead; bytes are escaped.
    pub got: String,
}

/// Checks one case against the server at this address.
///
/// # Errors
///
/// A [`Failure`] if the server breaks the case, or if the case needs the server's process ([`Case::needs_process`]).
pub fn check(addr: SocketAddr, kind: Kind, case: &Case) -> Result<Agreement, Failure> {
    Run::new(addr, kind, None).play(case)
}

/// Checks one case against a server whose process it may stop: give it one of its own.
///
/// # Errors
///
/// A [`Failure`] if the server breaks the case.
pub fn check_process(server: &mut Server, kind: Kind, case: &Case) -> Result<Agreement, Failure> {
    let result = Run::new(server.addr(), kind, Some(server)).play(case);
    result.map_err(|mut failure| {
        if let Some(end) = server.unexpected_end() {
            failure.got = format!("{}; and the server has ended: {end}", failure.got);
        }
        failure
    })
}

struct Run<'a> {
    addr: SocketAddr,
    kind: Kind,
    server: Option<&'a mut Server>,
    wires: BTreeMap<usize, Wire>,
    current: usize,
    reasons: Vec<&'static str>,
}

impl<'a> Run<'a> {
    fn new(addr: SocketAddr, kind: Kind, server: Option<&'a mut Server>) -> Self {
        Self {
            addr,
            kind,
            server,
            wires: BTreeMap::new(),
            current: 0,
            reasons: Vec::new(),
        }
    }

    fn play(mut self, case: &Case) -> Result<Agreement, Failure> {
        if let Some(why) = case.exemption(self.kind) {
            return Ok(Agreement::Exempt(why));
        }
        for (at, step) in case.steps.iter().enumerate() {
            self.step(step).map_err(|(expected, got)| Failure {
                case: case.name,
                step: at + 1,
                expected,
                got,
            })?;
        }
        Ok(if self.reasons.is_empty() {
            Agreement::Full
        } else {
            Agreement::Declared(self.reasons)
        })
    }

    fn step(&mut self, step: &Step) -> Result<(), Mismatch> {
        match step {
            Step::On(connection) => {
                self.current = *connection;
                self.wire()?;
            }
            Step::Send(bytes, times) => self.wire()?.send_repeated(bytes, *times),
            Step::SendMeanwhile(bytes, times) => self.wire()?.send_meanwhile(bytes, *times),
            Step::Drip(bytes, every) => self.wire()?.drip(bytes, *every),
            Step::HalfClose => self.wire()?.half_close(),
            Step::Reset => {
                self.wire()?;
                if let Some(wire) = self.wires.remove(&self.current) {
                    wire.reset();
                }
            }
            Step::HangUp => {
                self.wires.remove(&self.current);
            }
            Step::Pause(duration) => thread::sleep(*duration),
            Step::ConnectAndReset(times) => {
                for _ in 0..*times {
                    connect(self.addr)?.reset();
                }
            }
            Step::Expect(pace, expectation) => {
                let (expected, why) = expectation.of(self.kind);
                // Of several steps, each may differ for the same reason.
                self.reasons
                    .extend(why.filter(|why| !self.reasons.contains(why)));
                expect(self.wire()?, expected, *pace)?;
            }
            Step::Process(step) => self.process_step(step)?,
        }
        Ok(())
    }

    /// The connection in use, opened if it is not yet.
    fn wire(&mut self) -> Result<&mut Wire, Mismatch> {
        use std::collections::btree_map::Entry;
        Ok(match self.wires.entry(self.current) {
            Entry::Occupied(wire) => wire.into_mut(),
            Entry::Vacant(vacant) => vacant.insert(connect(self.addr)?),
        })
    }

    fn process_step(&mut self, step: &ProcessStep) -> Result<(), Mismatch> {
        let addr = self.addr;
        let Some(server) = self.server.as_deref_mut() else {
            return Err((
                "a server started for this case alone".into(),
                "only an address".into(),
            ));
        };
        let told = |what: &'static str| move |e: io::Error| (what.to_owned(), e.to_string());
        match step {
            ProcessStep::Signal(signal) => server
                .signal(*signal)
                .map_err(told("a process that can be signalled")),
            ProcessStep::Exits(within) => server
                .await_exit(*within)
                .map(|_counters| ())
                .map_err(told("exit with 0 and a last line of counters")),
            ProcessStep::DenyDescriptors => {
                process::deny_descriptors(server.pid()).map_err(told("a limit of descriptors"))
            }
            ProcessStep::AllowDescriptors => {
                process::allow_descriptors(server.pid()).map_err(told("a limit of descriptors"))
            }
            ProcessStep::Halt => process::halt(server.pid()).map_err(told("a stopped process")),
            ProcessStep::GoOn => server
                .signal(Signal::CONT)
                .map_err(told("a process that can be signalled")),
            ProcessStep::Rests(duration) => {
                process::rests(server.pid(), *duration).map_err(told("a process at rest"))
            }
            ProcessStep::Sleeps(duration) => {
                process::sleeps(server.pid(), *duration).map_err(told("a process that sleeps"))
            }
            ProcessStep::GrowsBelow(bytes) => {
                server.grows_below(*bytes).map_err(told("bounded memory"))
            }
            ProcessStep::ClosesAll => {
                process::closes_all(addr).map_err(told("no connection in CLOSE_WAIT"))
            }
            ProcessStep::Counts { pages, open } => {
                let bytes = pages * page_length();
                counts(
                    server,
                    &[("requests", *pages), ("bytes", bytes), ("open", *open)],
                )
            }
            ProcessStep::Open(open) => counts(server, &[("open", *open)]),
            ProcessStep::Refuses => refuses(addr),
            ProcessStep::Launch {
                flags,
                code,
                stderr,
            } => server
                .launch_another(flags, *code, stderr)
                .map_err(told("another process that ends at once")),
        }
    }
}

fn connect(addr: SocketAddr) -> Result<Wire, Mismatch> {
    Wire::open(addr).map_err(|e| (format!("a connection to {addr}"), e.to_string()))
}

fn page_length() -> u64 {
    let mut bytes = Vec::new();
    page().encode(&mut bytes);
    bytes.len() as u64
}

/// The counters are stored by the workers after the answers are sent, so they may lag by a moment.
fn counts(server: &mut Server, expected: &[(&str, u64)]) -> Result<(), Mismatch> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let line = server
            .counters()
            .map_err(|e| ("a line of counters".into(), e.to_string()))?;
        let got = expected
            .iter()
            .map(|(name, _)| (*name, server::total(&line, name)));
        let got: Vec<_> = got.collect();
        let agrees = |(name, wanted): &(&str, u64)| got.contains(&(name, wanted.cast_signed()));
        if expected.iter().all(agrees) {
            return Ok(());
        }
        if Instant::now() > deadline {
            return Err((format!("{expected:?}"), format!("{got:?}")));
        }
    }
}

/// The server comes to serve nobody new: connecting fails, or the connection ends without an answer.
fn refuses(addr: SocketAddr) -> Result<(), Mismatch> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let Ok(mut wire) = Wire::open(addr) else {
            return Ok(());
        };
        wire.send(PROBE);
        match wire.receive(1, Pace::Brisk) {
            (bytes, ended) if bytes.is_empty() && closed(ended) => return Ok(()),
            (bytes, ended) if Instant::now() > deadline => {
                return Err(("no new service".into(), describe(&bytes, 0, ended)));
            }
            _served_once_more => thread::sleep(Duration::from_millis(10)),
        }
    }
}
