//! Every check can fail.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::{PATIENCE, command, rehearsal};
use crate::cell::{Cell, Subject, one_way};
use crate::channels;
use crate::clock::allowed_cpus;
use crate::failure::{Absence, Failure};
use crate::locks;
use crate::plan::{Plan, Purpose};
use crate::row::{Family, Outcome, Placement};
use crate::run::{Event, RunError, run};
use crate::trial::{ChildCommand, NoResult, Trial};
use crate::wire::{Body, Pattern};

fn tried(channel: &str, pattern: Pattern, patience: Duration) -> NoResult {
    tried_by(&command(), channel, pattern, patience)
}

fn tried_by(
    command: &ChildCommand,
    channel: &str,
    pattern: Pattern,
    patience: Duration,
) -> NoResult {
    let channel = channels::named(channel).expect("there is one");
    let subject = Subject::Channel(channel, pattern);
    let cell = Cell {
        family: Family::Messages,
        subject,
        placement: Placement::SameCpu,
    };
    let cpus = allowed_cpus().expect("there are CPUs");
    let parts = cell.parts(&cpus, 20, false);
    Trial {
        command,
        keeper: cell.keeper(),
        parts,
        patience,
        stop: &AtomicBool::new(false),
    }
    .run()
    .expect_err("it goes wrong")
}

fn wrong(text: &str) -> NoResult {
    Failure::Wrong(text.to_owned()).into()
}

const STAMPED: Pattern = Pattern::OneWay {
    bytes: 1024,
    body: Body::Stamp,
};
const TEXT: Pattern = Pattern::OneWay {
    bytes: 1032,
    body: Body::Text,
};

#[test]
fn a_writer_that_skips_an_index_fails() {
    assert_eq!(
        tried("skips", STAMPED, PATIENCE),
        wrong("message 10 came where 9 was expected")
    );
}

#[test]
fn a_changed_byte_fails() {
    let changed = wrong("message 9 has 1024 bytes that are not those sent");
    assert_eq!(tried("corrupts", STAMPED, PATIENCE), changed);
    assert_eq!(
        tried("corrupts", TEXT, PATIENCE),
        wrong("message 9 has 1032 bytes that are not those sent")
    );
    assert_eq!(
        tried("corrupts", Pattern::RoundTrip, PATIENCE),
        wrong("1 bytes came, the first is 8, not 9")
    );
}

#[test]
fn a_message_that_is_too_short_fails() {
    assert!(matches!(
        tried("shortens", STAMPED, PATIENCE),
        NoResult::Failed(Failure::Wrong(_))
    ));
}

#[test]
fn an_early_end_of_the_stream_fails() {
    let NoResult::Failed(Failure::System { call, error }) =
        tried("leaves early", STAMPED, PATIENCE)
    else {
        panic!("it is a failed call");
    };
    assert_eq!(
        (call.as_str(), error.as_str()),
        ("receive", "unexpected end of file")
    );
}

#[test]
fn a_child_that_dies_fails_at_once() {
    // The reader may notice first, by the end of the file.
    let failure = tried("dies", STAMPED, PATIENCE);
    let died =
        matches!(&failure, NoResult::Failed(Failure::ChildDied { role, .. }) if role == "writer");
    assert!(
        died || failure.to_string().contains("end of file"),
        "{failure}"
    );
}

#[test]
fn the_watchdog_ends_a_hung_peer() {
    let failure = tried("hangs", STAMPED, Duration::from_secs(2));
    assert_eq!(
        failure,
        Failure::Hung {
            role: "writer".to_owned(),
            seconds: 2
        }
        .into()
    );
}

#[test]
fn a_program_that_is_missing_fails() {
    let missing = ChildCommand {
        program: "/nonexistent/rungs".into(),
        args: Vec::new(),
    };
    let failure = tried_by(&missing, "pipe", STAMPED, PATIENCE);
    assert!(
        matches!(failure, NoResult::Failed(Failure::Exec { .. })),
        "{failure}"
    );
}

#[test]
fn a_message_beyond_a_queues_limit_is_an_absence() {
    let beyond = one_way(1 << 30, Body::Stamp);
    for queue in ["Posix queue", "System V queue", "UDP"] {
        let absent = tried(queue, beyond, PATIENCE);
        assert!(
            matches!(absent, NoResult::Absent(Absence::Limit(_))),
            "{queue}: {absent}"
        );
    }
}

#[test]
fn a_lock_that_does_not_lock_is_found_out() {
    // On one CPU an addition is lost only when its thread is preempted in the middle: so more than one try.
    let lock = locks::CONTROL;
    let cpus = allowed_cpus().expect("there are CPUs");
    let subject = Subject::Lock { lock, workers: 4 };
    let found_out = [Family::Threads, Family::Processes].map(|family| {
        let cell = Cell {
            family,
            subject,
            placement: Placement::AcrossCpus,
        };
        (0..20).any(|_| {
            let count = 1_000_000;
            let trial = Trial {
                command: &command(),
                keeper: cell.keeper(),
                parts: cell.parts(&cpus, count, false),
                patience: PATIENCE,
                stop: &AtomicBool::new(false),
            };
            let measured = trial.run().expect("it runs");
            cell.check(&measured, count).is_err()
        })
    });
    assert_eq!(found_out, [true, true]);
}

#[test]
fn a_failed_row_is_counted() {
    let plan = Plan {
        command: ChildCommand {
            program: "/bin/true".into(),
            args: Vec::new(),
        },
        ..rehearsal(&[Family::Messages])
    };
    let mut failed = 0;
    let counted = run(&plan, &mut |event| {
        if let Event::Row(row) = event {
            failed += usize::from(matches!(row.outcome, Outcome::Failed(_)));
        }
    });
    assert!(failed > 0);
    assert_eq!(counted, Ok(failed));
}

#[test]
#[cfg(debug_assertions)]
fn a_debug_build_refuses_to_measure() {
    let plan = Plan {
        purpose: Purpose::Measure,
        ..rehearsal(&[Family::Latency])
    };
    assert_eq!(run(&plan, &mut |_| {}), Err(RunError::DebugBuild));
}

#[test]
fn a_run_that_is_stopped_ends_without_the_rows_under_way() {
    let plan = rehearsal(&[Family::Wakeups, Family::Spawn]);
    let mut rows = 0;
    let failed = run(&plan, &mut |event| {
        rows += usize::from(matches!(event, Event::Row(_)));
        // While the first group is under way, as a signal would.
        plan.stop.store(true, Ordering::Relaxed);
    });
    assert_eq!((failed, rows), (Ok(0), 0));
}
