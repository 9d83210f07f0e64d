//! Semaphores with a name: sem_overview(7).

use std::ffi::CString;
use std::io;
use std::ptr::NonNull;

use super::{check, retry};

/// An open one.
#[derive(Debug)]
pub struct NamedSemaphore(NonNull<libc::sem_t>);

// SAFETY: sem_wait and sem_post may be called by any thread, at any time.
unsafe impl Send for NamedSemaphore {}

/// The name of one; dropped, the name is gone. Who has it open keeps it.
#[derive(Debug)]
pub struct Name(CString);

impl Name {
    /// Makes a semaphore of value 1 and that name.
    ///
    /// # Errors
    ///
    /// Those of sem_open(3): EEXIST if there is one.
    pub fn make(name: &str) -> io::Result<Self> {
        let name = CString::new(name)?;
        open(&name, libc::O_CREAT | libc::O_EXCL)?;
        Ok(Self(name))
    }
}

impl Drop for Name {
    fn drop(&mut self) {
        // SAFETY: the name is a C string. It can only fail if somebody else has removed it.
        let _ = unsafe { libc::sem_unlink(self.0.as_ptr()) };
    }
}

fn open(name: &CString, flags: libc::c_int) -> io::Result<NamedSemaphore> {
    // SAFETY: the name is a C string, and the two arguments after the flags are those that O_CREAT asks for; without it
    // they are ignored.
    let opened = unsafe {
        libc::sem_open(
            name.as_ptr(),
            flags,
            0o600 as libc::mode_t,
            1 as libc::c_uint,
        )
    };
    NonNull::new(opened)
        .map(NamedSemaphore)
        .ok_or_else(io::Error::last_os_error)
}

impl NamedSemaphore {
    /// Opens the one of that name.
    ///
    /// # Errors
    ///
    /// Those of sem_open(3).
    pub fn open(name: &str) -> io::Result<Self> {
        open(&CString::new(name)?, 0)
    }

    /// Takes 1 from its value, waits while that is 0.
    ///
    /// # Errors
    ///
    /// Those of sem_wait(3).
    pub fn wait(&self) -> io::Result<()> {
        // SAFETY: it is open as long as self lives.
        retry(|| check(unsafe { libc::sem_wait(self.0.as_ptr()) })).map(drop)
    }

    /// Adds 1.
    ///
    /// # Errors
    ///
    /// Those of sem_post(3).
    pub fn post(&self) -> io::Result<()> {
        // SAFETY: as above.
        check(unsafe { libc::sem_post(self.0.as_ptr()) }).map(drop)
    }
}

impl Drop for NamedSemaphore {
    fn drop(&mut self) {
        // SAFETY: it is open, and used by nobody else: self is neither Clone nor Sync.
        let _ = unsafe { libc::sem_close(self.0.as_ptr()) };
    }
}
