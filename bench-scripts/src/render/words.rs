//! What the Markdown and the HTML report say in words.

use super::{rates, traces};
use crate::findings::Findings;
use crate::quantity;
use crate::record::{Advice, AdviceLevel, CpuPlan, Machine, Run};

/// A term and what is said of it.
pub(crate) type Entry = (String, String);

/// An invalid cell, for the tables that name them all.
pub(super) struct InvalidRow {
    pub(super) entrant: String,
    pub(super) connections: String,
    pub(super) round: String,
    pub(super) cell: String,
    pub(super) reasons: String,
}

/// An outlier, for the tables that name them all.
pub(super) struct OutlierRow {
    pub(super) entrant: String,
    pub(super) connections: String,
    pub(super) round: String,
    pub(super) cell: String,
    pub(super) cost: String,
}

/// A finding of preflight.
pub(crate) struct PreflightRow {
    pub(crate) level: &'static str,
    pub(crate) subject: String,
    pub(crate) found: String,
    pub(crate) advice: String,
}

pub(super) fn torn_last_line(file: &str) -> String {
    format!(
        "the last line of {file} was not written to its end, and is left out: the sweep was interrupted there"
    )
}

/// What was measured, in a sentence.
pub(super) fn headline(run: &Run) -> String {
    let matrix = &run.matrix;
    let counts = match matrix.connections.as_slice() {
        [] => "no connection count".to_owned(),
        [only] => format!("{} connections", quantity::whole(u64::from(*only))),
        [first, .., last] => format!(
            "{} connection counts from {} to {}",
            matrix.connections.len(),
            quantity::whole(u64::from(*first)),
            quantity::whole(u64::from(*last))
        ),
    };
    let rounds = quantity::rounds(matrix.rounds);
    let repeats = matrix
        .entrants
        .iter()
        .filter(|e| e.repeat_of.is_some())
        .count();
    let twice = if repeats > 0 {
        ", one of them twice,"
    } else {
        ""
    };
    format!(
        "{} entrants{twice} at {counts}, {rounds} of {} s per cell, on {}.",
        matrix.entrants.len() - repeats,
        matrix.duration_s,
        run.machine.cpu_model
    )
}

/// What a reader must know before the figures: cells that are missing, lines that were left out.
pub(super) fn remarks(findings: &Findings, torn: &[&str]) -> Vec<String> {
    let mut remarks = Vec::new();
    let cells = findings.cells;
    if cells.measured < cells.planned {
        remarks.push(format!(
            "The sweep is not complete: {} of {} cells were measured.",
            cells.measured, cells.planned
        ));
    }
    for file in torn {
        remarks.push(format!("Note: {}.", torn_last_line(file)));
    }
    if cells.valid < cells.measured {
        remarks.push(format!(
            "{} of {} measured cells are invalid: hollow in the figures, named below, and in no median.",
            cells.measured - cells.valid,
            cells.measured
        ));
    }
    if cells.attempts > cells.measured {
        remarks.push(format!(
            "{} attempts were invalid and measured again at once: each is hollow in the figures, and named below.",
            cells.attempts - cells.measured
        ));
    }
    remarks.extend(rates::remarks(findings));
    remarks
}

pub(super) fn invalid_rows(findings: &Findings) -> Vec<InvalidRow> {
    findings
        .invalid_cells()
        .map(|(label, point, cell)| {
            let reasons: Vec<String> = cell.reasons.iter().map(ToString::to_string).collect();
            InvalidRow {
                entrant: label.to_owned(),
                connections: quantity::whole(u64::from(point.connections)),
                round: (cell.block + 1).to_string(),
                cell: match cell.attempt {
                    1 => cell.index.to_string(),
                    attempt => format!("{}, attempt {attempt}", cell.index),
                },
                reasons: reasons.join("; "),
            }
        })
        .chain(rates::invalid_rows(findings))
        .collect()
}

