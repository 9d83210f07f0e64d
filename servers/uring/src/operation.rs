//! The words of a [`Proactor`](crate::Proactor): what it does with a source, and what it tells of it.

use std::io;
use std::os::fd::OwnedFd;

/// Names a source from [`Proactor::add`] to [`Proactor::close`], and possibly another one after that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token(pub u32);

/// What is done with a source again and again, until it is paused, fails or ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Accept connections; they do not block the kernel's operations, so `O_NONBLOCK` is not set. Told as
    /// [`Completion::Accepted`].
    Accept,
    /// Receive whatever comes. Told as [`Completion::Received`] and at last [`Completion::EndOfInput`].
    Receive,
    /// Wait until there is something to read. Told as [`Completion::Readable`], once.
    Poll,
}

/// What came of an operation.
#[derive(Debug)]
pub enum Completion {
    /// A connection was accepted.
    Accepted(OwnedFd),
    /// Bytes came: [`Proactor::input`] lends them until [`Proactor::next_completion`] is called.
    Received,
    /// The peer has shut its write side down.
    EndOfInput,
    /// There is something to read.
    Readable,
    /// The kernel has taken bytes of a send. What is left follows by itself. Not told of a send that it took at once, unless
    /// [`Proactor::hurry`](crate::Proactor::hurry) asked for it.
    Sent {
        /// Of this send, with this completion.
        bytes: usize,
        /// Of this send, to come.
        left: usize,
    },
    /// The standing operation, or the send, has failed and is over. Error: that of accept(2), recv(2), poll(2) or send(2).
    Failed(io::Error),
}

/// What a completion is of: the upper half of the number that goes with an operation; the lower is the source's place.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation {
    Standing = 0,
    Send = 1,
    Cancel = 2,
}

impl Operation {
    pub(crate) const fn user_data(self, token: Token) -> u64 {
        (self as u64) << 32 | token.0 as u64
    }

    pub(crate) fn of(user_data: u64) -> (Self, Token) {
        let operation = match user_data >> 32 {
            0 => Self::Standing,
            1 => Self::Send,
            _ => Self::Cancel,
        };
        (operation, Token(user_data as u32))
    }
}
