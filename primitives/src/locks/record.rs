//! Record locks: fcntl(2), F_SETLKW and F_OFD_SETLKW.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;

use rustix::fs::{FlockOperation, fcntl_lock};

use super::{Lock, LockKind, Objects, Scope};
use crate::sys::ofd;
use crate::sys::shared::Page;
use crate::wire::Given;

/// A lock that belongs to the process: threads of one process do not keep each other out.
pub(super) struct Fcntl;

/// A lock that belongs to the open file description: one `open` for each worker, and threads are kept apart as well.
pub(super) struct OpenFileDescription;

fn file() -> io::Result<Objects> {
    Ok(Objects {
        file: Some(tempfile::tempfile()?.into()),
        ..Objects::none()
    })
}

fn of(given: &Given) -> io::Result<&OwnedFd> {
    given
        .fds
        .get(1)
        .ok_or_else(|| io::ErrorKind::NotFound.into())
}

impl LockKind for Fcntl {
    type Lock = RecordLock;

    fn name(&self) -> &'static str {
        "fcntl record lock"
    }

    fn scope(&self) -> Scope {
        Scope::Processes
    }

    fn make(&self, _: &Arc<Page>) -> io::Result<Objects> {
        file()
    }

    fn open(&self, _: &Arc<Page>, given: &Given) -> io::Result<RecordLock> {
        of(given)?.try_clone().map(RecordLock)
    }
}

/// An open one.
#[derive(Debug)]
pub(super) struct RecordLock(OwnedFd);

impl Lock for RecordLock {
    fn hold(&self, critical: impl FnOnce()) -> io::Result<()> {
        fcntl_lock(&self.0, FlockOperation::LockExclusive)?;
        critical();
        Ok(fcntl_lock(&self.0, FlockOperation::Unlock)?)
    }
}

impl LockKind for OpenFileDescription {
    type Lock = DescriptionLock;

    fn name(&self) -> &'static str {
        "open-file-description lock"
    }

    fn scope(&self) -> Scope {
        Scope::Both
    }

    fn make(&self, _: &Arc<Page>) -> io::Result<Objects> {
        file()
    }

    fn open(&self, _: &Arc<Page>, given: &Given) -> io::Result<DescriptionLock> {
        // Opened anew: a duplicate would share the description, and with it the lock. The file has no other name.
        let path = format!("/proc/self/fd/{}", of(given)?.as_raw_fd());
        File::options()
            .read(true)
            .write(true)
            .open(path)
            .map(|file| DescriptionLock(file.into()))
    }
}

/// An open one.
#[derive(Debug)]
pub(super) struct DescriptionLock(OwnedFd);

impl Lock for DescriptionLock {
    fn hold(&self, critical: impl FnOnce()) -> io::Result<()> {
        ofd::lock(&self.0)?;
        critical();
        ofd::unlock(&self.0)
    }
}
