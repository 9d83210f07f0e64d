//! Whole sweeps of real rungs under a real wrk.

mod common;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Child, Stdio};

use common::{children, eventually, is_running, run, rungs};
use rungs::plan::rates;
use rungs::record::{Cell, Reason, Run};
use rungs::report::{self, Record};
use rustix::process::{Pid, Signal, kill_process};

fn record(out: &Path) -> Run {
    serde_json::from_str(&fs::read_to_string(out.join("run.json")).unwrap()).unwrap()
}

fn cells(out: &Path) -> Vec<Cell> {
    let text = fs::read_to_string(out.join("cells.jsonl")).unwrap_or_default();
    let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
    whole
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn start(args: &[&str]) -> Child {
    let mut command = rungs();
    command.args(["sweep", "--no-trace"]).args(args);
    command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn signal(pid: u32, signal: Signal) {
    kill_process(Pid::from_raw(pid.try_into().unwrap()).unwrap(), signal).unwrap();
}

#[test]
fn the_smoke_matrix_is_measured_and_every_cell_is_valid() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("run");
    let (code, stdout, stderr) = run(&[
        "sweep",
        "--matrix",
        "smoke",
        "--no-trace",
        "--out",
        out.to_str().unwrap(),
    ]);
    assert_eq!(code, Some(0), "{stderr}");
    assert!(stdout.contains("report.html"), "{stdout}");
    for file in [
        "run.json",
        "cells.jsonl",
        "findings.json",
        "cells.csv",
        "report.md",
        "report.html",
        "requests-per-minute.svg",
        "requests-per-minute.png",
        "cost-per-request.svg",
        "cost-per-request.png",
        "latency.svg",
        "latency.png",
        "rates.jsonl",
        "rates.csv",
        "latency-at-fixed-rates.svg",
        "latency-at-fixed-rates.png",
    ] {
        let length = fs::metadata(out.join(file)).map_or(0, |file| file.len());
        assert!(length > 0, "{file} is missing or empty");
    }
    let (run, cells) = (record(&out), cells(&out));
    assert_eq!(run.order.len(), 7);
    assert!(
        run.entrants
            .iter()
            .all(|entrant| entrant.response_bytes == run.entrants[0].response_bytes)
    );
    let planned: Vec<_> = cells.iter().map(|cell| cell.planned.clone()).collect();
    assert_eq!(planned, run.order);
    for cell in &cells {
        assert!(
            cell.is_valid(),
            "{}: {:?}",
            cell.planned.entrant,
            cell.reasons()
        );
        let server = cell.server.as_ref().unwrap();
        assert_eq!(server.established, 8);
        assert!(server.usage.cpu_us > 0 && server.usage.rss_bytes > 0);
        assert!(cell.client.as_ref().unwrap().cpu_us > 0);
        assert!(cell.cost().unwrap().total_us() > 0.0);
        assert!(
            cell.load
                .as_ref()
                .unwrap()
                .raw
                .contains("Latency Distribution")
        );
    }
    every_fixed_rate_is_measured(&out);
}

/// At one share: five contestants at their own capacity, four and the control at the slowest one's. Whether this machine holds
/// a rate is its own affair.
fn every_fixed_rate_is_measured(out: &Path) {
    let Record {
        run, cells, paced, ..
    } = report::read(out).unwrap();
    let plan = rates::plan(&run, &cells).unwrap().cells;
    assert_eq!(plan.len(), 10);
    let planned: Vec<_> = paced.iter().map(|cell| cell.planned.clone()).collect();
    assert_eq!(planned, plan);
    for cell in &paced {
        let reasons = cell.validity.reasons();
        // A generator that gets no CPU for the whole window has no answers either.
        let of_machine = |reason: &Reason| {
            matches!(
                reason,
                Reason::RateNotHeld { .. } | Reason::NoRequests | Reason::Steal { .. }
            )
        };
        assert!(reasons.iter().all(of_machine), "{reasons:?}");
        let load = cell.load.as_ref().unwrap();
        assert_eq!(load.rate, cell.planned.rate_per_s);
        assert_eq!(load.cpus, run.cpu_plan.client);
        assert_eq!(load.latency.p50_us > 0.0, load.requests.answered > 0);
        assert_eq!(cell.server.as_ref().unwrap().established, 8);
    }
}

#[test]
fn latency_can_be_left_out() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("run");
    let out_arg = out.to_str().unwrap();
    let args = ["--matrix", "smoke", "--entrants", "epoll", "--no-latency"];
    let (code, _, stderr) = run(&[&["sweep", "--out", out_arg][..], &args].concat());
    assert_eq!(code, Some(0), "{stderr}");
    assert!(!stderr.contains("fixed rates"), "{stderr}");
    assert_eq!(record(&out).matrix.latency, None);
    assert!(!out.join(report::RATES_FILE).exists());
}

