//! A rung that says that it cannot run on this machine is skipped by everything, and told from one that is broken.

mod common;

use std::fs;
use std::path::Path;
use std::process::Command;

use common::{fake, finish, rung, rungs};
use rungs::report;
use tempfile::TempDir;

const SENTENCE: &str = "this kernel has no rings: boot one that has";

/// A folder with the `rungs` command and its rungs, of which mio is a script.
fn with_mio(script: &str) -> TempDir {
    // Beside the programs, which can then be linked and need no copy.
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let link = |program: &Path| {
        let name = program.file_name().unwrap();
        fs::hard_link(program, dir.path().join(name)).unwrap();
    };
    link(Path::new(rungs().get_program()));
    for name in ["null", "epoll"] {
        link(&rung(name));
    }
    fake(dir.path(), "rung-mio", script);
    dir
}

fn unsupported() -> TempDir {
    with_mio(&format!(
        r#"echo '{{"event":"unsupported","rung":"rung-mio","reason":"{SENTENCE}"}}'; exit 1"#
    ))
}

fn run(dir: &TempDir, args: &[&str]) -> (Option<i32>, String, String) {
    finish(Command::new(dir.path().join("rungs")).args(args))
}

const SWEEP: [&str; 7] = [
    "sweep",
    "--matrix",
    "smoke",
    "--entrants",
    "mio,epoll",
    "--no-latency",
    "--no-trace",
];

#[test]
fn a_sweep_goes_on_without_it_and_says_so_everywhere() {
    let dir = unsupported();
    let out = dir.path().join("run");
    let out = out.to_str().unwrap();
    let (code, stdout, stderr) = run(&dir, &[&SWEEP[..], &["--out", out]].concat());
    assert_eq!(code, Some(0), "{stderr}");
    let told = format!("mio: skipped: {SENTENCE}");
    assert!(stdout.contains(&told), "{stdout}");
    for file in ["report.md", "report.html"] {
        let text = fs::read_to_string(Path::new(out).join(file)).unwrap();
        assert!(text.contains(&told), "{file}");
    }
    let record = report::read(Path::new(out)).unwrap();
    let skipped = &record.run.skipped;
    assert_eq!((skipped.len(), skipped[0].label.as_str()), (1, "mio"));
    assert_eq!(skipped[0].reason, SENTENCE);
    let entrants: Vec<_> = record
        .run
        .matrix
        .entrants
        .iter()
        .map(|e| e.label.as_str())
        .collect();
    assert_eq!(entrants, ["null", "epoll", "epoll (again)"]);
    assert_eq!(record.cells.len(), 3);
    assert!(record.cells.iter().all(rungs::record::Cell::is_valid));

    // What was asked for is what was begun.
    let (code, _, stderr) = run(&dir, &[&SWEEP[..], &["--resume", out]].concat());
    assert_eq!(code, Some(0), "{stderr}");
}

#[test]
fn verify_and_doctor_cope() {
    let dir = unsupported();
    let (code, stdout, stderr) = run(&dir, &["verify", "--quick", "mio", "null"]);
    assert_eq!(code, Some(0), "{stderr}");
    assert!(
        stdout.contains(&format!("mio: skipped: {SENTENCE}")),
        "{stdout}"
    );
    let (_, stdout, _) = run(&dir, &["doctor", "--matrix", "smoke"]);
    let told =
        format!("warn  support: mio cannot run here, and sweeps skip it\n      → {SENTENCE}");
    assert!(stdout.contains(&told), "{stdout}");
}

#[test]
fn a_broken_rung_is_not_skipped() {
    let dir = with_mio("echo 'worker 0 failed' >&2; exit 1");
    let (code, _, stderr) = run(&dir, &SWEEP);
    assert_eq!(code, Some(1), "{stderr}");
    assert!(
        stderr.contains("the entrant `mio`") && stderr.contains("worker 0 failed"),
        "{stderr}"
    );
    let (code, _, stderr) = run(&dir, &["verify", "--quick", "mio"]);
    assert_eq!(code, Some(1), "{stderr}");
}