pub(super) fn outlier_rows(findings: &Findings) -> Vec<OutlierRow> {
    let outliers = findings.outliers.iter();
    outliers
        .map(|outlier| OutlierRow {
            entrant: outlier.entrant.clone(),
            connections: quantity::whole(u64::from(outlier.connections_asked)),
            round: (outlier.block + 1).to_string(),
            cell: outlier.index.to_string(),
            cost: format!("{:.2}", outlier.cost_to_median),
        })
        .collect()
}

pub(crate) fn preflight_rows(preflight: &[Advice]) -> Vec<PreflightRow> {
    preflight
        .iter()
        .map(|advice| PreflightRow {
            level: match advice.level {
                AdviceLevel::Good => "good",
                AdviceLevel::Warning => "warning",
                AdviceLevel::Blocking => "blocking",
            },
            subject: advice.subject.clone(),
            found: advice.found.clone(),
            advice: advice.advice.clone(),
        })
        .collect()
}

/// The machine, its settings, and the programs.
pub(super) fn environment(run: &Run) -> Vec<Entry> {
    let mut entries = machine(&run.machine);
    let of_run = [
        ("CPU plan", cpu_plan(&run.cpu_plan)),
        ("load generator", load_generator(run)),
        ("toolchain", run.toolchain.clone()),
        ("rungs", run.rungs_version.clone()),
        ("Cargo.lock, SHA-256", run.cargo_lock_sha256.clone()),
    ];
    entries.extend(of_run.map(|(term, text)| (term.to_owned(), text)));
    if let Some(digest) = &run.image_digest {
        entries.push(("container image".to_owned(), digest.clone()));
    }
    if !run.resumed_at.is_empty() {
        entries.push((
            "cut short, and resumed at".to_owned(),
            run.resumed_at.join(", "),
        ));
    }
    entries
}

/// The machine and its settings.
pub(crate) fn machine(machine: &Machine) -> Vec<Entry> {
    let or_none = |value: &Option<String>, none: &str| value.clone().unwrap_or(none.to_owned());
    let entries = [
        ("processor", machine.cpu_model.clone()),
        ("CPUs allowed", cpu_list(&machine.cpus_allowed)),
        (
            "CPU quota",
            machine
                .cpu_quota
                .map_or("none".to_owned(), |quota| format!("{quota} CPUs")),
        ),
        ("threads of one core", siblings(&machine.smt_siblings)),
        ("governor", or_none(&machine.governor, "not told here")),
        ("kernel", machine.kernel.clone()),
        ("distribution", machine.os.clone()),
        ("clock source", machine.clock_source.clone()),
        (
            "virtualisation",
            or_none(&machine.virtualisation, "none found"),
        ),
        ("mitigations", or_none_joined(&machine.mitigations)),
        ("memory", quantity::bytes(machine.memory_bytes as f64)),
        (
            "open files, at most",
            quantity::whole(machine.open_files_limit),
        ),
        ("somaxconn", quantity::whole(machine.somaxconn)),
        (
            "local ports",
            format!("{} to {}", machine.local_ports.0, machine.local_ports.1),
        ),
    ];
    entries
        .map(|(term, text)| (term.to_owned(), text))
        .into_iter()
        .collect()
}

/// What was started for each entrant.
pub(super) fn programs(run: &Run) -> Vec<Entry> {
    let skipped = run.skipped.iter();
    let skipped = skipped.map(|s| (s.label.clone(), format!("skipped: {}", s.reason)));
    run.entrants
        .iter()
        .map(|binary| {
            let mut command = binary.command.clone();
            if !binary.foreign {
                name_only(&mut command);
            }
            let mut facts = vec![shell_line(&command)];
            if binary.foreign {
                facts.push("foreign: checked for status and length only".to_owned());
            }
            facts.extend(binary.build.iter().map(|build| format!("{build} build")));
            facts.extend(binary.allocator.clone());
            facts.extend(binary.flags.clone());
            facts.extend(binary.threads.map(threads));
            facts.push(format!("{} bytes per response", binary.response_bytes));
            facts.push(format!("SHA-256 {:.12}…", binary.sha256));
            (binary.label.clone(), facts.join(" · "))
        })
        .chain(skipped)
        .collect()
}

