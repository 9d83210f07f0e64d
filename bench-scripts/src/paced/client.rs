//! The pacer's sockets and its clock, on the reactor of the epoll rung. One thread.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::ops::Range;
use std::time::{Duration, Instant};

use rungs_epoll::{Interest, Reactor, Readiness, Source};

use super::busy::{self, Busy};
use super::timer::Timer;
use super::{Failure, PacedError, Pacer, Settings, connect};
use crate::interrupt::Interrupt;
use crate::response_reader::{Response, ResponseReader};

/// Events taken from the kernel at once: few, so that requests that come due meanwhile do not wait long.
const MAX_EVENTS: usize = 32;

/// How often time-outs, lost connections and the user's wish to stop are looked at.
const TICK: Duration = Duration::from_millis(50);

/// A load that has ended.
pub(super) struct Ran {
    pub(super) pacer: Pacer,
    pub(super) addr: SocketAddr,
    pub(super) reconnects: u64,
    pub(super) bytes: u64,
    /// Share of the window that was not spent waiting.
    pub(super) busy: f64,
}

/// Opens all connections to the first of `addresses` that takes one, and sends `request` over them as the schedule has it.
pub(super) fn run(
    settings: &Settings,
    pacer: Pacer,
    addresses: &[SocketAddr],
    request: Vec<u8>,
    interrupt: &Interrupt,
) -> Result<Ran, PacedError> {
    let (addr, streams) = connect::all(addresses, settings.connections.get(), interrupt)?;
    let mut reactor = Reactor::new(MAX_EVENTS)?;
    let mut client = Client::new(settings, pacer, addr, request)?;
    reactor.register(
        &client.timer,
        Interest::READ.edge_triggered(),
        |client: &mut Client, _, _, _| client.has_woken(),
        0,
    )?;
    for (lane, stream) in streams.into_iter().enumerate() {
        let mut source = Source::new(stream);
        source.register(&mut reactor, Interest::READ, on_event, lane as u64)?;
        client.connections.push(Connection::new(source, Link::Open));
        client.pacer.connected(lane, Duration::ZERO);
    }
    client.run(&mut reactor, interrupt)?;
    Ok(Ran {
        busy: client.busy.share(),
        pacer: client.pacer,
        addr,
        reconnects: client.reconnects,
        bytes: client.bytes,
    })
}

/// The reactor's context.
struct Client {
    pacer: Pacer,
    connections: Vec<Connection>,
    addr: SocketAddr,
    request: Vec<u8>,
    input: Vec<u8>,
    timer: Timer,
    busy: Busy,
    timeout: Duration,
    window: Range<Duration>,
    start: Instant,
    reconnects: u64,
    bytes: u64,
    /// What a handler could not report otherwise.
    broken: Option<io::Error>,
}

struct Connection {
    source: Option<Source<TcpStream>>,
    link: Link,
    reader: ResponseReader,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Link {
    /// To be opened at the next tick.
    Down,
    Connecting,
    /// Nothing is being written.
    Open,
    /// So many bytes of the request are written, and the socket is full.
    Writing(usize),
}

impl Connection {
    fn new(source: Source<TcpStream>, link: Link) -> Self {
        Self {
            source: Some(source),
            link,
            reader: ResponseReader::default(),
        }
    }
}

fn on_event(client: &mut Client, reactor: &mut Reactor<Client>, lane: u64, readiness: Readiness) {
    client.has_woken();
    if let Err(error) = client.ready(reactor, lane as usize, readiness) {
        client.broken.get_or_insert(error);
    }
}

impl Client {
    fn new(
        settings: &Settings,
        pacer: Pacer,
        addr: SocketAddr,
        request: Vec<u8>,
    ) -> io::Result<Self> {
        let window = settings.warmup..settings.warmup + settings.duration;
        Ok(Self {
            pacer,
            connections: Vec::new(),
            addr,
            request,
            input: vec![0; 64 << 10],
            timer: Timer::new()?,
            timeout: settings.timeout,
            busy: Busy::new(window.clone()),
            window,
            start: Instant::now(),
            reconnects: 0,
            bytes: 0,
            broken: None,
        })
    }

