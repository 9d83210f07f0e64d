//! A proactor: one thread hands the kernel whole operations and is told what came of each.
//!
//! ```text
//!         add, send, pause, close                                    next_completion
//!  user ──────────────────────────▶ submission queue       completion queue ──────────▶ user
//!                                         │                      ▲
//!                                         │ turn: one system call│
//!                                         ▼                      │
//!                                   kernel: standing operations (accept, receive)
//!                                           sends, cancellations
//! ```
//!
//! It is an io_uring(7) and a table of sources, the descriptors that it owns. Everything the kernel may touch while an
//! operation runs is owned here as well: the descriptor, the bytes that are being sent, the buffers that are being received
//! into. So its users need no `unsafe`, and cannot close or change what the kernel still uses: [`Proactor::close`] cancels,
//! and the descriptor is closed when the last operation has ended.

use std::collections::VecDeque;
use std::io;
use std::mem;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::time::Duration;

use io_uring::types::{CancelBuilder, Fd, SubmitArgs, Timespec};
use io_uring::{EnterFlags, IoUring, cqueue, opcode, squeue};
use libc::{EAGAIN, EBUSY, EINTR, ENOBUFS, ETIME, MSG_DONTWAIT, MSG_WAITALL, SOCK_CLOEXEC};
use rustix::net::{Shutdown, shutdown};
use slab::Slab;

use crate::buffers::{Buffers, GROUP};
use crate::operation::{Completion, Operation, Standing, Token};

/// Completions that find room per submission: bursts are then told at once, without the detour by the kernel's overflow list.
const COMPLETIONS_PER_ENTRY: u32 = 4;

/// The largest capacity of a send buffer that is kept for the next send, in bytes.
const SPARE: usize = 16 << 10;

/// What the kernel does with a source of its own accord.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Activity {
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
enum Sending {
    No,
    /// It waits for nothing, and completes only if that was not enough: see [`Proactor::turn`].
    AtOnce,
    /// It was not enough: the rest waits for room.
    Waits,
}

/// A descriptor, and what the kernel is doing with it.
struct Source<T> {
    fd: OwnedFd,
    standing: Standing,
    activity: Activity,
    sending: Sending,
    closing: bool,
    /// What is being sent, from `sent` on. Not touched while the kernel reads it.
    outgoing: Vec<u8>,
    sent: u32,
    about: T,
}

impl<T> Source<T> {
    fn is_idle(&self) -> bool {
        self.activity == Activity::None && self.sending == Sending::No
    }
}

/// A buffer that the kernel has filled for a source.
struct Lent {
    token: Token,
    id: u16,
    len: usize,
}

/// The io_uring and the table of sources, each with something of the user's about it.
pub struct Proactor<T> {
    ring: IoUring,
    buffers: Buffers,
    lent: Option<Lent>,
    sources: Slab<Source<T>>,
    /// What the submission queue had no room for.
    waiting: VecDeque<squeue::Entry>,
    /// Sends that are [`Sending::AtOnce`], the oldest first.
    tried: VecDeque<Token>,
    /// How many of them have been submitted, so that those without a completion are done.
    concluded: usize,
    /// What the kernel has told of and the user has not been told yet.
    completed: VecDeque<cqueue::Entry>,
    hurried: bool,
    spares: Vec<Vec<u8>>,
    /// Whether this kernel can wait for completions without calling that waiting for a disk.
    flags: EnterFlags,
}

impl<T> Proactor<T> {
    /// A proactor for this thread and no other, that submits up to `entries` operations with one system call, and has
    /// `receive_buffers` buffers of 4 KiB. Both numbers are rounded up to a power of two.
    ///
    /// # Errors
    ///
    /// Those of io_uring_setup(2) and io_uring_register(2).
    pub fn new(entries: u32, receive_buffers: u16) -> io::Result<Self> {
        let entries = entries.next_power_of_two();
        let ring = IoUring::builder()
            .setup_single_issuer()
            .setup_defer_taskrun()
            .setup_submit_all()
            .setup_cqsize(entries * COMPLETIONS_PER_ENTRY)
            .build(entries)?;
        let buffers = Buffers::register(receive_buffers.next_power_of_two(), &ring.submitter())?;
        let flags = if ring.params().is_feature_no_iowait() {
            EnterFlags::NO_IOWAIT
        } else {
            EnterFlags::empty()
        };
        Ok(Self {
            ring,
            buffers,
            lent: None,
            sources: Slab::new(),
            waiting: VecDeque::new(),
            tried: VecDeque::new(),
            concluded: 0,
            completed: VecDeque::new(),
            hurried: false,
            spares: Vec::new(),
            flags,
        })
    }

