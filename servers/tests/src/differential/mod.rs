//! The same bytes to several rungs, and what each makes of them.
//!
//! The table's cases are written by hand; here the requests are generated, so that nobody needs to have thought of
//! them. The test `differential` does that: the raw rungs must agree with each other to the byte, and hyper with them but
//! for what [`DECLARED`] says.

mod declared;
mod request;

use std::fmt;
use std::io;
use std::net::SocketAddr;

pub use declared::{DECLARED, Declared};
pub use request::Request;

use crate::case::Pace;
use crate::expect::{closed, describe};
use crate::wire::{Ended, Wire};

/// What is sent behind all else to see whether the connection has stayed open: its answer is there, or is not.
const SENTINEL: &[u8] = b"GET /json HTTP/1.1\r\nhost: sentinel\r\nconnection: close\r\n\r\n";

/// What a client sends on one connection, before its FIN.
#[derive(Clone, Debug)]
pub struct Dialogue {
    /// One behind the other, before any answer is read.
    pub requests: Vec<Request>,
    /// Another request follows, which any server answers if the connection is open to it.
    pub sentinel: bool,
    /// Where the bytes are cut into pieces, each sent by itself. In any order; what is beyond the end counts for nothing.
    pub cuts: Vec<usize>,
}

impl Dialogue {
    /// One request, sent in one piece, and the sentinel.
    #[must_use]
    pub fn of(request: Request) -> Self {
        Self {
            requests: vec![request],
            sentinel: true,
            cuts: Vec::new(),
        }
    }

    fn pieces(&self) -> Vec<Vec<u8>> {
        let mut rest: Vec<u8> = self.requests.iter().flat_map(Request::bytes).collect();
        let mut cuts = self.cuts.clone();
        cuts.retain(|cut| *cut < rest.len());
        cuts.sort_unstable();
        let mut pieces: Vec<_> = cuts.iter().rev().map(|cut| rest.split_off(*cut)).collect();
        pieces.push(rest);
        pieces.reverse();
        if self.sentinel {
            pieces.push(SENTINEL.to_vec());
        }
        pieces
    }

    /// Plays it against the server at `addr`.
    ///
    /// A connection on which the server waits for more looks the same as one that it has closed without a word: the FIN
    /// ends both.
    ///
    /// # Errors
    ///
    /// The connection cannot be opened.
    pub fn play(&self, addr: SocketAddr) -> io::Result<Seen> {
        const MORE_THAN_ANY_ANSWER: usize = 64 << 20;
        let mut wire = Wire::open(addr)?;
        for piece in self.pieces() {
            wire.send(&piece);
        }
        wire.half_close();
        let (answers, ended) = wire.receive(MORE_THAN_ANY_ANSWER, Pace::Brisk);
        Ok(Seen {
            answers,
            closed: closed(ended),
        })
    }
}

/// What came back until the server closed. How it closed does not count: a RST tells that it had not read all.
#[derive(Clone, PartialEq, Eq)]
pub struct Seen {
    /// Dates that are right are masked.
    answers: Vec<u8>,
    closed: bool,
}

impl fmt::Debug for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ended = if self.closed {
            Ended::Closed
        } else {
            Ended::Waiting
        };
        f.write_str(&describe(&self.answers, 0, ended))
    }
}
