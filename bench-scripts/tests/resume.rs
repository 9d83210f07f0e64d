//! Sweeps that are cut short, and go on.

mod common;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use common::{eventually, finish, run, rungs};
use rungs::report::{self, Record};
use serde_json::Value;
use tempfile::TempDir;

/// A sweep of three short cells per round: the entrant, its repetition, the control.
const SHORT: &[&str] = &[
    "sweep",
    "--matrix",
    "smoke",
    "--entrants",
    "epoll",
    "--warmup",
    "0s",
    "--no-trace",
];

struct Sweep {
    out: PathBuf,
    _dir: TempDir,
}

impl Sweep {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        Self {
            out: dir.path().join("run"),
            _dir: dir,
        }
    }

    /// The command that begins it.
    fn begin(&self, rounds: u32) -> Command {
        let mut command = rungs();
        command.args(SHORT).arg("--out").arg(&self.out);
        command.arg(format!("--rounds={rounds}"));
        command
    }

    /// Begins it, and kills it when it has this many cells and measures the next.
    fn begin_and_kill(&self, cells: usize) {
        let mut command = self.begin(2);
        let mut sweep = command.stderr(Stdio::null()).spawn().unwrap();
        eventually("a few cells", || {
            let kept = fs::read_to_string(self.out.join(report::CELLS_FILE)).ok()?;
            (kept.lines().count() >= cells).then_some(())
        });
        sweep.kill().unwrap();
        sweep.wait().unwrap();
    }

    fn resume(&self, more: &[&str]) -> (Option<i32>, String, String) {
        let args = ["sweep", "--resume", self.out.to_str().unwrap()];
        run(&[&args, more].concat())
    }

    fn record(&self) -> Record {
        report::read(&self.out).unwrap()
    }

    fn edit(&self, file: &str, change: impl FnOnce(String) -> String) {
        let path = self.out.join(file);
        fs::write(&path, change(fs::read_to_string(&path).unwrap())).unwrap();
    }
}

/// A command to which 10 KiB is the largest file. With SIGXFSZ ignored, write(2) then fails as on a full disk.
fn short_of_room(command: &Command) -> Command {
    let mut limited = Command::new("sh");
    limited
        .args(["-c", "trap '' XFSZ; ulimit -f 20; exec \"$@\"", "sh"])
        .arg(command.get_program())
        .args(command.get_args());
    limited
}

fn indices(record: &Record) -> Vec<usize> {
    record.cells.iter().map(|c| c.planned.index).collect()
}

#[test]
fn a_killed_sweep_goes_on_and_measures_nothing_twice() {
    let sweep = Sweep::new();
    sweep.begin_and_kill(1);
    let before = sweep.record();
    // What a crash in the middle of a line leaves.
    sweep.edit(report::CELLS_FILE, |text| text + "{\"planned\":{\"ind");
    let (code, stdout, stderr) = sweep.resume(&[]);
    assert_eq!(code, Some(0), "{stderr}");
    assert!(stdout.contains("report.html"), "{stdout}");
    let after = sweep.record();
    assert_eq!(indices(&after), [0, 1, 2, 3, 4, 5]);
    assert_eq!(after.run.order, before.run.order);
    assert_eq!(after.cells[0], before.cells[0]);
    assert_eq!(after.run.resumed_at.len(), 1);
    let report = fs::read_to_string(sweep.out.join("report.md")).unwrap();
    assert!(report.contains("resumed at"), "{report}");

    let (code, stdout, stderr) = sweep.resume(&[]);
    assert_eq!(code, Some(0), "{stderr}");
    assert!(stderr.contains("is complete: nothing is left"), "{stderr}");
    assert!(stdout.contains("report.html"), "{stdout}");
    assert_eq!(sweep.record().run, after.run);
}

fn paced_indices(record: &Record) -> Vec<usize> {
    record.paced.iter().map(|c| c.planned.index).collect()
}

#[test]
fn a_sweep_that_was_cut_short_in_its_second_pass_goes_on_there() {
    let sweep = Sweep::new();
    let (code, _, stderr) = finish(&mut sweep.begin(1));
    assert_eq!(code, Some(0), "{stderr}");
    // What a kill in the middle of the second load leaves, without the haste of hitting it.
    sweep.edit(report::RATES_FILE, |text| {
        text.lines().next().unwrap().to_owned() + "\n{\"planned\":{\"ind"
    });
    let before = sweep.record();
    assert_eq!(paced_indices(&before), [0]);

    // What is on record must be what follows from the cells.
    let was = fs::read_to_string(sweep.out.join(report::RATES_FILE)).unwrap();
    let rate = format!("\"rate_per_s\":{}", before.paced[0].planned.rate_per_s);
    assert!(was.contains(&rate));
    sweep.edit(report::RATES_FILE, |text| {
        text.replace(&rate, "\"rate_per_s\":1")
    });
    let (code, _, stderr) = sweep.resume(&[]);
    assert_eq!(code, Some(1), "{stderr}");
    assert!(stderr.contains("at 1 requests/s"), "{stderr}");
    sweep.edit(report::RATES_FILE, |_| was);

    let (code, _, stderr) = sweep.resume(&["--no-latency"]);
    assert_eq!(code, Some(1), "{stderr}");
    assert!(
        stderr.contains("latency at fixed rates: 8 conn"),
        "{stderr}"
    );

    let (code, _, stderr) = sweep.resume(&[]);
    assert_eq!(code, Some(0), "{stderr}");
    assert!(stderr.contains("1 of 2 fixed rates are left"), "{stderr}");
    let after = sweep.record();
    assert_eq!(paced_indices(&after), [0, 1]);
    assert_eq!(after.cells, before.cells);
    assert_eq!(after.paced[0], before.paced[0]);

    let (code, _, stderr) = sweep.resume(&[]);
    assert_eq!(code, Some(0), "{stderr}");
    assert!(stderr.contains("is complete: nothing is left"), "{stderr}");
}

