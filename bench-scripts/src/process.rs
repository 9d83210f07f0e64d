//! Child processes that never outlive us: servers and load generators.
//!
//! Each child is started directly, without a shell, and leads a process group of its own: a terminal's Ctrl-C reaches
//! only `rungs`, and whatever the child itself starts (nginx's workers) can be ended with it. A child is ended when its
//! [`Process`] is dropped; should `rungs` be killed, the kernel ends it (PR_SET_PDEATHSIG, prctl(2)), and the
//! [guardian] what is left of its group.
//!
//! The kernel sends that signal when the *thread* that started the child ends. So start children from a thread that
//! outlives them, as the main thread does.

pub mod guardian;

use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, getpid, getppid};
use rustix::thread::CpuSet;

/// How much of a child's output is kept: far more than any well-behaved program of ours prints.
const OUTPUT_BOUND: usize = 256 << 10;

/// How many lines wait to be asked for. A rung says three that nobody asked for; what a flood says beyond is dropped.
const LINES_BOUND: usize = 64;

/// How often a waiting parent looks.
const POLL: Duration = Duration::from_millis(1);

/// A running child process.
#[derive(Debug)]
pub struct Process {
    child: Child,
    pid: Pid,
    stdout: Output,
    stderr: Output,
    ended: Option<ExitStatus>,
}

/// What a child wrote to one of its two outputs.
#[derive(Debug)]
struct Output {
    /// All of it, up to [`OUTPUT_BOUND`].
    text: Arc<Mutex<Vec<u8>>>,
    /// Each line as it comes, up to [`LINES_BOUND`] that nobody took. Disconnected at the end of the file.
    lines: Receiver<String>,
}

/// Why no line came.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum NoLine {
    /// The time was over.
    TimedOut,
    /// The child closed its stdout.
    Closed,
}

impl Process {
    /// Starts `program` with `args`, on `cpus` where some are given.
    ///
    /// # Errors
    ///
    /// Those of fork(2), execve(2) and sched_setaffinity(2).
    pub fn start(program: &str, args: &[String], cpus: Option<&[u32]>) -> io::Result<Self> {
        let mut command = Command::new(program);
        command
            .args(args)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        tie_to_parent(&mut command, cpus.map(cpu_set));
        let mut child = command.spawn().inspect_err(|_| guardian::look())?;
        let stdout = Output::follow(child.stdout.take().expect("stdout is piped"));
        let stderr = Output::follow(child.stderr.take().expect("stderr is piped"));
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let pid = pid.expect("a process id is a positive i32");
        Ok(Self {
            child,
            pid,
            stdout,
            stderr,
            ended: None,
        })
    }

    /// Its process id, which is also that of its group.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends `signal` to the child itself. To one that ended, nothing is sent.
    pub fn signal(&self, signal: Signal) {
        if self.ended.is_none() {
            // It cannot fail: the child is ours and not reaped, so its id is still its own.
            let _ = rustix::process::kill_process(self.pid, signal);
        }
    }

    /// Waits at most `timeout` for the next line of its stdout, without the line's end.
    ///
    /// # Errors
    ///
    /// [`NoLine`].
    pub fn next_line(&self, timeout: Duration) -> Result<String, NoLine> {
        match self.stdout.lines.recv_timeout(timeout) {
            Ok(line) => Ok(line),
            Err(RecvTimeoutError::Timeout) => Err(NoLine::TimedOut),
            Err(RecvTimeoutError::Disconnected) => Err(NoLine::Closed),
        }
    }

    /// How it ended, if it has. What it left running in its group is killed then.
    pub fn try_wait(&mut self) -> Option<ExitStatus> {
        if self.ended.is_none() && self.has_exited() {
            // Before it is reaped: until then nobody else can be given its process id, or its group's.
            let _ = rustix::process::kill_process_group(self.pid, Signal::KILL);
            self.ended = self.child.wait().ok();
            guardian::forget(self.pid);
        }
        self.ended
    }

    fn has_exited(&self) -> bool {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        matches!(
            rustix::process::waitid(WaitId::Pid(self.pid), options),
            Ok(Some(_))
        )
    }

    /// Waits at most `timeout` for its end.
    pub fn wait(&mut self, timeout: Duration) -> Option<ExitStatus> {
        let deadline = Instant::now() + timeout;
        loop {
            let ended = self.try_wait();
            if ended.is_some() || Instant::now() >= deadline {
                return ended;
            }
            thread::sleep(POLL);
        }
    }

