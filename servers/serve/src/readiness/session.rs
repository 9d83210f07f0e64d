//! One connection: a socket and what is known of the dialogue on it.

use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::AsFd;
use std::time::Instant;

use rungs_http1::{Connection, Limits, Next};
use rustix::net::{Shutdown, shutdown};

use super::Interest;
use crate::sessions::Desk;

/// How much one read may take, in bytes.
const INPUT: usize = 64 << 10;

/// Steps that one session may do before the others have their turn. A step is at most one read of [`INPUT`] bytes.
const STEPS: usize = 16;

/// The most input that is discarded from a client that goes on sending after the last answer, in bytes. The client is
/// given the time to read the answer, not to send all that it has.
const MAX_DISCARD: usize = 32 << 20;

/// A worker's desk, and what its sessions read into, one after the other.
pub(super) struct Workplace {
    pub(super) desk: Desk,
    input: Box<[u8]>,
}

impl Workplace {
    pub(super) fn new(limits: Limits) -> Self {
        Self {
            desk: Desk::new(limits),
            input: vec![0; INPUT].into(),
        }
    }
}

/// What a session is doing.
enum State {
    /// What [`Connection::next`] says; all output is with the kernel.
    Talking,
    /// Waiting for the kernel to take the rest of the output. Nothing is read meanwhile, so a client that does not take its
    /// answers cannot make this grow.
    Flushing(Box<Tail>),
    /// The last answer is sent, and so is our FIN; input is discarded (RFC 9112, section 9.6).
    Lingering { discarded: usize },
}

/// Output that the kernel has not taken yet: `bytes`, from `sent` on.
struct Tail {
    bytes: Vec<u8>,
    sent: usize,
}

/// How a session wants to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flow {
    /// When the selector says so.
    Wait(Interest),
    /// As soon as the others have had their turn.
    Yield,
    /// Not at all.
    Close,
}

/// One connection on a non-blocking `stream`.
pub(super) struct Session<S> {
    pub(super) stream: S,
    /// Tells this session from others in the same place of the table.
    pub(super) generation: u32,
    /// What the selector watches for.
    pub(super) interest: Interest,
    /// Whether it waits for its next turn in the server's own queue.
    pub(super) queued: bool,
    /// The end of input is near, so a short read is not yet the end of what can be read.
    closed: bool,
    state: State,
    http: Connection,
}

impl<S: Read + Write + AsFd> Session<S> {
    pub(super) fn new(stream: S, generation: u32, now: Instant) -> Self {
        Self {
            stream,
            generation,
            interest: Interest::Read,
            queued: false,
            closed: false,
            state: State::Talking,
            http: Connection::new(now),
        }
    }

    /// When the session is due, unless it makes progress first.
    #[inline]
    pub(super) fn deadline(&self, limits: &Limits) -> Instant {
        self.http.deadline(limits)
    }

    /// The selector has seen the end of input, or a failure: see [`super::Readiness::closed`].
    #[inline]
    pub(super) fn note_closed(&mut self, closed: bool) {
        self.closed |= closed;
    }

    /// The deadline has passed.
    pub(super) fn expire(&mut self, work: &mut Workplace) -> Flow {
        self.http.expire(&mut work.desk.lend());
        if self.http.next() == Next::Close && !matches!(self.state, State::Talking) {
            // Neither will a stalled client take the rest of its answer, nor has a lingering one more to be told.
            debug_assert!(work.desk.out.is_empty(), "it closes without a word");
            return Flow::Close;
        }
        self.say_and_go_on(work)
    }

    /// The server stops.
    pub(super) fn shut_down(&mut self, work: &mut Workplace) -> Flow {
        self.http.shut_down();
        self.say_and_go_on(work)
    }

    fn say_and_go_on(&mut self, work: &mut Workplace) -> Flow {
        match self.send(&mut work.desk) {
            Ok(()) => self.go_on(work),
            Err(_) => Flow::Close,
        }
    }

