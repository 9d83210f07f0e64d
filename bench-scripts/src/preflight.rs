//! Preflight: what about this machine would spoil the numbers, and what to do about it.

mod limits;
pub mod primitives;
pub mod support;
mod tracers;

use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{env, fs, thread};

use crate::cpu_plan;
use crate::ladder;
use crate::load::wrk;
use crate::matrix::{Matrix, Threads};
use crate::observe::cpu::CpuTimes;
use crate::output::note;
use crate::record::{Advice, AdviceLevel, CpuPlan, Machine};

/// For how long other load and steal are watched.
const WATCH: Duration = Duration::from_millis(200);

/// Share of the CPUs' time that others may use before it is worth a warning, percent.
const QUIET_PERCENT: f64 = 5.0;

/// Share of the CPUs' time that the hypervisor may take before it is worth a warning, percent.
const QUIET_STEAL_PERCENT: f64 = 2.0;

/// Looks at everything that matters to a sweep of `matrix` on this `machine`.
#[must_use]
pub fn findings(matrix: &Matrix, machine: &Machine, plan: &CpuPlan) -> Vec<Advice> {
    let connections = u64::from(matrix.most_connections());
    let mut findings = vec![
        load_generator(),
        servers(matrix),
        build(),
        limits::open_files(machine, connections),
        limits::accept_queue(machine, connections),
        limits::ports(machine, connections),
        cpus(machine, plan),
        server_threads(matrix, plan),
    ];
    findings.extend(settings(machine));
    findings.extend(tracers::findings(matrix));
    findings.extend(others(machine));
    findings.push(fonts());
    findings
}

/// What of the machine's settings matters whatever is measured.
fn settings(machine: &Machine) -> [Advice; 5] {
    [
        quota(machine),
        governor(machine),
        clock_source(machine),
        virtualisation(machine),
        mitigations(machine),
    ]
}

/// Says what is not as it should be.
pub fn warn(findings: &[Advice]) {
    let not_good = |finding: &&Advice| finding.level != AdviceLevel::Good;
    for finding in findings.iter().filter(not_good) {
        note(format_args!(
            "{}: {} → {}",
            finding.subject, finding.found, finding.advice
        ));
    }
}

/// The findings with which a sweep cannot begin, in sentences.
#[must_use]
pub fn blocking(findings: &[Advice]) -> Option<String> {
    let blocking = findings
        .iter()
        .filter(|finding| finding.level == AdviceLevel::Blocking);
    let sentences: Vec<_> = blocking
        .map(|finding| format!("{}: {}", finding.found, finding.advice))
        .collect();
    (!sentences.is_empty()).then(|| sentences.join("; "))
}

fn advice(
    level: AdviceLevel,
    subject: &str,
    found: impl Into<String>,
    advice: impl Into<String>,
) -> Advice {
    Advice {
        level,
        subject: subject.into(),
        found: found.into(),
        advice: advice.into(),
    }
}

fn good(subject: &str, found: impl Into<String>) -> Advice {
    advice(AdviceLevel::Good, subject, found, "")
}

fn warning(subject: &str, found: impl Into<String>, what_to_do: impl Into<String>) -> Advice {
    advice(AdviceLevel::Warning, subject, found, what_to_do)
}

fn blocker(subject: &str, found: impl Into<String>, what_to_do: impl Into<String>) -> Advice {
    advice(AdviceLevel::Blocking, subject, found, what_to_do)
}

fn load_generator() -> Advice {
    match ladder::on_path("wrk") {
        Some(path) => good("load generator", format!("wrk is {}", path.display())),
        None => blocker("load generator", "wrk is not on PATH", wrk::INSTALL),
    }
}

fn servers(matrix: &Matrix) -> Advice {
    let mut programs = matrix.entrants.iter().map(ladder::program_of_entrant);
    match programs.find_map(Result::err) {
        None => good("servers", "all programs of the matrix are there"),
        Some(missing) => blocker("servers", missing.problem, missing.remedy),
    }
}

fn build() -> Advice {
    if cfg!(debug_assertions) {
        warning(
            "build",
            "this is a debug build: its numbers mean nothing",
            "build with `cargo build --release --workspace` and use target/release/rungs",
        )
    } else {
        good("build", "release")
    }
}

fn cpus(machine: &Machine, plan: &CpuPlan) -> Advice {
    let list = |cpus: &[u32]| {
        let numbers: Vec<_> = cpus.iter().map(u32::to_string).collect();
        numbers.join(",")
    };
    let found = if plan.pinned {
        format!(
            "server on CPU {}, load generator on CPU {} ({})",
            list(&plan.server),
            list(&plan.client),
            plan.why
        )
    } else {
        format!("CPU {}: {}", list(&machine.cpus_allowed), plan.why)
    };
    let one_core = machine.smt_siblings.iter().any(|core| {
        let holds = |cpus: &[u32]| core.iter().any(|cpu| cpus.contains(cpu));
        plan.pinned && holds(&plan.server) && holds(&plan.client)
    });
    if machine.cpus_allowed.len() < 2 || one_core {
        let what_to_do = "use a machine with two cores (or a wider --cpuset-cpus): here either side slows the other";
        warning("CPUs", found, what_to_do)
    } else if machine.cpus_allowed.len() < 4 && plan.pinned {
        good(
            "CPUs",
            format!("{found}; with so few, the load generator is often full first"),
        )
    } else {
        good("CPUs", found)
    }
}

fn server_threads(matrix: &Matrix, plan: &CpuPlan) -> Advice {
    let most = matrix
        .entrants
        .iter()
        .map(|entrant| entrant.threads.on(plan.server.len()))
        .max()
        .unwrap_or(1);
    let cpus =
        cpu_plan::server_cpus(plan, Threads::All).map_or(plan.server.len(), |cpus| cpus.len());
    let found = format!("at most {most} on {cpus} CPUs");
    if most as usize > cpus {
        let what_to_do = "set `threads` in the matrix to no more than the server has CPUs";
        warning("server threads", found, what_to_do)
    } else {
        good("server threads", found)
    }
}