    /// Takes `fd` over and begins with its standing operation. The descriptor must block: io_uring takes `O_NONBLOCK` for a
    /// wish to be told that something cannot be done at once.
    pub fn add(&mut self, fd: OwnedFd, standing: Standing, about: T) -> Token {
        let place = self.sources.insert(Source {
            fd,
            standing,
            activity: Activity::None,
            sending: Sending::No,
            closing: false,
            outgoing: Vec::new(),
            sent: 0,
            about,
        });
        let token = Token(u32::try_from(place).expect("descriptors are fewer"));
        self.resume(token);
        token
    }

    /// Whether `token` names an open source.
    pub fn is_open(&self, token: Token) -> bool {
        let source = self.sources.get(token.0 as usize);
        source.is_some_and(|source| !source.closing)
    }

    /// What the user keeps about an open source.
    pub fn about(&mut self, token: Token) -> Option<&mut T> {
        let source = self.sources.get_mut(token.0 as usize)?;
        (!source.closing).then_some(&mut source.about)
    }

    /// The tokens of all open sources.
    pub fn tokens(&self) -> Vec<Token> {
        let open = self.sources.iter().filter(|(_, source)| !source.closing);
        open.map(|(place, _)| Token(place as u32)).collect()
    }

    /// As [`Proactor::about`], and beside it the bytes that have just been told of as [`Completion::Received`].
    pub fn input(&mut self, token: Token) -> Option<(&mut T, &[u8])> {
        let lent = self.lent.as_ref().filter(|lent| lent.token == token)?;
        let source = self.sources.get_mut(token.0 as usize)?;
        // SAFETY: the kernel has told that it filled so much of it, and it is given back by `&mut self` only.
        let input = unsafe { self.buffers.filled(lent.id, lent.len) };
        Some((&mut source.about, input))
    }

    /// Goes on with the standing operation, if it is not going on anyway.
    pub fn resume(&mut self, token: Token) {
        let source = &mut self.sources[token.0 as usize];
        match source.activity {
            Activity::Runs | Activity::Restarts => {}
            Activity::Ends => source.activity = Activity::Restarts,
            Activity::None => {
                source.activity = Activity::Runs;
                let fd = Fd(source.fd.as_raw_fd());
                let entry = match source.standing {
                    Standing::Accept => opcode::AcceptMulti::new(fd).flags(SOCK_CLOEXEC).build(),
                    Standing::Receive => opcode::RecvMulti::new(fd, GROUP).build(),
                    Standing::Poll => opcode::PollAdd::new(fd, libc::POLLIN as u32).build(),
                };
                self.push(entry.user_data(Operation::Standing.user_data(token)));
            }
        }
    }

    /// Stops the standing operation. What it has done already is still told.
    pub fn pause(&mut self, token: Token) {
        let source = &mut self.sources[token.0 as usize];
        match source.activity {
            Activity::None | Activity::Ends => {}
            Activity::Restarts => source.activity = Activity::Ends,
            Activity::Runs => {
                source.activity = Activity::Ends;
                self.cancel(Operation::Standing, token);
            }
        }
    }

    /// An empty buffer for the next send: one that was sent before, if there is one.
    pub fn spare(&mut self) -> Vec<u8> {
        self.spares.pop().unwrap_or_default()
    }

    /// Sends all of `bytes`, told as [`Completion::Sent`]. One send of a source at a time.
    ///
    /// # Panics
    ///
    /// If the last one is still under way.
    pub fn send(&mut self, token: Token, bytes: Vec<u8>) {
        let source = &mut self.sources[token.0 as usize];
        assert!(source.sending == Sending::No, "one send at a time");
        source.sending = Sending::AtOnce;
        source.outgoing = bytes;
        source.sent = 0;
        self.tried.push_back(token);
        // Less than all is then no success, so it is told.
        let entry = self.send_rest(token, MSG_WAITALL | MSG_DONTWAIT);
        self.push(entry.flags(squeue::Flags::SKIP_SUCCESS));
    }

