//! What the tests of the measuring half share.
#![allow(
    dead_code,
    reason = "each test file is a crate of its own and uses a part of this"
)]

pub mod made;

use std::ffi::OsString;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use std::{env, fs, thread};

/// The `rungs` command, with the rungs beside it.
pub fn rungs() -> Command {
    rung("null");
    Command::new(env!("CARGO_BIN_EXE_rungs"))
}

/// The program of a rung.
pub fn rung(name: &str) -> PathBuf {
    rungs_conformance::program(name)
}

/// Runs `rungs` with `args`; gives its exit status, stdout and stderr.
pub fn run(args: &[&str]) -> (Option<i32>, String, String) {
    finish(rungs().args(args))
}

/// Runs a command to its end; gives its exit status, stdout and stderr.
pub fn finish(command: &mut Command) -> (Option<i32>, String, String) {
    let output = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (
        output.status.code(),
        text(output.stdout),
        text(output.stderr),
    )
}

/// Measures the matrix of this text, in a folder of `dir`: that folder, and what was printed.
pub fn sweep_of(matrix: &str, dir: &Path) -> (PathBuf, String) {
    let (file, out) = (dir.join("m.toml"), dir.join("run"));
    fs::write(&file, matrix).unwrap();
    let mut command = rungs();
    command.args(["sweep", "--matrix"]).arg(&file);
    let (code, stdout, stderr) = finish(command.arg("--out").arg(&out));
    assert_eq!(code, Some(0), "{stderr}");
    (out, stdout)
}

/// The first program `name` on PATH.
pub fn on_path(name: &str) -> PathBuf {
    rungs::ladder::on_path(name).unwrap()
}

/// Puts a wrk into `folder` that does as `script` says when it is to load a server. In it, `$REAL_WRK` is the real one.
/// Gives the PATH on which it comes first.
pub fn fake_wrk(folder: &Path, script: &str) -> OsString {
    let real = on_path("wrk");
    let text = format!(
        "if [ \"$1\" = --version ]; then echo 'wrk 4.1.0 of a test'; exit 1; fi\nREAL_WRK='{}'\n{script}\n",
        real.display()
    );
    fake(folder, "wrk", &text)
}

/// Puts a program into `folder` that does as `script` says. Gives the PATH on which it comes first.
pub fn fake(folder: &Path, name: &str, script: &str) -> OsString {
    let fake = folder.join(name);
    fs::write(&fake, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&fake, Permissions::from_mode(0o755)).unwrap();
    let path = env::var_os("PATH").unwrap();
    let folders = [folder.to_owned()].into_iter();
    env::join_paths(folders.chain(env::split_paths(&path))).unwrap()
}

/// Waits until `condition` gives something.
pub fn eventually<T>(what: &str, mut condition: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        if let Some(found) = condition() {
            return found;
        }
        assert!(Instant::now() < deadline, "never came: {what}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// The children of a process that still run, with their programs' names.
pub fn children(parent: u32) -> Vec<(u32, String)> {
    let mut children = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let Some(pid) = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok())
        else {
            continue;
        };
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let Some((name, rest)) = stat.rsplit_once(") ") else {
            continue;
        };
        let mut fields = rest.split_whitespace();
        let (state, ppid) = (
            fields.next(),
            fields.next().and_then(|ppid| ppid.parse().ok()),
        );
        if ppid == Some(parent) && state != Some("Z") {
            let name = name.split_once('(').unwrap().1;
            children.push((pid, name.to_owned()));
        }
    }
    children
}

/// True while the process runs; a zombie does not.
pub fn is_running(pid: u32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}
