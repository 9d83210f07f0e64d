//! The traced pass: whole ones under the real tools, and what becomes of it without them. Then the reports of made traces.

mod common;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use common::made::{copy_with_traces, name_hostile, rendered};
use common::{children, eventually, fake, finish, is_running, on_path, rungs};
use rungs::record::trace::{Absence, CountedBy, Trace, Traced};
use rungs::report::{self, render};
use tempfile::TempDir;

/// A folder, and the run that a sweep writes into it.
struct Sweep {
    dir: TempDir,
    out: PathBuf,
}

impl Sweep {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().join("run");
        Self { dir, out }
    }

    /// The smoke matrix with these entrants besides the control: a cell of each, and a trace of each.
    fn of(&self, entrants: &str) -> Command {
        self.matrix("smoke", entrants)
    }

    fn matrix(&self, matrix: &str, entrants: &str) -> Command {
        let mut command = rungs();
        command.args(["sweep", "--matrix", matrix, "--entrants", entrants]);
        command.arg("--out").arg(&self.out);
        command
    }

    fn start(&self, entrants: &str) -> Child {
        let mut command = self.of(entrants);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().unwrap()
    }

    /// Runs it to its end; gives its traces.
    fn finish(&self, command: &mut Command) -> Vec<Trace> {
        let (code, _, stderr) = finish(command);
        assert_eq!(code, Some(0), "{stderr}");
        report::read(&self.out).unwrap().traces
    }

    fn report(&self) -> String {
        fs::read_to_string(self.out.join("report.md")).unwrap()
    }
}

fn absence<T>(traced: &Option<Traced<T>>) -> &Absence {
    match traced {
        Some(Traced::Absent(absence)) => absence,
        Some(Traced::Counted(_)) => panic!("it was counted"),
        None => panic!("it did not get so far"),
    }
}

/// Calls per request, by name; none where strace may not work here.
fn calls_per_request(trace: &Trace) -> Option<BTreeMap<&str, f64>> {
    assert_eq!(trace.reasons(), []);
    match trace.system_calls.as_ref().unwrap() {
        Traced::Absent(_) => None,
        Traced::Counted(calls) => {
            let per_request = |n: u64| n as f64 / calls.window.requests as f64;
            let by_name = calls.by_name.iter();
            Some(
                by_name
                    .map(|call| (call.name.as_str(), per_request(call.calls)))
                    .collect(),
            )
        }
    }
}

#[test]
fn every_entrant_is_traced_and_reported() {
    let sweep = Sweep::new();
    let traces = sweep.finish(&mut sweep.of("epoll"));
    let entrants: Vec<_> = traces.iter().map(|t| t.planned.entrant.as_str()).collect();
    assert_eq!(entrants, ["null", "epoll"], "and none a second time");
    for trace in &traces {
        if let Some(calls) = calls_per_request(trace) {
            // A request is read once and answered once, by whichever call.
            let sum =
                |names: [&str; 3]| -> f64 { names.iter().filter_map(|name| calls.get(name)).sum() };
            let (reads, writes) = (
                sum(["recvfrom", "read", "readv"]),
                sum(["sendto", "write", "writev"]),
            );
            assert!((0.9..2.5).contains(&reads), "{calls:?}");
            assert!((0.9..1.1).contains(&writes), "{calls:?}");
            assert!(calls["epoll_wait"] < 1.5, "{calls:?}");
        }
        if let Some(Traced::Counted(counters)) = &trace.counters {
            assert_eq!(counters.events.len(), 9);
            assert!(counters.window.requests > 0 && counters.window.usage.cpu_us > 0);
        }
    }
    let report = sweep.report();
    assert!(report.contains("## System calls per request (traced apart)"));
    let (_, method) = report.split_once("## Method").unwrap();
    assert!(method.contains("under strace"), "{method}");
    let csv = fs::read_to_string(sweep.out.join("traces.csv")).unwrap();
    assert!(csv.lines().count() > 2, "{csv}");
}

