//! One connection: what is known of the dialogue on it. The proactor has the socket.

use std::mem;
use std::time::Instant;

use rungs_http1::{Connection, Limits, Next};
use rungs_serve::sessions::Desk;

/// The most input that is held while an answer is being sent, in bytes, before receiving is paused. What the kernel had
/// received by then still comes.
const MAX_HELD: usize = 64 << 10;

/// The most input that is discarded from a client that goes on sending after the last answer, in bytes. The client is
/// given the time to read the answer, not to send all that it has.
const MAX_DISCARD: usize = 32 << 20;

/// What a session is doing.
enum State {
    /// Waiting for input. Its last answer may still be on its way to the kernel, and nobody waits for that.
    Talking,
    /// Waiting until its output is with the kernel. Input that comes meanwhile is held.
    Sending { held: Vec<u8> },
    /// The last answer is sent, and so is our FIN; input is discarded (RFC 9112, section 9.6).
    Lingering { discarded: usize },
}

/// How a session goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    /// With what is under way.
    Wait,
    /// As soon as what is being sent is with the kernel.
    Hurry,
    /// By receiving.
    Receive,
    /// As `Hurry`, and without receiving more until then.
    Pause,
    /// By sending [`Desk::out`], and receiving. It is the client's turn then, and how the sending goes does not matter.
    Send,
    /// By sending [`Desk::out`], and as soon as that is done.
    SendAndHurry,
    /// By shutting its write side down, and receiving.
    ShutDown,
    /// Not at all.
    Close,
}

/// One connection.
pub(crate) struct Session {
    state: State,
    /// The client has sent its FIN.
    ended: bool,
    http: Connection,
}

impl Session {
    pub(crate) fn new(now: Instant) -> Self {
        Self {
            state: State::Talking,
            ended: false,
            http: Connection::new(now),
        }
    }

    /// When the session is due, unless it makes progress first.
    pub(crate) fn deadline(&self, limits: &Limits) -> Instant {
        self.http.deadline(limits)
    }

    /// `input` has come. In this and what follows, `sending`: output is on its way to the kernel.
    pub(crate) fn receive(&mut self, input: &[u8], sending: bool, desk: &mut Desk) -> Flow {
        match &mut self.state {
            State::Talking if sending => {
                self.state = State::Sending {
                    held: input.to_vec(),
                };
                Flow::Hurry
            }
            State::Talking => {
                self.http.receive(input, &mut desk.lend());
                self.go_on(desk)
            }
            State::Sending { held } => {
                held.extend_from_slice(input);
                if held.len() < MAX_HELD {
                    Flow::Hurry
                } else {
                    Flow::Pause
                }
            }
            State::Lingering { discarded } => {
                *discarded += input.len();
                if *discarded > MAX_DISCARD {
                    Flow::Close
                } else {
                    Flow::Wait
                }
            }
        }
    }

    pub(crate) fn end_of_input(&mut self, sending: bool, desk: &mut Desk) -> Flow {
        self.ended = true;
        match self.state {
            State::Talking if sending => self.hurry(),
            State::Talking => {
                self.http.end_of_input();
                self.go_on(desk)
            }
            State::Sending { .. } => Flow::Hurry,
            State::Lingering { .. } => Flow::Close,
        }
    }

    /// Of the output, so many bytes have been sent and so many are left.
    pub(crate) fn sent(&mut self, bytes: usize, left: usize, desk: &mut Desk) -> Flow {
        if bytes > 0 {
            self.http.progressed(desk.now());
        }
        if left > 0 {
            return Flow::Wait;
        }
        if let State::Sending { held } = mem::replace(&mut self.state, State::Talking) {
            if !held.is_empty() {
                self.http.receive(&held, &mut desk.lend());
            }
            if self.ended {
                self.http.end_of_input();
            }
        }
        self.go_on(desk)
    }

    /// The deadline has passed.
    pub(crate) fn expire(&mut self, sending: bool, desk: &mut Desk) -> Flow {
        if sending || !matches!(self.state, State::Talking) {
            // Neither will a stalled client take the rest of its answer, nor has a lingering one more to be told.
            return Flow::Close;
        }
        self.http.expire(&mut desk.lend());
        self.go_on(desk)
    }

    /// The server stops.
    pub(crate) fn shut_down(&mut self, sending: bool, desk: &mut Desk) -> Flow {
        self.http.shut_down();
        match self.state {
            State::Talking if sending => self.hurry(),
            State::Talking => self.go_on(desk),
            State::Sending { .. } => Flow::Hurry,
            State::Lingering { .. } => Flow::Wait,
        }
    }

    /// It goes on when its output is with the kernel.
    fn hurry(&mut self) -> Flow {
        self.state = State::Sending { held: Vec::new() };
        Flow::Hurry
    }

    /// What follows once `http` has been told something, in the state `Talking`.
    fn go_on(&mut self, desk: &mut Desk) -> Flow {
        loop {
            if !desk.out.is_empty() {
                if self.http.next() == Next::Read {
                    return Flow::Send;
                }
                self.state = State::Sending { held: Vec::new() };
                return Flow::SendAndHurry;
            }
            match self.http.next() {
                Next::Read => return Flow::Receive,
                Next::Resume => self.http.resume(&mut desk.lend()),
                // The client's FIN is here already, so there is nothing to wait for.
                Next::Linger if self.ended => return Flow::Close,
                Next::Linger => {
                    self.state = State::Lingering { discarded: 0 };
                    return Flow::ShutDown;
                }
                Next::Close => return Flow::Close,
            }
        }
    }
}
