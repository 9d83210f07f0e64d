//! From what the kernel tells, and what it leaves untold, to what the user is told.

use std::io;
use std::mem;
use std::os::fd::{FromRawFd, OwnedFd};

use io_uring::cqueue;
use libc::{EAGAIN, EINTR, ENOBUFS};

use super::source::{Activity, Sending, Source};
use super::{Lent, Proactor};
use crate::operation::{Completion, Operation, Standing, Token};

/// The largest capacity of a send buffer that is kept for the next send, in bytes.
const SPARE: usize = 16 << 10;

impl<T> Proactor<T> {
    /// Takes over what the kernel tells of, and concludes what follows from that of which it does not tell.
    pub(super) fn collect(&mut self) {
        self.completed.drain(..mem::take(&mut self.told));
        for entry in self.ring.completion() {
            if let (Operation::Send, token) = Operation::of(entry.user_data()) {
                self.sources[token.0].sending = Sending::Waits;
            }
            self.completed.push(entry);
        }
        let queue = self.ring.submission();
        if queue.is_empty() && self.waiting.is_empty() && !queue.cq_overflow() {
            drop(queue);
            self.conclude_sends();
        }
    }

    /// All that was to be tried at once has been, and those that failed or fell short have been told of. So the others are done.
    fn conclude_sends(&mut self) {
        for token in self.tried.drain(..) {
            let Some(source) = self.sources.get_mut(token.0) else {
                continue;
            };
            if source.sending != Sending::AtOnce {
                continue;
            }
            let bytes = source.outgoing.len();
            end_send(source, &mut self.spares);
            if source.closing && source.is_idle() {
                self.sources.remove(token.0);
            } else if mem::take(&mut source.hurried) && !source.closing {
                self.done.push((token, bytes));
            }
        }
    }

    /// What was done next.
    pub fn next_completion(&mut self) -> Option<(Token, Completion)> {
        self.take_back_lent();
        if let Some((token, bytes)) = self.done.pop() {
            return Some((token, Completion::Sent { bytes, left: 0 }));
        }
        while let Some(entry) = self.completed.get(self.told) {
            let entry = entry.clone();
            self.told += 1;
            let (operation, token) = Operation::of(entry.user_data());
            let completion = match operation {
                Operation::Standing => self.complete_standing(token, &entry),
                Operation::Send => self.complete_send(token, entry.result()),
                // It came too late for what it was to cancel.
                Operation::Cancel => None,
            };
            if let Some(completion) = completion {
                return Some((token, completion));
            }
        }
        None
    }

    pub(super) fn take_back_lent(&mut self) {
        if let Some(lent) = self.lent.take() {
            self.buffers.give_back(lent.id);
        }
    }

    fn complete_standing(&mut self, token: Token, entry: &cqueue::Entry) -> Option<Completion> {
        let source = &mut self.sources[token.0];
        let (standing, closing) = (source.standing, source.closing);
        let result = check(entry.result());
        if let Some(id) = cqueue::buffer_select(entry.flags()) {
            let len = result.unwrap_or(0) as usize;
            self.lent = Some(Lent { token, id, len });
        }
        let completion = match (standing, &result) {
            (Standing::Accept, Ok(fd)) => {
                // SAFETY: the kernel has just made it, and nobody else knows it.
                Some(Completion::Accepted(unsafe { OwnedFd::from_raw_fd(*fd) }))
            }
            (Standing::Receive, Ok(0)) => Some(Completion::EndOfInput),
            (Standing::Receive, Ok(_)) => Some(Completion::Received),
            (Standing::Poll, Ok(_)) => Some(Completion::Readable),
            (_, Err(_)) => None,
        };
        let more = cqueue::more(entry.flags());
        let ended = if more {
            None
        } else {
            self.end_standing(token, &result)
        };
        if closing {
            self.take_back_lent();
            self.forget_if_idle(token);
            return None;
        }
        completion.or(ended)
    }

    /// The standing operation has ended: for good, or for a reason of the moment.
    fn end_standing(&mut self, token: Token, result: &Result<i32, i32>) -> Option<Completion> {
        let source = &mut self.sources[token.0];
        let activity = mem::replace(&mut source.activity, Activity::None);
        let over = match *result {
            Ok(0) if source.standing == Standing::Receive => true,
            Ok(_) => source.standing == Standing::Poll,
            // All buffers were filled, or it was cancelled, or a signal came: none is about the source.
            Err(ENOBUFS | libc::ECANCELED | EINTR) => false,
            Err(_) => true,
        };
        if !over && matches!(activity, Activity::Runs | Activity::Restarts) {
            // The kernel also ends it if completions overflow.
            self.resume(token);
        }
        match *result {
            Err(errno) if over => Some(Completion::Failed(io::Error::from_raw_os_error(errno))),
            _ => None,
        }
    }

    fn complete_send(&mut self, token: Token, result: i32) -> Option<Completion> {
        let source = &mut self.sources[token.0];
        let bytes = match check(result) {
            Ok(bytes) => bytes as usize,
            Err(EAGAIN | EINTR) if !source.closing => 0,
            Err(errno) => {
                end_send(source, &mut self.spares);
                let error = io::Error::from_raw_os_error(errno);
                return self.unless_closed(token, Completion::Failed(error));
            }
        };
        source.sent += bytes as u32;
        let left = source.outgoing.len() - source.sent as usize;
        if left == 0 || source.closing {
            end_send(source, &mut self.spares);
        } else {
            let entry = source.send_rest(token, 0);
            self.push(entry);
        }
        self.unless_closed(token, Completion::Sent { bytes, left })
    }

    fn unless_closed(&mut self, token: Token, completion: Completion) -> Option<Completion> {
        if self.sources[token.0].closing {
            self.forget_if_idle(token);
            return None;
        }
        Some(completion)
    }
}

/// Its send is over; the buffer is for another one.
fn end_send<T>(source: &mut Source<T>, spares: &mut Vec<Vec<u8>>) {
    source.sending = Sending::No;
    let mut spare = mem::take(&mut source.outgoing);
    if spare.capacity() <= SPARE {
        spare.clear();
        spares.push(spare);
    }
}

/// Splits a result into a value and an errno.
fn check(result: i32) -> Result<i32, i32> {
    if result < 0 { Err(-result) } else { Ok(result) }
}
