//! What the kernel tells about a server's process, and the limits it can be given.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Resource, Rlimit, Signal, getrlimit, kill_process, prlimit};

fn pid_of(pid: u32) -> io::Result<Pid> {
    i32::try_from(pid)
        .ok()
        .and_then(Pid::from_raw)
        .ok_or_else(|| io::Error::other(format!("{pid} is not a process id")))
}

/// Sends a signal.
pub(crate) fn signal(pid: u32, signal: Signal) -> io::Result<()> {
    Ok(kill_process(pid_of(pid)?, signal)?)
}

/// Lowers the soft limit of descriptors so that not one more can be opened: a new one gets the lowest free number, which
/// must be below the limit (getrlimit(2), `RLIMIT_NOFILE`). Those that are open stay so.
pub(crate) fn deny_descriptors(pid: u32) -> io::Result<()> {
    let open = fs::read_dir(format!("/proc/{pid}/fd"))?
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .collect::<BTreeSet<u64>>();
    let lowest_free = (0..).find(|fd| !open.contains(fd));
    limit_descriptors(pid, |_| lowest_free)
}

/// Raises the soft limit of descriptors to the hard one.
pub(crate) fn allow_descriptors(pid: u32) -> io::Result<()> {
    limit_descriptors(pid, |hard| hard)
}

fn limit_descriptors(pid: u32, soft: impl Fn(Option<u64>) -> Option<u64>) -> io::Result<()> {
    // The server has inherited the hard limit from this process.
    let hard = getrlimit(Resource::Nofile).maximum;
    let limit = Rlimit {
        current: soft(hard),
        maximum: hard,
    };
    prlimit(Some(pid_of(pid)?), Resource::Nofile, limit)?;
    Ok(())
}

/// CPU time of all threads, from the first field of `schedstat` (Documentation/scheduler/sched-stats.rst), in nanoseconds.
fn cpu_time(pid: u32) -> io::Result<Duration> {
    let mut nanoseconds = 0;
    for task in fs::read_dir(format!("/proc/{pid}/task"))? {
        let text = fs::read_to_string(task?.path().join("schedstat"))?;
        let on_cpu = text
            .split_ascii_whitespace()
            .next()
            .and_then(|field| field.parse::<u64>().ok());
        nanoseconds += on_cpu.ok_or_else(|| io::Error::other("schedstat cannot be read"))?;
    }
    Ok(Duration::from_nanos(nanoseconds))
}

/// Fails if the process uses a quarter of a CPU or more for so long: it spins.
pub(crate) fn rests(pid: u32, duration: Duration) -> io::Result<()> {
    let before = cpu_time(pid)?;
    thread::sleep(duration);
    // A thread that ended meanwhile has taken its time along.
    let used = cpu_time(pid)?.saturating_sub(before);
    if used < duration / 4 {
        return Ok(());
    }
    Err(io::Error::other(format!(
        "it used {used:?} of CPU in {duration:?}"
    )))
}

/// Fails if the process holds `bytes` of memory or more.
pub(crate) fn resident_below(pid: u32, bytes: u64) -> io::Result<()> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let kib = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .and_then(|value| value.trim().strip_suffix(" kB"))
        .and_then(|value| value.parse::<u64>().ok())
        .ok_or_else(|| io::Error::other("/proc has no VmRSS for it"))?;
    if kib * 1024 < bytes {
        return Ok(());
    }
    Err(io::Error::other(format!(
        "{kib} KiB resident, {} KiB allowed",
        bytes / 1024
    )))
}
