//! `rungs cost` on a sweep of a moment: what it counts, and what it says of an entrant that cannot run.

mod common;

use std::fs;
use std::path::Path;

use common::{finish, rungs, sweep_of};
use rungs::cost::{COST_FILE, TABLE_FILE};
use rungs::record::cost::{StepCounts, UserSpace};
use rungs::record::trace::Traced;
use serde_json::Value;

const MATRIX: &str = r#"
name = "moment"
about = "A test."
connections = [2]
rounds = 1
warmup = "0s"
duration = "1s"
[[entrant]]
rung = "null"
[[entrant]]
rung = "epoll"
"#;

/// What `rungs cost` measures of the sweep in `out`, and its table.
fn cost(out: &Path) -> (UserSpace, String) {
    let (status, stdout, stderr) = finish(rungs().args(["cost", "--sweep"]).arg(out));
    assert_eq!(status, Some(0), "{stderr}");
    assert!(stdout.contains("instructions"), "{stdout}");
    let json = fs::read_to_string(out.join(COST_FILE)).unwrap();
    let table = fs::read_to_string(out.join(TABLE_FILE)).unwrap();
    (serde_json::from_str(&json).unwrap(), table)
}

fn steps(user_space: &UserSpace, entrant: &str) -> StepCounts {
    let mut costs = user_space.costs.iter();
    let cost = costs.find(|cost| cost.entrant == entrant);
    match &cost.unwrap().steps {
        Traced::Counted(steps) => steps.clone(),
        Traced::Absent(absence) => panic!("{entrant} was not counted: {}", absence.what),
    }
}

#[test]
fn user_space_is_counted_and_an_entrant_that_does_not_start_is_skipped() {
    let dir = tempfile::tempdir().unwrap();
    let (out, _) = sweep_of(MATRIX, dir.path());
    set(
        &out,
        "/matrix/entrants/1/program/rung/args",
        &vec!["--no-such-flag"].into(),
    );
    let (first, table) = cost(&out);
    let null = steps(&first, "null");
    assert_eq!((null.requests, null.at_once), (100, 2));
    // Two system calls and little else, even without optimisation.
    assert!((50..5_000).contains(&per_request(&null)), "{null:?}");
    // That they are counted at all says that the allocator was found. A new date, each second, takes some.
    assert!(
        matches!(null.allocations, Traced::Counted(0..100)),
        "{null:?}"
    );
    let Traced::Counted(idle) = first.costs[0].idle else {
        panic!("{:?}", first.costs[0].idle);
    };
    assert!((1..1 << 30).contains(&idle.before_bytes), "{idle:?}");
    assert!(idle.after_bytes >= idle.before_bytes, "{idle:?}");
    assert!(
        table.contains("epoll: skipped: ") && table.contains("--no-such-flag"),
        "{table}"
    );

    let (second, _) = cost(&out);
    let share = per_request(&steps(&second, "null")) as f64 / per_request(&null) as f64;
    assert!((0.9..1.1).contains(&share), "{first:?} {second:?}");

    set(&out, "/entrants/0/sha256", &"another".into());
    let (status, _, stderr) = finish(rungs().args(["cost", "--sweep"]).arg(&out));
    assert_eq!(status, Some(1), "{stderr}");
    assert!(
        stderr.contains("is not the program that the sweep measured as `null`"),
        "{stderr}"
    );
}

fn per_request(steps: &StepCounts) -> u64 {
    steps.instructions / steps.requests
}

/// Changes a value of the sweep's run.json.
fn set(out: &Path, pointer: &str, value: &Value) {
    let run = out.join("run.json");
    let mut json: Value = serde_json::from_str(&fs::read_to_string(&run).unwrap()).unwrap();
    *json.pointer_mut(pointer).unwrap() = value.clone();
    fs::write(&run, json.to_string()).unwrap();
}