#[test]
fn a_killed_server_makes_its_cell_invalid_and_the_sweep_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("run");
    let mut sweep = start(&[
        "--matrix",
        "smoke",
        "--entrants",
        "epoll",
        "--out",
        out.to_str().unwrap(),
    ]);
    // Cells begin once run.json is there. With wrk beside it, the server is under load.
    let server = eventually("an epoll rung under load", || {
        let children = children(sweep.id());
        let named = |name: &str| {
            children
                .iter()
                .find(|(_, child)| child == name)
                .map(|(pid, _)| *pid)
        };
        named("wrk").filter(|_| out.join("run.json").exists())?;
        named("rung-epoll")
    });
    signal(server, Signal::KILL);
    assert_eq!(sweep.wait().unwrap().code(), Some(0));
    let cells = cells(&out);
    assert_eq!(cells.len(), 3, "null, epoll, and epoll again");
    let reasons: Vec<_> = cells.iter().flat_map(Cell::reasons).collect();
    assert!(
        matches!(reasons[..], [Reason::ServerDied { detail }] if detail.contains("SIGKILL")),
        "{reasons:?}"
    );
}

#[test]
fn ctrl_c_keeps_what_was_measured_and_leaves_no_process() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("run");
    let sweep = start(&[
        "--matrix",
        "smoke",
        "--rounds",
        "9",
        "--out",
        out.to_str().unwrap(),
    ]);
    let started = eventually("a child after the first cell", || {
        let children = children(sweep.id());
        (!cells(&out).is_empty() && !children.is_empty()).then_some(children)
    });
    signal(sweep.id(), Signal::INT);
    let output = sweep.wait_with_output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(130), "{stderr}");
    assert!(
        stderr.contains(&format!("rungs report {}", out.display())),
        "{stderr}"
    );
    let is_measured = |(_, name): &(u32, String)| name != "rungs";
    let (measured, guardian): (Vec<_>, Vec<_>) = started.into_iter().partition(is_measured);
    assert!(
        measured.iter().all(|(pid, _)| !is_running(*pid)),
        "{measured:?}"
    );
    // It notices our end, and so comes after it.
    await_end(guardian);
    assert!(!cells(&out).is_empty() && cells(&out).len() < 45);
    assert!(out.join("report.html").exists());
}

#[test]
fn a_killed_sweep_takes_its_children_along() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("run");
    let mut sweep = start(&["--matrix", "smoke", "--out", out.to_str().unwrap()]);
    let started = eventually("a server, its load, and their guardian", || {
        let children = children(sweep.id());
        let names: BTreeSet<_> = children.iter().map(|(_, name)| name.clone()).collect();
        (names.contains("wrk") && names.len() == 3).then_some(children)
    });
    sweep.kill().unwrap();
    sweep.wait().unwrap();
    await_end(started);
}

fn await_end(processes: Vec<(u32, String)>) {
    for (pid, name) in processes {
        eventually(&format!("the end of {name}"), || {
            (!is_running(pid)).then_some(())
        });
    }
}

#[test]
fn a_killed_sweep_takes_the_children_of_its_children_along() {
    let dir = tempfile::tempdir().unwrap();
    let (matrix, out) = (dir.path().join("m.toml"), dir.path().join("run"));
    fs::write(&matrix, foreign_matrix()).unwrap();
    let mut sweep = start(&[
        "--matrix",
        matrix.to_str().unwrap(),
        "--out",
        out.to_str().unwrap(),
    ]);
    let started = eventually("a server behind a shell", || {
        let children_of_sweep = children(sweep.id());
        let shell = children_of_sweep.iter().find(|(_, name)| name == "sh")?.0;
        let behind = children(shell);
        (!behind.is_empty()).then_some([children_of_sweep, behind].concat())
    });
    sweep.kill().unwrap();
    sweep.wait().unwrap();
    await_end(started);
}

/// A rung that is entered as if it were somebody else's server, with a shell as its leader.
fn foreign_matrix() -> String {
    format!(
        "name = \"m\"\nabout = \"a test\"\nconnections = [4]\nrounds = 1\nwarmup = \"1s\"\nduration = \"1s\"\n\
         [[entrant]]\nlabel = \"other\"\nbody_bytes = 83\n\
         command = \"sh -c '{} --listen {{addr}} --threads {{threads}}; exit 7'\"\n",
        common::rung("mio").display()
    )
}

#[test]
fn a_foreign_server_is_measured_and_marked() {
    let dir = tempfile::tempdir().unwrap();
    let (matrix, out) = (dir.path().join("m.toml"), dir.path().join("run"));
    fs::write(&matrix, foreign_matrix()).unwrap();
    let args = [
        "sweep",
        "--matrix",
        matrix.to_str().unwrap(),
        "--out",
        out.to_str().unwrap(),
    ];
    let (code, _, stderr) = run(&args);
    assert_eq!(code, Some(0), "{stderr}");
    let other = record(&out)
        .entrants
        .into_iter()
        .find(|entrant| entrant.label == "other")
        .unwrap();
    assert!(other.foreign && other.build.is_none());
    let cells = cells(&out);
    let cell = cells
        .iter()
        .find(|cell| cell.planned.entrant == "other")
        .unwrap();
    assert!(cell.is_valid(), "{:?}", cell.reasons());
    let server = cell.server.as_ref().unwrap();
    assert_eq!((server.established, &server.workers), (4, &None));
    // The CPU time is that of the shell's child: of the whole group.
    assert!(server.usage.cpu_us > 10_000 && server.usage.threads >= 2);
}
