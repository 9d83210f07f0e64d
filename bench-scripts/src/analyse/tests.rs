//! Made cells with known answers.

mod certainty;
mod decline;

use super::*;
use crate::findings::Bound;
use crate::made;
use crate::record::{Latency, Load, Reason, System, Validity};

/// The committed made run: its entrants and machine; cells come from the tests.
pub(super) fn run(connections: &[u32]) -> Run {
    let mut run = made::record().run;
    run.matrix.connections = connections.to_vec();
    run
}

/// A valid cell: `requests` in 2 s of load and in 1 s of window, at `cost_us` each, two thirds of it in the kernel.
pub(super) fn cell(
    entrant: &str,
    connections: u32,
    block: u32,
    requests: u64,
    cost_us: u64,
) -> Cell {
    let usage = Usage {
        window_us: 1_000_000,
        cpu_us: requests * cost_us,
        user_us: requests * cost_us / 3,
        system_us: requests * cost_us * 2 / 3,
        voluntary_switches: requests / 10,
        rss_bytes: 3_000_000,
        ..Usage::default()
    };
    Cell {
        planned: crate::record::PlannedCell {
            index: 0,
            block,
            entrant: entrant.to_owned(),
            connections_asked: connections,
            connections,
        },
        attempt: 1,
        started_at: String::new(),
        validity: Validity::Valid,
        load: Some(Load {
            duration_us: 2_000_000,
            requests,
            bytes: requests * 100,
            errors: crate::record::LoadErrors::default(),
            latency: Latency {
                p50_us: 40.0 + f64::from(block),
                p99_us: 400.0,
                ..Latency::default()
            },
            raw: String::new(),
        }),
        server: Some(Server {
            usage,
            rss_before_bytes: 2_000_000,
            established: connections,
            workers: Some(vec![crate::record::WorkerCounts {
                requests,
                wakeups: Some(requests / 4),
                events: Some(requests),
                ..crate::record::WorkerCounts::default()
            }]),
            requests_in_life: Some(requests),
        }),
        client: Some(Usage {
            cpu_us: 500_000,
            ..usage
        }),
        system: Some(System::default()),
        spent: crate::record::Spent::default(),
    }
}

fn invalid(mut cell: Cell) -> Cell {
    cell.validity = Validity::Invalid {
        reasons: vec![Reason::ErrorStatuses { count: 7 }],
    };
    cell
}

fn point_of<'a>(findings: &'a Findings, label: &str) -> &'a Point {
    let entrant = findings.entrants.iter().find(|e| e.label == label);
    &entrant.unwrap().points[0]
}

fn assert_spread(spread: Option<Spread>, median: f64, min: f64, max: f64, samples: u64) {
    let spread = spread.expect("a figure");
    let close = |a: f64, b: f64| (a - b).abs() < 1e-9 * b.abs().max(1.0);
    assert!(
        close(spread.median, median) && close(spread.min, min) && close(spread.max, max),
        "{spread:?} is not {median} ({min} to {max})"
    );
    assert_eq!(spread.samples, samples);
}

#[test]
fn medians_and_ranges_are_over_rounds() {
    let cells = [
        cell("epoll", 100, 0, 30_000, 9),
        cell("epoll", 100, 1, 10_000, 6),
        cell("epoll", 100, 2, 20_000, 12),
    ];
    let findings = analyse(&run(&[100]), &cells);
    let point = point_of(&findings, "epoll");
    assert_eq!(point.valid_cells, 3);
    assert_spread(
        point.requests_per_minute,
        600_000.0,
        300_000.0,
        900_000.0,
        3,
    );
    let cost = point.cost.unwrap();
    assert_spread(Some(cost.total_us), 9.0, 6.0, 12.0, 3);
    assert_spread(Some(cost.user_us), 3.0, 2.0, 4.0, 3);
    assert_spread(Some(cost.system_us), 6.0, 4.0, 8.0, 3);
    assert_spread(point.latency.map(|l| l.p50_us), 41.0, 40.0, 42.0, 3);
    let resources = point.resources.unwrap();
    assert_spread(resources.rss_per_connection_bytes, 1e4, 1e4, 1e4, 3);
    assert_spread(resources.context_switches_per_request, 0.1, 0.1, 0.1, 3);
    assert_spread(resources.events_per_wakeup, 4.0, 4.0, 4.0, 3);
    assert_spread(resources.busy_share, 0.24, 0.06, 0.27, 3);
    assert_spread(point.client_busy_share, 0.5, 0.5, 0.5, 3);
}

