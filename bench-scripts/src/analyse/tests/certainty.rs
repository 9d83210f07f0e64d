//! Intervals, ties, noise floor, drift and outliers of made cells.

use super::{cell, point_of, run};
use crate::analyse::analyse;
use crate::findings::Intervals;
use crate::record::Cell;

/// Costs of null and epoll at two counts, in so many blocks; the figures of `at(block)` are epoll's cost, µs.
fn cells_of(blocks: u32, at: impl Fn(u32) -> u64) -> Vec<Cell> {
    let mut cells = Vec::new();
    for block in 0..blocks {
        for connections in [100, 200] {
            cells.push(cell(
                "null",
                connections,
                block,
                10_000,
                1000 + u64::from(block % 2),
            ));
            cells.push(cell("epoll", connections, block, 10_000, at(block)));
        }
    }
    for (index, cell) in cells.iter_mut().enumerate() {
        cell.planned.index = index;
    }
    cells
}

#[test]
fn a_cell_far_off_is_an_outlier_and_stays() {
    let cells = cells_of(8, |block| {
        if block == 5 {
            1500
        } else {
            1100 + u64::from(block)
        }
    });
    let findings = analyse(&run(&[100, 200]), &cells);
    let found: Vec<_> = findings
        .outliers
        .iter()
        .map(|o| (o.index, o.block))
        .collect();
    assert_eq!(found, [(21, 5), (23, 5)]);
    assert_eq!(findings.outliers[0].entrant, "epoll");
    assert!((findings.outliers[0].cost_to_median - 1.36).abs() < 0.01);
    assert_eq!(findings.entrants[1].points[0].valid_cells, 8);
    let quiet = analyse(
        &run(&[100, 200]),
        &cells_of(8, |block| 1100 + u64::from(block)),
    );
    assert_eq!(quiet.outliers, []);
}

#[test]
fn drift_is_the_course_of_the_control() {
    let mut cells = cells_of(3, |_| 1100);
    for cell in &mut cells {
        let usage = &mut cell.server.as_mut().unwrap().usage;
        let slow = [1, 2, 1][cell.planned.block as usize];
        usage.user_us = 10_000_000 * slow / 3;
        usage.system_us = 10_000_000 * slow * 2 / 3;
    }
    let drift = analyse(&run(&[100, 200]), &cells).drift.unwrap();
    assert_eq!(drift.control, "null");
    let course: Vec<f64> = drift.blocks.iter().map(|b| b.cost_to_median).collect();
    assert!(
        (course[0] - 1.0).abs() < 1e-6 && (course[1] - 2.0).abs() < 1e-6,
        "{course:?}"
    );
}

/// With a single round no point has noise of its own; without an A/A pair nothing is said.
#[test]
fn one_round_alone_proves_nothing() {
    let findings = analyse(&run(&[100, 200]), &cells_of(1, |_| 9000));
    let point = point_of(&findings, "epoll");
    assert_eq!(point.intervals, Intervals::default());
    assert!(!findings.comparisons[0].cost.is_told());
    assert_eq!(findings.drift, None);
}

/// With a single round and an A/A pair, its spread over the connection counts stands in for everybody's.
#[test]
fn one_round_with_a_pair_of_equals_tells_large_differences() {
    let counts = [100, 200, 300, 400, 500, 600];
    let mut run = run(&counts);
    run.matrix.entrants[2].label = "epoll (again)".into();
    run.matrix.entrants[2].repeat_of = Some("epoll".into());
    let mut cells = Vec::new();
    for (position, connections) in (0..).zip(counts) {
        for (label, cost) in [
            ("null", 1000),
            ("epoll", 1100),
            ("hyper", 1105),
            ("axum", 1600),
        ] {
            cells.push(cell(label, connections, 0, 10_000, cost));
        }
        let off = if position % 2 == 0 { 1090 } else { 1110 };
        cells.push(cell("epoll (again)", connections, 0, 10_000, off));
    }
    let findings = analyse(&run, &cells);
    for at in &findings.comparisons {
        assert_eq!(at.cost.ties, [vec!["epoll", "hyper"], vec!["axum"]]);
    }
    let interval = point_of(&findings, "axum")
        .intervals
        .cost_to_control
        .unwrap();
    assert!(interval.low > 1.5 && interval.high < 1.7, "{interval:?}");
    let floor = findings.noise_floor.unwrap();
    assert!((0.009..0.012).contains(&floor.cost_share), "{floor:?}");
}

#[test]
fn figures_that_are_all_the_same_are_a_tie() {
    let mut cells = Vec::new();
    for block in 0..3 {
        cells.extend(["null", "epoll", "mio"].map(|label| cell(label, 100, block, 10_000, 9)));
    }
    let findings = analyse(&run(&[100]), &cells);
    assert_eq!(findings.comparisons[0].cost.ties, [vec!["epoll", "mio"]]);
    assert_eq!(findings.comparisons[0].cost.pairs[0].ratio, 1.0);
}

/// A difference that is certain, but less than what equal servers differ by, is a tie.
#[test]
fn what_the_noise_floor_covers_is_a_tie() {
    let mut run = run(&[100, 200]);
    run.matrix.entrants[2].label = "epoll (again)".into();
    run.matrix.entrants[2].repeat_of = Some("epoll".into());
    let ties = |again: u64| {
        let mut cells = cells_of(6, |block| 1100 + u64::from(block % 2));
        let of_epoll = cells
            .iter()
            .filter(|c| c.planned.entrant == "epoll")
            .cloned();
        let others: Vec<Cell> = of_epoll
            .flat_map(|epoll| {
                let (connections, block) = (epoll.planned.connections, epoll.planned.block);
                let noise = u64::from(block % 3);
                [
                    cell("hyper", connections, block, 10_000, 1140 + noise),
                    cell("epoll (again)", connections, block, 10_000, again + noise),
                ]
            })
            .collect();
        cells.extend(others);
        analyse(&run, &cells).comparisons[0].cost.ties.clone()
    };
    assert_eq!(ties(1101), [vec!["epoll"], vec!["hyper"]]);
    assert_eq!(ties(1170), [vec!["epoll", "hyper"]]);
}