    /// Goes on with the dialogue as far as the kernel and the session's share of the turn allow. An error of the socket
    /// ends this session and nothing else.
    pub(super) fn go_on(&mut self, work: &mut Workplace) -> Flow {
        for _ in 0..STEPS {
            match self.step(work) {
                Ok(None) => {}
                Ok(Some(flow)) => return flow,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    return Flow::Wait(self.waits_for());
                }
                Err(_) => return Flow::Close,
            }
        }
        Flow::Yield
    }

    /// What the kernel has just refused.
    fn waits_for(&self) -> Interest {
        match self.state {
            State::Flushing(_) => Interest::Write,
            State::Talking | State::Lingering { .. } => Interest::Read,
        }
    }

    #[inline]
    fn step(&mut self, work: &mut Workplace) -> io::Result<Option<Flow>> {
        match &mut self.state {
            State::Talking => match self.http.next() {
                Next::Read => self.receive(work),
                Next::Resume => {
                    self.http.resume(&mut work.desk.lend());
                    self.send(&mut work.desk)?;
                    Ok(None)
                }
                Next::Linger => {
                    shutdown(&self.stream, Shutdown::Write)?;
                    self.state = State::Lingering { discarded: 0 };
                    Ok(None)
                }
                Next::Close => Ok(Some(Flow::Close)),
            },
            State::Flushing(_) => self.flush(&mut work.desk),
            State::Lingering { discarded } => {
                let n = self.stream.read(&mut work.input)?;
                *discarded += n;
                let over = n == 0 || *discarded > MAX_DISCARD;
                Ok(over.then_some(Flow::Close))
            }
        }
    }

    /// Reads once, and answers at once.
    #[inline]
    fn receive(&mut self, work: &mut Workplace) -> io::Result<Option<Flow>> {
        let n = self.stream.read(&mut work.input)?;
        if n == 0 {
            self.http.end_of_input();
        } else {
            self.http.receive(&work.input[..n], &mut work.desk.lend());
        }
        self.send(&mut work.desk)?;
        debug_assert!(
            n > 0 || self.http.next() != Next::Read,
            "nothing follows the end"
        );
        // epoll(7): a read of less than was asked for has drained a stream socket, and what comes later is reported. Only
        // the end of input, if it is there already, would go unnoticed under edge triggering.
        let drained = n < INPUT && !self.closed;
        let goes_on_reading =
            matches!(self.state, State::Talking) && self.http.next() == Next::Read;
        Ok((drained && goes_on_reading).then_some(Flow::Wait(Interest::Read)))
    }

    /// Writes the output of the last call. What the kernel does not take becomes the tail.
    #[inline]
    fn send(&mut self, desk: &mut Desk) -> io::Result<()> {
        if desk.out.is_empty() {
            return Ok(());
        }
        if let State::Flushing(tail) = &mut self.state {
            tail.bytes.append(&mut desk.out);
            return Ok(());
        }
        let written = self.stream.write(&desk.out);
        let sent = match written {
            Ok(n) => n,
            Err(error) if is_for_later(&error) => 0,
            Err(error) => {
                desk.out.clear();
                return Err(error);
            }
        };
        self.count_sent(sent, desk);
        if sent < desk.out.len() {
            let bytes = desk.out[sent..].to_vec();
            self.state = State::Flushing(Box::new(Tail { bytes, sent: 0 }));
        }
        desk.out.clear();
        Ok(())
    }

    /// Writes some of the tail.
    fn flush(&mut self, desk: &mut Desk) -> io::Result<Option<Flow>> {
        let State::Flushing(tail) = &mut self.state else {
            return Ok(None);
        };
        let n = self.stream.write(&tail.bytes[tail.sent..])?;
        tail.sent += n;
        if tail.sent == tail.bytes.len() {
            self.state = State::Talking;
        }
        self.count_sent(n, desk);
        Ok(None)
    }

    #[inline]
    fn count_sent(&mut self, n: usize, desk: &mut Desk) {
        if n > 0 {
            desk.bytes += n as u64;
            self.http.progressed(desk.now());
        }
    }
}

fn is_for_later(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_idle_session_is_small() {
        // A socket, and a registration as the epoll rung keeps it.
        struct Source {
            _socket: std::net::TcpStream,
            _token: Option<u64>,
        }
        // The registration, the deadline and the allocator's share come on top.
        assert!(size_of::<Session<Source>>() <= 128);
    }
}
