//! A sans-IO HTTP/1.1 server connection: bytes and time go in, bytes and deadlines come out.
//!
//! It knows no socket and no clock, so epoll, mio and anything else can drive it, and tests can drive it at every
//! split of every input. What is answered is `rungs-response`'s business.
//!
//! ```text
//! lib.rs         what the caller sees: Limits, Context, Next
//! connection.rs  Connection, the state machine
//! head.rs        one request head: httparse's parse, judged and routed
//! fields.rs      the header lines that decide anything here
//! target.rs      the request target → the path that is routed
//! host.rs        is this a valid Host?
//! body.rs        the two framings of a body, and how an unwanted one is skipped
//! chunked.rs     the chunked transfer coding
//! ```
//!
//! The states of a connection. An answer is no state: it is written in one go, but for the rest of a long body, which
//! goes out before anything else happens.
//!
//! ```text
//!        first byte         whole head
//!  Idle ────────────▶ Head ────────────▶ answer ── no body left ──────────────────────▶ Idle
//!   ▲                                     │ ▲ │
//!   │                                     │ │ ├─── output full ─────────▶ HeldBack ─ flushed ─▶ Head
//!   │                         body wanted │ │ │
//!   │                                     ▼ │ └─── unwanted body left ──▶ Skip ─ its end ─┐
//!   │                                    Body                                             │
//!   └─────────────────────────────────────────────────────────────────────────────────────┘
//!
//!  any ─ an error, or the server ends it ──▶ Linger ─ FIN or deadline ──▶ Closed
//!  any ─ the client ends it, or is silent ──────────────────────────────▶ Closed
//! ```
//!
//! # How to drive it
//!
//! Whatever a call appended to [`Context::out`] goes to the kernel first; [`Connection::next`] then says what to do.
//! [`Connection::deadline`] may move with every call. Time never passes by itself: when the deadline is reached, call
//! [`Connection::expire`].
//!
//! ```
//! # use std::time::{Duration, Instant};
//! # use rungs_http1::{Connection, Context, Limits, Next};
//! # use rungs_response::Encoder;
//! let limits = Limits {
//!     header_timeout: Duration::from_secs(10),
//!     idle_timeout: Duration::from_secs(60),
//! };
//! let now = Instant::now();
//! let (mut out, mut requests) = (Vec::new(), 0);
//! let mut connection = Connection::new(now);
//! let mut cx = Context {
//!     now,
//!     limits: &limits,
//!     encoder: &Encoder::new(784_111_777),
//!     out: &mut out,
//!     requests: &mut requests,
//! };
//! connection.receive(b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n", &mut cx);
//! assert!(out.starts_with(b"HTTP/1.1 200 OK\r\n"));
//! assert_eq!(connection.next(), Next::Read);
//! assert_eq!(requests, 1);
//! ```

#![forbid(unsafe_code)]

mod body;
mod chunked;
mod connection;
mod fields;
mod head;
mod host;
mod target;

use std::time::{Duration, Instant};

use rungs_response::Encoder;

pub use connection::Connection;

/// The longest request head, in bytes; a longer one is answered with 431, or 414 if it is still in its first line.
pub const MAX_HEAD: usize = 16 << 10;

/// The most header lines of one request; more are answered with 431.
pub const MAX_HEADERS: usize = 100;

/// The longest body nobody wants that is read, chunk framing included, to keep the connection open. In bytes.
pub const MAX_DRAIN: u64 = 64 << 10;

/// The high-water mark of one call's output, in bytes: above it no further request is answered, and no more of a
/// long body is written, until the caller has flushed and calls [`Connection::resume`].
pub const OUTPUT_CHUNK: usize = 64 << 10;

/// How long [`Next::Linger`] lasts at most after the kernel last took output.
pub const LINGER_TIMEOUT: Duration = Duration::from_secs(2);

/// How long a client may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// For a whole request head, counted from its first byte.
    pub header_timeout: Duration,
    /// For anything else: the next request, the next part of a body, taking the next part of an answer.
    pub idle_timeout: Duration,
}

/// What a call may use. The worker owns all of it, and lends it to one connection at a time.
#[derive(Debug)]
pub struct Context<'a> {
    /// The time of this call.
    pub now: Instant,
    /// How long a client may take.
    pub limits: &'a Limits,
    /// Writes the answers.
    pub encoder: &'a Encoder,
    /// Output is appended here. The caller writes it to the kernel, and keeps what the kernel did not take.
    pub out: &'a mut Vec<u8>,
    /// Counts final responses, those to faulty requests included.
    pub requests: &'a mut u64,
}

/// What the caller does once all output is with the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Read, and hand over what came: [`Connection::receive`], or [`Connection::end_of_input`].
    Read,
    /// Call [`Connection::resume`]: there is more to write. Do not read meanwhile.
    Resume,
    /// Shut the write side down, then read and discard until the end of input or the deadline, then close. So the
    /// client can read the last answer though it still sends: closing at once would reset the connection (RFC 9112,
    /// section 9.6).
    Linger,
    /// Close.
    Close,
}
