//! What the kernel tells about a server's process, and the limits it can be given.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::net::SocketAddr;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Resource, Rlimit, Signal, getrlimit, kill_process, prlimit};

use crate::wire::PATIENCE;

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

/// Stops all threads of the process, and returns once they have stopped.
pub(crate) fn halt(pid: u32) -> io::Result<()> {
    signal(pid, Signal::STOP)?;
    let deadline = Instant::now() + PATIENCE;
    while !has_halted(pid)? {
        if Instant::now() > deadline {
            return Err(io::Error::other("it runs on after SIGSTOP"));
        }
        thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}

/// Whether each thread is in the state "stopped" (proc(5), `/proc/pid/stat`).
fn has_halted(pid: u32) -> io::Result<bool> {
    for task in fs::read_dir(format!("/proc/{pid}/task"))? {
        let stat = fs::read_to_string(task?.path().join("stat"))?;
        if !stat.contains(") T ") {
            return Ok(false);
        }
    }
    Ok(true)
}

/// How much the threads of a process have run so far.
struct Ran {
    on_cpu: Duration,
    /// How often one was given a CPU.
    times: u64,
}

impl Ran {
    /// The first and the third field of `schedstat` of all threads (Documentation/scheduler/sched-stats.rst).
    fn of(pid: u32) -> io::Result<Self> {
        let (mut nanoseconds, mut times) = (0, 0);
        for task in fs::read_dir(format!("/proc/{pid}/task"))? {
            let text = fs::read_to_string(task?.path().join("schedstat"))?;
            let fields: Vec<u64> = text
                .split_ascii_whitespace()
                .filter_map(|field| field.parse().ok())
                .collect();
            let [on_cpu, _waited, given] = fields[..] else {
                return Err(io::Error::other(format!("schedstat is {text:?}")));
            };
            nanoseconds += on_cpu;
            times += given;
        }
        Ok(Self {
            on_cpu: Duration::from_nanos(nanoseconds),
            times,
        })
    }

    /// What was added in this time. A thread that ended meanwhile has taken its numbers along.
    fn during(pid: u32, duration: Duration) -> io::Result<Self> {
        let before = Self::of(pid)?;
        thread::sleep(duration);
        let after = Self::of(pid)?;
        Ok(Self {
            on_cpu: after.on_cpu.saturating_sub(before.on_cpu),
            times: after.times.saturating_sub(before.times),
        })
    }
}

/// Fails if the process uses a quarter of a CPU or more for so long: it spins.
pub(crate) fn rests(pid: u32, duration: Duration) -> io::Result<()> {
    let ran = Ran::during(pid, duration)?;
    if ran.on_cpu < duration / 4 {
        return Ok(());
    }
    Err(io::Error::other(format!(
        "it used {:?} of CPU in {duration:?}",
        ran.on_cpu
    )))
}

/// Fails if a thread of the process runs within this time.
pub(crate) fn sleeps(pid: u32, duration: Duration) -> io::Result<()> {
    let ran = Ran::during(pid, duration)?;
    if ran.times == 0 {
        return Ok(());
    }
    Err(io::Error::other(format!(
        "its threads ran {} times in {duration:?}, {:?} in all",
        ran.times, ran.on_cpu
    )))
}

/// The memory of a process that is in RAM, in bytes.
pub(crate) fn resident(pid: u32) -> io::Result<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let kib = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .and_then(|value| value.trim().strip_suffix(" kB"))
        .and_then(|value| value.parse::<u64>().ok())
        .ok_or_else(|| io::Error::other("/proc has no VmRSS for it"))?;
    Ok(kib * 1024)
}

/// Waits until no connection of the server at `addr` is in CLOSE_WAIT: closed by the client, kept by the server.
pub(crate) fn closes_all(addr: SocketAddr) -> io::Result<()> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let kept = in_close_wait(addr)?;
        if kept == 0 {
            return Ok(());
        }
        if Instant::now() > deadline {
            return Err(io::Error::other(format!("{kept} in CLOSE_WAIT")));
        }
        thread::sleep(Duration::from_millis(10));
    }
}

/// How many connections of this port are in that state (proc(5), `/proc/net/tcp`).
fn in_close_wait(addr: SocketAddr) -> io::Result<usize> {
    /// `TCP_CLOSE_WAIT` of the kernel's tcp_states.h.
    const CLOSE_WAIT: &str = "08";
    let port = format!(":{:04X}", addr.port());
    let table = fs::read_to_string("/proc/net/tcp")?;
    let kept = table.lines().skip(1).filter(|line| {
        let mut fields = line.split_ascii_whitespace().skip(1);
        let (local, _peer, state) = (fields.next(), fields.next(), fields.next());
        local.is_some_and(|local| local.ends_with(&port)) && state == Some(CLOSE_WAIT)
    });
    Ok(kept.count())
}
