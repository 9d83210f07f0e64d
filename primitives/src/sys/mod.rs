//! The calls that neither std nor rustix wraps, each behind a safe function. Nothing else in this crate is `unsafe`.

pub mod mqueue;
pub mod named_semaphore;
pub mod ofd;
pub mod pthread;
pub mod shared;
pub mod spawn;
pub mod sysv;
pub mod uring;

use std::io;

/// -1 is errno.
fn check(returned: libc::c_int) -> io::Result<libc::c_int> {
    if returned == -1 {
        Err(io::Error::last_os_error())
    } else {
        Ok(returned)
    }
}

/// pthread calls return errno itself.
fn check_number(returned: libc::c_int) -> io::Result<()> {
    if returned == 0 {
        Ok(())
    } else {
        Err(io::Error::from_raw_os_error(returned))
    }
}

/// Again, as long as a signal interrupts.
fn retry(mut call: impl FnMut() -> io::Result<libc::c_int>) -> io::Result<libc::c_int> {
    loop {
        match call() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

/// A name that no other object of this machine has: this process's id and a random number.
#[must_use]
pub fn unique_name() -> String {
    use rand::TryRng;
    // Without the system's random numbers there is still the clock.
    let nonce = rand::rngs::SysRng
        .try_next_u64()
        .unwrap_or_else(|_| crate::clock::now_ns());
    format!("rungs-{}-{nonce:016x}", std::process::id())
}
