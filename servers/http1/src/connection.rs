//! The state machine of one connection.

use std::mem;
use std::ops::Range;
use std::time::Instant;

use rungs_response::{
    Answer, Connection as ConnectionLine, Encoder, Framing, MAX_ECHO, PATTERN, Route, Status,
    Version,
};

use crate::body::{Malformed, Skip};
use crate::head::{self, Head};
use crate::{Context, LINGER_TIMEOUT, Limits, MAX_DRAIN, Next, OUTPUT_CHUNK};

/// The most that is allocated for a body before any of it has come, whatever length it announces. In bytes.
const MAX_UNSEEN: u64 = 64 << 10;

/// One HTTP/1.1 connection, as its server sees it. An idle one owns no heap memory.
#[derive(Debug)]
pub struct Connection {
    state: State,
    /// The part of the endless [`PATTERN`] that the last answer still lacks. It goes out before anything else happens.
    owed: Range<u32>,
    /// Input that cannot be used yet: part of a head, or what came behind a request whose answer is still going out.
    parked: Vec<u8>,
    ahead: Ahead,
    /// What the deadline is counted from: the last progress, or the first byte of a head.
    since: Instant,
}

#[derive(Debug)]
enum State {
    /// Between two requests.
    Idle,
    /// Part of a head is parked, or an empty line came before it.
    Head,
    /// More requests may be parked, but the output has reached [`OUTPUT_CHUNK`].
    HeldBack,
    /// The answer needs the body, of which a part is still to come.
    Body(Box<Collect>),
    /// The request is answered; its body is still to come and nobody wants it.
    Skip(Box<Skip>),
    /// The client may still be sending, and nothing of it counts.
    Linger,
    Closed,
}

/// What may come after the request at hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ahead {
    /// Any number of requests.
    Requests,
    /// One, if it is parked already: the server stops.
    LastRequest,
    /// Only what is parked: the client has sent its FIN.
    Nothing,
}

/// A request whose body is being collected; `head.body` is what is still to come of it.
#[derive(Debug)]
struct Collect {
    head: Head,
    bytes: Vec<u8>,
}

impl Connection {
    /// A connection that was accepted at `now`.
    #[must_use]
    pub fn new(now: Instant) -> Self {
        Self {
            state: State::Idle,
            owed: 0..0,
            parked: Vec::new(),
            ahead: Ahead::Requests,
            since: now,
        }
    }

    /// Takes all of `input`; what cannot be used yet is kept. After [`Next::Linger`] or [`Next::Close`] it is ignored.
    pub fn receive(&mut self, input: &[u8], cx: &mut Context<'_>) {
        if matches!(self.state, State::Linger | State::Closed) {
            return;
        }
        if self.parked.is_empty() && self.owed.is_empty() {
            let used = self.advance(input, cx);
            self.parked.extend_from_slice(&input[used..]);
            self.settle();
        } else {
            self.parked.extend_from_slice(input);
            if self.next() != Next::Resume {
                self.advance_parked(cx);
            }
        }
    }

    /// The client has shut its write side down. Whole requests that are here are still answered.
    pub fn end_of_input(&mut self) {
        self.ahead = Ahead::Nothing;
        self.settle();
    }

    /// Goes on after [`Next::Resume`].
    pub fn resume(&mut self, cx: &mut Context<'_>) {
        self.advance_parked(cx);
    }

    /// What the caller does once all output is with the kernel.
    #[must_use]
    pub fn next(&self) -> Next {
        if !self.owed.is_empty() {
            return Next::Resume;
        }
        match self.state {
            State::Idle | State::Head | State::Body(_) | State::Skip(_) => Next::Read,
            State::HeldBack => Next::Resume,
            State::Linger => Next::Linger,
            State::Closed => Next::Close,
        }
    }

    /// The kernel took output: slow readers live, stalled ones do not. A head that is being received gains time too,
    /// since the caller does not read while it has output to write.
    pub fn progressed(&mut self, now: Instant) {
        self.since = now;
    }

    /// When to call [`Connection::expire`]: [`Limits::header_timeout`] after the first byte of an unfinished head,
    /// however slowly the others drip, where an empty line before the head counts as its first byte;
    /// [`LINGER_TIMEOUT`] after the last output if the connection only lingers; otherwise [`Limits::idle_timeout`]
    /// after the last progress.
    #[must_use]
    pub fn deadline(&self, limits: &Limits) -> Instant {
        let timeout = match self.state {
            State::Head => limits.header_timeout,
            State::Linger if self.owed.is_empty() => LINGER_TIMEOUT,
            _ => limits.idle_timeout,
        };
        self.since + timeout
    }

