//! Posix read-write locks, taken to write: pthread_rwlock_wrlock(3).

use std::io;
use std::sync::Arc;

use super::{Lock, LockKind, Objects, Scope};
use crate::sys::pthread;
use crate::sys::shared::Page;
use crate::wire::Given;

/// A read-write lock in shared memory.
pub(super) struct RwLock;

impl LockKind for RwLock {
    type Lock = pthread::RwLock;

    fn name(&self) -> &'static str {
        "read-write lock"
    }

    fn scope(&self) -> Scope {
        Scope::Both
    }

    fn make(&self, page: &Arc<Page>) -> io::Result<Objects> {
        pthread::RwLock::make(page).map(|_| Objects::none())
    }

    fn open(&self, page: &Arc<Page>, _: &Given) -> io::Result<pthread::RwLock> {
        Ok(pthread::RwLock::of(page))
    }
}

impl Lock for pthread::RwLock {
    fn hold(&self, critical: impl FnOnce()) -> io::Result<()> {
        self.write_lock()?;
        critical();
        self.unlock()
    }
}
