//! Posix message queues. A descriptor of one is a file descriptor on Linux (mq_overview(7)), so it can be passed on, and
//! the name is needed for no longer than it takes to open it.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use super::{check, unique_name};

/// A queue of `depth` messages of `bytes`, whose name is gone again.
///
/// # Errors
///
/// Those of mq_open(3): EMFILE beyond RLIMIT_MSGQUEUE, EINVAL beyond `fs.mqueue`'s limits.
pub fn unnamed(depth: usize, bytes: usize) -> io::Result<OwnedFd> {
    let name = CString::new(format!("/{}", unique_name()))?;
    let long = |number: usize| libc::c_long::try_from(number).map_err(io::Error::other);
    // SAFETY: mq_attr is a plain struct of integers, for which zero is a value.
    let mut attributes: libc::mq_attr = unsafe { std::mem::zeroed() };
    attributes.mq_maxmsg = long(depth)?;
    attributes.mq_msgsize = long(bytes)?;
    let flags = libc::O_RDWR | libc::O_CREAT | libc::O_EXCL | libc::O_CLOEXEC;
    // SAFETY: name is a C string, attributes are initialised, and the two arguments after the flags are those that
    // O_CREAT asks for.
    let fd = check(unsafe {
        libc::mq_open(
            name.as_ptr(),
            flags,
            0o600 as libc::mode_t,
            &raw mut attributes,
        )
    })?;
    // SAFETY: mq_open returned this descriptor, which nobody else has.
    let queue = unsafe { OwnedFd::from_raw_fd(fd) };
    // SAFETY: name is a C string.
    check(unsafe { libc::mq_unlink(name.as_ptr()) })?;
    Ok(queue)
}

/// Sends `message`; waits while the queue is full.
///
/// # Errors
///
/// Those of mq_send(3).
pub fn send(queue: &OwnedFd, message: &[u8], priority: u32) -> io::Result<()> {
    super::retry(|| {
        // SAFETY: the pointer and the length are those of one slice.
        check(unsafe {
            libc::mq_send(
                queue.as_raw_fd(),
                message.as_ptr().cast(),
                message.len(),
                priority,
            )
        })
    })?;
    Ok(())
}

/// Receives the oldest message of the highest priority, which it tells too.
///
/// # Errors
///
/// Those of mq_receive(3): EMSGSIZE if `buffer` is shorter than the queue's messages can be.
pub fn receive(queue: &OwnedFd, buffer: &mut [u8]) -> io::Result<(usize, u32)> {
    let mut priority = 0;
    loop {
        // SAFETY: the pointer and the length are those of one slice, and priority is ours.
        let got = unsafe {
            libc::mq_receive(
                queue.as_raw_fd(),
                buffer.as_mut_ptr().cast(),
                buffer.len(),
                &raw mut priority,
            )
        };
        match usize::try_from(got) {
            Ok(length) => return Ok((length, priority)),
            Err(_) => match io::Error::last_os_error() {
                error if error.kind() == io::ErrorKind::Interrupted => {}
                error => return Err(error),
            },
        }
    }
}
