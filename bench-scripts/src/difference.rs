//! In what two runs differ besides their numbers: a sweep goes on only where nothing does, and whoever compares two runs
//! must know.

use std::fmt::{self, Display};
use std::slice::from_ref;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::build::Build;
use crate::matrix::{Entrant, LatencySettings, Matrix, Program, Threads};
use crate::record::{EntrantBinary, Run};

/// One thing in which two runs differ.
#[derive(Clone, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Difference {
    /// What differs, such as `kernel`.
    pub what: String,
    /// How it is in the first run.
    pub before: String,
    /// How it is in the second.
    pub after: String,
}

impl Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} → {}", self.what, self.before, self.after)
    }
}

/// Differences in a sentence's worth of words.
#[must_use]
pub fn in_words(differences: &[Difference]) -> String {
    let each: Vec<_> = differences.iter().map(ToString::to_string).collect();
    each.join("; ")
}

/// Everything that differs between two runs: the matrix, the machine, the CPU plan and the programs.
#[must_use]
pub fn between_runs(before: &Run, after: &Run) -> Vec<Difference> {
    let mut list = List(between_matrices(&before.matrix, &after.matrix));
    list.note(
        "attempts",
        before.attempts.to_string(),
        after.attempts.to_string(),
    );
    list.machine(before, after);
    list.programs(before, after);
    list.0
}

/// Everything that differs between two matrices, but for what they are for.
#[must_use]
pub fn between_matrices(before: &Matrix, after: &Matrix) -> Vec<Difference> {
    let mut list = List(Vec::new());
    let mut note = |what: &str, of: &dyn Fn(&Matrix) -> String| {
        list.note(what, of(before), of(after));
    };
    note("matrix", &|m| m.name.clone());
    note("path", &|m| m.path.clone());
    note("connections", &|m| numbers(&m.connections));
    note("rounds", &|m| m.rounds.to_string());
    note("warm-up", &|m| format!("{} s", m.warmup_s));
    note("duration", &|m| format!("{} s", m.duration_s));
    note("pinned", &|m| m.pinned.to_string());
    note("load threads", &|m| {
        m.load
            .threads
            .map_or("one per CPU".to_owned(), |threads| threads.to_string())
    });
    note("traced", &|m| match &m.trace {
        None => "nothing".to_owned(),
        Some(trace) => format!("{} for {} s", numbers(&trace.connections), trace.duration_s),
    });
    note("load headers", &|m| listed(&m.load.headers));
    note("pipelined requests", &|m| m.load.pipeline.to_string());
    note("load time-out", &|m| format!("{} s", m.load.timeout_s));
    note("latency at fixed rates", &|m| {
        m.latency.as_ref().map_or("none".to_owned(), paced)
    });
    note("entrants", &|m| {
        let labels: Vec<_> = m.entrants.iter().map(|e| e.label.clone()).collect();
        listed(&labels)
    });
    for entrant in &before.entrants {
        let other = after.entrants.iter().find(|e| e.label == entrant.label);
        if let Some(other) = other {
            list.note(
                &format!("entrant {}", entrant.label),
                description(entrant),
                description(other),
            );
        }
    }
    list.0
}

fn paced(latency: &LatencySettings) -> String {
    format!(
        "{} connections, shares {}%, {} ms + {} ms, rounds {}",
        latency.connections,
        numbers(&latency.shares),
        latency.warmup_ms,
        latency.duration_ms,
        latency.rounds
    )
}

/// Differences as they are found.
struct List(Vec<Difference>);

impl List {
    fn note(&mut self, what: &str, before: String, after: String) {
        if before != after {
            self.0.push(Difference {
                what: what.to_owned(),
                before,
                after,
            });
        }
    }

