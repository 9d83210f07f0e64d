//! Plays one script against one server.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::thread;
use std::time::{Duration, Instant};

use crate::case::{Case, Pace, ProcessStep, Step};
use crate::expect::{Mismatch, PROBE, closed, describe, expect};
use crate::reply::page;
use crate::server::Server;
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
            Step::Send(bytes, times) => send(self.wire()?, bytes, *times),
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
            ProcessStep::Rests(duration) => {
                process::rests(server.pid(), *duration).map_err(told("a process at rest"))
            }
            ProcessStep::ResidentBelow(bytes) => {
                process::resident_below(server.pid(), *bytes).map_err(told("bounded memory"))
            }
            ProcessStep::Counts { pages, open } => counts(server, *pages, *open),
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

/// Small pieces are sent many at once: a client that takes long to send would meet the server's deadlines.
fn send(wire: &mut Wire, piece: &[u8], times: usize) {
    const BATCH: usize = 64 << 10;
    let at_once = (BATCH / piece.len().max(1)).clamp(1, times);
    let batch = piece.repeat(at_once);
    for _ in 0..times / at_once {
        wire.send(&batch);
    }
    wire.send(&batch[..times % at_once * piece.len()]);
}

fn connect(addr: SocketAddr) -> Result<Wire, Mismatch> {
    Wire::open(addr).map_err(|e| (format!("a connection to {addr}"), e.to_string()))
}

/// The counters are stored by the workers after the answers are sent, so they may lag by a moment.
fn counts(server: &mut Server, pages: u64, open: u64) -> Result<(), Mismatch> {
    let mut page_bytes = Vec::new();
    page().encode(&mut page_bytes);
    let expected = [pages, pages * page_bytes.len() as u64, open].map(u64::cast_signed);
    let deadline = Instant::now() + PATIENCE;
    loop {
        let line = server
            .counters()
            .map_err(|e| ("a line of counters".into(), e.to_string()))?;
        let got = ["requests", "bytes", "open"].map(|name| total(&line, name));
        if got == expected {
            return Ok(());
        }
        if Instant::now() > deadline {
            let say = |[requests, bytes, open]: [i64; 3]| {
                format!("{requests} requests, {bytes} bytes, {open} open connections")
            };
            return Err((say(expected), say(got)));
        }
    }
}

/// The sum over all workers; one alone may be negative where connections move between threads.
fn total(line: &serde_json::Value, name: &str) -> i64 {
    let workers = line["workers"].as_array().into_iter().flatten();
    workers.filter_map(|worker| worker[name].as_i64()).sum()
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
