//! Tools that attach to a running server and count what it does: strace and `perf stat`.
//!
//! A tool that is missing, not allowed or broken is an [`Absence`] with what to do about it, never an error of the sweep
//! and never a zero.

pub mod perf;
pub mod strace;

use std::marker::PhantomData;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::interrupt::{Interrupt, Interrupted};
use crate::ladder;
use crate::process::{Process, in_words};
use crate::record::trace::Absence;

/// How long a tool may take to detach and to print: strace stops each thread once more for it.
const DETACH_TIMEOUT: Duration = Duration::from_secs(2);

/// How often one looks whether a tool is attached. What the server does in between is counted and belongs to no request.
const POLL: Duration = Duration::from_millis(1);

/// A tool that counts what processes do while it is attached to them.
pub trait Tool {
    /// What it counts.
    type Counts;

    /// Its program.
    const PROGRAM: &'static str;

    /// Which package has it.
    const INSTALL: &'static str;

    /// Its arguments before the list of processes, to all threads of which it is to attach.
    fn flags() -> Vec<String>;

    /// True once the tool, running as process `tool`, counts every thread of these processes.
    fn is_attached(tool: u32, pids: &[u32]) -> bool;

    /// Why it could not attach, if what it printed says that it was not allowed to.
    fn not_allowed(output: &str) -> Option<Absence>;

    /// What it counted, from all that it printed.
    ///
    /// # Errors
    ///
    /// What is wrong with the text.
    fn parse(output: &str) -> Result<Self::Counts, String>;
}

/// A tool at work. Dropping it ends it; the server goes on.
#[derive(Debug)]
pub struct Attached<T> {
    process: Process,
    tool: PhantomData<T>,
}

impl<T: Tool> Attached<T> {
    /// Attaches the tool to these processes, at the latest `by` then.
    ///
    /// # Errors
    ///
    /// [`Interrupted`], if the user wants to stop. That the tool could not attach is an [`Absence`].
    pub fn to(
        pids: &[u32],
        by: Instant,
        interrupt: &Interrupt,
    ) -> Result<Result<Self, Absence>, Interrupted> {
        let mut attached = match Self::start(pids) {
            Ok(attached) => attached,
            Err(absence) => return Ok(Err(absence)),
        };
        while !T::is_attached(attached.process.id(), pids) {
            interrupt.check()?;
            if let Some(status) = attached.process.try_wait() {
                return Ok(Err(attached.failed(status)));
            }
            if Instant::now() >= by {
                return Ok(Err(too_late::<T>()));
            }
            thread::sleep(POLL);
        }
        Ok(Ok(attached))
    }

    fn start(pids: &[u32]) -> Result<Self, Absence> {
        let program = installed::<T>()?;
        let pids: Vec<_> = pids.iter().map(u32::to_string).collect();
        let args = [T::flags(), vec![pids.join(",")]].concat();
        match Process::start(&program, &args, None) {
            Ok(process) => Ok(Self {
                process,
                tool: PhantomData,
            }),
            Err(error) => Err(broken::<T>(format!("could not be started: {error}"))),
        }
    }

    /// Detaches it, and gives what it counted.
    ///
    /// # Errors
    ///
    /// Why it counted nothing.
    pub fn detach(mut self) -> Result<T::Counts, Absence> {
        self.process.signal(Signal::INT);
        let Some(status) = self.process.wait(DETACH_TIMEOUT) else {
            let seconds = DETACH_TIMEOUT.as_secs();
            let problem = format!("was still running {seconds} s after SIGINT and was killed");
            return Err(broken::<T>(problem));
        };
        if !(status.success() || ended_by_interrupt(status)) {
            return Err(self.failed(status));
        }
        T::parse(&self.process.output()).map_err(broken::<T>)
    }

    /// Why it ended otherwise than it should.
    fn failed(&self, status: ExitStatus) -> Absence {
        T::not_allowed(&self.process.output()).unwrap_or_else(|| {
            let words = self.process.last_words();
            broken::<T>(format!("{}: {words}", in_words(status)))
        })
    }
}

/// Where the tool is.
///
/// # Errors
///
/// That it is not installed.
pub fn installed<T: Tool>() -> Result<String, Absence> {
    match ladder::on_path(T::PROGRAM) {
        Some(path) => Ok(path.to_string_lossy().into_owned()),
        None => Err(Absence {
            what: format!("{} is not installed", T::PROGRAM),
            remedy: T::INSTALL.into(),
        }),
    }
}

/// Both tools tidy up when they are interrupted, and then end by the signal, or with a shell's status for that.
fn ended_by_interrupt(status: ExitStatus) -> bool {
    let interrupt = Signal::INT.as_raw();
    status.signal() == Some(interrupt) || status.code() == Some(128 + interrupt)
}

/// Opening many connections may leave it no time.
fn too_late<T: Tool>() -> Absence {
    let Absence { what, remedy } = broken::<T>("did not attach in time".into());
    Absence {
        what,
        remedy: format!("lengthen `duration` under [trace] in the matrix, or {remedy}"),
    }
}

fn broken<T: Tool>(problem: String) -> Absence {
    let flags = T::flags();
    let words = [T::PROGRAM]
        .into_iter()
        .chain(flags.iter().map(String::as_str));
    Absence {
        what: format!("{} {problem}", T::PROGRAM),
        // No flag of ours holds the NUL that cannot be quoted.
        remedy: format!(
            "try `{} PID` by hand",
            shlex::try_join(words).unwrap_or_default()
        ),
    }
}

#[cfg(test)]
mod tests;