#[test]
fn what_changed_since_is_refused_and_named() {
    let sweep = Sweep::new();
    sweep.begin_and_kill(1);
    sweep.edit("run.json", |text| {
        let mut run: Value = serde_json::from_str(&text).unwrap();
        run["machine"]["kernel"] = "Linux 1.0".into();
        run["load_generator"]["version"] = "0.1".into();
        run.to_string()
    });
    let before = fs::read_to_string(sweep.out.join("run.json")).unwrap();
    let (code, _, stderr) = sweep.resume(&[]);
    assert_eq!(code, Some(1));
    for part in ["cannot go on", "kernel: Linux 1.0 → Linux ", "wrk 0.1"] {
        assert!(stderr.contains(part), "{part} is missing: {stderr}");
    }
    let (code, _, stderr) = sweep.resume(&["--rounds", "3"]);
    assert_eq!(code, Some(1));
    assert!(
        stderr.contains("begun otherwise (rounds: 2 → 3)"),
        "{stderr}"
    );
    let after = fs::read_to_string(sweep.out.join("run.json")).unwrap();
    assert_eq!(before, after);
}

#[test]
fn a_full_disk_is_one_sentence_and_the_sweep_goes_on_when_there_is_room() {
    let sweep = Sweep::new();
    // Room for run.json, and not for all cells.
    let (code, _, stderr) = finish(&mut short_of_room(&sweep.begin(3)));
    assert_eq!(code, Some(1), "{stderr}");
    let last = stderr.lines().last().unwrap();
    assert!(
        last.contains("cells.jsonl cannot be written") && last.contains("--resume"),
        "{stderr}"
    );
    assert_eq!(sweep.record().torn, [report::CELLS_FILE]);
    let (code, _, stderr) = sweep.resume(&[]);
    assert_eq!(code, Some(0), "{stderr}");
    assert_eq!(indices(&sweep.record()), (0..9).collect::<Vec<_>>());
}

#[test]
fn a_full_disk_leaves_the_old_report() {
    let dir = tempfile::tempdir().unwrap();
    let made = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/made");
    for file in [report::RUN_FILE, report::CELLS_FILE] {
        fs::copy(made.join(file), dir.path().join(file)).unwrap();
    }
    let mut command = rungs();
    command.arg("report").arg(dir.path());
    assert_eq!(finish(&mut command).0, Some(0));
    let content = || -> Vec<_> {
        let files = fs::read_dir(dir.path()).unwrap().map(|f| f.unwrap().path());
        files.map(|f| (fs::read(&f).unwrap(), f)).collect()
    };
    let before = content();
    let (code, _, stderr) = finish(&mut short_of_room(&command));
    assert_eq!((code, stderr.lines().count()), (Some(1), 1), "{stderr}");
    assert!(
        stderr.contains("report.html: is it yours, and is there room?"),
        "{stderr}"
    );
    assert!(before == content());
}

#[test]
fn a_full_log_does_not_end_a_sweep() {
    let sweep = Sweep::new();
    let full = File::options().write(true).open("/dev/full").unwrap();
    let mut command = sweep.begin(1);
    command.stderr(full);
    assert_eq!(finish(&mut command).0, Some(0));
    assert_eq!(sweep.record().cells.len(), 3);
}

#[test]
fn an_invalid_cell_is_measured_again_and_every_attempt_is_reported() {
    let sweep = Sweep::new();
    let path = common::fake_wrk(
        sweep.out.parent().unwrap(),
        // The first two loads fail, all others are the real thing.
        "for n in 1 2; do mkdir \"$0.$n\" 2>/dev/null && kill -SEGV $$; done\nexec \"$REAL_WRK\" \"$@\"",
    );
    let mut command = sweep.begin(1);
    command.args(["--attempts", "3"]).env("PATH", path);
    let (code, _, stderr) = finish(&mut command);
    assert_eq!(code, Some(0), "{stderr}");
    assert!(stderr.contains("once more"), "{stderr}");
    assert!(
        stderr.contains("2 attempts were invalid and followed by another"),
        "{stderr}"
    );
    let record = sweep.record();
    let attempts: Vec<_> = record
        .cells
        .iter()
        .map(|cell| (cell.planned.index, cell.attempt, cell.is_valid()))
        .collect();
    assert_eq!(
        attempts[..4],
        [(0, 1, false), (0, 2, false), (0, 3, true), (1, 1, true)]
    );
    let report = fs::read_to_string(sweep.out.join("report.md")).unwrap();
    for part in ["SIGSEGV", "| 0, attempt 2 |", "2 attempts were invalid"] {
        assert!(report.contains(part), "{part} is missing: {report}");
    }
    assert!(Path::new(&sweep.out).join("cells.csv").exists());
}
