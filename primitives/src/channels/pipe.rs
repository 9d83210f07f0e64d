//! Pipes: pipe(7).

use std::os::fd::OwnedFd;

use rustix::pipe::{PipeFlags, fcntl_setpipe_size, pipe_with};

use super::streams::{BUFFER_BYTES, Stream};
use super::{Channel, Made};
use crate::failure::{Absence, Failure};
use crate::wire::{End, Given, Pattern};

/// An unnamed pipe; for round trips one each way.
pub(crate) struct Pipe;

impl Channel for Pipe {
    type Port = Stream;

    fn name(&self) -> &'static str {
        "pipe"
    }

    fn note(&self, _: Pattern) -> String {
        CAPACITY.to_owned()
    }

    fn absent(&self, _: Pattern) -> Option<Absence> {
        None
    }

    fn make(&self, pattern: Pattern) -> Result<Made, Failure> {
        both_ways(pattern, || {
            pipe_with(PipeFlags::CLOEXEC).map_err(Failure::call("pipe2"))
        })
    }

    fn open(&self, _: End, _: Pattern, given: Given) -> Result<Stream, Failure> {
        Stream::of(given)
    }
}

/// What the rows of pipes and FIFOs note.
pub(crate) const CAPACITY: &str = "capacity 64 KiB";

/// Two one-way things as a channel: `make` gives the end to read and the end to write. One-way patterns get one: both of an
/// end's descriptors are then the same, so that the other end's death is seen.
pub(crate) fn both_ways(
    pattern: Pattern,
    mut make: impl FnMut() -> Result<(OwnedFd, OwnedFd), Failure>,
) -> Result<Made, Failure> {
    let mut sized = || {
        let (rx, tx) = make()?;
        fcntl_setpipe_size(&tx, BUFFER_BYTES).map_err(Failure::call("fcntl(F_SETPIPE_SZ)"))?;
        Ok::<_, Failure>((rx, tx))
    };
    let (far_rx, near_tx) = sized()?;
    Ok(match pattern {
        Pattern::OneWay { .. } => {
            Made::ends(Given::descriptors([near_tx]), Given::descriptors([far_rx]))
        }
        Pattern::RoundTrip => {
            let (near_rx, far_tx) = sized()?;
            Made::ends(
                Given::descriptors([near_rx, near_tx]),
                Given::descriptors([far_rx, far_tx]),
            )
        }
    })
}
