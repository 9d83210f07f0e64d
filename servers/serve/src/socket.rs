//! Reading and writing by the system call itself.
//!
//! The functions of libc that std calls are cancellation points (pthreads(7)), which in a process of several threads costs
//! each call some 50 instructions, a tenth of what a request takes outside of `http1`.

use std::io;
use std::os::fd::AsFd;

use rustix::net::{RecvFlags, SendFlags, recv, send};

/// Receives bytes into `input`, and returns how many.
///
/// # Errors
///
/// Those of recv(2).
#[inline]
pub fn read(socket: impl AsFd, input: &mut [u8]) -> io::Result<usize> {
    let (received, _) = recv(socket, input, RecvFlags::empty())?;
    Ok(received)
}

/// Sends from the start of `output`, and returns how many bytes the kernel has taken.
///
/// # Errors
///
/// Those of send(2). A peer that is gone is an error, not a signal.
#[inline]
pub fn write(socket: impl AsFd, output: &[u8]) -> io::Result<usize> {
    Ok(send(socket, output, SendFlags::NOSIGNAL)?)
}