    fn run(
        &mut self,
        reactor: &mut Reactor<Self>,
        interrupt: &Interrupt,
    ) -> Result<(), PacedError> {
        self.start = Instant::now();
        let mut next_tick = TICK;
        loop {
            let now = self.now();
            self.busy.look(now, busy::run_delay);
            if now >= next_tick {
                interrupt.check()?;
                self.tick(reactor, now)?;
                next_tick = now + TICK;
            }
            // After the window, answers are awaited for no longer than the time-out.
            if self.pacer.is_finished(now) || now >= self.window.end + self.timeout {
                self.give_up_waiting(now);
                return Ok(());
            }
            // Answers wait while requests are sent: a few at a time.
            for _ in 0..MAX_EVENTS {
                let Some(lane) = self.pacer.next_to_send(self.now()) else {
                    break;
                };
                self.send(reactor, lane)?;
            }
            let mut wake_at = self.pacer.wake_at().unwrap_or(next_tick).min(next_tick);
            if now < self.window.end {
                wake_at = wake_at.min(self.window.end);
            }
            let now = self.now();
            let timeout = self.timer.wait(now, wake_at)?;
            self.busy.waits(now);
            reactor.run(self, timeout)?;
            self.has_woken();
            if let Some(error) = self.broken.take() {
                return Err(error.into());
            }
        }
    }

    fn now(&self) -> Duration {
        self.start.elapsed()
    }

    /// The wait for events is over; only the first call after it matters.
    fn has_woken(&mut self) {
        self.busy.woke(|| self.start.elapsed());
    }

    /// Time-outs, and connections that are down.
    fn tick(&mut self, reactor: &mut Reactor<Self>, now: Duration) -> io::Result<()> {
        if let Some(latest) = now.checked_sub(self.timeout) {
            for lane in self.pacer.in_flight_since(latest) {
                self.lost(reactor, lane, Failure::Timeout)?;
            }
        }
        for lane in 0..self.connections.len() {
            if self.connections[lane].link == Link::Down {
                self.reconnect(reactor, lane)?;
            }
        }
        Ok(())
    }

    fn give_up_waiting(&mut self, now: Duration) {
        for lane in self.pacer.in_flight_since(now) {
            self.pacer.failed(lane, now, Failure::Timeout);
        }
    }

    fn send(&mut self, reactor: &mut Reactor<Self>, lane: usize) -> io::Result<()> {
        self.pacer.sent(lane, self.now());
        self.write(reactor, lane, 0)
    }

    /// Writes the request from byte `from` on.
    fn write(&mut self, reactor: &mut Reactor<Self>, lane: usize, from: usize) -> io::Result<()> {
        let connection = &mut self.connections[lane];
        let Some(source) = &mut connection.source else {
            return Ok(());
        };
        let was_full = matches!(connection.link, Link::Writing(_));
        let written = match source.write(&self.request[from..]) {
            Ok(count) => from + count,
            Err(error) if is_momentary(&error) => from,
            Err(_) => return self.lost(reactor, lane, Failure::Write),
        };
        let full = written < self.request.len();
        connection.link = if full {
            Link::Writing(written)
        } else {
            Link::Open
        };
        match (was_full, full) {
            (false, true) => source.reregister(reactor, Interest::WRITE),
            (true, false) => source.reregister(reactor, Interest::READ),
            (false, false) | (true, true) => Ok(()),
        }
    }

    fn ready(
        &mut self,
        reactor: &mut Reactor<Self>,
        lane: usize,
        readiness: Readiness,
    ) -> io::Result<()> {
        match self.connections[lane].link {
            Link::Down => Ok(()),
            Link::Connecting => self.connected(reactor, lane),
            Link::Writing(from) if readiness.is_writable() => self.write(reactor, lane, from),
            Link::Writing(_) | Link::Open => self.read(reactor, lane),
        }
    }

