//! Posix mutexes: pthread_mutex_lock(3).

use std::io;
use std::sync::Arc;

use super::{Lock, LockKind, Objects, Scope};
use crate::sys::pthread::{Mutex, Robust};
use crate::sys::shared::Page;
use crate::wire::Given;

/// A mutex in shared memory.
pub(super) struct PosixMutex(Robust);

/// The usual one.
pub(super) const POSIX: PosixMutex = PosixMutex(Robust::No);
/// One that outlives a holder that dies.
pub(super) const ROBUST: PosixMutex = PosixMutex(Robust::Yes);

impl LockKind for PosixMutex {
    type Lock = Mutex;

    fn name(&self) -> &'static str {
        match self.0 {
            Robust::No => "Posix mutex",
            Robust::Yes => "robust Posix mutex",
        }
    }

    fn scope(&self) -> Scope {
        Scope::Both
    }

    fn make(&self, page: &Arc<Page>) -> io::Result<Objects> {
        Mutex::make(page, self.0).map(|_| Objects::none())
    }

    fn open(&self, page: &Arc<Page>, _: &Given) -> io::Result<Mutex> {
        Ok(Mutex::of(page))
    }
}

impl Lock for Mutex {
    fn hold(&self, critical: impl FnOnce()) -> io::Result<()> {
        self.lock()?;
        critical();
        self.unlock()
    }
}