    /// Asks it to end (SIGTERM) and waits at most `grace`; then kills it and its group.
    pub fn stop(&mut self, grace: Duration) -> Stopped {
        self.signal(Signal::TERM);
        match self.wait(grace) {
            Some(status) => Stopped::InTime(status),
            None => {
                self.kill();
                Stopped::Killed
            }
        }
    }

    fn kill(&mut self) {
        if self.ended.is_none() {
            let _ = rustix::process::kill_process_group(self.pid, Signal::KILL);
            self.ended = self.child.wait().ok();
            guardian::forget(self.pid);
        }
    }

    /// All that it wrote to stdout and then to stderr. Call it when the child has ended: it waits a moment for the rest.
    #[must_use]
    pub fn output(&self) -> String {
        format!("{}{}", self.stdout.text(), self.stderr.text())
    }

    /// The last words that it wrote to stderr, on one line; empty where there are none.
    #[must_use]
    pub fn last_words(&self) -> String {
        let text = self.stderr.text();
        let lines: Vec<_> = text
            .lines()
            .filter(|line| !line.trim().is_empty())
            .collect();
        excerpt(&lines[lines.len().saturating_sub(3)..].join(" / "))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// How [`Process::stop`] went.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Stopped {
    /// It ended within the grace.
    InTime(ExitStatus),
    /// It did not, and was killed.
    Killed,
}

/// What a program printed, fit to be quoted in a message and in every format of a report: its first few hundred
/// characters, with U+FFFD in place of each that does not print.
#[must_use]
pub fn excerpt(text: &str) -> String {
    const BOUND: usize = 300;
    let printable = |c: char| match c {
        // XML has no words for these.
        '\u{fffe}' | '\u{ffff}' => char::REPLACEMENT_CHARACTER,
        c if c.is_control() => char::REPLACEMENT_CHARACTER,
        c => c,
    };
    let mut excerpt: String = text.chars().take(BOUND).map(printable).collect();
    if text.chars().nth(BOUND).is_some() {
        excerpt.push('…');
    }
    excerpt
}

/// An exit status in words: `exited with status 1`, `was killed by signal 9 (SIGKILL)`.
#[must_use]
pub fn in_words(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exited with status {code}"),
        (None, Some(signal)) => {
            let name = signal_hook::low_level::signal_name(signal).unwrap_or("unnamed");
            format!("was killed by signal {signal} ({name})")
        }
        (None, None) => "ended in an unknown way".into(),
    }
}

/// Restricts the calling thread, and those that it will start, to `cpus`.
///
/// # Errors
///
/// Those of sched_setaffinity(2).
pub fn run_on(cpus: &[u32]) -> io::Result<()> {
    Ok(rustix::thread::sched_setaffinity(None, &cpu_set(cpus))?)
}

fn cpu_set(cpus: &[u32]) -> CpuSet {
    let mut set = CpuSet::new();
    for &cpu in cpus {
        set.set(cpu as usize);
    }
    set
}

