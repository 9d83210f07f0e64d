//! Every check can fail.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::{PATIENCE, command, rehearsal};
use crate::cell::{Cell, Subject, lost};
use crate::channels::{self, udp::Udp};
use crate::clock::allowed_cpus;
use crate::failure::{Absence, Failure};
use crate::locks;
use crate::plan::{Plan, Purpose};
use crate::roles::one_way;
use crate::row::{Family, Outcome, Placement};
use crate::run::{Event, RunError, run};
use crate::trial::{ChildCommand, Measured, NoResult, Trial};
use crate::wire::{Body, End, Pattern};

fn tried(channel: &str, pattern: Pattern, patience: Duration) -> NoResult {
    tried_by(&command(), channel, pattern, patience).expect_err("it goes wrong")
}

fn tried_by(
    command: &ChildCommand,
    channel: &str,
    pattern: Pattern,
    patience: Duration,
) -> Result<Measured, NoResult> {
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
fn what_a_datagram_flow_loses_is_counted() {
    let measured = tried_by(&command(), "loses", TEXT, PATIENCE).expect("loss is no failure");
    assert_eq!(lost(&measured), 1);
}

#[test]
fn a_datagram_flow_whose_end_is_lost_ends_by_time() {
    let made = channels::Channel::make(&Udp, STAMPED).expect("two sockets");
    let [near, far] = <[_; 2]>::try_from(made.given).expect("two ends");
    let open = |end, given| channels::Channel::open(&Udp, end, STAMPED, given).expect("it opens");
    let (mut near, mut far) = (open(End::Near, near), open(End::Far, far));
    one_way::write(&mut near, 1024, Body::Stamp, 1, false).expect("it is sent");
    let report = one_way::read(&mut far, 1024, Body::Stamp, 3, true).expect("it ends");
    assert_eq!(report.lost, Some(2));
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
    let failure = tried_by(&missing, "pipe", STAMPED, PATIENCE).expect_err("it is missing");
    assert!(
        matches!(failure, NoResult::Failed(Failure::Exec { .. })),
        "{failure}"
    );
}

#[test]
fn a_message_beyond_a_queues_limit_is_an_absence() {
    let beyond = Pattern::OneWay {
        bytes: 1 << 30,
        body: Body::Stamp,
    };
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
fn spinning_on_one_cpu_is_refused_and_one_cpu_is_not_two() {
    let cells: Vec<Cell> = rehearsal(&[Family::Wakeups])
        .groups()
        .into_iter()
        .flatten()
        .filter(|cell| cell.mechanism() == "SPSC ring, spinning")
        .collect();
    let absences: Vec<_> = cells.iter().map(|cell| cell.absent(&[0])).collect();
    assert!(
        matches!(
            absences.as_slice(),
            [Some(Absence::Refused(_)), Some(Absence::Skipped(_))]
        ),
        "{absences:?}"
    );
}

#[test]
fn the_default_leaves_rows_out_and_full_measures_all_of_them() {
    let plan = rehearsal(&[Family::Bandwidth, Family::Processes, Family::Spawn]);
    let full = plan.clone().full();
    let cells: Vec<Cell> = plan.groups().into_iter().flatten().collect();
    let left_out = |plan: &Plan| {
        let left_out = cells.iter().filter(|cell| plan.leaves_out(cell).is_some());
        left_out.count()
    };
    assert!(left_out(&plan) > 0 && left_out(&plan) < cells.len() / 2);
    assert_eq!(left_out(&full), 0);
}

#[test]
fn with_the_documents_counts_a_long_row_is_repeated_less_often_but_three_times() {
    let plan = Plan::new(Vec::new(), vec![0], command());
    let of =
        |plan: &Plan| [1, 2000, 60_000].map(|ms| plan.repetitions_of(Duration::from_millis(ms)));
    assert_eq!(of(&plan), [11, 11, 11]);
    assert_eq!(of(&plan.full()), [11, 5, 3]);
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
