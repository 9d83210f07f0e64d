//! What a failed accept(2) means for a server that must go on.

use std::io;
use std::time::Duration;

use rustix::io::Errno;

/// How long a listener rests when there is nothing to accept a connection with.
pub const PAUSE: Duration = Duration::from_millis(100);

/// What to do about an error of accept(2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// Nobody is waiting: go back to the selector.
    Wait,
    /// That one connection failed: take the next one.
    Skip,
    /// Descriptors or memory have run out. The connection stays in the queue and the listener stays readable, so leave
    /// it alone for [`PAUSE`] or the worker spins.
    Pause,
    /// The listener itself is unusable; only a fault of our own leads here.
    Fail,
}

/// Finds the [`Remedy`] for `error`.
///
/// accept(2), "Error handling": Linux passes network errors that are pending on the new socket as errors of accept, and
/// a reliable server treats them as a try again.
#[must_use]
pub fn remedy(error: &io::Error) -> Remedy {
    match Errno::from_io_error(error) {
        Some(Errno::AGAIN) => Remedy::Wait,
        Some(Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM) => Remedy::Pause,
        Some(Errno::BADF | Errno::FAULT | Errno::INVAL | Errno::NOTSOCK) => Remedy::Fail,
        _ => Remedy::Skip,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_told_apart() {
        for (errno, expected) in [
            (Errno::AGAIN, Remedy::Wait),
            (Errno::INTR, Remedy::Skip),
            (Errno::CONNABORTED, Remedy::Skip),
            (Errno::NETUNREACH, Remedy::Skip),
            (Errno::PERM, Remedy::Skip),
            (Errno::MFILE, Remedy::Pause),
            (Errno::NFILE, Remedy::Pause),
            (Errno::NOMEM, Remedy::Pause),
            (Errno::BADF, Remedy::Fail),
        ] {
            assert_eq!(remedy(&errno.into()), expected, "{errno:?}");
        }
    }
}
