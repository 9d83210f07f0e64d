//! `rungs primitives`: rehearsals, whose values mean nothing and which any build may run.

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use common::{children, eventually, finish, is_running};
use rungs::primitives::record::{self, Record};
use rungs_primitives::plan::Purpose;
use rungs_primitives::row::Outcome;
use rustix::process::{Pid, Signal, kill_process};

/// A sweep that was made up.
const SWEEP: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/made");

fn rungs(dir: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rungs"));
    command.current_dir(dir).args(args);
    command
}

fn rehearse(dir: &Path, args: &[&str]) -> Command {
    let mut command = rungs(dir, &["primitives", "--rehearse"]);
    command.args(args);
    command
}

fn read(dir: &Path) -> Record {
    record::read(dir).unwrap()
}

/// The files of a directory with their contents.
fn files(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(dir).unwrap().flatten();
    entries
        .map(|entry| {
            let name = entry.file_name().into_string().unwrap();
            (name, fs::read(entry.path()).unwrap())
        })
        .collect()
}

#[test]
fn a_run_is_complete_and_its_report_can_be_made_again() {
    let dir = tempfile::tempdir().unwrap();
    let (code, stdout, stderr) = finish(&mut rehearse(dir.path(), &["messages", "spawn"]));
    assert_eq!(code, Some(0), "{stderr}");
    assert!(stdout.contains("report: "), "{stdout}");
    assert!(stderr.contains("the ladder has no servers"), "{stderr}");
    let results = dir.path().join("results");
    assert!(!results.join("latest").exists());
    let out = results.join("latest-primitives");
    let name = fs::read_link(&out).unwrap();
    assert!(name.to_str().unwrap().ends_with("-primitives"), "{name:?}");

    let Record {
        run, rows, claims, ..
    } = read(&out);
    assert_eq!((run.purpose, run.rows), (Purpose::Rehearse, rows.len()));
    assert_eq!(claims.len(), 4);
    let failed = |outcome: &Outcome| matches!(outcome, Outcome::Failed(_));
    assert!(!rows.iter().any(|row| failed(&row.outcome)), "{rows:?}");
    let by_zmq = rows
        .iter()
        .filter(|row| row.mechanism.starts_with("ZeroMQ"));
    assert!(by_zmq.clone().count() > 0);
    for row in by_zmq {
        assert!(matches!(row.outcome, Outcome::Value(_)), "{row:?}");
    }

    let first = files(&out);
    assert!(first.contains_key("report.html") && first.contains_key("report.md"));
    let measured = ["run.json", "rows.jsonl", "claims.json"];
    for name in first
        .keys()
        .filter(|name| !measured.contains(&name.as_str()))
    {
        fs::remove_file(out.join(name)).unwrap();
    }
    let report = ["report", out.to_str().unwrap()];
    assert_eq!(finish(&mut rungs(dir.path(), &report)).0, Some(0));
    assert_eq!(files(&out), first);

    servers_can_be_added_later(dir.path(), &out);
}

fn servers_can_be_added_later(dir: &Path, out: &Path) {
    let out_name = out.to_str().unwrap();
    let report = ["report", out_name, "--sweep", SWEEP];
    let (code, _, stderr) = finish(&mut rungs(dir, &report));
    assert_eq!(code, Some(0), "{stderr}");
    let servers = read(out).servers.unwrap();
    assert_eq!(servers.sweep, "made");
    assert!(servers.costs.iter().any(|cost| cost.label == "null"));
    assert!(servers.costs.iter().all(|cost| cost.cost_us > 0.0));
    // And what is no sweep changes nothing.
    for sweep in [out_name, "nowhere"] {
        let (code, _, stderr) = finish(&mut rungs(dir, &["report", out_name, "--sweep", sweep]));
        assert_eq!(code, Some(1));
        assert!(stderr.contains("`rungs sweep`"), "{stderr}");
        assert_eq!(read(out).servers.as_ref(), Some(&servers));
    }
}

#[test]
fn a_sweep_that_is_none_is_refused_before_anything_is_measured() {
    let dir = tempfile::tempdir().unwrap();
    let args = ["wakeups", "--sweep", "nowhere", "--out", "run"];
    let (code, _, stderr) = finish(&mut rehearse(dir.path(), &args));
    assert_eq!(code, Some(1));
    assert!(
        stderr.contains("nowhere/run.json") && stderr.contains("`rungs sweep`"),
        "{stderr}"
    );
    assert!(!dir.path().join("run").exists());
}

#[test]
fn a_row_that_fails_fails_the_run_and_is_in_the_report() {
    let dir = tempfile::tempdir().unwrap();
    let mut command = rehearse(dir.path(), &["spawn", "--out", "run"]);
    let (code, _, stderr) = finish(command.env("TMPDIR", dir.path().join("nowhere")));
    assert_eq!(code, Some(1), "{stderr}");
    assert!(stderr.contains("FAILED: "), "{stderr}");
    let out = dir.path().join("run");
    assert_eq!(read(&out).rows.len(), read(&out).run.rows);
    let report = fs::read_to_string(out.join("report.md")).unwrap();
    assert!(report.contains("FAILED"), "{report}");
}

