//! No lock but an atomic addition: what a counter costs that needs none.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{Lock, LockKind, Objects, Scope};
use crate::row::Waits;
use crate::sys::shared::Page;
use crate::wire::Given;

/// `AtomicU64::fetch_add`.
pub(super) struct Atomic;

impl LockKind for Atomic {
    type Lock = Addition;

    fn name(&self) -> &'static str {
        "AtomicU64"
    }

    fn scope(&self) -> Scope {
        Scope::Both
    }

    fn waits(&self) -> Waits {
        Waits::Spins // in hardware, for the cache line
    }

    fn make(&self, _: &Arc<Page>) -> io::Result<Objects> {
        Ok(Objects::none())
    }

    fn open(&self, _: &Arc<Page>, _: &Given) -> io::Result<Addition> {
        Ok(Addition)
    }
}

/// Nothing to open.
#[derive(Debug)]
pub(super) struct Addition;

impl Lock for Addition {
    fn hold(&self, critical: impl FnOnce()) -> io::Result<()> {
        critical();
        Ok(())
    }

    fn add(&self, counter: &AtomicU64) -> io::Result<()> {
        counter.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}
