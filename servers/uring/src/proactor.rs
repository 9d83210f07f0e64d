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

mod outcome;
mod source;

use std::collections::VecDeque;
use std::io;
use std::mem;
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::Duration;

use io_uring::types::{CancelBuilder, Fd, SubmitArgs, Timespec};
use io_uring::{EnterFlags, IoUring, cqueue, opcode, squeue};
use libc::{EAGAIN, EBUSY, EINTR, ETIME, MSG_DONTWAIT, MSG_WAITALL, SOCK_CLOEXEC};
use rungs_serve::sessions::Table;
use rustix::net::{Shutdown, shutdown};

use self::source::{Activity, Sending, Source};
use crate::buffers::{Buffers, GROUP};
use crate::operation::{Operation, Standing, Token};

/// Completions that find room per submission: bursts are then told at once, without the detour by the kernel's overflow list.
const COMPLETIONS_PER_ENTRY: u32 = 4;

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
    sources: Table<Source<T>>,
    /// What the submission queue had no room for.
    waiting: VecDeque<squeue::Entry>,
    /// Sources whose sends are tried at once. Among them may be some that fell short, and then ended.
    tried: Vec<Token>,
    /// Sends that were done at once, of which the user wants to know: who, and how many bytes.
    done: Vec<(Token, usize)>,
    /// What the kernel has told of.
    completed: Vec<cqueue::Entry>,
    /// How many of those the user has been told.
    told: usize,
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
        let mut ring = IoUring::builder()
            .setup_single_issuer()
            .setup_defer_taskrun()
            .setup_submit_all()
            .setup_cqsize(entries * COMPLETIONS_PER_ENTRY)
            .build(entries)?;
        write_all_entries(&mut ring, entries)?;
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
            sources: Table::new(),
            waiting: VecDeque::new(),
            tried: Vec::new(),
            done: Vec::new(),
            completed: Vec::new(),
            told: 0,
            hurried: false,
            spares: Vec::new(),
            flags,
        })
    }

    /// Takes `fd` over and begins with its standing operation. The descriptor must block: io_uring takes `O_NONBLOCK` for a
    /// wish to be told that something cannot be done at once.
    pub fn add(&mut self, fd: OwnedFd, standing: Standing, about: T) -> Token {
        let token = Token(self.sources.insert(Source::new(fd, standing, about)));
        self.resume(token);
        token
    }

    /// Whether `token` names an open source.
    pub fn is_open(&self, token: Token) -> bool {
        let source = self.sources.get(token.0);
        source.is_some_and(|source| !source.closing)
    }

    /// What the user keeps about an open source.
    pub fn about(&mut self, token: Token) -> Option<&mut T> {
        let source = self.sources.get_mut(token.0)?;
        (!source.closing).then_some(&mut source.about)
    }

    /// The tokens of all open sources.
    pub fn tokens(&self) -> Vec<Token> {
        let open = self.sources.iter().filter(|(_, source)| !source.closing);
        open.map(|(place, _)| Token(place)).collect()
    }

    /// As [`Proactor::about`], and beside it the bytes that have just been told of as [`Completion::Received`], and whether
    /// [the source sends](Proactor::is_sending).
    #[inline]
    pub fn input(&mut self, token: Token) -> Option<(&mut T, &[u8], bool)> {
        let lent = self.lent.as_ref().filter(|lent| lent.token == token)?;
        let source = self.sources.get_mut(token.0)?;
        let sending = source.sending != Sending::No;
        // SAFETY: the kernel has told that it filled so much of it, and it is given back by `&mut self` only.
        let input = unsafe { self.buffers.filled(lent.id, lent.len) };
        Some((&mut source.about, input, sending))
    }

    /// Goes on with the standing operation, if it is not going on anyway.
    pub fn resume(&mut self, token: Token) {
        let source = &mut self.sources[token.0];
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
        let source = &mut self.sources[token.0];
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

    /// Sends all of `bytes`. One send of a source at a time. It is told of, as [`Completion::Sent`], if the kernel does not take all
    /// of them at once, or if [`Proactor::hurry`] is called; otherwise [`Proactor::is_sending`] says when it is over.
    ///
    /// # Panics
    ///
    /// If the last one is still under way.
    pub fn send(&mut self, token: Token, bytes: Vec<u8>) {
        let source = &mut self.sources[token.0];
        assert!(source.sending == Sending::No, "one send at a time");
        source.sending = Sending::AtOnce;
        source.outgoing = bytes;
        source.sent = 0;
        // Less than all is then no success, so it is told.
        let entry = source.send_rest(token, MSG_WAITALL | MSG_DONTWAIT);
        self.tried.push(token);
        self.push(entry.flags(squeue::Flags::SKIP_SUCCESS));
    }

    /// Whether a send of the source is under way, as far as the last turn has shown.
    pub fn is_sending(&self, token: Token) -> bool {
        let source = self.sources.get(token.0);
        source.is_some_and(|source| source.sending != Sending::No)
    }

    /// Something is to be done as soon as what is being sent is with the kernel: that will be told of in any case, and the next turn
    /// waits for nothing.
    pub fn hurry(&mut self, token: Token) {
        let source = &mut self.sources[token.0];
        if source.sending == Sending::AtOnce {
            source.hurried = true;
            self.hurried = true;
        }
    }

    /// Tells the peer of a connection that nothing more is sent: shutdown(2), which io_uring would hand to another thread.
    pub fn shut_down(&self, token: Token) {
        let source = &self.sources[token.0];
        // It fails if the connection has; then the standing operation fails too, and that is told.
        let _ = shutdown(&source.fd, Shutdown::Write);
    }

    /// Closes the source: at once if the kernel does nothing with it, otherwise when what is cancelled has ended. Nothing is
    /// told of it any more.
    pub fn close(&mut self, token: Token) {
        self.pause(token);
        let source = &mut self.sources[token.0];
        source.closing = true;
        self.done.retain(|(done, _)| *done != token);
        if source.sending == Sending::Waits {
            self.cancel(Operation::Send, token);
        }
        self.forget_if_idle(token);
    }

    fn forget_if_idle(&mut self, token: Token) {
        let source = &self.sources[token.0];
        if source.closing && source.is_idle() {
            self.sources.remove(token.0);
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
        self.buffers.publish();
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
}

impl<T> Drop for Proactor<T> {
    fn drop(&mut self) {
        // Whatever still runs must not outlive the memory that it uses. After this nothing runs any more, and the io_uring
        // itself is closed before the fields behind it are freed.
        let everything = CancelBuilder::any();
        let _ = self.ring.submitter().register_sync_cancel(None, everything);
    }
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

/// Has each entry of the submission queue used once, for nothing, so that no first request meets a page fault, and the worker's
/// memory is what it will be.
fn write_all_entries(ring: &mut IoUring, entries: u32) -> io::Result<()> {
    let nothing = opcode::Nop::new().build();
    let nothing = nothing.flags(squeue::Flags::SKIP_SUCCESS);
    for _ in 0..entries {
        // SAFETY: it names no memory. The queue has room for so many.
        unsafe { ring.submission().push(&nothing) }.map_err(io::Error::other)?;
    }
    ring.submit().map(drop)
}
