//! `rung-null`: answers each read with the page, whatever was read. The floor below all rungs, and the control that every
//! sweep measures them against; not a server.
//!
//! It does not read HTTP: half a request is answered as a whole one, ten requests in one segment as one, `/json` with the
//! page, and what no HTTP server would answer with 200. With `--pipelined` it looks for the empty lines that end heads, so
//! that a client which sends many requests at once gets as many answers. It keeps no unsent rest: if the kernel does not take an answer
//! whole, the connection is closed. It has no time-outs, so `--header-timeout` and `--idle-timeout` change nothing; and as
//! an answer is never in flight when it stops, neither does `--grace`. All else of the server contract holds.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use rungs_epoll::{Interest, Reactor, Readiness, Source, accept};
use rungs_response::Encoder;
use rungs_serve::accept::{PAUSE, Remedy, remedy};
use rungs_serve::counters::Counters;
use rungs_serve::sessions::{Clock, Table};
use rungs_serve::{Rung, Stop, Worker};

/// Events taken from the kernel at once; the default of the epoll rung.
const MAX_EVENTS: usize = 1024;

/// Bytes that one read may take.
const INPUT: usize = 16 << 10;

fn main() -> ExitCode {
    rungs_serve::main::<Null>()
}

/// One worker, as the handlers see it.
struct Null {
    listener: Source<TcpListener>,
    accepting: Accepting,
    stop: Source<Stop>,
    connections: Table<Source<TcpStream>>,
    clock: Clock,
    encoder: Encoder,
    page: Vec<u8>,
    pipelined: bool,
    input: Box<[u8]>,
    /// Since the counters were last published.
    requests: u64,
    counters: Counters,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Accepting {
    Watched,
    /// Descriptors have run out.
    Paused {
        until: Instant,
    },
    /// It is time to stop.
    Over,
}

#[derive(Clone, clap::Args)]
struct Options {
    /// Answer each end of a head in what was read, instead of each read: for clients that pipeline their requests
    #[arg(long)]
    pipelined: bool,
}

impl Rung for Null {
    const NAME: &'static str = "rung-null";
    const ABOUT: &'static str =
        "The floor: answers each read with the page, without reading HTTP. A control, not a server";
    type Options = Options;

    fn run(options: &Options, worker: Worker) -> io::Result<()> {
        let mut reactor = Reactor::new(MAX_EVENTS)?;
        let ready = worker.ready.clone();
        let mut null = Self::new(options, worker);
        null.stop
            .register(&mut reactor, Interest::READ, on_stop, 0)?;
        null.watch_listener(&mut reactor)?;
        ready.announce();
        while null.accepting != Accepting::Over {
            let wait = null.next_wait();
            let events = reactor.run(&mut null, wait)?;
            null.end_turn(&mut reactor, events)?;
        }
        let left = null.connections.len() as u64;
        null.counters.slot(0).closed.add(left);
        Ok(())
    }
}

impl Null {
    fn new(options: &Options, worker: Worker) -> Self {
        let slot = worker.counters.slot(0);
        slot.wakeups.add(0);
        slot.events.add(0);
        let clock = Clock::new();
        let encoder = Encoder::new(clock.unix_seconds());
        let mut page = Vec::new();
        encoder.page(&mut page);
        Self {
            listener: Source::new(worker.listener),
            accepting: Accepting::Watched,
            stop: Source::new(worker.stop),
            connections: Table::new(),
            clock,
            encoder,
            page,
            pipelined: options.pipelined,
            input: vec![0; INPUT].into(),
            requests: 0,
            counters: worker.counters,
        }
    }

    fn watch_listener(&mut self, reactor: &mut Reactor<Self>) -> io::Result<()> {
        self.accepting = Accepting::Watched;
        self.listener
            .register(reactor, Interest::ACCEPT, on_listener, 0)
    }