    /// The deadline was reached; before it, this does nothing. A client in the middle of a request is told with 408.
    /// Otherwise [`Next::Close`] follows, and then the caller closes without waiting for the kernel to take output.
    pub fn expire(&mut self, cx: &mut Context<'_>) {
        if cx.now < self.deadline(cx.limits) {
            return;
        }
        let mid_request = match self.state {
            State::Head => !self.parked.is_empty(),
            State::Body(_) => true,
            _ => false,
        };
        if mid_request {
            self.refuse(Status::RequestTimeout, Version::Http11, cx);
            self.parked = Vec::new();
        } else {
            self.close();
        }
    }

    /// The server stops. Without a whole request head here the connection closes; a request in flight is finished, with
    /// `connection: close` if its answer has not begun.
    pub fn shut_down(&mut self) {
        if self.ahead == Ahead::Requests {
            self.ahead = Ahead::LastRequest;
        }
        self.settle();
    }

    /// Uses as much of `input` as it can, and returns how much that is. Appends at most [`OUTPUT_CHUNK`] bytes, and one
    /// answer.
    fn advance(&mut self, input: &[u8], cx: &mut Context<'_>) -> usize {
        let start = cx.out.len();
        let mut used = 0;
        self.pay(OUTPUT_CHUNK, cx.out);
        while self.owed.is_empty() && used < input.len() {
            let rest = &input[used..];
            let room = OUTPUT_CHUNK.saturating_sub(cx.out.len() - start);
            used += match self.state {
                State::Idle | State::Head | State::HeldBack if room == 0 => {
                    self.state = State::HeldBack;
                    break;
                }
                State::Idle | State::Head | State::HeldBack => match self.request(rest, cx) {
                    0 => break,
                    n => n,
                },
                State::Body(_) => self.collect(rest, cx),
                State::Skip(_) => self.skip(rest, cx),
                State::Linger | State::Closed => rest.len(),
            };
            self.pay(OUTPUT_CHUNK.saturating_sub(cx.out.len() - start), cx.out);
        }
        used
    }

    /// [`Self::advance`] on what is parked.
    fn advance_parked(&mut self, cx: &mut Context<'_>) {
        let mut parked = mem::take(&mut self.parked);
        let used = self.advance(&parked, cx);
        if used < parked.len() {
            parked.drain(..used);
            self.parked = parked;
        }
        self.settle();
    }

    /// Appends up to `room` bytes of what the last answer lacks.
    fn pay(&mut self, mut room: usize, out: &mut Vec<u8>) {
        while room > 0 && !self.owed.is_empty() {
            let block = &PATTERN[self.owed.start as usize % PATTERN.len()..];
            let n = room.min(self.owed.len()).min(block.len());
            out.extend_from_slice(&block[..n]);
            room -= n;
            self.owed.start += n as u32;
        }
    }

    /// Closes if nothing that could still be answered will come.
    fn settle(&mut self) {
        if self.ahead == Ahead::Requests || !self.owed.is_empty() {
            return;
        }
        let over = match self.state {
            State::Idle | State::Head => true,
            State::Body(_) | State::Skip(_) | State::Linger => self.ahead == Ahead::Nothing,
            State::HeldBack | State::Closed => false,
        };
        if over {
            self.close();
        }
    }

    fn close(&mut self) {
        self.state = State::Closed;
        self.owed = 0..0;
        self.parked = Vec::new();
    }

    /// Parses the head that `rest` starts with, and serves it. Returns the bytes used: none if the head is unfinished.
    fn request(&mut self, rest: &[u8], cx: &mut Context<'_>) -> usize {
        let empty_lines = head::empty_lines(rest);
        if empty_lines > 0 {
            self.begin_head(cx.now);
            return empty_lines;
        }
        match head::parse(rest) {
            Ok(Some(head)) => {
                self.since = cx.now;
                head.len + self.serve(&head, &rest[head.len..], cx)
            }
            Ok(None) => {
                self.begin_head(cx.now);
                0
            }
            Err(status) => {
                self.refuse(status, Version::Http11, cx);
                rest.len()
            }
        }
    }

    fn begin_head(&mut self, now: Instant) {
        if !matches!(self.state, State::Head) {
            self.state = State::Head;
            self.since = now;
        }
    }

