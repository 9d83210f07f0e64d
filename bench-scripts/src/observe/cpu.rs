//! Time of the machine's CPUs, from /proc/stat (proc_stat(5)).

use std::{fs, io};

use rustix::param::clock_ticks_per_second;

/// CPU time so far, summed over some CPUs, in the kernel's ticks.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct CpuTimes {
    /// Spent by this system's own work: user, nice, system, and both kinds of interrupt.
    busy_ticks: u64,
    /// Idle, or waiting for a disk.
    idle_ticks: u64,
    /// Taken by the hypervisor.
    steal_ticks: u64,
}

impl CpuTimes {
    /// The times of `cpus` so far.
    ///
    /// # Errors
    ///
    /// If /proc/stat cannot be read.
    pub fn read(cpus: &[u32]) -> io::Result<Self> {
        Ok(Self::parse(&fs::read_to_string("/proc/stat")?, cpus))
    }

    fn parse(stat: &str, cpus: &[u32]) -> Self {
        let mut sum = Self::default();
        for line in stat.lines() {
            let mut words = line.split_whitespace();
            let cpu = words
                .next()
                .and_then(|name| name.strip_prefix("cpu")?.parse().ok());
            if !cpu.is_some_and(|cpu| cpus.contains(&cpu)) {
                continue;
            }
            let ticks: Vec<u64> = words.map_while(|word| word.parse().ok()).collect();
            let [user, nice, system, idle, iowait, irq, softirq, steal, ..] = ticks[..] else {
                continue;
            };
            sum.busy_ticks += user + nice + system + irq + softirq;
            sum.idle_ticks += idle + iowait;
            sum.steal_ticks += steal;
        }
        sum
    }

    /// What passed since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            busy_ticks: self.busy_ticks.saturating_sub(earlier.busy_ticks),
            idle_ticks: self.idle_ticks.saturating_sub(earlier.idle_ticks),
            steal_ticks: self.steal_ticks.saturating_sub(earlier.steal_ticks),
        }
    }

    /// Time spent by this system's own work, µs.
    #[must_use]
    pub fn busy_us(&self) -> u64 {
        self.busy_ticks * 1_000_000 / clock_ticks_per_second()
    }

    /// Share of the time that the hypervisor took, percent.
    #[must_use]
    pub fn steal_percent(&self) -> f64 {
        self.percent(self.steal_ticks)
    }

    /// Share of the time that this system's own work took, percent.
    #[must_use]
    pub fn busy_percent(&self) -> f64 {
        self.percent(self.busy_ticks)
    }

    fn percent(&self, ticks: u64) -> f64 {
        let all = self.busy_ticks + self.idle_ticks + self.steal_ticks;
        if all == 0 {
            return 0.0;
        }
        100.0 * ticks as f64 / all as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAT: &str = "cpu  11 0 22 330 4 0 6 7 0 0\n\
                        cpu0 1 0 2 30 4 0 6 7 0 0\n\
                        cpu1 10 0 20 300 0 0 0 0 0 0\n\
                        cpu10 5 5 5 5 5 5 5 5 0 0\n\
                        intr 1\n";

    #[test]
    fn only_the_cpus_asked_for_are_summed() {
        let zero = CpuTimes::parse(STAT, &[0]);
        assert_eq!(
            (zero.busy_ticks, zero.idle_ticks, zero.steal_ticks),
            (9, 34, 7)
        );
        let both = CpuTimes::parse(STAT, &[0, 1]);
        assert_eq!(
            (both.busy_ticks, both.idle_ticks, both.steal_ticks),
            (39, 334, 7)
        );
    }

    #[test]
    fn shares_are_of_all_time() {
        let times = CpuTimes::parse(STAT, &[0]);
        assert!((times.steal_percent() - 14.0).abs() < 1e-9);
        assert!((times.busy_percent() - 18.0).abs() < 1e-9);
        assert_eq!(times.since(&times).steal_percent(), 0.0);
    }
}
