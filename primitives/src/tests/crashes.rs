//! What a kill -9 leaves: who gets a dead one's lock, and that nothing of a killed run stays.

use std::collections::BTreeSet;
use std::fs;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::{PATIENCE, command, rehearsal, test_alone};
use crate::failure::Failure;
use crate::plan::Plan;
use crate::row::Family;
use crate::run::run;
use crate::trial::{ChildCommand, NoResult, Running};
use crate::wire::{Given, Role};

/// Whether a second worker gets the lock after the first was killed while it held it.
fn next_one_gets(lock: &str) -> bool {
    let command = command();
    let start = |role: Role, given: &Given| {
        Running::start(&command, &role, &[], given).expect("a child starts")
    };
    let add = |lock: String| Role::Add {
        lock,
        threads: 1,
        count: 1,
    };
    let mut keeper = start(
        Role::KeepLock {
            lock: lock.to_owned(),
        },
        &Given::default(),
    );
    let given = keeper.made(PATIENCE).expect("it is made");
    let attempt = |lock: String, patience| {
        let mut worker = start(add(lock), &given[0]);
        worker.ready(PATIENCE)?;
        worker.go()?;
        worker.done(Instant::now() + patience, patience)
    };
    let died = attempt(format!("dying: {lock}"), PATIENCE);
    assert!(
        matches!(died, Err(NoResult::Failed(Failure::ChildDied { .. }))),
        "{lock}: {died:?}"
    );
    match attempt(lock.to_owned(), Duration::from_secs(1)) {
        Ok(report) => report.counter == Some(1),
        Err(NoResult::Failed(Failure::Hung { .. })) => false,
        Err(other) => panic!("{lock}: {other}"),
    }
}

#[test]
fn the_kernel_gives_back_what_it_knows_the_holder_of() {
    for lock in [
        "robust Posix mutex",
        "System V semaphore with UNDO",
        "fcntl record lock",
        "open-file-description lock",
    ] {
        assert!(next_one_gets(lock), "{lock}");
    }
}

#[test]
fn all_other_locks_stay_taken() {
    for lock in [
        "Posix mutex",
        "read-write lock",
        "Posix semaphore in memory",
        "named Posix semaphore",
        "System V semaphore",
    ] {
        assert!(!next_one_gets(lock), "{lock}");
    }
}

/// Not a test but a run that is to be killed. As a test it has no family, and ends at once.
#[test]
fn run_to_be_killed() {
    let Ok(family) = std::env::var(FAMILY) else {
        return;
    };
    let family: Family = serde_json::from_str(&family).expect("a family");
    let batch = Duration::from_millis(100);
    let _ = run(
        &Plan {
            repetitions: 1000,
            batch,
            ..rehearsal(&[family])
        },
        &mut |_| {},
    );
}

const FAMILY: &str = "RUNGS_TEST_FAMILY";

/// What has a name, and so could be left: System V objects by kind and id, and files.
fn named_things() -> BTreeSet<String> {
    let ids = ["msg", "sem", "shm"].into_iter().flat_map(|kind| {
        let table = fs::read_to_string(format!("/proc/sysvipc/{kind}")).unwrap_or_default();
        let ids = table
            .lines()
            .skip(1)
            .filter_map(|line| line.split_whitespace().nth(1));
        ids.map(|id| format!("{kind} {id}")).collect::<Vec<_>>()
    });
    let files = ["/dev/shm".into(), std::env::temp_dir()]
        .into_iter()
        .flat_map(|directory: std::path::PathBuf| {
            let entries = fs::read_dir(directory).into_iter().flatten().flatten();
            entries
                .map(|entry| entry.path().display().to_string())
                .filter(|path| path.contains("rungs-"))
                .collect::<Vec<_>>()
        });
    ids.chain(files).collect()
}

fn descendants(pid: u32) -> Vec<u32> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task"))
        .into_iter()
        .flatten()
        .flatten();
    let children = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    let children: Vec<u32> = children
        .flat_map(|line| {
            line.split_whitespace()
                .filter_map(|pid| pid.parse().ok())
                .collect::<Vec<_>>()
        })
        .collect();
    let further = children
        .iter()
        .flat_map(|&child| descendants(child))
        .collect::<Vec<_>>();
    children.into_iter().chain(further).collect()
}

/// Also true of one that nobody has waited for yet: its parent may be a slow init.
fn has_ended(pid: &u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"));
    stat.map_or(true, |stat| stat.contains(") Z ") || stat.contains(") X "))
}

fn within_patience(what: &str, mut done: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !done() {
        assert!(Instant::now() < deadline, "in vain: {what}");
        sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_killed_run_leaves_nothing_behind() {
    for family in [
        "latency",
        "bandwidth",
        "threads",
        "processes",
        "messages",
        "spawn",
        "wakeups",
    ] {
        for after in [0, 30].map(Duration::from_millis) {
            let before = named_things();
            let ChildCommand { program, args } = test_alone("tests::crashes::run_to_be_killed");
            let mut run = Command::new(program)
                .args(args)
                .env(FAMILY, format!("{family:?}"))
                .stdout(Stdio::null())
                .spawn()
                .expect("this program runs");
            within_patience("children", || !descendants(run.id()).is_empty());
            if ["latency", "threads", "processes", "spawn"].contains(&family) {
                // These have something that could be left, some of the time.
                within_patience("a named thing", || named_things() != before);
            }
            sleep(after);
            let family_tree = descendants(run.id());
            let there = &named_things() - &before;
            run.kill().expect("it is ours");
            run.wait().expect("it is ours");
            within_patience(&format!("{family}: children end"), || {
                family_tree.iter().all(has_ended)
            });
            // Of other tests there may be things too; they go as well.
            within_patience(&format!("{family}: {there:?} go"), || {
                there.is_disjoint(&named_things())
            });
        }
    }
}