    fn read(&mut self, reactor: &mut Reactor<Self>, lane: usize) -> io::Result<()> {
        let connection = &mut self.connections[lane];
        let Some(source) = &mut connection.source else {
            return Ok(());
        };
        // One read for each event: what is left is reported again, since the watch is level-triggered.
        let count = match source.read(&mut self.input) {
            Ok(count) => count,
            Err(error) if is_momentary(&error) => return Ok(()),
            Err(_) => return self.lost(reactor, lane, Failure::Read),
        };
        self.bytes += count as u64;
        if !self.pacer.is_in_flight(lane) {
            // The server ends an idle connection, perhaps with a word such as 408.
            return self.reopen(reactor, lane);
        }
        if count == 0 {
            return match connection.reader.close() {
                Some(response) => self.answered(reactor, lane, response),
                None => self.lost(reactor, lane, Failure::Short),
            };
        }
        match connection.reader.feed(&self.input[..count]) {
            Ok(None) => Ok(()),
            Ok(Some(response)) => self.answered(reactor, lane, response),
            Err(_) => self.lost(reactor, lane, Failure::Protocol),
        }
    }

    fn answered(
        &mut self,
        reactor: &mut Reactor<Self>,
        lane: usize,
        response: Response,
    ) -> io::Result<()> {
        let now = self.now();
        if response.status > 399 {
            self.pacer.failed(lane, now, Failure::Status);
        } else {
            self.pacer.answered(lane, now);
        }
        // An answer that came before its request was written wholly leaves the connection in the middle of it.
        if !response.keeps_connection || self.connections[lane].link != Link::Open {
            return self.reopen(reactor, lane);
        }
        if self.pacer.may_send(lane, now) {
            self.send(reactor, lane)?;
        }
        Ok(())
    }

    /// The request in flight is lost, and its connection with it.
    fn lost(
        &mut self,
        reactor: &mut Reactor<Self>,
        lane: usize,
        failure: Failure,
    ) -> io::Result<()> {
        self.pacer.failed(lane, self.now(), failure);
        self.reopen(reactor, lane)
    }

    /// Closes a connection on which nothing is in flight, and opens another.
    fn reopen(&mut self, reactor: &mut Reactor<Self>, lane: usize) -> io::Result<()> {
        self.pacer.disconnected(lane);
        self.close(reactor, lane)?;
        self.reconnect(reactor, lane)
    }

    fn close(&mut self, reactor: &mut Reactor<Self>, lane: usize) -> io::Result<()> {
        let connection = &mut self.connections[lane];
        connection.link = Link::Down;
        match connection.source.take() {
            Some(mut source) => source.deregister(reactor),
            None => Ok(()),
        }
    }

    /// Begins to open a connection that is down. Should that fail, the next tick tries again.
    fn reconnect(&mut self, reactor: &mut Reactor<Self>, lane: usize) -> io::Result<()> {
        match connect::begin(self.addr) {
            Ok(stream) => {
                let mut source = Source::new(stream);
                source.register(reactor, Interest::WRITE, on_event, lane as u64)?;
                self.connections[lane] = Connection::new(source, Link::Connecting);
            }
            Err(_) => self.pacer.connect_failed(self.now()),
        }
        Ok(())
    }

    /// An attempt to connect has come to its end.
    fn connected(&mut self, reactor: &mut Reactor<Self>, lane: usize) -> io::Result<()> {
        let connection = &mut self.connections[lane];
        let Some(source) = &connection.source else {
            return Ok(());
        };
        if source.socket.take_error()?.is_some() {
            self.pacer.connect_failed(self.now());
            return self.close(reactor, lane);
        }
        source.reregister(reactor, Interest::READ)?;
        connection.link = Link::Open;
        self.reconnects += 1;
        let now = self.now();
        self.pacer.connected(lane, now);
        if self.pacer.may_send(lane, now) {
            self.send(reactor, lane)?;
        }
        Ok(())
    }
}

fn is_momentary(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}
