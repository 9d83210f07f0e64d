//! What machine this is, and its settings that matter to a benchmark.

use std::fs;
use std::path::Path;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::system::{sysinfo, uname};
use rustix::thread::{CpuSet, sched_getaffinity};

use crate::observe::cgroup::CpuGroup;
use crate::record::Machine;

/// Looks at this machine.
#[must_use]
pub fn look() -> Machine {
    let cpuinfo = read("/proc/cpuinfo").unwrap_or_default();
    let cpus_allowed = cpus_allowed();
    let first = cpus_allowed.first().copied().unwrap_or(0);
    let name = uname();
    let memory = sysinfo();
    Machine {
        cpu_model: cpu_model(&cpuinfo).unwrap_or_else(|| name.machine().to_string_lossy().into()),
        smt_siblings: smt_siblings(&cpus_allowed),
        cpus_allowed,
        cpu_quota: CpuGroup::of_this_process().and_then(|group| group.quota_cpus()),
        governor: read(format!(
            "/sys/devices/system/cpu/cpu{first}/cpufreq/scaling_governor"
        )),
        kernel: format!(
            "{} {} {}",
            name.sysname().to_string_lossy(),
            name.release().to_string_lossy(),
            name.version().to_string_lossy()
        ),
        os: read("/etc/os-release")
            .and_then(|text| pretty_name(&text))
            .unwrap_or_else(|| "unknown".into()),
        clock_source: read("/sys/devices/system/clocksource/clocksource0/current_clocksource")
            .unwrap_or_else(|| "unknown".into()),
        virtualisation: virtualisation(&cpuinfo),
        mitigations: mitigations(),
        memory_bytes: memory.totalram * u64::from(memory.mem_unit),
        open_files_limit: getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX),
        somaxconn: number("/proc/sys/net/core/somaxconn").unwrap_or(0),
        local_ports: local_ports().unwrap_or((0, 0)),
    }
}

/// The CPUs on which this process may run, ascending: its affinity, which a cpuset narrows too.
#[must_use]
pub fn cpus_allowed() -> Vec<u32> {
    let Ok(set) = sched_getaffinity(None) else {
        return vec![0];
    };
    (0..CpuSet::MAX_CPU)
        .filter(|&cpu| set.is_set(cpu))
        .filter_map(|cpu| u32::try_from(cpu).ok())
        .collect()
}

/// Raises the limit of open descriptors as far as it goes; servers and load generators inherit it.
pub fn raise_open_files_limit() {
    let limit = getrlimit(Resource::Nofile);
    // A refusal leaves the limit as it is; preflight looks at it and gives advice.
    let _ = setrlimit(
        Resource::Nofile,
        Rlimit {
            current: limit.maximum,
            maximum: limit.maximum,
        },
    );
}

fn read(path: impl AsRef<Path>) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    Some(text.trim().to_owned())
}

fn number(path: &str) -> Option<u64> {
    read(path)?.parse().ok()
}

fn cpu_model(cpuinfo: &str) -> Option<String> {
    let line = cpuinfo
        .lines()
        .find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

fn pretty_name(os_release: &str) -> Option<String> {
    let mut lines = os_release.lines();
    let value = lines.find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    Some(value.trim_matches('"').to_owned())
}

fn smt_siblings(cpus: &[u32]) -> Vec<Vec<u32>> {
    let mut groups: Vec<Vec<u32>> = Vec::new();
    for cpu in cpus {
        let path = format!("/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
        let group = read(&path)
            .and_then(|list| cpu_list(&list))
            .unwrap_or_else(|| vec![*cpu]);
        if !groups.contains(&group) {
            groups.push(group);
        }
    }
    groups
}

/// A list as the kernel writes it, `0-2,7`; none if it is not of that form.
#[must_use]
pub fn cpu_list(list: &str) -> Option<Vec<u32>> {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let range = first.trim().parse().ok()?..=last.trim().parse().ok()?;
        (!range.is_empty()).then_some(range)
    };
    let ranges: Option<Vec<_>> = list.split(',').map(range).collect();
    Some(ranges?.into_iter().flatten().collect())
}

fn virtualisation(cpuinfo: &str) -> Option<String> {
    let hypervisor = cpuinfo
        .lines()
        .find(|line| line.starts_with("flags"))
        .is_some_and(|line| line.split_whitespace().any(|flag| flag == "hypervisor"));
    let machine = hypervisor.then(|| {
        let vendor = read("/sys/class/dmi/id/sys_vendor").filter(|vendor| !vendor.is_empty());
        vendor.map_or_else(
            || "virtual machine".to_owned(),
            |vendor| format!("virtual machine ({vendor})"),
        )
    });
    let container = if Path::new("/.dockerenv").exists() {
        Some("Docker container")
    } else if Path::new("/run/.containerenv").exists() {
        Some("Podman container")
    } else {
        None
    };
    match (container, machine) {
        (Some(container), Some(machine)) => Some(format!("{container} on a {machine}")),
        (Some(container), None) => Some(container.into()),
        (None, machine) => machine,
    }
}

fn mitigations() -> Vec<String> {
    let Ok(folder) = fs::read_dir("/sys/devices/system/cpu/vulnerabilities") else {
        return Vec::new();
    };
    let mut states: Vec<_> = folder
        .filter_map(|entry| {
            let path = entry.ok()?.path();
            let state = read(&path).filter(|state| state != "Not affected")?;
            Some(format!("{}: {state}", path.file_name()?.to_string_lossy()))
        })
        .collect();
    states.sort();
    states
}

fn local_ports() -> Option<(u32, u32)> {
    let range = read("/proc/sys/net/ipv4/ip_local_port_range")?;
    let (first, last) = range.split_once(char::is_whitespace)?;
    Some((first.parse().ok()?, last.trim().parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernel_lists_are_read() {
        assert_eq!(cpu_list("0"), Some(vec![0]));
        assert_eq!(cpu_list("0-2,7\n"), Some(vec![0, 1, 2, 7]));
        for wrong in ["", "x", "0,", "3-1", "1-"] {
            assert_eq!(cpu_list(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn names_are_found() {
        assert_eq!(
            cpu_model("processor\t: 0\nmodel name\t: A B\n").unwrap(),
            "A B"
        );
        assert_eq!(
            pretty_name("NAME=x\nPRETTY_NAME=\"D 12\"\n").unwrap(),
            "D 12"
        );
        let flags = "flags\t\t: fpu hypervisor lm\n";
        assert!(virtualisation(flags).unwrap().contains("virtual machine"));
    }

    #[test]
    fn this_machine_can_be_looked_at() {
        let machine = look();
        assert!(!machine.cpus_allowed.is_empty());
        assert!(machine.memory_bytes > 0 && machine.somaxconn > 0);
        assert!(machine.local_ports.0 < machine.local_ports.1);
        assert!(machine.kernel.starts_with("Linux "));
    }
}
