//! Ends our children should we be killed.
//!
//! The kernel sends each child SIGTERM when we die. That misses a server that hangs, and the children of our children. So
//! a second `rungs` process reads from a pipe which process groups there are. The pipe ends when we do, in whatever way;
//! the guardian then ends the groups that are left.

use std::collections::BTreeSet;
use std::io::{self, BufRead, Write};
use std::os::unix::process::CommandExt;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use std::{env, thread};

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};

/// The subcommand of `rungs` that is the guardian.
pub const SUBCOMMAND: &str = "guardian";

/// How long what is left may take to end by itself.
pub const GRACE: Duration = Duration::from_secs(2);

/// The pipe to the guardian, once there is one. One for the whole process, as it guards against that one's end.
static PIPE: OnceLock<Mutex<ChildStdin>> = OnceLock::new();

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
    PIPE.get_or_init(|| Mutex::new(pipe));
    Ok(())
}

/// Has a process group guarded.
pub(super) fn watch(group: Pid) {
    tell('+', group);
}

/// A process group is over.
pub(super) fn forget(group: Pid) {
    tell('-', group);
}

fn tell(sign: char, group: Pid) {
    if let Some(pipe) = PIPE.get() {
        let mut pipe = pipe.lock().unwrap_or_else(PoisonError::into_inner);
        // Without a guardian, what the kernel does must do.
        let _ = pipe.write_all(format!("{sign}{}\n", group.as_raw_pid()).as_bytes());
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
        }
    }
    let groups: Vec<Pid> = groups.into_iter().filter_map(Pid::from_raw).collect();
    for group in &groups {
        let _ = kill_process_group(*group, Signal::TERM);
    }
    let deadline = Instant::now() + grace;
    let runs = |group: &Pid| test_kill_process_group(*group).is_ok();
    while groups.iter().any(runs) && Instant::now() < deadline {
        thread::sleep(super::POLL);
    }
    for group in &groups {
        let _ = kill_process_group(*group, Signal::KILL);
    }
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
        let input = format!("+{0}\n+{1}\n-{1}\n", left.id(), over.id());
        stand(input.as_bytes(), Duration::from_millis(50));
        assert!(left.wait(Duration::from_secs(5)).is_some());
        assert!(over.try_wait().is_none());
    }
}