    fn next_wait(&mut self) -> Option<Duration> {
        let wait = match self.accepting {
            Accepting::Watched | Accepting::Over => None,
            Accepting::Paused { until } => Some(until.saturating_duration_since(self.clock.now())),
        };
        self.clock.expire();
        wait
    }

    fn end_turn(&mut self, reactor: &mut Reactor<Self>, events: usize) -> io::Result<()> {
        let slot = self.counters.slot(0);
        slot.requests.add(self.requests);
        slot.bytes.add(self.requests * self.page.len() as u64);
        self.requests = 0;
        slot.wakeups.add(1);
        slot.events.add(events as u64);
        match self.accepting {
            Accepting::Paused { until } if until <= self.clock.now() => {
                self.watch_listener(reactor)
            }
            _ => Ok(()),
        }
    }

    /// Reads once, and writes once what answers that.
    fn answer(&mut self, connection: u32) -> io::Result<()> {
        let connection = &mut self.connections[connection];
        let read = connection.read(&mut self.input)?;
        if read == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        if !self.pipelined {
            self.requests += 1;
            return write_whole(connection, &self.page);
        }
        let answers = ends_of_heads(&self.input[..read]);
        self.requests += answers as u64;
        write_whole(connection, &self.page.repeat(answers))
    }

    /// Sees to it that the page says the second it is.
    fn tell_time(&mut self) {
        let before = self.clock.unix_seconds();
        self.clock.now();
        if self.clock.unix_seconds() != before {
            self.encoder.set_time(self.clock.unix_seconds());
            self.page.clear();
            self.encoder.page(&mut self.page);
        }
    }
}

/// Ends of heads in these bytes. One that is cut in two by the end of a read is missed.
fn ends_of_heads(input: &[u8]) -> usize {
    let end = b"\r\n\r\n";
    input
        .windows(end.len())
        .filter(|bytes| bytes == end)
        .count()
}

fn write_whole(connection: &mut Source<TcpStream>, bytes: &[u8]) -> io::Result<()> {
    if connection.write(bytes).ok() != Some(bytes.len()) {
        return Err(ErrorKind::WriteZero.into());
    }
    Ok(())
}

fn on_listener(null: &mut Null, reactor: &mut Reactor<Null>, _: u64, _: Readiness) {
    loop {
        let error = match accept(&null.listener.socket) {
            Ok(socket) => {
                admit(null, reactor, Source::new(socket));
                continue;
            }
            Err(error) => error,
        };
        match remedy(&error) {
            Remedy::Skip => {}
            Remedy::Wait => return,
            Remedy::Pause | Remedy::Fail => {
                // It is watched, or it would not have been reported. A listener that failed will not be watched again,
                // which ends the worker.
                let _ = null.listener.deregister(reactor);
                let until = null.clock.now() + PAUSE;
                null.accepting = Accepting::Paused { until };
                return;
            }
        }
    }
}

fn admit(null: &mut Null, reactor: &mut Reactor<Null>, mut connection: Source<TcpStream>) {
    let slot = null.counters.slot(0);
    slot.accepted.add(1);
    let about = u64::from(null.connections.next_index());
    match connection.register(reactor, Interest::READ, on_connection, about) {
        Ok(()) => {
            null.connections.insert(connection);
        }
        Err(_) => slot.closed.add(1),
    }
}

fn on_connection(null: &mut Null, reactor: &mut Reactor<Null>, about: u64, _: Readiness) {
    null.tell_time();
    let connection = about as u32;
    let Err(error) = null.answer(connection) else {
        return;
    };
    if !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) {
        if let Some(mut closed) = null.connections.remove(connection) {
            // Closing it next makes the kernel forget it in any case.
            let _ = closed.deregister(reactor);
        }
        null.counters.slot(0).closed.add(1);
    }
}

fn on_stop(null: &mut Null, _: &mut Reactor<Null>, _: u64, _: Readiness) {
    null.accepting = Accepting::Over;
}
