//! `rungs compare` and `rungs report --export` on made runs.

mod common;

use std::fs;
use std::path::{Path, PathBuf};

use common::run;
use rungs::compare::{Comparison, Verdict};
use rungs::record::Cell;
use rungs::report::{CELLS_FILE, RUN_FILE};
use serde_json::Value;
use tempfile::TempDir;

/// The made run, in which each cell's server took `factor` times as long for a request if `entrant` names it.
fn made(dir: &TempDir, name: &str, entrant: &str, factor: f64) -> PathBuf {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/made");
    let to = dir.path().join(name);
    fs::create_dir(&to).unwrap();
    fs::copy(from.join(RUN_FILE), to.join(RUN_FILE)).unwrap();
    let mut cells = String::new();
    for line in fs::read_to_string(from.join(CELLS_FILE)).unwrap().lines() {
        let mut cell: Cell = serde_json::from_str(line).unwrap();
        if let (true, Some(server)) = (cell.planned.entrant == entrant, &mut cell.server) {
            let usage = &mut server.usage;
            for time in [&mut usage.cpu_us, &mut usage.user_us, &mut usage.system_us] {
                *time = (*time as f64 * factor) as u64;
            }
        }
        cells += &(serde_json::to_string(&cell).unwrap() + "\n");
    }
    fs::write(to.join(CELLS_FILE), cells).unwrap();
    to
}

fn compare(before: &Path, after: &Path, more: &[&str]) -> (Option<i32>, String, String) {
    let args = ["compare", before.to_str().unwrap(), after.to_str().unwrap()];
    run(&[&args, more].concat())
}

#[test]
fn the_same_run_twice_is_all_ties() {
    let dir = tempfile::tempdir().unwrap();
    let (a, b) = (made(&dir, "a", "", 1.0), made(&dir, "b", "", 1.0));
    let (code, stdout, stderr) = compare(&a, &b, &["--fail-on", "worse:0%"]);
    assert_eq!((code, stderr.as_str()), (Some(0), ""), "{stdout}");
    assert!(
        stdout.contains("cost, in lines: tie 20\nrate, in lines: tie 20\n"),
        "{stdout}"
    );
}

#[test]
fn a_slower_server_is_named_and_fails_the_gate() {
    let dir = tempfile::tempdir().unwrap();
    let (a, b) = (made(&dir, "a", "", 1.0), made(&dir, "b", "mio", 1.25));
    let (code, stdout, stderr) = compare(&a, &b, &["--fail-on", "worse:5%"]);
    assert_eq!(code, Some(3), "{stdout}{stderr}");
    assert!(
        stderr.contains("worse in cost: mio over all counts"),
        "{stderr}"
    );
    for other in ["epoll", "hyper", "axum"] {
        assert!(!stderr.contains(other), "{stderr}");
    }
    let (code, ..) = compare(&a, &b, &["--fail-on", "worse:40%"]);
    assert_eq!(code, Some(0));
    let (code, ..) = compare(&b, &a, &["--fail-on", "worse:0%"]);
    assert_eq!(code, Some(0));

    let (code, stdout, _) = compare(&a, &b, &["--json"]);
    assert_eq!(code, Some(0));
    let comparison: Comparison = serde_json::from_str(&stdout).unwrap();
    let mio = comparison
        .entrants
        .iter()
        .find(|e| e.label == "mio")
        .unwrap();
    let cost = mio.lines[0].cost.unwrap();
    assert_eq!(cost.verdict, Verdict::Worse);
    assert!((cost.ratio - 1.25).abs() < 1e-4);
}

#[test]
fn what_differs_is_said_and_another_path_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let (a, b) = (made(&dir, "a", "", 1.0), made(&dir, "b", "", 1.0));
    let path = b.join(RUN_FILE);
    let mut run: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    run["machine"]["kernel"] = "Linux 7".into();
    fs::write(&path, run.to_string()).unwrap();
    let (code, _, stderr) = compare(&a, &b, &[]);
    assert_eq!(code, Some(0));
    assert_eq!(
        stderr,
        "differs: kernel: Linux 6.1.0-made #1 SMP → Linux 7\n"
    );
    run["matrix"]["path"] = "/json".into();
    fs::write(&path, run.to_string()).unwrap();
    let (code, stdout, stderr) = compare(&a, &b, &[]);
    assert_eq!((code, stdout.as_str()), (Some(1), ""));
    assert!(
        stderr.contains("cannot be compared: one asked for /"),
        "{stderr}"
    );
    let (code, ..) = compare(&a, &a, &["--fail-on", "5%"]);
    assert_eq!(code, Some(2));
}

#[test]
fn a_run_is_exported_where_it_is_asked_for() {
    let dir = tempfile::tempdir().unwrap();
    let made = made(&dir, "a", "", 1.0);
    let files = ["bmf.json", "hyperfine.json"].map(|name| dir.path().join(name));
    let [bencher, hyperfine] = files.each_ref().map(|file| file.to_str().unwrap());
    let export = |format, file| ["--export", format, file];
    let args = [
        &["report", made.to_str().unwrap()],
        &export("bencher", bencher)[..],
        &export("hyperfine", hyperfine)[..],
    ];
    let (code, _, stderr) = run(&args.concat());
    assert_eq!(code, Some(0), "{stderr}");
    for file in files {
        let value: Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
        assert!(value.as_object().is_some_and(|object| !object.is_empty()));
    }
    let (code, _, stderr) = run(&["report", made.to_str().unwrap(), "--export", "csv", "x"]);
    assert_eq!(code, Some(1));
    assert!(stderr.contains("give bencher or hyperfine"), "{stderr}");
}
