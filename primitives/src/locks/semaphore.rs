//! Posix semaphores, in memory and with a name: sem_overview(7).

use std::io;
use std::sync::Arc;

use super::{Lock, LockKind, Objects, Scope};
use crate::sys::named_semaphore::{Name, NamedSemaphore};
use crate::sys::pthread::Semaphore;
use crate::sys::shared::Page;
use crate::sys::unique_name;
use crate::wire::Given;

/// A semaphore in shared memory.
pub(super) struct Unnamed;

impl LockKind for Unnamed {
    type Lock = Semaphore;

    fn name(&self) -> &'static str {
        "Posix semaphore in memory"
    }

    fn scope(&self) -> Scope {
        Scope::Both
    }

    fn make(&self, page: &Arc<Page>) -> io::Result<Objects> {
        Semaphore::make(page).map(|_| Objects::none())
    }

    fn open(&self, page: &Arc<Page>, _: &Given) -> io::Result<Semaphore> {
        Ok(Semaphore::of(page))
    }
}

impl Lock for Semaphore {
    fn hold(&self, critical: impl FnOnce()) -> io::Result<()> {
        self.wait()?;
        critical();
        self.post()
    }
}

/// A semaphore with a name, which the keeper removes.
pub(super) struct Named;

impl LockKind for Named {
    type Lock = NamedSemaphore;

    fn name(&self) -> &'static str {
        "named Posix semaphore"
    }

    fn scope(&self) -> Scope {
        Scope::Both
    }

    fn make(&self, _: &Arc<Page>) -> io::Result<Objects> {
        let text = format!("/{}", unique_name());
        let kept = Box::new(Name::make(&text)?);
        Ok(Objects {
            file: None,
            text,
            kept,
        })
    }

    fn open(&self, _: &Arc<Page>, given: &Given) -> io::Result<NamedSemaphore> {
        NamedSemaphore::open(&given.text)
    }
}

impl Lock for NamedSemaphore {
    fn hold(&self, critical: impl FnOnce()) -> io::Result<()> {
        self.wait()?;
        critical();
        self.post()
    }
}
