//! One repetition, seen from the parent: children started, awaited, told to go, heard, and ended, whatever happens.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::clock::now_ns;
use crate::failure::{Absence, Failure};
use crate::wire::{Given, Line, Order, Report, Role, Word};

/// How a child is started: this program again, as [`crate::child::main`].
#[derive(Clone, Debug)]
pub struct ChildCommand {
    /// The program, as a rule this one.
    pub program: PathBuf,
    /// What makes it a child.
    pub args: Vec<OsString>,
}

/// One repetition to be run.
#[derive(Debug)]
pub struct Trial<'a> {
    /// How children are started.
    pub command: &'a ChildCommand,
    /// Who makes the kernel's objects, if any are needed.
    pub keeper: Option<Role>,
    /// Who then does what, and on which CPUs.
    pub parts: Vec<(Role, Vec<usize>)>,
    /// How long the watchdog waits for each step.
    pub patience: Duration,
    /// Whether a signal is to end it.
    pub stop: &'a AtomicBool,
}

/// Why a trial has no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoResult {
    /// It cannot have one here.
    #[error(transparent)]
    Absent(#[from] Absence),
    /// It should have one.
    #[error(transparent)]
    Failed(#[from] Failure),
}

/// What a trial found.
#[derive(Clone, Debug)]
pub struct Measured {
    /// From go to the last valid operation.
    pub wall_ns: u64,
    /// Of each part, in the order given.
    pub reports: Vec<Report>,
}

impl Trial<'_> {
    /// Runs it.
    ///
    /// # Errors
    ///
    /// [`NoResult`]; by then every child has been ended and waited for.
    pub fn run(&self) -> Result<Measured, NoResult> {
        let mut keeper = None;
        let mut given = Vec::new();
        if let Some(role) = &self.keeper {
            let mut child = Running::start(self.command, role, &[], &Given::default())?;
            given = child.made(self.patience)?;
            keeper = Some(child);
        }
        let mut parts = Vec::new();
        for (i, (role, cpus)) in self.parts.iter().enumerate() {
            // One for each end of a channel, or one for all workers.
            let given = given.get(i).or(given.first());
            parts.push(Running::start(
                self.command,
                role,
                cpus,
                given.unwrap_or(&Given::default()),
            )?);
        }
        drop(given); // or an end that dies would not be missed
        for part in &mut parts {
            part.ready(self.patience)?;
        }
        let start_ns = now_ns();
        for part in &parts {
            part.go()?;
        }
        let reports = self.reports(&mut parts)?;
        for part in parts.into_iter().chain(keeper) {
            part.end(self.patience)?;
        }
        let end_ns = reports
            .iter()
            .map(|report| report.end_ns)
            .max()
            .unwrap_or(start_ns);
        Ok(Measured {
            wall_ns: end_ns.saturating_sub(start_ns),
            reports,
        })
    }
}

impl Trial<'_> {
    /// Waits for every part's report. One that dies ends the trial at once, also while another waits for it for ever.
    fn reports(&self, parts: &mut [Running]) -> Result<Vec<Report>, NoResult> {
        let deadline = Instant::now() + self.patience;
        let mut reports = vec![None; parts.len()];
        while let Some(first) = reports.iter().position(Option::is_none) {
            let waited_for: Vec<usize> =
                (0..parts.len()).filter(|&i| reports[i].is_none()).collect();
            let mut polled: Vec<PollFd<'_>> = waited_for
                .iter()
                .map(|&i| PollFd::new(&parts[i].line, PollFlags::IN))
                .collect();
            let left = deadline.saturating_duration_since(Instant::now());
            let left = Timespec::try_from(left)
                .map_err(|_| Failure::hung(parts[first].role, self.patience))?;
            match poll(&mut polled, Some(&left)) {
                Err(Errno::INTR) if !self.stop.load(Ordering::Relaxed) => continue,
                result => result.map_err(Failure::call("poll"))?,
            };
            let heard = polled
                .iter()
                .position(|polled| !polled.revents().is_empty());
            let heard = heard.ok_or_else(|| Failure::hung(parts[first].role, self.patience))?;
            let heard = waited_for[heard];
            reports[heard] = Some(parts[heard].done(deadline, self.patience)?);
        }
        Ok(reports.into_iter().flatten().collect())
    }
}

/// A child at work. Dropped, it is killed and waited for; a keeper first has time to remove what it made.
pub(crate) struct Running {
    role: &'static str,
    keeps: bool,
    child: Child,
    line: Line,
}