fn quota(machine: &Machine) -> Advice {
    match machine.cpu_quota {
        None => good("CPU quota", "none"),
        Some(cpus) => warning(
            "CPU quota",
            format!("the control group stops its processes beyond {cpus} CPUs"),
            "give whole CPUs instead (`docker run --cpuset-cpus 0,1` rather than `--cpus 2`)",
        ),
    }
}

fn governor(machine: &Machine) -> Advice {
    match machine.governor.as_deref() {
        None => good("frequency governor", "not told by this machine"),
        Some("performance") => good("frequency governor", "performance"),
        Some(other) => warning(
            "frequency governor",
            format!("{other}: clock speed follows the load, so an idler server looks slower"),
            "`cpupower frequency-set -g performance`",
        ),
    }
}

fn clock_source(machine: &Machine) -> Advice {
    let found = machine.clock_source.as_str();
    // Those that are read without a system call; others make each look at the clock cost a microsecond.
    let quick = [
        "tsc",
        "kvm-clock",
        "hyperv_clocksource_tsc_page",
        "arch_sys_counter",
    ];
    if quick.contains(&found) || found == "unknown" {
        good("clock source", found)
    } else {
        warning(
            "clock source",
            format!("{found}: each look at the clock is a system call"),
            "boot with `clocksource=tsc` if the processor's is stable; servers that look often suffer most",
        )
    }
}

fn virtualisation(machine: &Machine) -> Advice {
    match &machine.virtualisation {
        None => good("virtualisation", "none seen"),
        Some(kind) => warning(
            "virtualisation",
            kind.clone(),
            "compare ratios to the control, not absolute numbers, with those of other machines",
        ),
    }
}

fn mitigations(machine: &Machine) -> Advice {
    let active = machine
        .mitigations
        .iter()
        .filter(|state| state.contains("Mitigation"));
    good(
        "mitigations",
        format!(
            "{} active; they make system calls dearer, for all alike",
            active.count()
        ),
    )
}

/// Other load and steal, watched for a moment.
fn others(machine: &Machine) -> Vec<Advice> {
    let read = || CpuTimes::read(&machine.cpus_allowed).unwrap_or_default();
    let before = read();
    thread::sleep(WATCH);
    let used = read().since(&before);
    let (busy, steal) = (used.busy_percent(), used.steal_percent());
    let other_load = format!("{busy:.0}% of the CPUs' time");
    let stolen = format!("{steal:.0}% of the CPUs' time");
    vec![
        if busy > QUIET_PERCENT {
            warning(
                "other load",
                other_load,
                "end what else runs, or wait for it",
            )
        } else {
            good("other load", other_load)
        },
        if steal > QUIET_STEAL_PERCENT {
            let what_to_do = "the hypervisor's other guests are busy: measure at a quieter time, with more rounds";
            warning("steal", stolen, what_to_do)
        } else {
            good("steal", stolen)
        },
    ]
}

fn fonts() -> Advice {
    let mut folders: Vec<PathBuf> =
        vec!["/usr/share/fonts".into(), "/usr/local/share/fonts".into()];
    if let Some(home) = env::var_os("HOME") {
        let home = Path::new(&home);
        folders.extend([home.join(".fonts"), home.join(".local/share/fonts")]);
    }
    if folders.iter().any(|folder| holds_font(folder, 4)) {
        good("fonts", "there are some for the PNG pictures")
    } else {
        warning(
            "fonts",
            "none: PNG pictures would have no words",
            "`apt-get install fonts-dejavu-core`",
        )
    }
}

fn holds_font(folder: &Path, depth: u32) -> bool {
    let Ok(entries) = fs::read_dir(folder) else {
        return false;
    };
    entries.flatten().any(|entry| {
        let path = entry.path();
        if path.is_dir() {
            return depth > 0 && holds_font(&path, depth - 1);
        }
        path.extension()
            .is_some_and(|extension| extension == "ttf" || extension == "otf")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine;

    fn level(finding: &Advice) -> AdviceLevel {
        assert_eq!(
            finding.advice.is_empty(),
            finding.level == AdviceLevel::Good
        );
        finding.level
    }

    #[test]
    fn settings_that_spoil_numbers_are_worth_a_warning() {
        let mut machine = machine::look();
        machine.cpu_quota = Some(1.5);
        assert_eq!(level(&quota(&machine)), AdviceLevel::Warning);
        machine.governor = Some("powersave".into());
        assert_eq!(level(&governor(&machine)), AdviceLevel::Warning);
        machine.clock_source = "hpet".into();
        assert_eq!(level(&clock_source(&machine)), AdviceLevel::Warning);
    }

    #[test]
    fn one_cpu_is_worth_a_warning_and_two_are_not() {
        let mut machine = machine::look();
        let level_on = |machine: &mut Machine, cpus: &[u32]| {
            machine.cpus_allowed = cpus.into();
            level(&super::cpus(machine, &cpu_plan::plan(cpus, &[], true)))
        };
        assert_eq!(level_on(&mut machine, &[0]), AdviceLevel::Warning);
        assert_eq!(level_on(&mut machine, &[0, 1]), AdviceLevel::Good);
    }

    #[test]
    fn what_blocks_is_said_in_a_sentence() {
        let findings = [good("a", "b"), blocker("c", "d is missing", "install it")];
        assert_eq!(blocking(&findings).unwrap(), "d is missing: install it");
        assert_eq!(blocking(&findings[..1]), None);
    }
}
