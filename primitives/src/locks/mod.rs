//! Locks that guard a counter: one file for each mechanism.

mod atomic;
#[cfg(test)]
pub(crate) mod dying;
mod in_process;
mod mutex;
mod record;
mod rwlock;
mod semaphore;
mod sysv;
mod unlocked;

use std::any::Any;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::channels::Made;
use crate::child::Hall;
use crate::failure::Failure;
use crate::roles;
use crate::row::Waits;
use crate::sys::shared::Page;
use crate::wire::{Given, Report};

/// A lock as one worker has it open.
pub trait Lock: Send {
    /// Waits for it, runs `critical` while it is held, and gives it back.
    ///
    /// # Errors
    ///
    /// Those of the mechanism's calls.
    fn hold(&self, critical: impl FnOnce()) -> io::Result<()>;

    /// Adds 1 to the counter, under the lock. Not one atomic addition but a read and a write, so that a lock that does not
    /// lock is found out.
    ///
    /// # Errors
    ///
    /// Those of the mechanism's calls.
    fn add(&self, counter: &AtomicU64) -> io::Result<()> {
        self.hold(|| counter.store(counter.load(Ordering::Relaxed) + 1, Ordering::Relaxed))
    }
}

/// Whom a lock can keep apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Threads of one process.
    Threads,
    /// Processes, but not the threads of one.
    Processes,
    /// Both.
    Both,
}

/// A mechanism that makes locks.
pub trait LockKind: Sync {
    /// What an open one is.
    type Lock: Lock;

    /// Its name in tables.
    fn name(&self) -> &'static str;

    /// Whom it keeps apart.
    fn scope(&self) -> Scope;

    /// What a worker does that has to wait.
    fn waits(&self) -> Waits {
        Waits::Blocks
    }

    /// Makes the kernel's objects, in the keeper.
    ///
    /// # Errors
    ///
    /// Those of the mechanism's calls.
    fn make(&self, page: &Arc<Page>) -> io::Result<Objects>;

    /// Opens it, once for each worker.
    ///
    /// # Errors
    ///
    /// Those of the mechanism's calls.
    fn open(&self, page: &Arc<Page>, given: &Given) -> io::Result<Self::Lock>;
}

/// What a lock has beside the shared page.
#[derive(Debug)]
pub struct Objects {
    /// A file that is locked.
    pub file: Option<OwnedFd>,
    /// A name, an id.
    pub text: String,
    /// Removes, when dropped, what would outlive its users.
    pub kept: Box<dyn Any>,
}

impl Objects {
    /// Nothing: all is in the page.
    #[must_use]
    pub fn none() -> Self {
        Self {
            file: None,
            text: String::new(),
            kept: Box::new(()),
        }
    }
}

/// A [`LockKind`] whose loop is compiled for its own locks.
pub trait AnyLock: Sync {
    /// See [`LockKind::name`].
    fn name(&self) -> &'static str;
    /// See [`LockKind::scope`].
    fn scope(&self) -> Scope;
    /// See [`LockKind::waits`].
    fn waits(&self) -> Waits;
    /// Makes the counter's page and the lock's objects.
    ///
    /// # Errors
    ///
    /// Those of the calls.
    fn make(&self) -> Result<Made, Failure>;
    /// `threads` workers of one process, pinned to `cpus` round robin, each add 1 `count` times.
    ///
    /// # Errors
    ///
    /// Those of the calls.
    fn work(
        &self,
        given: &Given,
        threads: usize,
        cpus: &[usize],
        count: u64,
        hall: &Hall,
    ) -> Result<Report, Failure>;
}

impl<K: LockKind> AnyLock for K {
    fn name(&self) -> &'static str {
        LockKind::name(self)
    }

    fn scope(&self) -> Scope {
        LockKind::scope(self)
    }

    fn waits(&self) -> Waits {
        LockKind::waits(self)
    }

    fn make(&self) -> Result<Made, Failure> {
        let make = || {
            let page = Arc::new(Page::make()?);
            let objects = LockKind::make(self, &page)?;
            let given = Given {
                fds: [page.fd()?].into_iter().chain(objects.file).collect(),
                text: objects.text,
            };
            Ok::<_, io::Error>(Made {
                given: vec![given],
                kept: objects.kept,
            })
        };
        make().map_err(Failure::call(LockKind::name(self)))
    }

    fn work(
        &self,
        given: &Given,
        threads: usize,
        cpus: &[usize],
        count: u64,
        hall: &Hall,
    ) -> Result<Report, Failure> {
        let open = || {
            let page = given
                .fds
                .first()
                .ok_or(io::ErrorKind::NotFound)?
                .try_clone()?;
            let page = Arc::new(Page::map(page)?);
            let locks = (0..threads)
                .map(|_| self.open(&page, given))
                .collect::<io::Result<Vec<_>>>()?;
            Ok::<_, io::Error>((page, locks))
        };
        let (page, locks) = open().map_err(Failure::call(LockKind::name(self)))?;
        roles::add::add(&page, locks, cpus, count, hall)
    }
}

/// Every lock, in the order of the documents' tables; then what a reader wants today; last the control.
pub const ALL: &[&dyn AnyLock] = &[
    &mutex::POSIX,
    &rwlock::RwLock,
    &semaphore::Unnamed,
    &semaphore::Named,
    &sysv::PLAIN,
    &sysv::WITH_UNDO,
    &record::Fcntl,
    &record::OpenFileDescription,
    &mutex::ROBUST,
    &atomic::Atomic,
    &in_process::Std,
    &in_process::ParkingLot,
];

/// No lock at all, which must be found out.
pub const CONTROL: &dyn AnyLock = &unlocked::Unlocked;

/// The lock of that name.
#[must_use]
pub fn named(name: &str) -> Option<&'static dyn AnyLock> {
    #[cfg(test)]
    let all = ALL.iter().chain(dying::ALL);
    #[cfg(not(test))]
    let all = ALL.iter();
    all.chain([&CONTROL])
        .copied()
        .find(|lock| lock.name() == name)
}
