//! System V semaphores, without and with SEM_UNDO: semop(2).

use std::io;
use std::sync::Arc;

use super::{Lock, LockKind, Objects, Scope};
use crate::sys::shared::Page;
use crate::sys::sysv::{Owned, Semaphore, Undo};
use crate::wire::Given;

/// A System V semaphore.
pub(super) struct SysvSemaphore(Undo);

/// What its holder took stays taken when the holder dies.
pub(super) const PLAIN: SysvSemaphore = SysvSemaphore(Undo::No);
/// The kernel gives it back.
pub(super) const WITH_UNDO: SysvSemaphore = SysvSemaphore(Undo::Yes);

impl LockKind for SysvSemaphore {
    type Lock = SysvLock;

    fn name(&self) -> &'static str {
        match self.0 {
            Undo::No => "System V semaphore",
            Undo::Yes => "System V semaphore with UNDO",
        }
    }

    fn scope(&self) -> Scope {
        Scope::Both
    }

    fn make(&self, _: &Arc<Page>) -> io::Result<Objects> {
        let semaphore = Owned::<Semaphore>::make()?;
        Ok(Objects {
            file: None,
            text: semaphore.id().to_string(),
            kept: Box::new(semaphore),
        })
    }

    fn open(&self, _: &Arc<Page>, given: &Given) -> io::Result<SysvLock> {
        let id = given.text.parse().map_err(io::Error::other)?;
        Ok(SysvLock {
            semaphore: Semaphore::of(id),
            undo: self.0,
        })
    }
}

/// An open one.
#[derive(Debug)]
pub(super) struct SysvLock {
    semaphore: Semaphore,
    undo: Undo,
}

impl Lock for SysvLock {
    fn hold(&self, critical: impl FnOnce()) -> io::Result<()> {
        self.semaphore.change(-1, self.undo)?;
        critical();
        self.semaphore.change(1, self.undo)
    }
}
