//! Ends our children should we be killed.
//!
//! The kernel sends each child SIGTERM when we die. That misses a server that hangs, and the children of our children. So
//! a second `rungs` process reads from a pipe which process groups there are. The pipe ends when we do, in whatever way;
//! the guardian then ends the groups that are left.

use std::collections::BTreeSet;
use std::io::{self, BufRead, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};
use std::{env, fmt, thread};

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};

/// The subcommand of `rungs` that is the guardian.
pub const SUBCOMMAND: &str = "guardian";

/// How long what is left may take to end by itself.
pub const GRACE: Duration = Duration::from_secs(2);

/// The pipe to the guardian, once there is one. One for the whole process, as it guards against that one's end.
static PIPE: OnceLock<OwnedFd> = OnceLock::new();

/// Starts the guardian of all children that are started from now on. Call it once, before the first.
///
/// # Errors
///
/// Those of fork(2) and execve(2).
pub fn engage() -> io::Result<()> {
    let mut guardian = Command::new(env::current_exe()?)
        .arg(SUBCOMMAND)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        // Ctrl-C is not for it.
        .process_group(0)
        .spawn()?;
    let pipe = guardian.stdin.take().expect("stdin is piped");
    PIPE.get_or_init(|| pipe.into());
    Ok(())
}

/// Has a process group guarded. A child may call it between fork and exec: it takes no lock and allocates nothing.
pub(super) fn watch(group: Pid) {
    tell(format_args!("+{}\n", group.as_raw_pid()));
}

/// A process group is over.
pub(super) fn forget(group: Pid) {
    tell(format_args!("-{}\n", group.as_raw_pid()));
}

/// A child could not be started, and nobody knows which process group it had: those that are over are to be forgotten,
/// lest a stranger be given the same id.
pub(super) fn look() {
    tell(format_args!("?\n"));
}

fn tell(line: fmt::Arguments) {
    let Some(pipe) = PIPE.get() else { return };
    let mut buffer = [0; 16];
    let mut room = &mut buffer[..];
    // The longest line, a sign and a positive i32, has 12 bytes. So few are written at once, whoever else writes (pipe(7)).
    // Without a guardian, what the kernel does must do.
    if room.write_fmt(line).is_ok() {
        let length = 16 - room.len();
        let _ = rustix::io::write(pipe, &buffer[..length]);
    }
}

/// The guardian's work: reads groups until its input ends, and then ends those that are left: SIGTERM, and SIGKILL for
/// what still runs after `grace`.
pub fn stand(input: impl BufRead, grace: Duration) {
    let mut groups = BTreeSet::new();
    for line in input.lines().map_while(Result::ok) {
        let group = |digits: &str| Pid::from_raw(digits.parse().ok()?);
        if let Some(group) = line.strip_prefix('+').and_then(group) {
            groups.insert(group.as_raw_pid());
        } else if let Some(group) = line.strip_prefix('-').and_then(group) {
            groups.remove(&group.as_raw_pid());
        } else if line == "?" {
            groups.retain(|group| Pid::from_raw(*group).is_some_and(runs));
        }
    }
    let groups: Vec<Pid> = groups.into_iter().filter_map(Pid::from_raw).collect();
    for group in &groups {
        let _ = kill_process_group(*group, Signal::TERM);
    }
    let deadline = Instant::now() + grace;
    while groups.iter().copied().any(runs) && Instant::now() < deadline {
        thread::sleep(super::POLL);
    }
    for group in &groups {
        let _ = kill_process_group(*group, Signal::KILL);
    }
}

fn runs(group: Pid) -> bool {
    test_kill_process_group(group).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::Process;

    /// A group that ends neither with its leader nor by SIGTERM.
    fn stubborn() -> Process {
        let script = "trap '' TERM; sleep 60 & echo ready; wait; sleep 60";
        let process = Process::start("/bin/sh", &["-c".into(), script.into()], None).unwrap();
        process.next_line(Duration::from_secs(5)).unwrap();
        process
    }

    #[test]
    fn what_is_left_is_ended_and_what_is_over_is_let_alone() {
        let (mut left, mut over) = (stubborn(), stubborn());
        let input = format!("+{0}\n+{1}\n?\n-{1}\n", left.id(), over.id());
        stand(input.as_bytes(), Duration::from_millis(50));
        assert!(left.wait(Duration::from_secs(5)).is_some());
        assert!(over.try_wait().is_none());
    }
}