/// Makes the child end when we do, has its group guarded, and puts it on `cpus`.
///
/// The child itself tells the guardian, before it becomes another program: were we to tell it, a child of ours that has a
/// child already could outlive us, if we are killed before we can.
fn tie_to_parent(command: &mut Command, cpus: Option<CpuSet>) {
    let parent = getpid();
    let prepare = move || {
        // SIGTERM, not SIGKILL, so that a server with workers of its own can end them.
        rustix::process::set_parent_process_death_signal(Some(Signal::TERM))?;
        if getppid() != Some(parent) {
            // The parent died before the line above could tie us to it.
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        guardian::watch(getpid());
        if let Some(cpus) = &cpus {
            rustix::thread::sched_setaffinity(None, cpus)?;
        }
        Ok(())
    };
    // SAFETY: `prepare` runs between fork and exec, where only async-signal-safe calls are allowed. It makes a few plain
    // system calls on values that were made before the fork; it takes no lock and allocates nothing.
    unsafe {
        command.pre_exec(prepare);
    }
}

impl Output {
    /// Reads `pipe` to its end on a thread of its own, so that a child never blocks on a full pipe.
    fn follow(pipe: impl Read + Send + 'static) -> Self {
        let text = Arc::new(Mutex::new(Vec::new()));
        let (sender, lines) = mpsc::sync_channel(LINES_BOUND);
        let kept = Arc::clone(&text);
        thread::spawn(move || {
            let mut pipe = BufReader::new(pipe);
            let mut line = Vec::new();
            // A read error ends it like the end of the file; so does a line without an end beyond the bound.
            while let Ok(1..) = (&mut pipe)
                .take(OUTPUT_BOUND as u64)
                .read_until(b'\n', &mut line)
            {
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                let room = OUTPUT_BOUND - kept.len();
                kept.extend_from_slice(&line[..line.len().min(room)]);
                drop(kept);
                // The pipe is drained even if there is no room, or no receiver any more.
                let _ = sender.try_send(String::from_utf8_lossy(&line).trim_end().to_owned());
                line.clear();
            }
        });
        Self { text, lines }
    }

    fn text(&self) -> String {
        // The reader is done when it drops its sender. Wait for that, but not for ever: a grandchild that left the
        // process group may hold the pipe open.
        let deadline = Instant::now() + Duration::from_millis(200);
        while Instant::now() < deadline {
            match self.lines.recv_timeout(POLL) {
                Ok(_) | Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        let text = self.text.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&text).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOON: Duration = Duration::from_secs(5);

    fn shell(script: &str) -> Process {
        Process::start("/bin/sh", &["-c".into(), script.into()], None).unwrap()
    }

    #[test]
    fn lines_come_one_by_one_and_output_is_kept() {
        let mut process = shell("echo one; echo two; echo oh >&2; exit 3");
        assert_eq!(process.next_line(SOON).unwrap(), "one");
        assert_eq!(process.next_line(SOON).unwrap(), "two");
        assert_eq!(process.next_line(SOON), Err(NoLine::Closed));
        let status = process.wait(SOON).unwrap();
        assert_eq!(in_words(status), "exited with status 3");
        assert_eq!(process.output(), "one\ntwo\noh\n");
        assert_eq!(process.last_words(), "oh");
    }

    #[test]
    fn a_child_that_ignores_sigterm_is_killed() {
        let mut process = shell("trap '' TERM; echo ready; while :; do sleep 1; done");
        process.next_line(SOON).unwrap();
        assert_eq!(process.stop(Duration::from_millis(50)), Stopped::Killed);
        assert!(!exists(process.id()));
    }

    #[test]
    fn rubbish_is_quoted_briefly_and_printably() {
        assert_eq!(excerpt("plain – text"), "plain – text");
        assert_eq!(excerpt("\u{12}\u{ffff}\t|"), "\u{fffd}\u{fffd}\u{fffd}|");
        let long = excerpt(&"ö".repeat(1000));
        assert_eq!(long.chars().count(), 301);
    }

    #[test]
    fn a_signal_is_named() {
        let mut process = shell("kill -9 $$");
        assert_eq!(
            in_words(process.wait(SOON).unwrap()),
            "was killed by signal 9 (SIGKILL)"
        );
    }

    #[test]
    fn what_a_child_leaves_running_is_killed_with_it() {
        let mut process = shell("sleep 60 & echo $!");
        let left: u32 = process.next_line(SOON).unwrap().parse().unwrap();
        assert!(process.wait(SOON).is_some());
        let deadline = Instant::now() + SOON;
        while exists(left) {
            assert!(Instant::now() < deadline, "process {left} is still there");
            thread::sleep(POLL);
        }
    }

    #[test]
    fn a_flood_is_drained_and_not_kept() {
        let flood = "yes a flood of words that nobody asked for | head -c 3000000";
        let mut process = shell(&format!("{flood} >&2; {flood}"));
        assert!(process.wait(SOON).is_some());
        // The readers end a moment after the process, and lines that are taken meanwhile make room for more.
        let deadline = Instant::now() + SOON;
        for output in [&process.stdout, &process.stderr] {
            while Arc::strong_count(&output.text) > 1 {
                assert!(Instant::now() < deadline, "a reader does not end");
                thread::sleep(POLL);
            }
        }
        assert_eq!(process.stderr.text().len(), OUTPUT_BOUND);
        assert_eq!(process.stdout.lines.try_iter().count(), LINES_BOUND);
    }

    #[test]
    fn a_dropped_child_ends() {
        let process = shell("sleep 60");
        let id = process.id();
        drop(process);
        assert!(!exists(id));
    }

    #[test]
    fn a_child_runs_where_it_is_put() {
        let allowed = crate::machine::cpus_allowed();
        let last = *allowed.last().unwrap();
        let args = ["Cpus_allowed_list".into(), "/proc/self/status".into()];
        let process = Process::start("/bin/grep", &args, Some(&[last])).unwrap();
        assert_eq!(
            process.next_line(SOON).unwrap(),
            format!("Cpus_allowed_list:\t{last}")
        );
    }

    /// True while the process runs; a zombie that init has yet to reap does not.
    fn exists(id: u32) -> bool {
        std::fs::read_to_string(format!("/proc/{id}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
    }
}
