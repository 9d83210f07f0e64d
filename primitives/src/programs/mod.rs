//! Ways to list one directory's regular files by another program, and the one that needs none: one file for each.
//!
//! All do equal work: `ls` prints unsorted (-U), hidden files too (-A), and marks directories (-p), which are then left out;
//! what each way finds is compared as a set with what was put there. All but popen, which has a pipe of its own, inherit one
//! stdout: a pipe that is read when the program has ended.

pub mod claims;
mod command;
mod fork_exec;
mod popen;
mod posix_spawn;
mod readdir;
mod system;

use std::collections::BTreeSet;
use std::fmt::{self, Debug};
use std::hint::black_box;
use std::io;
use std::os::fd::OwnedFd;
use std::process::ExitStatus;

use rustix::io::{Errno, read};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::stdio::dup2_stdout;
use tempfile::TempDir;

use crate::channels::Made;
use crate::child::Hall;
use crate::clock::{cpu_ns, now_ns, pin_to};
use crate::failure::Failure;
use crate::sys::unique_name;
use crate::wire::{Given, Report};

/// A way to list a directory.
pub struct Program {
    /// Its name in tables.
    pub name: &'static str,
    /// Lists it.
    pub list: fn(&str) -> io::Result<Listing>,
}

impl Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// What a way came back with.
#[derive(Debug)]
pub enum Listing {
    /// A program ended so; what it printed is in the pipe.
    Printed(ExitStatus),
    /// The lines themselves.
    Lines(Vec<u8>),
}

/// Every way, in the order of the article, which goes from worse to better.
pub const ALL: &[Program] = &[
    system::SYSTEM,
    popen::POPEN,
    fork_exec::FORK_EXEC,
    posix_spawn::POSIX_SPAWN,
    command::COMMAND,
    readdir::READDIR,
];

/// The way of that name.
#[must_use]
pub fn named(name: &str) -> Option<&'static Program> {
    ALL.iter().find(|program| program.name == name)
}

/// The program and its options.
const LS: [&str; 2] = ["/bin/ls", "-1AUp"];

/// How many regular files the directory holds; one is hidden.
const FILES: usize = 20;

/// Makes the directory, in the keeper: regular files, and a directory that is not to be listed.
///
/// # Errors
///
/// Those of mkdir(2) and open(2).
pub fn make() -> Result<Made, Failure> {
    let make = || {
        let directory = tempfile::Builder::new().prefix(&unique_name()).tempdir()?;
        for name in names() {
            std::fs::write(directory.path().join(name), "")?;
        }
        std::fs::create_dir(directory.path().join("directory"))?;
        Ok::<TempDir, io::Error>(directory)
    };
    let directory = make().map_err(Failure::call("the directory to be listed"))?;
    Ok(Made {
        given: vec![Given::text(directory.path().display())],
        kept: Box::new(directory),
    })
}

fn names() -> BTreeSet<String> {
    (1..FILES)
        .map(|i| format!("file-{i}"))
        .chain([".hidden".to_owned()])
        .collect()
}

/// Lists the directory `count` times, from a process that has `rss_mb` resident, on any of `cpus`.
///
/// # Errors
///
/// A program could not be started, ended badly, or did not print the directory's files.
pub fn work(
    program: &Program,
    count: u64,
    rss_mb: usize,
    cpus: &[usize],
    directory: &str,
    hall: &Hall,
) -> Result<Report, Failure> {
    pin_to(cpus)?;
    let ballast = resident(rss_mb << 20);
    let printed = stdout_pipe().map_err(Failure::call("a pipe for stdout"))?;
    let names = names();
    hall.ready()?;
    let cpu = cpu_ns();
    for _ in 0..count {
        let found = match (program.list)(directory).map_err(Failure::call(program.name))? {
            Listing::Lines(lines) => lines,
            Listing::Printed(status) if status.success() => {
                drain(&printed).map_err(Failure::call("read"))?
            }
            Listing::Printed(status) => {
                return Err(Failure::Wrong(format!(
                    "{}: {} ended: {status}",
                    program.name, LS[0]
                )));
            }
        };
        check(program, &found, &names)?;
    }
    let report = Report {
        end_ns: now_ns(),
        cpu_ns: cpu_ns() - cpu,
        ..Report::default()
    };
    // Not before the clock was read: to give a gigabyte back takes longer than to start a program.
    drop(black_box(ballast));
    Ok(report)
}

/// Memory that is resident: one byte of each page is written.
fn resident(bytes: usize) -> Vec<u8> {
    let mut memory = vec![0; bytes];
    for page in memory.chunks_mut(rustix::param::page_size()) {
        page[0] = 1;
    }
    memory
}

fn check(program: &Program, found: &[u8], names: &BTreeSet<String>) -> Result<(), Failure> {
    let found = String::from_utf8_lossy(found);
    let files: BTreeSet<&str> = found.lines().filter(|line| !line.ends_with('/')).collect();
    if files.len() == names.len() && files.iter().all(|file| names.contains(*file)) {
        return Ok(());
    }
    Err(Failure::Wrong(format!(
        "{} found {files:?}, not the {} files that are there",
        program.name,
        names.len()
    )))
}

/// Makes a pipe our stdout; the end to read from, which does not block.
fn stdout_pipe() -> io::Result<OwnedFd> {
    let (rx, tx) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
    rustix::fs::fcntl_setfl(&tx, rustix::fs::OFlags::empty())?;
    dup2_stdout(&tx)?;
    Ok(rx)
}

/// All that is in the pipe.
fn drain(pipe: &OwnedFd) -> io::Result<Vec<u8>> {
    let mut printed = vec![0; 4096];
    let mut filled = 0;
    loop {
        match read(pipe, &mut printed[filled..]) {
            Ok(0) | Err(Errno::AGAIN) => break,
            Ok(got) => filled += got,
            Err(error) => return Err(error.into()),
        }
        if filled == printed.len() {
            printed.resize(2 * filled, 0);
        }
    }
    printed.truncate(filled);
    Ok(printed)
}
