//! Locks that belong to an open file description: fcntl(2), F_OFD_SETLKW.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use super::{check, retry};

/// Waits for the whole file and takes it.
///
/// # Errors
///
/// Those of fcntl(2).
pub fn lock(file: &OwnedFd) -> io::Result<()> {
    set(file, libc::F_WRLCK)
}

/// Gives it back.
///
/// # Errors
///
/// Those of fcntl(2).
pub fn unlock(file: &OwnedFd) -> io::Result<()> {
    set(file, libc::F_UNLCK)
}

fn set(file: &OwnedFd, kind: libc::c_int) -> io::Result<()> {
    let short = |number: libc::c_int| libc::c_short::try_from(number).map_err(io::Error::other);
    // l_pid must be 0, and length 0 is the whole file.
    let range = libc::flock {
        l_type: short(kind)?,
        l_whence: short(libc::SEEK_SET)?,
        l_start: 0,
        l_len: 0,
        l_pid: 0,
    };
    // SAFETY: the third argument of F_OFD_SETLKW is a flock that is only read.
    retry(|| check(unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_SETLKW, &raw const range) }))
        .map(drop)
}
