//! Every row of every table works, or says why it has no value.

use std::thread;

use super::{PATIENCE, rehearsal};
use crate::cell::{Cell, Subject};
use crate::programs;
use crate::row::{Family, Outcome, Placement, Row};
use crate::run::{Event, run};
use crate::trial::{NoResult, Trial};

#[test]
fn every_cell_has_a_result_or_a_named_absence() {
    let plan = rehearsal(&Family::ALL);
    let (mut measured, mut absent) = (0, 0);
    for cell in plan.groups().into_iter().flatten().filter(is_small) {
        if cell.absent(&plan.cpus).is_some() {
            absent += 1;
            continue;
        }
        let parts = cell.parts(&plan.cpus, 3, cell.is_latency());
        let trial = Trial {
            command: &plan.command,
            keeper: cell.keeper(),
            parts,
            patience: PATIENCE,
            stop: &plan.stop,
        };
        let result = trial
            .run()
            .and_then(|result| Ok(cell.check(&result, 3).map(|()| result)?));
        match result {
            Ok(result) => {
                measured += 1;
                assert!(cell.value(&result, 3) > 0.0, "{}", cell.mechanism());
            }
            Err(NoResult::Absent(_)) => absent += 1,
            Err(NoResult::Failed(failure)) => {
                panic!("{:?} {}: {failure}", cell.family, cell.mechanism())
            }
        }
    }
    assert!(
        measured > 200,
        "{measured} cells have a value, {absent} none"
    );
}

/// A gigabyte takes too long to fill in a test.
fn is_small(cell: &Cell) -> bool {
    !matches!(cell.subject, Subject::Program { rss_mb, .. } if rss_mb > 10)
}

fn rows(families: &[Family]) -> Vec<Row> {
    let mut rows = Vec::new();
    let failed = run(&rehearsal(families), &mut |event| {
        if let Event::Row(row) = event {
            rows.push(row);
        }
    });
    assert_eq!(failed, Ok(0), "{rows:?}");
    rows
}

#[test]
fn two_runs_at_once_do_not_collide() {
    let other = thread::spawn(|| rows(&[Family::Latency, Family::Messages]));
    rows(&[Family::Latency, Family::Messages]);
    other.join().expect("the other run goes well too");
}

#[test]
fn a_row_tells_its_value_and_how_it_came_about() {
    let rows = rows(&[Family::Latency]);
    let pipe = rows
        .iter()
        .find(|row| row.mechanism == "pipe")
        .expect("pipes are measured");
    let Outcome::Value(value) = &pipe.outcome else {
        panic!("a pipe can be had everywhere")
    };
    assert_eq!(value.repetitions.len(), 2);
    assert!(value.min <= value.median && value.each.is_some() && value.operations > 0);
    let doors = rows
        .iter()
        .find(|row| row.mechanism == "doors")
        .expect("doors have a row");
    assert!(matches!(doors.outcome, Outcome::Absent(_)));
    let json = serde_json::to_string(&rows).expect("rows are data");
    assert_eq!(
        serde_json::from_str::<Vec<Row>>(&json)
            .expect("and back")
            .len(),
        rows.len()
    );
}

#[test]
fn giving_back_the_ballast_is_not_measured() {
    let program = programs::named("readdir").expect("there is one");
    let listing_us = |rss_mb| {
        let cell = Cell {
            family: Family::Spawn,
            subject: Subject::Program { program, rss_mb },
            placement: Placement::SameCpu,
        };
        let plan = rehearsal(&[]);
        let least = |least: f64, _| {
            let trial = Trial {
                command: &plan.command,
                keeper: cell.keeper(),
                parts: cell.parts(&plan.cpus, 1, false),
                patience: PATIENCE,
                stop: &plan.stop,
            };
            least.min(cell.value(&trial.run().expect("it runs"), 1))
        };
        (0..3).fold(f64::INFINITY, least)
    };
    // A listing takes some 50 µs, and so much memory takes the kernel some 10,000.
    let (small, large) = (listing_us(1), listing_us(200));
    assert!(large < 20.0 * small, "{small} µs, with 200 MB {large} µs");
}