#[test]
fn a_foreign_servers_processes_are_traced_together_and_its_requests_counted_by_the_client() {
    let sweep = Sweep::new();
    let matrix = sweep.dir.path().join("m.toml");
    let server = common::rung("mio");
    let text = format!(
        "name = \"m\"\nabout = \"a test\"\nconnections = [4]\nrounds = 1\nwarmup = \"0s\"\nduration = \"1s\"\n\
         [trace]\nconnections = 4\nduration = \"1s\"\n[[entrant]]\nlabel = \"other\"\nbody_bytes = 83\n\
         command = \"sh -c '{} --listen {{addr}}; exit 7'\"\n",
        server.display()
    );
    fs::write(&matrix, text).unwrap();
    let traces = sweep.finish(&mut sweep.matrix(matrix.to_str().unwrap(), "other"));
    let other = &traces[1];
    assert_eq!(other.planned.entrant, "other");
    let Some(calls) = calls_per_request(other) else {
        return;
    };
    let Some(Traced::Counted(counted)) = &other.system_calls else {
        panic!("it was counted above");
    };
    assert_eq!(counted.window.counted_by, CountedBy::Client);
    assert_eq!(counted.window.wakeups, None);
    let answers = calls.get("sendto").or(calls.get("writev")).unwrap();
    assert!((0.9..1.1).contains(answers), "{calls:?}");
    let report = sweep.report();
    assert!(report.contains("The requests of other are counted by the load generator."));
}

#[test]
fn tools_that_are_missing_are_named_with_what_to_do() {
    let sweep = Sweep::new();
    for tool in ["wrk", "sleep"] {
        symlink(on_path(tool), sweep.dir.path().join(tool)).unwrap();
    }
    let traces = sweep.finish(sweep.of("null").env("PATH", sweep.dir.path()));
    let strace = absence(&traces[0].system_calls);
    assert_eq!(strace.what, "strace is not installed");
    assert_eq!(strace.remedy, "`apt-get install strace`");
    assert_eq!(absence(&traces[0].counters).what, "perf is not installed");
    assert_eq!(traces[0].reasons(), []);
    let report = sweep.report();
    assert!(
        report.contains("strace is not installed; `apt-get install strace`."),
        "{report}"
    );
    assert!(
        report.contains("| warning | counters | perf is not installed"),
        "{report}"
    );
}

#[test]
fn tools_that_may_not_or_do_not_work_are_named_and_the_sweep_goes_on() {
    let sweep = Sweep::new();
    let folder = sweep.dir.path();
    fake(
        folder,
        "strace",
        "echo 'strace: attach: ptrace(PTRACE_SEIZE, 7): Operation not permitted' >&2; exit 1",
    );
    let path: OsString = fake(folder, "perf", "exec sleep 60");
    let traces = sweep.finish(sweep.of("null").env("PATH", path));
    let strace = absence(&traces[0].system_calls);
    assert!(strace.what.contains("not allowed to trace"), "{strace:?}");
    assert!(strace.remedy.contains("ptrace_scope"), "{strace:?}");
    let perf = absence(&traces[0].counters);
    assert_eq!(perf.what, "perf did not attach in time");
    assert!(perf.remedy.contains("lengthen `duration`"), "{perf:?}");
    assert_eq!(traces[0].reasons(), []);
}

#[test]
fn a_sweep_killed_while_it_traces_goes_on_with_the_traces_that_are_left() {
    let sweep = Sweep::new();
    let mut child = sweep.start("epoll");
    let path = sweep.out.join(report::TRACES_FILE);
    eventually("the first trace", || {
        (fs::read_to_string(&path).ok()?.lines().count() >= 1).then_some(())
    });
    child.kill().unwrap();
    child.wait().unwrap();
    let before = report::read(&sweep.out).unwrap();
    assert_eq!(before.traces.len(), 1);
    // What a crash in the middle of a line leaves.
    fs::write(&path, fs::read_to_string(&path).unwrap() + "{\"planned\"").unwrap();
    assert_eq!(
        report::read(&sweep.out).unwrap().torn,
        [report::TRACES_FILE]
    );

    let mut resume = rungs();
    resume.args(["sweep", "--resume"]).arg(&sweep.out);
    let traces = sweep.finish(&mut resume);
    let indices: Vec<_> = traces.iter().map(|t| t.planned.index).collect();
    assert_eq!(indices, [0, 1]);
    assert_eq!(traces[0], before.traces[0]);
    let (_, _, stderr) = finish(&mut resume);
    assert!(stderr.contains("is complete: nothing is left"), "{stderr}");
}