    /// The operation that sends what is left.
    fn send_rest(&self, token: Token, flags: i32) -> squeue::Entry {
        let source = &self.sources[token.0 as usize];
        let rest = &source.outgoing[source.sent as usize..];
        let fd = Fd(source.fd.as_raw_fd());
        opcode::Send::new(fd, rest.as_ptr(), rest.len() as u32)
            .flags(flags)
            .build()
            .user_data(Operation::Send.user_data(token))
    }

    /// Lets the next turn wait for nothing: something is to be done as soon as what is being sent is with the kernel.
    pub fn hurry(&mut self) {
        self.hurried = true;
    }

    /// Tells the peer of a connection that nothing more is sent: shutdown(2), which io_uring would hand to another thread.
    pub fn shut_down(&self, token: Token) {
        let source = &self.sources[token.0 as usize];
        // It fails if the connection has; then the standing operation fails too, and that is told.
        let _ = shutdown(&source.fd, Shutdown::Write);
    }

    /// Closes the source: at once if the kernel does nothing with it, otherwise when what is cancelled has ended. Nothing is
    /// told of it any more.
    pub fn close(&mut self, token: Token) {
        self.pause(token);
        let source = &mut self.sources[token.0 as usize];
        source.closing = true;
        if source.sending == Sending::Waits {
            self.cancel(Operation::Send, token);
        }
        self.forget_if_idle(token);
    }

    fn forget_if_idle(&mut self, token: Token) {
        let source = &self.sources[token.0 as usize];
        if source.closing && source.is_idle() {
            self.sources.remove(token.0 as usize);
        }
    }

    fn cancel(&mut self, operation: Operation, token: Token) {
        let entry = opcode::AsyncCancel::new(operation.user_data(token))
            .build()
            .flags(squeue::Flags::SKIP_SUCCESS)
            .user_data(Operation::Cancel.user_data(token));
        self.push(entry);
    }

    fn push(&mut self, entry: squeue::Entry) {
        if !self.waiting.is_empty() || !self.try_push(&entry) {
            self.waiting.push_back(entry);
        }
    }

    fn try_push(&mut self, entry: &squeue::Entry) -> bool {
        // SAFETY: the descriptor and the memory that it names belong to a source, which is there until the operation is told
        // to have ended, or to `buffers`.
        unsafe { self.ring.submission().push(entry) }.is_ok()
    }

    /// Hands over what is to be done and waits until something has been, at most `timeout` (none: for ever), in one system
    /// call. Then call [`Proactor::next_completion`] until it returns nothing.
    ///
    /// That something was sent is no reason to return: it is the peer's turn then. So a send is tried without waiting for
    /// room, which is over when its submission is, and only what fails or falls short is told of by the kernel. Those that it
    /// does not tell of were sent.
    ///
    /// # Errors
    ///
    /// Those of io_uring_enter(2) that are not about this moment only.
    pub fn turn(&mut self, timeout: Option<Duration>) -> io::Result<()> {
        self.take_back_lent();
        self.submit_waiting()?;
        let wait = self.waiting.is_empty() && !mem::take(&mut self.hurried);
        let timeout = timeout.map(Timespec::from);
        let args = match &timeout {
            Some(timeout) => SubmitArgs::new().timespec(timeout),
            None => SubmitArgs::new(),
        };
        let submitter = self.ring.submitter();
        passing(submitter.submit_with_args_and_flags(wait.into(), &args, self.flags))?;
        self.collect();
        Ok(())
    }

    fn submit_waiting(&mut self) -> io::Result<()> {
        while let Some(entry) = self.waiting.pop_front() {
            if self.try_push(&entry) {
                continue;
            }
            passing(self.ring.submit())?;
            if !self.try_push(&entry) {
                self.waiting.push_front(entry);
                break;
            }
        }
        Ok(())
    }

