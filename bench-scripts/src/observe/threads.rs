//! What processes used, thread by thread: /proc/pid/task/* (proc(5), and the kernel's scheduler/sched-stats).

use std::collections::BTreeMap;
use std::time::Duration;
use std::{fs, io};

use rustix::param::page_size;

use crate::record::Usage;

/// A server or a load generator: the process that was started, and those that it started.
#[derive(Clone, Debug)]
pub struct ProcessGroup {
    pids: Vec<u32>,
}

/// What a group has used so far.
#[derive(Clone, Debug, Default)]
pub struct Sample {
    threads: BTreeMap<u32, Thread>,
    user_ticks: u64,
    system_ticks: u64,
    rss_bytes: u64,
}

/// What one thread has used so far.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
struct Thread {
    cpu_ns: u64,
    run_delay_ns: u64,
    voluntary_switches: u64,
    involuntary_switches: u64,
    migrations: Option<u64>,
}

impl ProcessGroup {
    /// One process that starts no others.
    #[must_use]
    pub fn single(pid: u32) -> Self {
        Self { pids: vec![pid] }
    }

    /// The process group that `leader` leads: a server that has workers of its own, as nginx has.
    ///
    /// # Errors
    ///
    /// If /proc cannot be read.
    pub fn led_by(leader: u32) -> io::Result<Self> {
        let mut pids = Vec::new();
        for entry in fs::read_dir("/proc")? {
            let name = entry?.file_name();
            let Some(pid) = name.to_str().and_then(|name| name.parse().ok()) else {
                continue;
            };
            // A process may end between the two looks.
            let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            if Stat::parse(&stat).is_some_and(|stat| stat.group == leader) {
                pids.push(pid);
            }
        }
        Ok(Self { pids })
    }

    /// Its processes.
    #[must_use]
    pub fn pids(&self) -> &[u32] {
        &self.pids
    }

    /// What the group has used so far.
    ///
    /// # Errors
    ///
    /// If all its processes are gone.
    pub fn sample(&self) -> io::Result<Sample> {
        let mut sample = Sample::default();
        let mut alive = false;
        for pid in &self.pids {
            alive |= sample.add_process(*pid).is_ok();
        }
        if alive {
            Ok(sample)
        } else {
            Err(io::Error::new(
                io::ErrorKind::NotFound,
                "the process is gone",
            ))
        }
    }

    /// Its resident memory, bytes.
    #[must_use]
    pub fn rss_bytes(&self) -> u64 {
        self.pids
            .iter()
            .filter_map(|pid| rss_bytes(*pid).ok())
            .sum()
    }
}

impl Sample {
    fn add_process(&mut self, pid: u32) -> io::Result<()> {
        for entry in fs::read_dir(format!("/proc/{pid}/task"))? {
            let path = entry?.path();
            let tid = path
                .file_name()
                .and_then(|name| name.to_str()?.parse().ok());
            let read = |name| fs::read_to_string(path.join(name));
            // A thread may end between the two looks.
            if let (Some(tid), Ok(schedstat), Ok(status)) = (tid, read("schedstat"), read("status"))
            {
                let sched = read("sched").unwrap_or_default();
                self.threads
                    .insert(tid, Thread::parse(&schedstat, &status, &sched));
            }
        }
        let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
        if let Some(stat) = Stat::parse(&stat) {
            self.user_ticks += stat.user_ticks;
            self.system_ticks += stat.system_ticks;
        }
        self.rss_bytes += rss_bytes(pid)?;
        Ok(())
    }

    /// What was used since `first`, which was taken `window` ago.
    ///
    /// A thread that began in between counts in full. One that ended in between does not count: rungs start their
    /// threads before the load and end them after it.
    #[must_use]
    pub fn since(&self, first: &Self, window: Duration) -> Usage {
        let sum = |field: fn(&Thread) -> u64| -> u64 {
            let used = |(tid, thread): (&u32, &Thread)| {
                field(thread).saturating_sub(first.threads.get(tid).map_or(0, field))
            };
            self.threads.iter().map(used).sum()
        };
        let tells_migrations = self
            .threads
            .values()
            .all(|thread| thread.migrations.is_some());
        let cpu_us = sum(|thread| thread.cpu_ns) / 1000;
        let user = self.user_ticks.saturating_sub(first.user_ticks);
        let system = self.system_ticks.saturating_sub(first.system_ticks);
        let user_us = share(cpu_us, user, user + system);
        Usage {
            window_us: u64::try_from(window.as_micros()).unwrap_or(u64::MAX),
            cpu_us,
            user_us,
            system_us: cpu_us - user_us,
            run_delay_us: sum(|thread| thread.run_delay_ns) / 1000,
            voluntary_switches: sum(|thread| thread.voluntary_switches),
            involuntary_switches: sum(|thread| thread.involuntary_switches),
            migrations: tells_migrations.then(|| sum(|thread| thread.migrations.unwrap_or(0))),
            rss_bytes: self.rss_bytes,
            threads: u32::try_from(self.threads.len()).unwrap_or(u32::MAX),
        }
    }
}

