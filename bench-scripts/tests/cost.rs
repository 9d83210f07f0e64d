//! `rungs cost` on a sweep of a moment: what it counts, and what it says of an entrant that cannot run.

mod common;

use std::fs;
use std::path::Path;

use common::{finish, rungs};
use rungs::cost::{COST_FILE, TABLE_FILE};
use rungs::record::cost::{StepCounts, UserSpace};
use rungs::record::trace::Traced;

const MATRIX: &str = r#"
name = "moment"
about = "A test."
connections = [2, 150]
rounds = 1
warmup = "0s"
duration = "1s"
[[entrant]]
rung = "null"
[[entrant]]
rung = "hyper"
"#;

/// A sweep of [`MATRIX`] into `out`.
fn sweep(folder: &Path, out: &Path) {
    let matrix = folder.join("moment.toml");
    fs::write(&matrix, MATRIX).unwrap();
    let mut command = rungs();
    command.args(["sweep", "--matrix"]).arg(&matrix);
    let (status, _, stderr) = finish(command.arg("--out").arg(out));
    assert_eq!(status, Some(0), "{stderr}");
}

/// What `rungs cost` measures of the sweep in `out`, and its table.
fn cost(out: &Path) -> (UserSpace, String) {
    let (status, stdout, stderr) = finish(rungs().args(["cost", "--sweep"]).arg(out));
    assert_eq!(status, Some(0), "{stderr}");
    assert!(stdout.contains("instructions"), "{stdout}");
    let json = fs::read_to_string(out.join(COST_FILE)).unwrap();
    let table = fs::read_to_string(out.join(TABLE_FILE)).unwrap();
    (serde_json::from_str(&json).unwrap(), table)
}

fn steps(user_space: &UserSpace, entrant: &str, connections: u32) -> StepCounts {
    let mut costs = user_space.costs.iter();
    let cost = costs.find(|c| c.entrant == entrant && c.connections == connections);
    match &cost.unwrap().steps {
        Traced::Counted(steps) => steps.clone(),
        Traced::Absent(absence) => panic!("{entrant} was not counted: {}", absence.what),
    }
}

#[test]
fn user_space_is_counted_and_an_entrant_that_does_not_start_is_skipped() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("run");
    sweep(dir.path(), &out);
    let (first, _) = cost(&out);
    let per_request = |steps: &StepCounts| steps.instructions / steps.requests;
    let (null, hyper) = (steps(&first, "null", 150), steps(&first, "hyper", 150));
    assert_eq!((null.requests, null.at_once), (100, 100));
    assert_eq!(steps(&first, "null", 2).at_once, 2);
    // Even without optimisation: two system calls and little else; and the same each time, but for a tick of the clock.
    assert!((50..5_000).contains(&per_request(&null)), "{null:?}");
    assert!(per_request(&hyper) > 4 * per_request(&null), "{hyper:?}");
    assert_eq!(null.allocations, Traced::Counted(0));
    assert!(
        matches!(hyper.allocations, Traced::Counted(allocations) if allocations >= hyper.requests),
        "{hyper:?}"
    );
    for idle in first.costs.iter().map(|cost| &cost.idle) {
        assert!(
            matches!(idle, Traced::Counted(idle) if idle.after_bytes >= idle.before_bytes),
            "{idle:?}"
        );
    }

    let run = out.join("run.json");
    let text = fs::read_to_string(&run).unwrap();
    let mut json: serde_json::Value = serde_json::from_str(&text).unwrap();
    json["matrix"]["entrants"][1]["program"]["rung"]["args"] =
        serde_json::json!(["--no-such-flag"]);
    fs::write(&run, json.to_string()).unwrap();
    let (second, table) = cost(&out);
    let again = steps(&second, "null", 150);
    let share = per_request(&again) as f64 / per_request(&null) as f64;
    assert!((0.9..1.1).contains(&share), "{null:?} {again:?}");
    assert!(table.contains("hyper: skipped: "), "{table}");
    assert!(table.contains("--no-such-flag"), "{table}");

    json["entrants"][0]["sha256"] = "another".into();
    fs::write(&run, json.to_string()).unwrap();
    let (status, _, stderr) = finish(rungs().args(["cost", "--sweep"]).arg(&out));
    assert_eq!(status, Some(1), "{stderr}");
    assert!(
        stderr.contains("is not the program that the sweep measured as `null`"),
        "{stderr}"
    );
}
