//! What a selector must supply to have the [`Server`](super::Server) run on it.

use std::io::{self, Read, Write};
use std::os::fd::AsFd;

/// Names one connection for as long as it lives, and nothing afterwards: an event for a connection that was closed
/// earlier in the same batch is not taken for the one that has its place now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key {
    pub(super) index: u32,
    pub(super) generation: u32,
}

impl Key {
    /// The key as a selector carries it. Never `u64::MAX`, nor close below.
    #[must_use]
    pub fn to_bits(self) -> u64 {
        u64::from(self.generation) << 32 | u64::from(self.index)
    }

    /// The key that [`Key::to_bits`] gave.
    #[must_use]
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the halves are taken apart"
    )]
    pub fn from_bits(bits: u64) -> Self {
        Self {
            index: bits as u32,
            generation: (bits >> 32) as u32,
        }
    }
}

/// What a session waits for: one of the two, never both, since a client that does not take its answers is not read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interest {
    /// Input, its end included.
    Read,
    /// Room for output.
    Write,
}

/// What a selector says about a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Readiness {
    /// The peer has closed its side, or the connection failed. Input may still be there, and its end is behind it:
    /// under edge triggering nobody will say so again, hence a session then reads to the very end.
    pub closed: bool,
}

/// What the server needs of a selector. Whether it is level- or edge-triggered is its own business.
pub trait Selector {
    /// A connection, non-blocking.
    type Stream: Read + Write + AsFd;

    /// A listening socket, non-blocking.
    type Listener;

    /// Accepts one connection.
    ///
    /// # Errors
    ///
    /// Those of accept(2); the server finds the [remedy](crate::accept::remedy).
    fn accept(listener: &mut Self::Listener) -> io::Result<Self::Stream>;

    /// Watches `listener` for connections to accept.
    ///
    /// # Errors
    ///
    /// The selector cannot take it.
    fn listen(&mut self, listener: &mut Self::Listener) -> io::Result<()>;

    /// Watches `listener` no longer.
    ///
    /// # Errors
    ///
    /// It was not watched.
    fn unlisten(&mut self, listener: &mut Self::Listener) -> io::Result<()>;

    /// Watches a new `stream` for [`Interest::Read`], reporting it by `key`.
    ///
    /// # Errors
    ///
    /// The selector cannot take it. Only this connection is closed then.
    fn register(&mut self, stream: &mut Self::Stream, key: Key) -> io::Result<()>;

    /// Changes what `stream` is watched for. If that holds already, it is reported, edge-triggered or not.
    ///
    /// # Errors
    ///
    /// The selector cannot take it. Only this connection is closed then.
    fn reregister(
        &mut self,
        stream: &mut Self::Stream,
        key: Key,
        interest: Interest,
    ) -> io::Result<()>;

    /// Watches `stream` no longer; it is closed next.
    ///
    /// # Errors
    ///
    /// It was not watched.
    fn deregister(&mut self, stream: &mut Self::Stream) -> io::Result<()>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_survive_the_selector() {
        for (index, generation) in [(0, 0), (7, 1), (u32::MAX, 3), (5, u32::MAX)] {
            let key = Key { index, generation };
            assert_eq!(Key::from_bits(key.to_bits()), key);
        }
    }
}
