//! The control group's CPU quota: how much, and for how long it stopped us. Both versions of the interface (cgroups(7)).

use std::fs;
use std::path::{Path, PathBuf};

/// The group, of those that hold this process, whose quota is the tightest.
#[derive(Clone, Debug, PartialEq)]
pub struct CpuGroup {
    folder: PathBuf,
    quota_cpus: Option<f64>,
}

impl CpuGroup {
    /// Finds it; none where no CPU controller is mounted.
    #[must_use]
    pub fn of_this_process() -> Option<Self> {
        let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
        let (root, path) = locate(&groups, |root| Path::new(root).is_dir())?;
        // Inside a container the path may be the host's, of which only the root is mounted.
        let folder = Path::new(root).join(path.trim_start_matches('/'));
        let lineage = folder
            .ancestors()
            .take_while(|ancestor| ancestor.starts_with(root))
            .filter(|ancestor| ancestor.is_dir())
            .map(|ancestor| Self {
                folder: ancestor.into(),
                quota_cpus: read_quota(ancestor),
            });
        lineage.min_by(|a, b| {
            let cpus = |group: &Self| group.quota_cpus.unwrap_or(f64::INFINITY);
            cpus(a).total_cmp(&cpus(b))
        })
    }

    /// Its quota in CPUs; none where unlimited.
    #[must_use]
    pub fn quota_cpus(&self) -> Option<f64> {
        self.quota_cpus
    }

    /// For how long the quota has stopped its processes so far, µs, summed over CPUs.
    #[must_use]
    pub fn throttled_us(&self) -> u64 {
        let text = fs::read_to_string(self.folder.join("cpu.stat")).unwrap_or_default();
        throttled_us(&text)
    }
}

/// Where the CPU controller is mounted, and the path of our group below it.
fn locate(groups: &str, is_mounted: impl Fn(&str) -> bool) -> Option<(&'static str, &str)> {
    let lines = || {
        groups
            .lines()
            .filter_map(|line| line.split_once(':')?.1.split_once(':'))
    };
    let version_1 = lines()
        .find(|(controllers, _)| controllers.split(',').any(|name| name == "cpu"))
        .and_then(|(_, path)| {
            let mounts = ["/sys/fs/cgroup/cpu,cpuacct", "/sys/fs/cgroup/cpu"];
            Some((mounts.into_iter().find(|root| is_mounted(root))?, path))
        });
    version_1.or_else(|| {
        let (_, path) = lines().find(|(controllers, _)| controllers.is_empty())?;
        is_mounted("/sys/fs/cgroup").then_some(("/sys/fs/cgroup", path))
    })
}

fn read_quota(folder: &Path) -> Option<f64> {
    let read = |name| fs::read_to_string(folder.join(name)).ok();
    match read("cpu.max") {
        Some(text) => quota(text.split_whitespace()),
        None => quota(
            [
                read("cpu.cfs_quota_us")?.trim(),
                read("cpu.cfs_period_us")?.trim(),
            ]
            .into_iter(),
        ),
    }
}

/// Quota and period, µs; a quota of `max` (version 2) or below zero (version 1) is none.
fn quota<'a>(mut words: impl Iterator<Item = &'a str>) -> Option<f64> {
    let quota: f64 = words.next()?.parse().ok()?;
    let period: f64 = words.next()?.parse().ok()?;
    (quota > 0.0 && period > 0.0).then(|| quota / period)
}

fn throttled_us(cpu_stat: &str) -> u64 {
    let value = |name| {
        let value = cpu_stat.lines().find_map(|line| line.strip_prefix(name))?;
        value.trim().parse::<u64>().ok()
    };
    let version_2 = value("throttled_usec ");
    version_2
        .or_else(|| value("throttled_time ").map(|ns| ns / 1000))
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_versions_are_located() {
        let hybrid = "9:name=systemd:/\n2:cpu,cpuacct:/docker/ab\n0::/x\n";
        let root = "/sys/fs/cgroup/cpu";
        assert_eq!(locate(hybrid, |at| at == root), Some((root, "/docker/ab")));
        let unified = "0::/user.slice/x:y\n";
        assert_eq!(
            locate(unified, |at| at == "/sys/fs/cgroup"),
            Some(("/sys/fs/cgroup", "/user.slice/x:y"))
        );
        assert_eq!(locate("", |_| true), None);
    }

    #[test]
    fn both_forms_of_a_quota_are_read() {
        assert_eq!(quota("150000 100000".split(' ')), Some(1.5));
        assert_eq!(quota("max 100000".split(' ')), None);
        assert_eq!(quota(["-1", "100000"].into_iter()), None);
    }

    #[test]
    fn both_units_of_throttling_are_read() {
        assert_eq!(throttled_us("nr_throttled 2\nthrottled_usec 1500\n"), 1500);
        assert_eq!(
            throttled_us("nr_throttled 2\nthrottled_time 1500000\n"),
            1500
        );
        assert_eq!(throttled_us("usage_usec 5\n"), 0);
    }
}
