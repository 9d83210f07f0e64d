//! Every lock, with a holder that is killed while it holds it.

use std::io;
use std::sync::Arc;

use rustix::process::{Signal, getpid, kill_process};

use super::{AnyLock, Lock, LockKind, Objects, Scope, mutex, record, rwlock, semaphore, sysv};
use crate::sys::shared::Page;
use crate::wire::Given;

struct Dying<K>(K, &'static str);

/// Each under the name of the lock whose holder dies, with this before it.
pub(super) const ALL: &[&dyn AnyLock] = &[
    &Dying(mutex::POSIX, "dying: Posix mutex"),
    &Dying(mutex::ROBUST, "dying: robust Posix mutex"),
    &Dying(rwlock::RwLock, "dying: read-write lock"),
    &Dying(semaphore::Unnamed, "dying: Posix semaphore in memory"),
    &Dying(semaphore::Named, "dying: named Posix semaphore"),
    &Dying(sysv::PLAIN, "dying: System V semaphore"),
    &Dying(sysv::WITH_UNDO, "dying: System V semaphore with UNDO"),
    &Dying(record::Fcntl, "dying: fcntl record lock"),
    &Dying(
        record::OpenFileDescription,
        "dying: open-file-description lock",
    ),
];

impl<K: LockKind> LockKind for Dying<K> {
    type Lock = DyingLock<K::Lock>;

    fn name(&self) -> &'static str {
        self.1
    }

    fn scope(&self) -> Scope {
        self.0.scope()
    }

    fn make(&self, page: &Arc<Page>) -> io::Result<Objects> {
        LockKind::make(&self.0, page)
    }

    fn open(&self, page: &Arc<Page>, given: &Given) -> io::Result<Self::Lock> {
        self.0.open(page, given).map(DyingLock)
    }
}

struct DyingLock<L>(L);

impl<L: Lock> Lock for DyingLock<L> {
    fn hold(&self, _: impl FnOnce()) -> io::Result<()> {
        self.0
            .hold(|| kill_process(getpid(), Signal::KILL).expect("a process may kill itself"))
    }
}
