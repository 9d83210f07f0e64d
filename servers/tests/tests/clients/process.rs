//! Runs a client program to its end, and leaves none of its processes behind.

use std::io::Read;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

/// How long a client may take on a loaded machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// What a client said. It has exited with 0.
pub struct Said {
    pub stdout: Vec<u8>,
    pub stderr: String,
}

impl Said {
    /// Stdout as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    /// Fails with all that was said unless stdout has this in it.
    pub fn must_have(&self, text: &str) {
        let stdout = self.text();
        assert!(
            stdout.contains(text),
            "no {text:?} in:\n{stdout}\n{}",
            self.stderr
        );
    }
}

/// Runs `program`, which comes with Debian's `package`.
pub fn run<S: AsRef<std::ffi::OsStr>>(
    program: &str,
    package: &str,
    args: impl IntoIterator<Item = S>,
) -> Said {
    let child = Command::new(program)
        .args(args)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn();
    let mut child = child.unwrap_or_else(|error| {
        panic!("{program} cannot be run: {error}. On Debian: apt-get install {package}")
    });
    let stdout = read(child.stdout.take().unwrap());
    let stderr = read(child.stderr.take().unwrap());
    let in_time = has_ended(&child);
    // While the first process of the group has not been waited for, its number is nobody else's.
    let _ = kill_process_group(pid(&child), Signal::KILL);
    let status = child.wait().unwrap();
    let said = Said {
        stdout: stdout.join().unwrap(),
        stderr: String::from_utf8_lossy(&stderr.join().unwrap()).into_owned(),
    };
    assert!(
        in_time && status.success(),
        "{program} (of the package {package}): {status}, in time: {in_time}\n{}\n{}",
        said.text(),
        said.stderr
    );
    said
}

fn pid(child: &Child) -> Pid {
    Pid::from_child(child)
}

/// Waits until it ends, and leaves it to be waited for; false if it takes too long.
fn has_ended(child: &Child) -> bool {
    let how = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    let deadline = Instant::now() + PATIENCE;
    while waitid(WaitId::Pid(pid(child)), how).unwrap().is_none() {
        if Instant::now() > deadline {
            return false;
        }
        thread::sleep(Duration::from_millis(5));
    }
    true
}

fn read(mut pipe: impl Read + Send + 'static) -> JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = pipe.read_to_end(&mut bytes);
        bytes
    })
}
