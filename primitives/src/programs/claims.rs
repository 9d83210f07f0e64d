//! What the article says of system(3), tried.

use std::ffi::CString;
use std::io;
use std::path::Path;

use rustix::thread::gettid;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::failure::Failure;
use crate::sys::spawn::{self, Arguments};
use crate::sys::unique_name;

/// One claim.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Claim {
    /// What is said.
    pub said: String,
    /// Whether it is so here.
    pub holds: bool,
    /// What was found.
    pub found: String,
}

/// Bits in `SigIgn` and `SigBlk` of proc_pid_status(5).
const SIGINT: u64 = 1 << (libc::SIGINT - 1);
const SIGQUIT: u64 = 1 << (libc::SIGQUIT - 1);
const SIGCHLD: u64 = 1 << (libc::SIGCHLD - 1);

/// Tries each claim, in this process: for as long as a command takes, SIGINT and SIGQUIT are ignored.
///
/// # Errors
///
/// A command could not be run, or printed something else than it should.
pub fn try_all() -> Result<Vec<Claim>, Failure> {
    let directory = tempfile::Builder::new()
        .prefix(&unique_name())
        .tempdir()
        .map_err(Failure::call("mkdtemp"))?;
    let output = directory.path().join("output");
    let claims = || {
        Ok(vec![
            shell()?,
            processes(&output)?,
            signals(&output)?,
            injection(directory.path(), &output)?,
        ])
    };
    claims().map_err(|error: io::Error| {
        Failure::Wrong(format!(
            "a claim about system(3) could not be tried: {error}"
        ))
    })
}

fn shell() -> io::Result<Claim> {
    let shell = std::fs::canonicalize("/bin/sh")?;
    Ok(Claim {
        said: "on Linux it invokes bash".to_owned(),
        holds: shell.file_name().is_some_and(|name| name == "bash"),
        found: format!("/bin/sh is {}", shell.display()),
    })
}

fn processes(output: &Path) -> io::Result<Claim> {
    // proc_pid_stat(5): the fourth field is the parent's id; the second, "(cat)", holds no space.
    let stat = through_shell("cat /proc/self/stat", output)?;
    let parent = stat
        .split(' ')
        .nth(3)
        .and_then(|id| id.parse::<u32>().ok())
        .ok_or(io::ErrorKind::InvalidData)?;
    let replaced = parent == std::process::id();
    let found = if replaced {
        "one process: the shell replaces itself by a command that is its last"
    } else {
        "two processes: the shell, and the command as its child"
    };
    Ok(Claim {
        said: "it adds two processes at least".to_owned(),
        holds: !replaced,
        found: found.to_owned(),
    })
}

fn signals(output: &Path) -> io::Result<Claim> {
    let status = through_shell(
        &format!(
            "cat /proc/{}/task/{}/status",
            std::process::id(),
            gettid().as_raw_nonzero()
        ),
        output,
    )?;
    let mask = |name: &str| {
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix(name))
            .ok_or(io::ErrorKind::InvalidData)?;
        u64::from_str_radix(line.trim(), 16).map_err(io::Error::other)
    };
    let (ignored, blocked) = (mask("SigIgn:")?, mask("SigBlk:")?);
    let holds = ignored & (SIGINT | SIGQUIT) == SIGINT | SIGQUIT && blocked & SIGCHLD != 0;
    Ok(Claim {
        said: "while it runs, the calling thread has SIGCHLD blocked, and its process SIGINT and SIGQUIT ignored"
            .to_owned(),
        holds,
        found: format!("the caller's SigIgn is {ignored:#x}, its SigBlk {blocked:#x}"),
    })
}

fn injection(directory: &Path, output: &Path) -> io::Result<Claim> {
    let injected = directory.join("injected");
    let name = format!("/; touch {}", injected.display());
    // The listing's output and its complaint are of no interest.
    through_shell(&format!("ls -d {name} 2>&1"), output)?;
    let by_shell = std::fs::remove_file(&injected).is_ok();
    spawn::posix_spawn(&Arguments::new([
        "/bin/sh",
        "-c",
        "ls -d \"$1\" >/dev/null 2>&1 || :",
        "sh",
        name.as_str(),
    ])?)?;
    let by_spawn = injected.exists();
    let word = |ran| if ran { "ran" } else { "did not run" };
    Ok(Claim {
        said: "a shell metacharacter in a file's name runs another command".to_owned(),
        holds: by_shell && !by_spawn,
        found: format!(
            "`touch` in the name {} by system, and {} as an argument of posix_spawn",
            word(by_shell),
            word(by_spawn)
        ),
    })
}

/// What `command` prints when system(3) runs it.
fn through_shell(command: &str, output: &Path) -> io::Result<String> {
    // The redirection first, so that it is for all of the command and the command stays the shell's last.
    spawn::system(&CString::new(format!(
        "exec >{}; {command}",
        output.display()
    ))?)?;
    std::fs::read_to_string(output)
}