#[test]
fn of_two_rounds_the_median_is_the_middle() {
    let cells = [
        cell("epoll", 100, 0, 10_000, 6),
        cell("epoll", 100, 1, 20_000, 9),
    ];
    let findings = analyse(&run(&[100]), &cells);
    let point = point_of(&findings, "epoll");
    assert_spread(
        point.requests_per_minute,
        450_000.0,
        300_000.0,
        600_000.0,
        2,
    );
}

/// The machine halves its speed in the second block: medians move, ratios do not.
#[test]
fn ratios_are_taken_inside_a_block() {
    let cells = [
        cell("null", 100, 0, 20_000, 6),
        cell("epoll", 100, 0, 10_000, 9),
        cell("epoll", 100, 1, 5_000, 18),
        cell("null", 100, 1, 10_000, 12),
    ];
    let findings = analyse(&run(&[100]), &cells);
    let point = point_of(&findings, "epoll");
    assert_spread(point.rate_to_control, 0.5, 0.5, 0.5, 2);
    assert_spread(point.cost_to_control, 1.5, 1.5, 1.5, 2);
    assert_eq!(point.bound_by, Some(Bound::Neither));
    // 1.5 times the control's median of 9 µs, in both blocks.
    let cost = point.cost.unwrap();
    assert_spread(Some(cost.total_us), 13.5, 13.5, 13.5, 2);
    assert_spread(Some(cost.user_us), 4.5, 4.5, 4.5, 2);
    assert_spread(point.cost_as_measured_us, 13.5, 9.0, 18.0, 2);
    let null = point_of(&findings, "null");
    assert_spread(null.cost.map(|c| c.total_us), 9.0, 6.0, 12.0, 2);
    assert_spread(null.cost_to_control, 1.0, 1.0, 1.0, 2);
    assert_eq!(
        null.bound_by,
        Some(Bound::Neither),
        "a control is not measured against itself"
    );
    assert_spread(
        findings.ceilings[0].requests_per_minute,
        450_000.0,
        300_000.0,
        600_000.0,
        2,
    );
}

#[test]
fn an_invalid_cell_enters_no_figure_and_is_named() {
    let cells = [
        cell("null", 100, 0, 20_000, 6),
        cell("null", 100, 1, 20_000, 6),
        cell("epoll", 100, 0, 10_000, 9),
        invalid(cell("epoll", 100, 1, 1_000_000, 1)),
    ];
    let findings = analyse(&run(&[100]), &cells);
    let point = point_of(&findings, "epoll");
    assert_eq!(point.valid_cells, 1);
    assert_spread(
        point.requests_per_minute,
        300_000.0,
        300_000.0,
        300_000.0,
        1,
    );
    assert_spread(point.cost_to_control, 1.5, 1.5, 1.5, 1);
    assert_eq!(point.invalid_cells.len(), 1);
    assert_eq!(point.invalid_cells[0].block, 1);
    assert_eq!(
        point.invalid_cells[0].reasons,
        [Reason::ErrorStatuses { count: 7 }]
    );
    assert_eq!((findings.cells.measured, findings.cells.valid), (4, 3));
}

#[test]
fn a_block_without_a_valid_control_gives_no_pair() {
    let cells = [
        cell("null", 100, 0, 20_000, 6),
        invalid(cell("null", 100, 1, 20_000, 6)),
        cell("epoll", 100, 0, 10_000, 9),
        cell("epoll", 100, 1, 10_000, 9),
        cell("epoll", 100, 2, 10_000, 9),
    ];
    let findings = analyse(&run(&[100]), &cells);
    let point = point_of(&findings, "epoll");
    assert_eq!(point.valid_cells, 3);
    assert_spread(point.cost_to_control, 1.5, 1.5, 1.5, 1);
    assert_spread(point.cost.map(|c| c.total_us), 9.0, 9.0, 9.0, 1);
    assert_spread(point.cost_as_measured_us, 9.0, 9.0, 9.0, 3);
}

