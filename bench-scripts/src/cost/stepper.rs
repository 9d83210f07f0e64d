//! A server run instruction by instruction (ptrace(2), PTRACE_SINGLESTEP): exact counts of what it does in user space, on any
//! machine, with or without hardware counters, of a program that is the very one whose speed is measured.
//!
//! The kernel's part of a system call is one step, whatever it takes: the instruction that enters it.

use std::fs;
use std::io::{self, ErrorKind};
use std::mem::MaybeUninit;
use std::ptr;

use libc::{c_int, c_void, iovec, pid_t, siginfo_t, user_regs_struct};

use super::allocator::Allocator;
use crate::record::trace::Absence;
use crate::trace::strace;

/// What a server did in user space.
#[derive(Clone, Copy, Debug, Default)]
pub struct Steps {
    /// Instructions of all threads. A repeated string instruction is one, however often it repeats.
    pub instructions: u64,
    /// Calls of the allocator for new or for more memory.
    pub allocations: u64,
}

/// Processes that run step by step. The thread that made it has to use it (ptrace(2)); dropping it lets them run on.
#[derive(Debug)]
pub struct Stepper<'a> {
    threads: Vec<Thread>,
    allocator: Option<&'a Allocator>,
    steps: Steps,
}

#[derive(Debug)]
struct Thread {
    pid: u32,
    tid: pid_t,
    /// Where it was when it last stopped.
    at: u64,
}

impl<'a> Stepper<'a> {
    /// Stops every thread of these processes, and lets each go on step by step. Threads that they start later run freely.
    ///
    /// # Errors
    ///
    /// That it is not allowed, with what to do.
    pub fn attach(pids: &[u32], allocator: Option<&'a Allocator>) -> Result<Self, Absence> {
        let mut stepper = Self {
            threads: Vec::new(),
            allocator,
            steps: Steps::default(),
        };
        stepper.attach_all(pids).map_err(|error| Absence {
            what: format!("the server cannot be run step by step ({error})"),
            remedy: strace::NOT_ALLOWED.into(),
        })?;
        Ok(stepper)
    }

    fn attach_all(&mut self, pids: &[u32]) -> io::Result<()> {
        for &pid in pids {
            for tid in thread_ids(pid)? {
                seize(tid)?;
                self.threads.push(Thread { pid, tid, at: 0 });
                interrupt(tid)?;
                await_stop(tid)?;
                step(tid, 0)?;
            }
        }
        Ok(())
    }

    /// Lets a thread that has made its step make another, and counts the one that it made. False where no thread has: then all
    /// of them are in the kernel, or wait for a CPU.
    ///
    /// # Errors
    ///
    /// Those of ptrace(2) and waitid(2): the server has ended.
    pub fn advance(&mut self) -> io::Result<bool> {
        let Some(stop) = next_stop()? else {
            return Ok(false);
        };
        let thread = self.threads.iter_mut().find(|t| t.tid == stop.tid);
        let thread =
            thread.ok_or_else(|| io::Error::other("a process that nobody runs stopped"))?;
        match stop.reason {
            StopReason::Step => {
                let at = program_counter(stop.tid)?;
                // A repeated string instruction stops after each repetition, and stays where it is.
                if at != thread.at {
                    thread.at = at;
                    self.steps.instructions += 1;
                    let allocates = self.allocator.is_some_and(|a| a.begins_at(at));
                    self.steps.allocations += u64::from(allocates);
                }
                step(stop.tid, 0)?;
            }
            StopReason::Signal(signal) => step(stop.tid, signal)?,
            StopReason::Other => step(stop.tid, 0)?,
        }
        Ok(true)
    }

    /// True while every thread sleeps in the kernel: nothing is left to be done.
    #[must_use]
    pub fn is_asleep(&self) -> bool {
        self.threads.iter().all(|Thread { pid, tid, .. }| {
            let stat = fs::read_to_string(format!("/proc/{pid}/task/{tid}/stat"));
            // The state follows the name, which may hold anything (proc_pid_stat(5)).
            stat.is_ok_and(|stat| {
                stat.rsplit_once(") ")
                    .is_some_and(|(_, rest)| rest.starts_with('S'))
            })
        })
    }

    /// What was counted so far.
    #[must_use]
    pub fn steps(&self) -> Steps {
        self.steps
    }
}