/// The part of `total` that `ticks` are of `all_ticks`; nothing where no tick was counted.
fn share(total: u64, ticks: u64, all_ticks: u64) -> u64 {
    if all_ticks == 0 {
        return 0;
    }
    (total as f64 * ticks as f64 / all_ticks as f64).round() as u64
}

impl Thread {
    fn parse(schedstat: &str, status: &str, sched: &str) -> Self {
        let mut times = schedstat
            .split_whitespace()
            .map_while(|word| word.parse().ok());
        let field = |text: &str, name: &str| {
            let line = text.lines().find(|line| line.starts_with(name))?;
            line.split_once(':')?.1.trim().parse().ok()
        };
        Self {
            cpu_ns: times.next().unwrap_or(0),
            run_delay_ns: times.next().unwrap_or(0),
            voluntary_switches: field(status, "voluntary_ctxt_switches").unwrap_or(0),
            involuntary_switches: field(status, "nonvoluntary_ctxt_switches").unwrap_or(0),
            migrations: field(sched, "se.nr_migrations"),
        }
    }
}

/// The fields of /proc/pid/stat that we use.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Stat {
    group: u32,
    user_ticks: u64,
    system_ticks: u64,
}

impl Stat {
    fn parse(stat: &str) -> Option<Self> {
        // The second field is the program's name in parentheses, which may hold spaces and parentheses itself.
        let (_, rest) = stat.rsplit_once(") ")?;
        let fields: Vec<_> = rest.split_whitespace().collect();
        Some(Self {
            group: fields.get(2)?.parse().ok()?,
            user_ticks: fields.get(11)?.parse().ok()?,
            system_ticks: fields.get(12)?.parse().ok()?,
        })
    }
}

fn rss_bytes(pid: u32) -> io::Result<u64> {
    let statm = fs::read_to_string(format!("/proc/{pid}/statm"))?;
    let pages: u64 = statm
        .split_whitespace()
        .nth(1)
        .and_then(|pages| pages.parse().ok())
        .unwrap_or(0);
    Ok(pages * page_size() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATUS: &str = "Name:\tx\nvoluntary_ctxt_switches:\t12\nnonvoluntary_ctxt_switches:\t3\n";
    const SCHED: &str = "x (1, #threads: 1)\n-----\nse.nr_migrations       :         4\n";

    fn thread(cpu_ns: u64) -> Thread {
        Thread {
            cpu_ns,
            ..Thread::default()
        }
    }

    #[test]
    fn a_threads_files_are_read() {
        let expected = Thread {
            cpu_ns: 973_582,
            run_delay_ns: 32_329,
            voluntary_switches: 12,
            involuntary_switches: 3,
            migrations: Some(4),
        };
        assert_eq!(Thread::parse("973582 32329 2\n", STATUS, SCHED), expected);
        assert_eq!(Thread::parse("1 2 3\n", STATUS, "").migrations, None);
    }

    #[test]
    fn a_programs_name_may_hold_anything() {
        let stat = "15 (a) b) (c) S 1 77 2 0 -1 4194304 100 0 0 0 21 43 0 0 20 0 1 0";
        let expected = Stat {
            group: 77,
            user_ticks: 21,
            system_ticks: 43,
        };
        assert_eq!(Stat::parse(stat), Some(expected));
        assert_eq!(Stat::parse(""), None);
    }

    #[test]
    fn time_is_split_in_the_proportion_of_ticks() {
        let first = Sample {
            threads: BTreeMap::from([(1, thread(1_000_000)), (2, thread(5_000_000))]),
            user_ticks: 10,
            system_ticks: 10,
            rss_bytes: 1,
        };
        let last = Sample {
            // Thread 2 ended, thread 3 began.
            threads: BTreeMap::from([(1, thread(2_000_000)), (3, thread(3_000_000))]),
            user_ticks: 11,
            system_ticks: 13,
            rss_bytes: 2,
        };
        let usage = last.since(&first, Duration::from_secs(1));
        assert_eq!(
            (usage.cpu_us, usage.user_us, usage.system_us),
            (4000, 1000, 3000)
        );
        assert_eq!(
            (usage.window_us, usage.rss_bytes, usage.threads),
            (1_000_000, 2, 2)
        );
        assert_eq!(usage.migrations, None);
    }

    #[test]
    fn this_process_can_be_sampled() {
        let group = ProcessGroup::single(std::process::id());
        let sample = group.sample().unwrap();
        assert!(!sample.threads.is_empty() && sample.rss_bytes > 0);
        assert!(ProcessGroup { pids: vec![] }.sample().is_err());
    }
}
