//! A reactor: one thread waits for many descriptors and calls the handler of each that is ready.
//!
//! It is a selector, epoll(7), and a table of handlers. In C a handler is a callback with a `void *`; here it is a function
//! of the caller's context `C`, lent to [`Reactor::run`], and of a number that says what the event is about. So handlers
//! may change the context and the reactor itself, and nobody needs `unsafe`.

#![expect(clippy::missing_errors_doc, reason = "man pages have them")]

use std::io;
use std::mem;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::time::Duration;

use libc::{EPOLL_CTL_ADD, EPOLL_CTL_DEL, EPOLL_CTL_MOD, c_int, epoll_event};
use rungs_serve::sessions::Table;

/// Called for each event, with the context of [`Reactor::run`] and the number given at registration.
pub type Handler<C> = fn(&mut C, &mut Reactor<C>, u64, Readiness);

/// What a descriptor is watched for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interest(c_int);

impl Interest {
    /// Something to read, or the end of it.
    pub const READ: Self = Self(libc::EPOLLIN | libc::EPOLLRDHUP);
    /// A connection to accept: of several reactors that wait for it, one is told (EPOLLEXCLUSIVE). Not to be reregistered.
    pub const ACCEPT: Self = Self(libc::EPOLLIN | libc::EPOLLEXCLUSIVE);
    /// Room to write.
    pub const WRITE: Self = Self(libc::EPOLLOUT);

    /// Reported once each time it comes about (edge-triggered), not as long as it holds (level-triggered).
    #[must_use]
    pub const fn edge_triggered(self) -> Self {
        Self(self.0 | libc::EPOLLET)
    }
}

/// What a descriptor is ready for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Readiness(c_int);

impl Readiness {
    /// A read will not block.
    #[must_use]
    pub const fn is_readable(self) -> bool {
        self.0 & (libc::EPOLLIN | libc::EPOLLRDHUP | libc::EPOLLHUP | libc::EPOLLERR) != 0
    }

    /// A write will not block.
    #[must_use]
    pub const fn is_writable(self) -> bool {
        self.0 & (libc::EPOLLOUT | libc::EPOLLHUP | libc::EPOLLERR) != 0
    }

    /// The peer sends no more, or the descriptor has failed; what it sent before may still be unread.
    #[must_use]
    pub const fn is_closed(self) -> bool {
        self.0 & (libc::EPOLLRDHUP | libc::EPOLLHUP | libc::EPOLLERR) != 0
    }
}

/// Names one registration and never another, though its place is used again: upper half its number, lower its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token(u64);

impl Token {
    const fn place(self) -> u32 {
        self.0 as u32
    }
}

struct Registration<C> {
    token: Token,
    handler: Handler<C>,
    about: u64,
}

/// The selector and the table of handlers.
pub struct Reactor<C> {
    epoll: OwnedFd,
    registrations: Table<Registration<C>>,
    /// Of the latest registration.
    generation: u32,
    events: Vec<epoll_event>,
}

impl<C> Reactor<C> {
    /// A reactor that takes at most `max_events` (at least 1) from the kernel at once. Error: epoll_create1(2).
    pub fn new(max_events: usize) -> io::Result<Self> {
        // SAFETY: it takes no pointer.
        let fd = check(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) })?;
        Ok(Self {
            // SAFETY: the kernel has just made the descriptor, and nobody else knows it.
            epoll: unsafe { OwnedFd::from_raw_fd(fd) },
            registrations: Table::new(),
            generation: 0,
            events: vec![epoll_event { events: 0, u64: 0 }; max_events],
        })
    }

    /// Watches `fd` and calls `handler` with `about` for each of its events. Error: epoll_ctl(2).
    ///
    /// Deregister it before it is closed: the kernel forgets a closed descriptor, the reactor cannot know.
    pub fn register(
        &mut self,
        fd: impl AsFd,
        interest: Interest,
        handler: Handler<C>,
        about: u64,
    ) -> io::Result<Token> {
        self.generation = self.generation.wrapping_add(1);
        let place = self.registrations.next_index();
        let token = Token(u64::from(self.generation) << 32 | u64::from(place));
        control(&self.epoll, EPOLL_CTL_ADD, fd, interest.0, token)?;
        self.registrations.insert(Registration {
            token,
            handler,
            about,
        });
        Ok(token)
    }

    /// Changes what `fd`, registered as `token`, is watched for; reports what holds already. Error: epoll_ctl(2).
    pub fn reregister(&self, token: Token, fd: impl AsFd, interest: Interest) -> io::Result<()> {
        control(&self.epoll, EPOLL_CTL_MOD, fd, interest.0, token)
    }

    /// Watches `fd`, registered as `token`, no longer; what was already reported of it is dropped. Error: epoll_ctl(2).
    pub fn deregister(&mut self, token: Token, fd: impl AsFd) -> io::Result<()> {
        if self.find(token).is_some() {
            self.registrations.remove(token.place());
        }
        control(&self.epoll, EPOLL_CTL_DEL, fd, 0, token)
    }

    /// Waits for events, at most `timeout` (none: for ever), calls the handler of each, and returns how many there were.
    /// A signal counts as a time-out. Error: epoll_wait(2).
    pub fn run(&mut self, context: &mut C, timeout: Option<Duration>) -> io::Result<usize> {
        let count = self.wait(timeout)?;
        // Handlers borrow the reactor. Should one of them call `run`, it gets an error, not this batch twice.
        let events = mem::take(&mut self.events);
        for event in &events[..count] {
            let (token, readiness) = (event.u64, event.events);
            // An earlier handler of this batch may have deregistered it.
            if let Some(&Registration { handler, about, .. }) = self.find(Token(token)) {
                handler(context, self, about, Readiness(readiness.cast_signed()));
            }
        }
        self.events = events;
        Ok(count)
    }

    fn find(&self, token: Token) -> Option<&Registration<C>> {
        let found = self.registrations.get(token.place());
        found.filter(|registration| registration.token == token)
    }

    fn wait(&mut self, timeout: Option<Duration>) -> io::Result<usize> {
        // Rounded up: to wake a moment before a deadline would mean to wait again, without a pause, until it is there.
        let millis = timeout.map_or(-1, |timeout| {
            let rounded_up = timeout.saturating_add(Duration::from_nanos(999_999));
            c_int::try_from(rounded_up.as_millis()).unwrap_or(c_int::MAX)
        });
        let (events, max) = (self.events.as_mut_ptr(), self.events.len() as c_int);
        // SAFETY: `events` points to `max` elements that stay in place during the call.
        match check(unsafe { libc::epoll_wait(self.epoll.as_raw_fd(), events, max, millis) }) {
            Ok(count) => Ok(count as usize),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(0),
            Err(error) => Err(error),
        }
    }
}

fn control(
    epoll: &OwnedFd,
    operation: c_int,
    fd: impl AsFd,
    interest: c_int,
    token: Token,
) -> io::Result<()> {
    let events = interest.cast_unsigned();
    let mut event = epoll_event {
        events,
        u64: token.0,
    };
    let (epoll, fd) = (epoll.as_raw_fd(), fd.as_fd().as_raw_fd());
    // SAFETY: `event` outlives the call, and the kernel keeps a copy of it.
    check(unsafe { libc::epoll_ctl(epoll, operation, fd, &raw mut event) }).map(drop)
}

/// Turns the -1 of a system call into its error.
fn check(result: c_int) -> io::Result<c_int> {
    if result == -1 {
        Err(io::Error::last_os_error())
    } else {
        Ok(result)
    }
}
