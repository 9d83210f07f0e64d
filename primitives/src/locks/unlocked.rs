//! The control: no lock at all. Workers that run at once lose additions, and the check must notice.

use std::io;
use std::sync::Arc;

use super::{Lock, LockKind, Objects, Scope};
use crate::sys::shared::Page;
use crate::wire::Given;

/// Keeps nobody apart.
pub(super) struct Unlocked;

impl LockKind for Unlocked {
    type Lock = Nothing;

    fn name(&self) -> &'static str {
        "no lock (control)"
    }

    fn scope(&self) -> Scope {
        Scope::Both
    }

    fn make(&self, _: &Arc<Page>) -> io::Result<Objects> {
        Ok(Objects::none())
    }

    fn open(&self, _: &Arc<Page>, _: &Given) -> io::Result<Nothing> {
        Ok(Nothing)
    }
}

/// Nothing to open.
#[derive(Debug)]
pub(super) struct Nothing;

impl Lock for Nothing {
    fn hold(&self, critical: impl FnOnce()) -> io::Result<()> {
        critical();
        Ok(())
    }
}
