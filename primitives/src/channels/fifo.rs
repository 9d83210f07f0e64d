//! FIFOs: fifo(7).

use std::os::fd::OwnedFd;

use rustix::fs::{CWD, Mode, OFlags, fcntl_setfl, mkfifoat, open};

use super::pipe::{CAPACITY, both_ways};
use super::streams::Stream;
use super::{Channel, Made};
use crate::failure::{Absence, Failure};
use crate::sys::unique_name;
use crate::wire::{End, Given, Pattern};

/// A named pipe; for round trips one each way.
pub(crate) struct Fifo;

impl Channel for Fifo {
    type Port = Stream;

    fn name(&self) -> &'static str {
        "FIFO"
    }

    fn note(&self, _: Pattern) -> String {
        CAPACITY.to_owned()
    }

    fn absent(&self, _: Pattern) -> Option<Absence> {
        None
    }

    fn make(&self, pattern: Pattern) -> Result<Made, Failure> {
        both_ways(pattern, fifo)
    }

    fn open(&self, _: End, _: Pattern, given: Given) -> Result<Stream, Failure> {
        Stream::of(given)
    }
}

/// The two ends of a FIFO whose name is gone again.
fn fifo() -> Result<(OwnedFd, OwnedFd), Failure> {
    let directory = tempfile::Builder::new()
        .prefix(&unique_name())
        .tempdir()
        .map_err(Failure::call("mkdtemp"))?;
    let path = directory.path().join("fifo");
    mkfifoat(CWD, &path, Mode::RUSR | Mode::WUSR).map_err(Failure::call("mkfifo"))?;
    // Without NONBLOCK it would wait for a writer that cannot come.
    let rx = open(
        &path,
        OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC,
        Mode::empty(),
    );
    let rx = rx.map_err(Failure::call("open the FIFO to read"))?;
    let tx = open(&path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty());
    let tx = tx.map_err(Failure::call("open the FIFO to write"))?;
    fcntl_setfl(&rx, OFlags::empty()).map_err(Failure::call("fcntl(F_SETFL)"))?;
    Ok((rx, tx))
}
