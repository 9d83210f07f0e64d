//! `perf stat`: the kernel's and the processor's counters (perf-stat(1)).

use std::fs;

use super::Tool;
use crate::process::excerpt;
use crate::record::trace::{Absence, Event, EventCount, Traced};

/// What is counted: what `perf stat` shows by itself, and how often the caches missed.
pub const EVENTS: [&str; 9] = [
    "task-clock",
    "context-switches",
    "cpu-migrations",
    "page-faults",
    "cycles",
    "instructions",
    "branches",
    "branch-misses",
    "cache-misses",
];

/// Events that happen in the kernel only. Where perf may count in user space alone, it says zero of them.
const IN_THE_KERNEL: [&str; 2] = ["context-switches", "cpu-migrations"];

/// Between the fields of its output: a comma may be the locale's decimal point.
const SEPARATOR: &str = ";";

/// `perf stat`, which leaves the server at nearly its full speed.
#[derive(Debug)]
pub struct Perf;

impl Tool for Perf {
    type Counts = Vec<Event>;

    const PROGRAM: &'static str = "perf";

    const INSTALL: &'static str =
        "`apt-get install linux-perf` (Debian) or `apt-get install linux-tools-generic` (Ubuntu)";

    fn flags() -> Vec<String> {
        let events = EVENTS.join(",");
        ["stat", "-x", SEPARATOR, "-e", &events, "-p"]
            .map(String::from)
            .into()
    }

    /// It has a descriptor for each event of each thread. The software events exist on every machine, and one of them
    /// is the first asked for; the rest follow within microseconds.
    fn is_attached(tool: u32, _: &[u32]) -> bool {
        let Ok(descriptors) = fs::read_dir(format!("/proc/{tool}/fd")) else {
            return false;
        };
        descriptors.flatten().any(|descriptor| {
            let target = fs::read_link(descriptor.path());
            target.is_ok_and(|target| target.as_os_str() == "anon_inode:[perf_event]")
        })
    }

    fn not_allowed(output: &str) -> Option<Absence> {
        output.contains("perf_event_paranoid").then(|| Absence {
            what: "perf is not allowed to count (perf_event_open is refused)".into(),
            remedy: NOT_ALLOWED.into(),
        })
    }

    fn parse(output: &str) -> Result<Vec<Event>, String> {
        let is_event = |line: &&str| line.matches(SEPARATOR).count() >= 4;
        let events: Result<Vec<_>, _> = output.lines().filter(is_event).map(event).collect();
        match events {
            Ok(events) if events.is_empty() => Err("printed no counter".into()),
            events => events,
        }
    }
}

/// What to do where perf may not count, or in user space only.
const NOT_ALLOWED: &str = "allow it with `sysctl -w kernel.perf_event_paranoid=1` or run as root; in a container, add `--cap-add PERFMON`, or `--security-opt seccomp=unconfined` where the engine does not know that";

/// A line: count, unit, name, time that it counted in ns, share of the time in percent; more may follow.
fn event(line: &str) -> Result<Event, String> {
    let not_understood = || {
        let line = excerpt(line);
        format!("printed a line that is not understood: {line}")
    };
    let fields: Vec<_> = line.split(SEPARATOR).collect();
    let [count, unit, name, _, running, ..] = fields[..] else {
        return Err(not_understood());
    };
    let number = |text: &str| text.replace(',', ".").parse().ok();
    // `cycles:u`: the kernel lets this user look at user space only.
    let (name, user_only) = match name.strip_suffix(":u") {
        Some(name) => (name, true),
        None => (name, false),
    };
    let absent = |what: &str, remedy: &str| {
        Traced::Absent(Absence {
            what: what.into(),
            remedy: remedy.into(),
        })
    };
    let count = match count {
        "<not supported>" => absent("not supported here", GET_COUNTERS),
        "<not counted>" => absent(NOT_COUNTED, COUNT_LONGER),
        _ if user_only && IN_THE_KERNEL.contains(&name) => absent(
            "not allowed here: perf may look at user space only",
            NOT_ALLOWED,
        ),
        count => Traced::Counted(EventCount {
            value: number(count).ok_or_else(not_understood)?,
            unit: unit.into(),
            running_percent: number(running).ok_or_else(not_understood)?,
            user_only,
        }),
    };
    Ok(Event {
        name: name.into(),
        count,
    })
}

/// What is said of a counter that never ran.
pub const NOT_COUNTED: &str = "not counted";

/// What to do about a counter that does not exist.
const GET_COUNTERS: &str =
    "measure on a machine whose processor, and hypervisor if there is one, gives hardware counters";

/// What to do about a counter that never ran.
const COUNT_LONGER: &str =
    "the server did not run while perf counted: lengthen `duration` under [trace] in the matrix";