    fn machine(&mut self, before: &Run, after: &Run) {
        let mut note = |what: &str, of: &dyn Fn(&Run) -> String| {
            self.note(what, of(before), of(after));
        };
        let or_none = |value: &Option<String>| value.clone().unwrap_or_else(|| "none".into());
        note("processor", &|r| r.machine.cpu_model.clone());
        note("CPUs allowed", &|r| numbers(&r.machine.cpus_allowed));
        note("server's CPUs", &|r| numbers(&r.cpu_plan.server));
        note("load generator's CPUs", &|r| numbers(&r.cpu_plan.client));
        note("pinning", &|r| {
            let pinned = r.cpu_plan.pinned;
            if pinned { "pinned" } else { "not pinned" }.to_owned()
        });
        note("CPU quota", &|r| {
            r.machine
                .cpu_quota
                .map_or("none".to_owned(), |quota| format!("{quota} CPUs"))
        });
        note("governor", &|r| or_none(&r.machine.governor));
        note("kernel", &|r| r.machine.kernel.clone());
        note("distribution", &|r| r.machine.os.clone());
        note("clock source", &|r| r.machine.clock_source.clone());
        note("virtualisation", &|r| or_none(&r.machine.virtualisation));
        note("mitigations", &|r| listed(&r.machine.mitigations));
    }

    fn programs(&mut self, before: &Run, after: &Run) {
        let mut note = |what: &str, of: &dyn Fn(&Run) -> String| {
            self.note(what, of(before), of(after));
        };
        note("rungs", &|r| r.rungs_version.clone());
        note("toolchain", &|r| r.toolchain.clone());
        note("Cargo.lock", &|r| short(&r.cargo_lock_sha256));
        note("load generator", &|r| {
            let generator = &r.load_generator;
            format!(
                "{} {} ({}), {} threads",
                generator.name,
                generator.version,
                short(&generator.sha256),
                generator.threads
            )
        });
        for binary in &before.entrants {
            let other = after.entrants.iter().find(|b| b.label == binary.label);
            if let Some(other) = other {
                let what = format!("program of {}", binary.label);
                self.note(&what, program(binary), program(other));
            }
        }
    }
}

fn description(entrant: &Entrant) -> String {
    let threads = match entrant.threads {
        Threads::All => "all threads".to_owned(),
        Threads::Count(count) => format!("{count} threads"),
    };
    let program = match &entrant.program {
        Program::Rung { name, args } => [from_ref(name), args].concat().join(" "),
        Program::Foreign {
            command,
            config,
            status,
            body_bytes,
        } => {
            let config = config.as_deref().unwrap_or_default();
            let config = short(&crate::store::sha256(config.as_bytes()));
            format!(
                "{} (config {config}), status {status}, {body_bytes} bytes",
                command.join(" ")
            )
        }
    };
    let build = entrant.build.map_or("plain", Build::name);
    let pinned = if entrant.pinned { "" } else { ", not pinned" };
    format!("{program}, {threads}, {build} build{pinned}")
}

/// What tells two builds of a program apart. Where it lies does not.
fn program(binary: &EntrantBinary) -> String {
    let build = binary.build.as_deref().unwrap_or("foreign");
    let allocator = binary.allocator.as_deref().unwrap_or("its own allocator");
    format!(
        "{} ({build}, {allocator}, {} bytes per response)",
        short(&binary.sha256),
        binary.response_bytes
    )
}

/// The first figures of a hash, as people quote it.
fn short(sha256: &str) -> String {
    format!("{sha256:.12}")
}

fn numbers(numbers: &[u32]) -> String {
    let numbers: Vec<_> = numbers.iter().map(u32::to_string).collect();
    listed(&numbers)
}

fn listed(words: &[String]) -> String {
    if words.is_empty() {
        "none".to_owned()
    } else {
        words.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made;

    fn made() -> Run {
        made::record().run
    }

    #[test]
    fn a_run_does_not_differ_from_itself() {
        assert_eq!(between_runs(&made(), &made()), []);
    }

    #[test]
    fn each_difference_is_named_with_both_sides() {
        let (before, mut after) = (made(), made());
        after.matrix.rounds = 9;
        after.matrix.load.headers = vec!["A: b".into()];
        after.matrix.entrants[1].threads = Threads::Count(2);
        after.machine.kernel = "Linux 7".into();
        after.cpu_plan.server = vec![2];
        after.load_generator.version = "5".into();
        after.entrants[1].sha256 = "12".repeat(32);
        let differences = between_runs(&before, &after);
        let what: Vec<_> = differences.iter().map(|d| d.what.as_str()).collect();
        assert_eq!(
            what,
            [
                "rounds",
                "load headers",
                "entrant epoll",
                "server's CPUs",
                "kernel",
                "load generator",
                "program of epoll"
            ]
        );
        let words = in_words(&differences);
        assert!(
            words.starts_with("rounds: 3 → 9; load headers: none → A: b; "),
            "{words}"
        );
    }
}