#[test]
fn two_at_once_do_not_collide() {
    let dir = tempfile::tempdir().unwrap();
    let run = |out| {
        let mut command = rehearse(dir.path(), &["latency", "--out", out]);
        let command = command.stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().unwrap()
    };
    let mut runs = ["a", "b"].map(run);
    for run in &mut runs {
        assert_eq!(run.wait().unwrap().code(), Some(0));
    }
}

/// A run of which a group takes seconds, and all of it minutes.
fn begin(dir: &Path, family: &str) -> Child {
    let args = [family, "--repetitions", "10", "--out", "run"];
    let mut command = rehearse(dir, &args);
    let run = command.stdout(Stdio::null()).stderr(Stdio::null());
    run.spawn().unwrap()
}

fn signal(run: &Child, signal: Signal) {
    let pid = Pid::from_raw(run.id().try_into().unwrap()).unwrap();
    kill_process(pid, signal).unwrap();
}

fn first_rows(dir: &Path) {
    eventually("a row", || {
        let rows = fs::metadata(dir.join("run/rows.jsonl")).ok()?;
        (rows.len() > 0).then_some(())
    });
}

#[test]
fn an_interrupted_run_keeps_its_rows_and_a_killed_one_leaves_nothing_behind() {
    let dir = tempfile::tempdir().unwrap();
    let mut run = begin(dir.path(), "threads");
    first_rows(dir.path());
    let some = eventually("children", || {
        Some(children(run.id())).filter(|some| !some.is_empty())
    });
    signal(&run, Signal::INT);
    assert_eq!(run.wait().unwrap().code(), Some(130));
    assert!(some.iter().all(|(pid, _)| !is_running(*pid)));
    let record = read(&dir.path().join("run"));
    assert!(!record.rows.is_empty() && record.rows.len() < record.run.rows);
    assert!(dir.path().join("run/report.html").exists());

    let dir = tempfile::tempdir().unwrap();
    let mut run = begin(dir.path(), "threads");
    first_rows(dir.path());
    let some = eventually("children", || {
        Some(children(run.id())).filter(|some| !some.is_empty())
    });
    signal(&run, Signal::KILL);
    run.wait().unwrap();
    for (pid, _) in some {
        eventually("its end", || (!is_running(pid)).then_some(()));
    }
    // A kill in the middle of a line.
    let rows = fs::OpenOptions::new()
        .append(true)
        .open(dir.path().join("run/rows.jsonl"));
    std::io::Write::write_all(&mut rows.unwrap(), b"{\"family\":\"thr").unwrap();
    let (code, _, stderr) = finish(&mut rungs(dir.path(), &["report", "run"]));
    assert_eq!(code, Some(0), "{stderr}");
    assert!(stderr.contains("not written to its end"), "{stderr}");
}

#[test]
fn a_run_that_is_interrupted_before_its_first_row_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let mut run = begin(dir.path(), "latency");
    eventually("children", || {
        (!children(run.id()).is_empty()).then_some(())
    });
    signal(&run, Signal::INT);
    assert_eq!(run.wait().unwrap().code(), Some(130));
    assert!(!dir.path().join("run").exists());
}

#[test]
#[cfg(debug_assertions)]
fn a_debug_build_refuses_to_measure() {
    let dir = tempfile::tempdir().unwrap();
    let args = ["primitives", "wakeups", "--out", "run"];
    let (code, _, stderr) = finish(&mut rungs(dir.path(), &args));
    assert_eq!(code, Some(1));
    assert!(stderr.contains("cargo build --release"), "{stderr}");
    assert!(!dir.path().join("run").exists());
}

#[test]
fn families_are_told_apart_from_words() {
    let dir = tempfile::tempdir().unwrap();
    let (code, _, stderr) = finish(&mut rehearse(dir.path(), &["doors"]));
    assert_eq!(code, Some(2));
    for family in ["latency", "bandwidth", "wakeups", "all"] {
        assert!(stderr.contains(family), "{stderr}");
    }
}

#[test]
fn commands_on_sweeps_refuse_a_run_of_primitives() {
    let dir = tempfile::tempdir().unwrap();
    let run = dir.path().join("run");
    fs::create_dir(&run).unwrap();
    fs::write(run.join("rows.jsonl"), "").unwrap();
    let said: BTreeSet<String> = [
        ["compare", "run", SWEEP].as_slice(),
        &["sweep", "--resume", "run"],
        &["cost", "--sweep", "run"],
        &["report", "run", "--blog", "out"],
    ]
    .iter()
    .map(|args| finish(&mut rungs(dir.path(), args)).2)
    .collect();
    for stderr in said {
        assert!(
            stderr.contains("holds a run of `rungs primitives`"),
            "{stderr}"
        );
    }
}
