//! The children of these tests are this test program, told to run [`child`] alone.

mod checks;
mod crashes;
mod everything;
mod semantics;

use std::time::Duration;

use crate::child;
use crate::clock::allowed_cpus;
use crate::plan::{Plan, Purpose};
use crate::row::Family;
use crate::trial::ChildCommand;

/// Not a test but what children run. As a test its stdin is no socket, and it ends at once.
#[test]
fn child() {
    if child::main().is_ok() {
        std::process::exit(0); // without the test program's last words: stdout may be a pipe that is gone
    }
}

fn command() -> ChildCommand {
    test_alone("tests::child")
}

/// This program, told to run one test.
fn test_alone(name: &str) -> ChildCommand {
    let program = std::env::current_exe().expect("a test has a path");
    ChildCommand {
        program,
        args: [name, "--exact", "--include-ignored"]
            .map(Into::into)
            .into(),
    }
}

/// Long enough for a busy machine, short enough for a test that waits in vain.
const PATIENCE: Duration = Duration::from_secs(20);

fn rehearsal(families: &[Family]) -> Plan {
    let cpu = allowed_cpus().expect("there are CPUs")[0];
    Plan {
        repetitions: 2,
        batch: Duration::from_micros(1),
        purpose: Purpose::Rehearse,
        patience: PATIENCE,
        // One CPU twice is enough to see that everything works, also where there is only one.
        cpus: vec![cpu, cpu],
        ..Plan::new(families.to_vec(), Vec::new(), command())
    }
}