impl Drop for Stepper<'_> {
    fn drop(&mut self) {
        for &Thread { pid, tid, .. } in &self.threads {
            let released = interrupt(tid)
                .and_then(|()| await_stop(tid))
                .and_then(|()| request(libc::PTRACE_DETACH, tid, 0));
            // Of a process that ended meanwhile, the parent can wait for the first thread only once the others are.
            if released.is_err() && u32::try_from(tid) != Ok(pid) {
                // SAFETY: waitid writes no more than the siginfo_t that it is given, and a null pointer asks for none.
                unsafe {
                    libc::waitid(
                        libc::P_PID,
                        tid.unsigned_abs(),
                        ptr::null_mut(),
                        libc::WEXITED | libc::WNOHANG | libc::__WALL,
                    );
                }
            }
        }
    }
}

/// Why a thread stopped.
enum StopReason {
    /// It made a step.
    Step,
    /// A signal is to be delivered to it.
    Signal(c_int),
    /// It was asked to, or stopped as a group does.
    Other,
}

struct Stop {
    tid: pid_t,
    reason: StopReason,
}

/// A thread of ours that stopped, if there is one.
fn next_stop() -> io::Result<Option<Stop>> {
    // Only stops: how the server ends is for its owner to see. Only those of this thread: others may have children.
    let options = libc::WSTOPPED | libc::WNOHANG | libc::__WALL | libc::__WNOTHREAD;
    let info = wait(libc::P_ALL, 0, options)?;
    // SAFETY: waitid fills in these two for a stopped child, and leaves them zero if there is none.
    let (tid, status) = unsafe { (info.si_pid(), info.si_status()) };
    Ok((tid != 0).then_some(Stop {
        tid,
        reason: match (status & 0xff, status >> 8) {
            (libc::SIGTRAP, 0) => StopReason::Step,
            (signal, 0) => StopReason::Signal(signal),
            _ => StopReason::Other,
        },
    }))
}

fn await_stop(tid: pid_t) -> io::Result<()> {
    wait(
        libc::P_PID,
        tid.unsigned_abs(),
        libc::WSTOPPED | libc::__WALL,
    )
    .map(drop)
}

fn wait(kind: libc::idtype_t, id: libc::id_t, options: c_int) -> io::Result<siginfo_t> {
    loop {
        let mut info = MaybeUninit::<siginfo_t>::zeroed();
        // SAFETY: `info` has room for what waitid writes; all zeroes is a valid siginfo_t, so it may be read in any case.
        let (result, info) = unsafe {
            let result = libc::waitid(kind, id, info.as_mut_ptr(), options);
            (result, info.assume_init())
        };
        match checked(result.into()) {
            Ok(()) => return Ok(info),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// The threads of a process.
fn thread_ids(pid: u32) -> io::Result<Vec<pid_t>> {
    let threads = fs::read_dir(format!("/proc/{pid}/task"))?.flatten();
    Ok(threads
        .filter_map(|thread| thread.file_name().to_str()?.parse().ok())
        .collect())
}

/// Makes this thread the tracer of `tid`. Should this process end, so does the tracee.
fn seize(tid: pid_t) -> io::Result<()> {
    request(libc::PTRACE_SEIZE, tid, libc::PTRACE_O_EXITKILL as usize)
}

fn interrupt(tid: pid_t) -> io::Result<()> {
    request(libc::PTRACE_INTERRUPT, tid, 0)
}

/// Lets a stopped thread make one step, with a signal delivered if it is not 0.
fn step(tid: pid_t, signal: c_int) -> io::Result<()> {
    request(libc::PTRACE_SINGLESTEP, tid, signal.unsigned_abs() as usize)
}

/// A request whose data is a number, and whose address means nothing.
fn request(request: libc::c_uint, tid: pid_t, data: usize) -> io::Result<()> {
    // SAFETY: none of our requests reads or writes memory of this process: `data` is an option, a signal or nothing.
    checked(unsafe { libc::ptrace(request, tid, ptr::null_mut::<c_void>(), data as *mut c_void) })
}

/// Where a stopped thread will go on.
fn program_counter(tid: pid_t) -> io::Result<u64> {
    let mut registers = MaybeUninit::<user_regs_struct>::zeroed();
    let mut buffer = iovec {
        iov_base: registers.as_mut_ptr().cast(),
        iov_len: size_of::<user_regs_struct>(),
    };
    let which = libc::NT_PRSTATUS as usize as *mut c_void;
    // SAFETY: the kernel writes at most `iov_len` bytes to the registers; all zeroes are valid, so they may be read in any case.
    let registers = unsafe {
        checked(libc::ptrace(
            libc::PTRACE_GETREGSET,
            tid,
            which,
            &raw mut buffer,
        ))?;
        registers.assume_init()
    };
    #[cfg(target_arch = "x86_64")]
    return Ok(registers.rip);
    #[cfg(not(target_arch = "x86_64"))]
    return Ok(registers.pc);
}

/// The result of a system call.
fn checked(result: i64) -> io::Result<()> {
    match result {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}