    /// Takes over what the kernel tells of, and concludes what follows from that of which it does not tell.
    fn collect(&mut self) {
        for entry in self.ring.completion() {
            if let (Operation::Send, token) = Operation::of(entry.user_data()) {
                let sending = &mut self.sources[token.0 as usize].sending;
                if mem::replace(sending, Sending::Waits) == Sending::AtOnce {
                    self.tried.retain(|tried| *tried != token);
                }
            }
            self.completed.push_back(entry);
        }
        let queue = self.ring.submission();
        if queue.is_empty() && self.waiting.is_empty() && !queue.cq_overflow() {
            self.concluded = self.tried.len();
        }
    }

    /// What was done next.
    pub fn next_completion(&mut self) -> Option<(Token, Completion)> {
        self.take_back_lent();
        loop {
            let (token, completion) = if self.concluded > 0 {
                self.concluded -= 1;
                let token = self.tried.pop_front()?;
                (token, self.conclude_send(token))
            } else {
                let entry = self.completed.pop_front()?;
                let (operation, token) = Operation::of(entry.user_data());
                let completion = match operation {
                    Operation::Standing => self.complete_standing(token, &entry),
                    Operation::Send => self.complete_send(token, entry.result()),
                    // It came too late for what it was to cancel.
                    Operation::Cancel => None,
                };
                (token, completion)
            };
            if let Some(completion) = completion {
                return Some((token, completion));
            }
        }
    }

    fn conclude_send(&mut self, token: Token) -> Option<Completion> {
        let bytes = self.sources[token.0 as usize].outgoing.len();
        self.end_send(token);
        self.unless_closed(token, Completion::Sent { bytes, left: 0 })
    }

    fn take_back_lent(&mut self) {
        if let Some(lent) = self.lent.take() {
            self.buffers.give_back(lent.id);
        }
    }

    fn complete_standing(&mut self, token: Token, entry: &cqueue::Entry) -> Option<Completion> {
        let source = &mut self.sources[token.0 as usize];
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
        let source = &mut self.sources[token.0 as usize];
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
        let source = &mut self.sources[token.0 as usize];
        let bytes = match check(result) {
            Ok(bytes) => bytes as usize,
            Err(EAGAIN | EINTR) if !source.closing => 0,
            Err(errno) => {
                self.end_send(token);
                let error = io::Error::from_raw_os_error(errno);
                return self.unless_closed(token, Completion::Failed(error));
            }
        };
        source.sent += bytes as u32;
        let left = source.outgoing.len() - source.sent as usize;
        if left == 0 || source.closing {
            self.end_send(token);
        } else {
            let entry = self.send_rest(token, 0);
            self.push(entry);
        }
        self.unless_closed(token, Completion::Sent { bytes, left })
    }

    fn end_send(&mut self, token: Token) {
        let source = &mut self.sources[token.0 as usize];
        source.sending = Sending::No;
        let mut spare = mem::take(&mut source.outgoing);
        if spare.capacity() <= SPARE {
            spare.clear();
            self.spares.push(spare);
        }
    }

    fn unless_closed(&mut self, token: Token, completion: Completion) -> Option<Completion> {
        if self.sources[token.0 as usize].closing {
            self.forget_if_idle(token);
            return None;
        }
        Some(completion)
    }
}

impl<T> Drop for Proactor<T> {
    fn drop(&mut self) {
        // Whatever still runs must not outlive the memory that it uses. After this nothing runs any more, and the io_uring
        // itself is closed before the fields behind it are freed.
        let everything = CancelBuilder::any();
        let _ = self.ring.submitter().register_sync_cancel(None, everything);
    }
}

/// Splits a result into a value and an errno.
fn check(result: i32) -> Result<i32, i32> {
    if result < 0 { Err(-result) } else { Ok(result) }
}

/// Drops the errors of io_uring_enter(2) that only say that this turn brings nothing, or less than all.
fn passing(result: io::Result<usize>) -> io::Result<()> {
    match result {
        Ok(_) => Ok(()),
        Err(error) => match error.raw_os_error() {
            Some(ETIME | EINTR | EBUSY | EAGAIN) => Ok(()),
            _ => Err(error),
        },
    }
}