/// How it was measured, a paragraph each.
pub(super) fn method(run: &Run) -> Vec<String> {
    let mut paragraphs = method_of_cells(run);
    paragraphs.extend(rates::method(run));
    paragraphs.extend(traces::method(run));
    paragraphs
}

fn method_of_cells(run: &Run) -> Vec<String> {
    let matrix = &run.matrix;
    let pinned = if run.cpu_plan.pinned {
        "Server and load generator are pinned to separate CPUs, so that neither takes time from the other."
    } else {
        "Nothing is pinned: server and load generator share the CPUs, so each takes time from the other."
    };
    let turns = match matrix.load.pipeline {
        1 => "each of which waits for its answer before it asks again (a closed loop)".to_owned(),
        depth => format!(
            "each of which sends {depth} requests at once and waits for all their answers before it sends more (a closed loop, pipelined)"
        ),
    };
    vec![
        format!(
            "Every cell starts a fresh server process, checks its bytes, warms it up for {} s, and then loads it for {} s \
             with {}: so many kept-alive connections, {turns}. {pinned}",
            matrix.warmup_s, matrix.duration_s, run.load_generator.name
        ),
        format!(
            "The cells of one round form a block, in random order (seed {}), and every block holds the null rung: it answers \
             without reading HTTP, so it shows what the load generator and the kernel alone can do. Ratios are taken inside a \
             block first, and summarised over blocks afterwards; that cancels slow changes of the machine. Where an entrant is there \
             twice, how far it lies from itself is the noise floor.",
            run.seed
        ),
        "Intervals are 95% intervals of Student's t, of logarithms over blocks, with variances drawn towards what is typical of \
         the run (Smyth, 2004). All pairs of entrants are compared at each connection count; Holm's procedure (1979) keeps the chance of \
         one false difference or more in a whole run at 5%, and a difference below the noise floor is a tie."
            .to_owned(),
        "Cost is CPU time from the scheduler's own accounts, between two moments inside the load, over the requests that the \
         server counted in between; accepting the connections is not part of it. The rate is the load generator's count over \
         its own time."
            .to_owned(),
        "A cell is invalid, and enters no figure, if a single request failed, connections were missing, bytes or counts do not \
         fit, the server died, the window was cut short, or the machine took CPU time away."
            .to_owned(),
    ]
}

/// The terms of the report.
pub(super) fn definitions(run: &Run) -> Vec<Entry> {
    [
        ("rung", "one server implementation, as a level of abstraction above the kernel"),
        ("entrant", "a rung, or another server, as it was entered: program, flags, label"),
        ("cell", "one entrant at one connection count in one round: one load run, one record"),
        ("block", "every cell of one round, in a random order, the null rung included"),
        ("null", "the control: answers without reading HTTP. The floor of cost, not a contestant"),
        ("ceiling", "what the load generator reaches against null in this very sweep"),
        (
            "cost",
            "CPU time of the server per request, in user space and in the kernel, µs, corrected for the machine: for the distance of \
             the two sides' CPUs where that changed, and for drift, times null's median cost, over null's cost in the same block. As \
             measured it is in cells.csv",
        ),
        (
            "95% interval",
            "Student's t over blocks, of logarithms, with variances drawn towards what is typical of the run; docs/method.md \
             says how, and why",
        ),
        (
            "distance of CPUs",
            "what a cache line takes from the server's CPU to the load generator's and back, measured just before and after each \
             load. CPUs of a virtual machine may share a cache at one time and not at another",
        ),
        (
            "noise floor",
            "the same server entered twice (A/A): the largest difference that the 95% interval of their ratio allows, over all \
             blocks and connection counts. Smaller differences are ties",
        ),
        (
            "tie",
            "not proven to differ: entrants that share a letter. In a whole run the chance of one false difference or more is 5%",
        ),
        (
            "bound by",
            "client: its CPUs are full, or the rate is at least 90% of null's: such a rate is the load generator's, and ranks \
             nothing. server: its CPUs are full. quota: the control group's. noise: not told. neither: both sides waited",
        ),
        (
            "knee",
            "where a curve is proven to turn for the worse: a power law before it, a steeper one after it",
        ),
        (
            "waiting",
            "CPU time that a side could use and did not: its CPUs were idle, or taken by other processes or the hypervisor",
        ),
        (
            "beyond null",
            "what was added to an entrant's time less what was added to null's, at the same counts in the same rounds: the entrant's own part",
        ),
        (
            "latency as wrk corrects it",
            "wrk adds samples that it did not measure for requests that a slow answer held back (coordinated omission), before \
             anybody sees its percentiles",
        ),
    ]
    .into_iter()
    .map(|(term, text)| (term.to_owned(), text.to_owned()))
    .chain(rates::definitions(run))
    .collect()
}

