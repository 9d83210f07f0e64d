//! Ways to run a program and wait for it: system(3), popen(3), fork(2) with execv(3), posix_spawn(3).

use std::ffi::{CStr, CString, c_char};
use std::io::{self, Read};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::ptr;

use rustix::pipe::{PipeFlags, pipe_with};

use super::{check, check_number, retry};

unsafe extern "C" {
    /// The environment: environ(7).
    static environ: *const *const c_char;
}

/// A program and its arguments, as execv(3) wants them.
#[derive(Debug)]
pub struct Arguments {
    /// Owns what the pointers point to.
    strings: Vec<CString>,
}

impl Arguments {
    /// `strings[0]` is the program's path.
    ///
    /// # Errors
    ///
    /// One of them holds a zero byte, or there is none.
    pub fn new<'a>(strings: impl IntoIterator<Item = &'a str>) -> io::Result<Self> {
        let strings = strings
            .into_iter()
            .map(CString::new)
            .collect::<Result<Vec<_>, _>>()?;
        if strings.is_empty() {
            Err(io::ErrorKind::InvalidInput.into())
        } else {
            Ok(Self { strings })
        }
    }

    fn pointers(&self) -> Vec<*const c_char> {
        self.strings
            .iter()
            .map(|string| string.as_ptr())
            .chain([ptr::null()])
            .collect()
    }
}

/// Has the shell run `command`: system(3).
///
/// # Errors
///
/// It could not start a child. That the shell or the command failed is in the status.
pub fn system(command: &CStr) -> io::Result<ExitStatus> {
    // SAFETY: command is a C string.
    check(unsafe { libc::system(command.as_ptr()) }).map(ExitStatus::from_raw)
}

/// Has the shell run `command`, reads all that it prints, and waits for it: popen(3), pclose(3).
///
/// # Errors
///
/// Those of the two calls, and of read(2).
pub fn popen(command: &CStr) -> io::Result<(Vec<u8>, ExitStatus)> {
    // SAFETY: both are C strings.
    let stream = unsafe { libc::popen(command.as_ptr(), c"re".as_ptr()) };
    if stream.is_null() {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the stream is open; its descriptor is duplicated, not taken.
    let output =
        unsafe { std::os::fd::BorrowedFd::borrow_raw(libc::fileno(stream)) }.try_clone_to_owned();
    let mut printed = Vec::new();
    let read = output.and_then(|output| std::fs::File::from(output).read_to_end(&mut printed));
    // SAFETY: the stream is open and not used afterwards.
    let status = check(unsafe { libc::pclose(stream) })?;
    read.map(|_| (printed, ExitStatus::from_raw(status)))
}

/// Runs a program by fork(2) and execv(3). That the program could not be executed comes back through a pipe that a
/// successful execv closes.
///
/// # Errors
///
/// Those of fork(2), execve(2) and waitpid(2).
pub fn fork_exec(arguments: &Arguments) -> io::Result<ExitStatus> {
    let pointers = arguments.pointers();
    let (told, tell) = pipe_with(PipeFlags::CLOEXEC)?;
    // SAFETY: between fork and exec the child makes only calls that are async-signal-safe (signal-safety(7)).
    let pid = check(unsafe { libc::fork() })?;
    if pid == 0 {
        // SAFETY: pointers ends with null, and so does what each of them points to.
        unsafe {
            libc::execv(pointers[0], pointers.as_ptr());
            let error = *libc::__errno_location();
            libc::write(
                tell.as_raw_fd(),
                (&raw const error).cast(),
                size_of_val(&error),
            );
            libc::_exit(127);
        }
    }
    drop(tell);
    let failed = errno_told(told);
    let status = wait(pid)?;
    failed.map_or(Ok(status), Err)
}

fn errno_told(told: OwnedFd) -> Option<io::Error> {
    let mut number = [0; size_of::<libc::c_int>()];
    let read = std::fs::File::from(told).read_exact(&mut number);
    read.ok()
        .map(|()| io::Error::from_raw_os_error(libc::c_int::from_ne_bytes(number)))
}

/// Runs a program by posix_spawn(3).
///
/// # Errors
///
/// Those of posix_spawn(3), which are those of execve(2) too, and of waitpid(2).
pub fn posix_spawn(arguments: &Arguments) -> io::Result<ExitStatus> {
    let pointers = arguments.pointers();
    let mut pid = 0;
    // SAFETY: pointers ends with null, and so does the environment; posix_spawn reads both, for all that its prototype
    // takes them as mutable.
    check_number(unsafe {
        let path = pointers[0];
        libc::posix_spawn(
            &raw mut pid,
            path,
            ptr::null(),
            ptr::null(),
            pointers.as_ptr().cast(),
            environ.cast(),
        )
    })?;
    wait(pid)
}

fn wait(pid: libc::pid_t) -> io::Result<ExitStatus> {
    let mut status = 0;
    // SAFETY: status is ours.
    retry(|| check(unsafe { libc::waitpid(pid, &raw mut status, 0) }))?;
    Ok(ExitStatus::from_raw(status))
}