impl Running {
    pub(crate) fn start(
        command: &ChildCommand,
        role: &Role,
        cpus: &[usize],
        given: &Given,
    ) -> Result<Self, Failure> {
        let (line, theirs) = Line::pair()?;
        // std tells when execve(2) fails in the child. The group is the child's own, so that a terminal's Ctrl-C cannot
        // end a keeper before its work is done.
        let child = Command::new(&command.program)
            .args(&command.args)
            .stdin(theirs)
            .stdout(Stdio::null())
            .process_group(0)
            .spawn()
            .map_err(|error| Failure::Exec {
                program: command.program.display().to_string(),
                error: error.to_string(),
            })?;
        let running = Self {
            role: role.name(),
            keeps: role.keeps(),
            child,
            line,
        };
        let order = Order {
            role: role.clone(),
            cpus: cpus.to_vec(),
            parent: std::process::id(),
        };
        let order = (order, &given.text);
        running
            .line
            .say(&order, &given.fds)
            .map_err(Failure::call("order"))?;
        Ok(running)
    }

    pub(crate) fn made(&mut self, patience: Duration) -> Result<Vec<Given>, NoResult> {
        let deadline = Instant::now() + patience;
        let mut made = Vec::new();
        loop {
            match self.hear(deadline, patience)? {
                (Word::Made(text), fds) => made.push(Given { fds, text }),
                (Word::Ready, _) => return Ok(made),
                (word, _) => return Err(self.out_of_turn(&word)),
            }
        }
    }

    pub(crate) fn ready(&mut self, patience: Duration) -> Result<(), NoResult> {
        match self.hear(Instant::now() + patience, patience)? {
            (Word::Ready, _) => Ok(()),
            (word, _) => Err(self.out_of_turn(&word)),
        }
    }

    pub(crate) fn go(&self) -> Result<(), Failure> {
        self.line.say(&(), &[]).map_err(Failure::call("go"))
    }

    pub(crate) fn done(
        &mut self,
        deadline: Instant,
        patience: Duration,
    ) -> Result<Report, NoResult> {
        match self.hear(deadline, patience)? {
            (Word::Done(report), _) => Ok(report),
            (word, _) => Err(self.out_of_turn(&word)),
        }
    }

    fn out_of_turn(&self, word: &Word) -> NoResult {
        Failure::Wrong(format!("the {} said {word:?} out of turn", self.role)).into()
    }

    /// The next word before `deadline`, none of the two that end a trial.
    fn hear(
        &mut self,
        deadline: Instant,
        patience: Duration,
    ) -> Result<(Word, Vec<std::os::fd::OwnedFd>), NoResult> {
        let left = deadline.saturating_duration_since(Instant::now());
        self.line
            .wait_at_most(left)
            .map_err(Failure::call("setsockopt"))?;
        match self.line.hear() {
            Ok(Some((Word::Absent(absence), _))) => Err(absence.into()),
            Ok(Some((Word::Failed(failure), _))) => Err(failure.into()),
            Ok(Some(heard)) => Ok(heard),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                Err(Failure::hung(self.role, patience).into())
            }
            Ok(None) | Err(_) => Err(self.died().into()),
        }
    }

    fn died(&mut self) -> Failure {
        let status = self
            .child
            .wait()
            .map_or_else(|error| error.to_string(), |status| status.to_string());
        Failure::ChildDied {
            role: self.role.to_owned(),
            status,
        }
    }

    /// Hangs up and checks how the child ends.
    fn end(mut self, patience: Duration) -> Result<(), Failure> {
        self.hang_up();
        match self.wait(Instant::now() + patience) {
            Some(status) if status.success() => Ok(()),
            Some(status) => Err(Failure::ChildDied {
                role: self.role.to_owned(),
                status: status.to_string(),
            }),
            None => Err(Failure::hung(self.role, patience)),
        }
    }

    fn hang_up(&self) {
        // The child reads the end of the file; it cannot fail on a connected socket.
        let _ = rustix::net::shutdown(&self.line, rustix::net::Shutdown::Both);
    }

    fn wait(&mut self, deadline: Instant) -> Option<std::process::ExitStatus> {
        loop {
            match self.child.try_wait() {
                Ok(None) if Instant::now() < deadline => {
                    std::thread::sleep(Duration::from_micros(200));
                }
                Ok(status) => return status,
                Err(_) => return None,
            }
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(Some(_))) {
            return;
        }
        if self.keeps {
            self.hang_up();
            self.wait(Instant::now() + Duration::from_secs(1));
        }
        // Both can only fail if it has ended meanwhile.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