/// Kills a sweep that has a child of this name; nothing that it started is left.
fn kill_beside(child_name: &str, command: &mut Command) {
    let mut sweep = command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let started = eventually(child_name, || {
        let children = children(sweep.id());
        let has = |name: &str| children.iter().any(|(_, child)| child == name);
        // With wrk beside it, it is no longer preflight that tries the tool.
        (has(child_name) && has("wrk")).then_some(children)
    });
    sweep.kill().unwrap();
    sweep.wait().unwrap();
    for (pid, name) in started {
        eventually(&format!("the end of {name}"), || {
            (!is_running(pid)).then_some(())
        });
    }
}

#[test]
fn a_killed_sweep_takes_strace_along() {
    let sweep = Sweep::new();
    kill_beside("strace", &mut sweep.of("null"));
}

#[test]
fn a_killed_sweep_takes_a_perf_along_that_does_not_want_to_end() {
    let sweep = Sweep::new();
    let deaf = "trap '' INT TERM; while :; do sleep 0.1; done";
    let path = fake(sweep.dir.path(), "perf", deaf);
    kill_beside("perf", sweep.of("null").env("PATH", path));
}

#[test]
fn made_traces_are_rendered_as_reviewed() {
    let dir = copy_with_traces();
    let rendering = render(dir.path()).unwrap();
    let report = rendered(&dir, "report.md");
    let begin = report.find("## System calls").unwrap();
    let end = begin + report[begin..].find("## Invalid cells").unwrap();
    insta::assert_snapshot!("report.md", &report[begin..end]);
    insta::assert_snapshot!("traces.csv", rendered(&dir, "traces.csv"));
    let findings = serde_json::to_string_pretty(&rendering.findings.traces[2..4]).unwrap();
    insta::assert_snapshot!("findings", findings);
    let page = rendered(&dir, "report.html");
    assert!(page.contains("System calls per request (traced apart)</h2>"));
    assert!(page.contains("Not traced: hyper at 1,000 connections (the server died"));
}

#[test]
fn a_label_cannot_break_out_of_a_column() {
    let dir = copy_with_traces();
    name_hostile(&dir, "</script><img src=x>|`&");
    render(dir.path()).unwrap();
    for name in ["report.html", "report.md"] {
        let text = rendered(&dir, name);
        assert!(
            text.contains("traced apart") && !text.contains("<img src=x>"),
            "{name}"
        );
    }
}

#[test]
fn a_damaged_trace_is_named_with_its_line() {
    let dir = copy_with_traces();
    let path = dir.path().join(report::TRACES_FILE);
    let text = fs::read_to_string(&path).unwrap();
    let error = |text: String| {
        fs::write(&path, text).unwrap();
        format!("{:#}", report::read(dir.path()).unwrap_err())
    };
    let twice = error(format!("{text}{}\n", text.lines().next().unwrap()));
    assert!(
        twice.contains("traces.jsonl:11: trace 0 is there a second time"),
        "{twice}"
    );
    let unknown = error(text.replacen("\"null\"", "\"nginx\"", 1));
    assert!(
        unknown.contains("traces.jsonl:1: the entrant `nginx` is not in"),
        "{unknown}"
    );
    let damaged = error(text.replacen("\"planned\"", "\"plan\"", 1));
    assert!(
        damaged.contains("traces.jsonl:1: not the record of a trace"),
        "{damaged}"
    );
}