    /// Answers `head`, or begins to collect its body, which starts with `rest`. Returns the bytes of `rest` used.
    fn serve(&mut self, head: &Head, rest: &[u8], cx: &mut Context<'_>) -> usize {
        if !head.wants_body() {
            self.respond(head, &[], cx);
            return 0;
        }
        if head.body.announced() > MAX_ECHO as u64 {
            self.refuse(Status::PayloadTooLarge, head.version, cx);
            return rest.len();
        }
        if head.expects_continue {
            Encoder::proceed(cx.out);
        }
        let mut head = *head;
        if let Some(body) = head.body.take_whole(rest) {
            self.respond(&head, body, cx);
            return body.len();
        }
        let bytes = Vec::with_capacity(head.body.announced().min(MAX_UNSEEN) as usize);
        self.state = State::Body(Box::new(Collect { head, bytes }));
        0
    }

    /// Takes the next piece of a wanted body, and answers at its end. Returns the bytes of `rest` used.
    fn collect(&mut self, rest: &[u8], cx: &mut Context<'_>) -> usize {
        let State::Body(collect) = &mut self.state else {
            unreachable!("a body is collected in State::Body only");
        };
        self.since = cx.now;
        let version = collect.head.version;
        let used = match collect.take(rest) {
            Ok(used) => used,
            Err(status) => {
                self.refuse(status, version, cx);
                return rest.len();
            }
        };
        if collect.head.body.is_done()
            && let State::Body(collect) = mem::replace(&mut self.state, State::Idle)
        {
            self.respond(&collect.head, &collect.bytes, cx);
        }
        used
    }

    /// Drops the next piece of a body nobody wants. The request is answered already, so whatever is wrong with the body
    /// can only end the connection. Returns the bytes of `rest` used.
    fn skip(&mut self, rest: &[u8], cx: &mut Context<'_>) -> usize {
        let State::Skip(skip) = &mut self.state else {
            unreachable!("a body is skipped in State::Skip only");
        };
        self.since = cx.now;
        match skip.take(rest) {
            Some(used) if skip.is_done() => {
                self.state = State::Idle;
                if self.ahead == Ahead::LastRequest {
                    // What follows may have come after the stop: that must not depend on how it was cut.
                    self.close();
                }
                used
            }
            Some(used) => used,
            None => {
                self.state = State::Linger;
                rest.len()
            }
        }
    }

    /// Answers `head`, of whose body `echo` was wanted and `head.body` is still to come.
    fn respond(&mut self, head: &Head, echo: &[u8], cx: &mut Context<'_>) {
        *cx.requests += 1;
        self.state = self.after(head);
        let stays_open = matches!(self.state, State::Idle | State::Skip(_));
        let connection = match (head.version, stays_open) {
            (Version::Http11, true) | (Version::Http10, false) => ConnectionLine::Unsaid,
            (Version::Http11, false) => ConnectionLine::Close,
            (Version::Http10, true) => ConnectionLine::KeepAlive,
        };
        let is_plain = head.version == Version::Http11 && stays_open && !head.head_only;
        if is_plain && head.route == Ok(Route::Page) {
            cx.encoder.page(cx.out);
            return;
        }
        let answer = head.route.map_or_else(Answer::from, Route::answer);
        let framing = Framing {
            version: head.version,
            connection,
            head_only: head.head_only,
            echo,
        };
        self.owed = 0..cx.encoder.answer(&answer, framing, cx.out);
    }

    /// The state that the answer to `head` leads to.
    fn after(&self, head: &Head) -> State {
        let stays_open = head.keep_alive && self.ahead != Ahead::LastRequest;
        let is_short = head.body.announced() <= MAX_DRAIN;
        match (head.body.is_done(), stays_open) {
            (true, true) => State::Idle,
            // The client has agreed, and sends no more.
            (true, false) if !head.keep_alive => State::Closed,
            (true, false) => State::Linger,
            (false, true) if is_short && !head.expects_continue => {
                State::Skip(Box::new(Skip::new(head.body)))
            }
            (false, _) => State::Linger,
        }
    }

    /// Answers a request that cannot be served.
    fn refuse(&mut self, status: Status, version: Version, cx: &mut Context<'_>) {
        *cx.requests += 1;
        cx.encoder.error(status, version, cx.out);
        self.since = cx.now;
        self.state = State::Linger;
    }
}

impl Collect {
    /// Takes the next piece off `rest`. Returns the bytes used, or the status of the answer.
    fn take(&mut self, rest: &[u8]) -> Result<usize, Status> {
        let taken = self.head.body.take(rest);
        let (used, data) = taken.map_err(|Malformed| Status::BadRequest)?;
        if self.bytes.len() + data.len() > MAX_ECHO {
            return Err(Status::PayloadTooLarge);
        }
        self.bytes.extend_from_slice(data);
        Ok(used)
    }
}