/// The command that measures the same cells in the same order again.
pub(super) fn reproduction(run: &Run) -> String {
    let mut words = again(&run.command_line);
    let seeded = words
        .iter()
        .any(|w| w == "--seed" || w.starts_with("--seed="));
    if !seeded {
        words.push("--seed".to_owned());
        words.push(run.seed.to_string());
    }
    shell_line(&words)
}

/// A command line without what only its first time had: the program's folder, and the run's directory, which is written once.
pub(crate) fn again(command_line: &[String]) -> Vec<String> {
    let mut words = Vec::new();
    let mut given = command_line.iter();
    while let Some(word) = given.next() {
        if word == "--out" {
            given.next();
        } else if !word.starts_with("--out=") {
            words.push(word.clone());
        }
    }
    name_only(&mut words);
    words
}

/// Cuts the folder off the program: where somebody keeps our programs concerns no reader, and its hash says which it was.
fn name_only(command: &mut [String]) {
    if let Some(program) = command.first_mut()
        && let Some((_, name)) = program.rsplit_once('/')
    {
        *program = name.to_owned();
    }
}

fn load_generator(run: &Run) -> String {
    let generator = &run.load_generator;
    format!(
        "{} {}, {}: {}",
        generator.name,
        generator.version,
        threads(generator.threads),
        shell_line(&generator.command)
    )
}

fn threads(count: u32) -> String {
    match count {
        1 => "1 thread".to_owned(),
        count => format!("{count} threads"),
    }
}

fn cpu_plan(plan: &CpuPlan) -> String {
    format!(
        "server on {}, client on {} ({})",
        cpu_list(&plan.server),
        cpu_list(&plan.client),
        plan.why
    )
}

fn siblings(groups: &[Vec<u32>]) -> String {
    if groups.is_empty() {
        return "none".to_owned();
    }
    let groups: Vec<String> = groups.iter().map(|group| cpu_list(group)).collect();
    groups.join("; ")
}

fn or_none_joined(values: &[String]) -> String {
    if values.is_empty() {
        "not told here".to_owned()
    } else {
        values.join("; ")
    }
}

/// CPUs as the kernel writes a list: `0-3,8`.
fn cpu_list(cpus: &[u32]) -> String {
    let mut sorted = cpus.to_vec();
    sorted.sort_unstable();
    let ranges = sorted.chunk_by(|a, b| a + 1 == *b);
    let ranges: Vec<String> = ranges
        .map(|range| match range {
            [one] => one.to_string(),
            [first, .., last] => format!("{first}-{last}"),
            [] => String::new(),
        })
        .collect();
    format!("CPU {}", ranges.join(","))
}

/// Words as one types them into a shell. (No argument of a process holds the NUL that cannot be quoted.)
pub(crate) fn shell_line(words: &[String]) -> String {
    shlex::try_join(words.iter().map(String::as_str)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpus_are_listed_as_the_kernel_does() {
        assert_eq!(cpu_list(&[3, 0, 1, 2, 8]), "CPU 0-3,8");
        assert_eq!(cpu_list(&[1]), "CPU 1");
    }
}
