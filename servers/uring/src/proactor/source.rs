//! A descriptor, and what the kernel does with it.

use std::os::fd::{AsRawFd, OwnedFd};

use io_uring::types::Fd;
use io_uring::{opcode, squeue};

use crate::operation::{Operation, Standing, Token};

/// What the kernel does with a source of its own accord.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Activity {
    /// Nothing.
    None,
    /// The standing operation.
    Runs,
    /// It runs but is cancelled; its last completion is to come.
    Ends,
    /// As `Ends`, and is wanted again after that.
    Restarts,
}

/// The one send of a source that may be under way.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Sending {
    No,
    /// It waits for nothing, and completes only if that was not enough: see [`Proactor::turn`](super::Proactor::turn).
    AtOnce,
    /// It was not enough: the rest waits for room.
    Waits,
}

/// A descriptor, and what the kernel is doing with it.
pub(super) struct Source<T> {
    pub(super) fd: OwnedFd,
    pub(super) standing: Standing,
    pub(super) activity: Activity,
    pub(super) sending: Sending,
    /// The user wants to know when the send that is tried at once is done.
    pub(super) hurried: bool,
    pub(super) closing: bool,
    /// Of `outgoing`.
    pub(super) sent: u32,
    /// What is being sent, from `sent` on. Not touched while the kernel reads it.
    pub(super) outgoing: Vec<u8>,
    pub(super) about: T,
}

impl<T> Source<T> {
    pub(super) const fn new(fd: OwnedFd, standing: Standing, about: T) -> Self {
        Self {
            fd,
            standing,
            activity: Activity::None,
            sending: Sending::No,
            hurried: false,
            closing: false,
            sent: 0,
            outgoing: Vec::new(),
            about,
        }
    }

    pub(super) fn is_idle(&self) -> bool {
        self.activity == Activity::None && self.sending == Sending::No
    }

    /// The operation that sends what is left.
    #[inline]
    pub(super) fn send_rest(&self, token: Token, flags: i32) -> squeue::Entry {
        let rest = &self.outgoing[self.sent as usize..];
        opcode::Send::new(Fd(self.fd.as_raw_fd()), rest.as_ptr(), rest.len() as u32)
            .flags(flags)
            .build()
            .user_data(Operation::Send.user_data(token))
    }
}