#[test]
fn a_rate_near_the_ceiling_or_a_busy_client_is_bound_by_the_client() {
    let near = [
        cell("null", 100, 0, 10_000, 6),
        cell("epoll", 100, 0, 9_000, 9),
        cell("axum", 100, 0, 8_900, 9),
    ];
    let findings = analyse(&run(&[100]), &near);
    assert_eq!(point_of(&findings, "epoll").bound_by, Some(Bound::Client));
    assert_eq!(point_of(&findings, "axum").bound_by, Some(Bound::Neither));

    let mut busy = cell("axum", 100, 0, 100, 9);
    busy.client.as_mut().unwrap().cpu_us = 950_000;
    let findings = analyse(&run(&[100]), &[cell("null", 100, 0, 10_000, 6), busy]);
    assert_eq!(point_of(&findings, "axum").bound_by, Some(Bound::Client));
    assert_eq!(
        point_of(&findings, "mio").bound_by,
        None,
        "no cell, no bound"
    );
}

/// Both sides full: the control shows whether the client could do more.
#[test]
fn of_two_full_sides_the_ceiling_tells_which_is_the_bound() {
    let full = |entrant: &str, requests: u64| {
        let mut cell = cell(entrant, 100, 0, requests, 1);
        cell.client.as_mut().unwrap().cpu_us = 990_000;
        cell.server.as_mut().unwrap().usage.cpu_us = 990_000;
        cell
    };
    let cells = [
        full("null", 100_000),
        full("mio", 95_000),
        full("axum", 60_000),
    ];
    let findings = analyse(&run(&[100]), &cells);
    assert_eq!(point_of(&findings, "null").bound_by, Some(Bound::Client));
    assert_eq!(point_of(&findings, "mio").bound_by, Some(Bound::Client));
    assert_eq!(point_of(&findings, "axum").bound_by, Some(Bound::Server));
}

#[test]
fn a_machine_that_takes_time_away_is_the_bound() {
    let mut throttled = invalid(cell("axum", 100, 0, 100, 9));
    throttled.system.as_mut().unwrap().throttled_us = 500_000;
    let mut stolen = invalid(cell("mio", 100, 0, 100, 9));
    stolen.system.as_mut().unwrap().steal_percent = 40.0;
    let findings = analyse(&run(&[100]), &[throttled, stolen]);
    assert_eq!(point_of(&findings, "axum").bound_by, Some(Bound::Quota));
    assert_eq!(point_of(&findings, "mio").bound_by, Some(Bound::Noise));
}

/// Nothing is pinned: neither side fills all CPUs, but both together do.
#[test]
fn sides_that_share_full_cpus_are_told_apart_by_the_ceiling() {
    let mut run = run(&[100]);
    run.cpu_plan.pinned = false;
    run.cpu_plan.server = vec![0, 1];
    run.cpu_plan.client = vec![0, 1];
    let shared = |entrant: &str, requests: u64| {
        let mut cell = cell(entrant, 100, 0, requests, 1);
        cell.client.as_mut().unwrap().cpu_us = 900_000;
        cell.server.as_mut().unwrap().usage.cpu_us = 900_000;
        cell.system.as_mut().unwrap().other_cpu_us = 150_000;
        cell
    };
    let cells = [shared("null", 100_000), shared("axum", 60_000)];
    let findings = analyse(&run, &cells);
    assert_eq!(point_of(&findings, "axum").bound_by, Some(Bound::Server));
}

#[test]
fn an_entrant_without_cells_has_points_without_figures() {
    let findings = analyse(&run(&[100, 200]), &[]);
    let hyper = findings
        .entrants
        .iter()
        .find(|e| e.label == "hyper")
        .unwrap();
    assert_eq!(hyper.points.len(), 2);
    assert_eq!(hyper.points[1].connections, 200);
    assert_eq!(hyper.points[0].requests_per_minute, None);
    assert_eq!(hyper.points[0].resources, None);
    assert_eq!(findings.connection_counts(), [100, 200]);
}

#[test]
fn an_entrant_is_compared_with_the_control_of_as_many_threads() {
    use crate::matrix::Threads;
    let mut run = run(&[100]);
    let mut many = run.matrix.entrants.clone();
    for entrant in &mut many {
        entrant.label = format!("{} all", entrant.label);
        entrant.threads = Threads::All;
    }
    run.matrix.entrants.extend(many);
    let findings = analyse(&run, &[]);
    let compared = |label: &str| {
        let entrant = findings.entrants.iter().find(|e| e.label == label);
        entrant.unwrap().compared_with.clone()
    };
    assert_eq!(compared("axum").as_deref(), Some("null"));
    assert_eq!(compared("axum all").as_deref(), Some("null all"));
}
