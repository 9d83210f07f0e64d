//! Sweeps under a wrk that crashes, prints rubbish or never ends: each load is one invalid cell, and the sweep goes on.

mod common;

use common::{fake_wrk, finish, rungs};
use rungs::record::Reason;
use rungs::report;

/// Sweeps some cells with a wrk that is the real one for the first, and does as `script` says for the others. Gives the
/// reason why the second is invalid, in words.
fn second_cell_under(script: &str) -> String {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("run");
    let is_real = dir.path().join("real");
    let script = format!(
        "mkdir '{}' 2>/dev/null && exec \"$REAL_WRK\" \"$@\"\n{script}",
        is_real.display()
    );
    let path = fake_wrk(dir.path(), &script);
    let mut sweep = rungs();
    sweep.args([
        "sweep",
        "--matrix",
        "smoke",
        "--entrants",
        "epoll",
        "--no-trace",
    ]);
    sweep.arg("--out").arg(&out);
    let (code, _, stderr) = finish(sweep.env("PATH", path));
    assert_eq!(code, Some(0), "{stderr}");
    let record = report::read(&out).unwrap();
    assert_eq!(record.cells.len(), record.run.order.len());
    assert!(
        record.cells[0].is_valid(),
        "{:?}",
        record.cells[0].reasons()
    );
    let [reason @ Reason::LoadGeneratorFailed { .. }] = record.cells[1].reasons() else {
        panic!("{:?}", record.cells[1].reasons());
    };
    reason.to_string()
}

#[test]
fn a_crash() {
    let reason = second_cell_under("echo 'Running 1s test'; kill -SEGV $$");
    assert!(reason.contains("SIGSEGV"), "{reason}");
}

#[test]
fn a_crash_in_the_middle() {
    let reason = second_cell_under("\"$REAL_WRK\" \"$@\" & sleep 0.6; kill -ABRT $$");
    assert!(reason.contains("SIGABRT"), "{reason}");
}

#[test]
fn rubbish() {
    let reason = second_cell_under("head -c 3000000 /dev/urandom; sleep 1");
    assert!(reason.contains("printed no result"), "{reason}");
}

#[test]
fn a_result_that_is_none() {
    let reason = second_cell_under("sleep 1; echo 'rungs-done {\"requests\":-nan}'");
    assert!(reason.contains("is not understood"), "{reason}");
}

#[test]
fn no_end() {
    let reason = second_cell_under("sleep 600");
    assert!(
        reason.contains("did not end when its time was over"),
        "{reason}"
    );
}
