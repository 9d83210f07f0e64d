//! Declines of made cells: the parts, what they add up to, and where they begin.

use super::{cell, invalid, run};
use crate::analyse::analyse;
use crate::findings::{Decline, Findings, Part, Side};
use crate::record::{Cell, Run};

/// Time of one request, µs: server in user space, server in the kernel, load generator, wall.
#[derive(Clone, Copy)]
struct Times {
    user: f64,
    kernel: f64,
    client: f64,
    wall: f64,
}

const FEW: Times = Times {
    user: 1.0,
    kernel: 4.0,
    client: 5.94,
    wall: 6.0,
};

/// Twice as slow: of 6 µs more the load generator takes 5.94.
const MANY: Times = Times {
    user: 1.5,
    kernel: 5.0,
    client: 11.88,
    wall: 12.0,
};

/// A cell of which every request takes `speed` times these times.
fn timed(entrant: &str, connections: u32, block: u32, times: Times, speed: f64) -> Cell {
    let requests = 1e6 / (times.wall * speed);
    let mut cell = cell(entrant, connections, block, requests as u64, 1);
    let of_window = |us: f64| (us * 1e6 / times.wall).round() as u64;
    let server = &mut cell.server.as_mut().unwrap().usage;
    server.user_us = of_window(times.user);
    server.system_us = of_window(times.kernel);
    server.cpu_us = server.user_us + server.system_us;
    cell.client.as_mut().unwrap().cpu_us = of_window(times.client);
    cell
}

/// null and epoll at two counts; each of three blocks has a speed of its own.
fn cells(null: [Times; 2], epoll: [Times; 2]) -> Vec<Cell> {
    let mut cells = Vec::new();
    for (block, speed) in [(0, 1.0), (1, 1.3), (2, 0.9)] {
        for (position, connections) in [100, 1000].into_iter().enumerate() {
            cells.push(timed("null", connections, block, null[position], speed));
            cells.push(timed("epoll", connections, block, epoll[position], speed));
        }
    }
    cells
}

fn pinned() -> Run {
    let mut run = run(&[100, 1000]);
    run.cpu_plan.pinned = true;
    run.cpu_plan.server = vec![0];
    run.cpu_plan.client = vec![1];
    run
}

fn decline<'a>(findings: &'a Findings, label: &str) -> Option<&'a Decline> {
    let entrant = findings.entrants.iter().find(|e| e.label == label);
    entrant.unwrap().decline.as_ref()
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-3 * b.abs().max(1.0)
}

#[test]
fn the_parts_are_those_that_were_put_in() {
    let findings = analyse(&pinned(), &cells([FEW, MANY], [FEW, MANY]));
    let decline = decline(&findings, "epoll").unwrap();
    let ends = (decline.from_connections_asked, decline.to_connections_asked);
    assert_eq!((ends, decline.blocks), ((100, 1000), 3));
    assert!(close(decline.rate_change.value, -0.5), "{decline:?}");
    assert!(decline.rate_change.is_below_zero());
    // Blocks are 1.0, 1.3 and 0.9 times as slow: 1.0667 times in the mean.
    let mean = 3.2 / 3.0;
    let wanted = [
        (Part::ServerUser, 1.0, 0.5, 0.5 / 12.0),
        (Part::ServerKernel, 4.0, 1.0, 1.0 / 12.0),
        (Part::ServerWaiting, 1.0, 4.5, 4.5 / 12.0),
        (Part::Client, 5.94, 5.94, 5.94 / 12.0),
        (Part::ClientWaiting, 0.06, 0.06, 0.06 / 12.0),
    ];
    for (part, (name, from, added, share)) in decline.parts.iter().zip(wanted) {
        assert_eq!(part.part, name);
        assert!(close(part.time.from_us, from * mean), "{part:?}");
        assert!(close(part.time.added_us.value, added * mean), "{part:?}");
        let told = part.share.unwrap();
        // In every block the share is the same, however slow the block is.
        let interval = told.interval.unwrap();
        assert!(close(told.value, share), "{part:?}");
        assert!(interval.high - interval.low < 1e-2, "{part:?}");
    }
    let sum: f64 = decline.parts.iter().map(|p| p.time.added_us.value).sum();
    assert!((sum - decline.total.added_us.value).abs() < 1e-9);
}

#[test]
fn the_full_side_is_told_with_its_own_part() {
    let findings = analyse(&pinned(), &cells([FEW, MANY], [FEW, MANY]));
    let critical = decline(&findings, "epoll").unwrap().critical.unwrap();
    assert_eq!(critical.side, Side::Client);
    assert!(close(critical.cpu_share.unwrap().value, 0.99));
    assert!(close(critical.other.added_us.value, 1.5 * 3.2 / 3.0));
}

/// What null loses too is not the entrant's own.
#[test]
fn an_entrants_own_part_is_what_it_adds_to_nulls() {
    let null = [FEW, Times { user: 1.0, ..MANY }];
    let findings = analyse(&pinned(), &cells(null, [FEW, MANY]));
    let parts = &decline(&findings, "epoll").unwrap().parts;
    let beyond = |part: usize| parts[part].time.beyond_control_us.unwrap().value;
    assert!(close(beyond(0), 0.5 * 3.2 / 3.0), "{parts:?}");
    assert!(close(beyond(1), 0.0), "{parts:?}");
    let null = decline(&findings, "null").unwrap();
    assert_eq!(null.total.beyond_control_us, None);
}

/// Nothing is pinned: all CPUs once, with others' time and nobody's.
#[test]
fn shared_cpus_are_counted_once() {
    let mut run = pinned();
    run.cpu_plan.pinned = false;
    run.cpu_plan.server = vec![0, 1];
    run.cpu_plan.client = vec![0, 1];
    let mut cells = cells([FEW, MANY], [FEW, MANY]);
    for cell in &mut cells {
        cell.system.as_mut().unwrap().other_cpu_us = 10_000;
    }
    let findings = analyse(&run, &cells);
    let decline = decline(&findings, "epoll").unwrap();
    let parts: Vec<Part> = decline.parts.iter().map(|p| p.part).collect();
    assert_eq!(parts[3..], [Part::Others, Part::Idle]);
    assert!(close(decline.total.added_us.value, 12.0 * 3.2 / 3.0));
    assert!(close(
        decline.parts[3].time.added_us.value,
        0.06 * 3.2 / 3.0
    ));
    assert_eq!(decline.critical, None);
}

/// A peak that is proven is where the decline begins; the luckiest of equals is not.
#[test]
fn the_decline_begins_at_a_proven_peak() {
    let begin = |peak: f64| {
        let mut run = pinned();
        run.matrix.connections = vec![100, 300, 1000];
        let mut cells = cells([FEW, MANY], [FEW, MANY]);
        for (block, speed) in [(0, 0.98), (1, 1.30), (2, 0.91)] {
            cells.push(timed("epoll", 300, block, FEW, speed * peak));
        }
        let findings = analyse(&run, &cells);
        decline(&findings, "epoll").unwrap().from_connections_asked
    };
    assert_eq!(begin(0.5), 300);
    assert_eq!(begin(0.995), 100);
}

#[test]
fn a_rate_that_only_rises_has_no_decline() {
    let findings = analyse(&pinned(), &cells([FEW, MANY], [MANY, FEW]));
    assert_eq!(decline(&findings, "epoll"), None);
    assert!(decline(&findings, "null").is_some());
}

#[test]
fn one_round_proves_nothing_and_one_count_has_no_decline() {
    let all = cells([FEW, MANY], [FEW, MANY]);
    let first: Vec<Cell> = all
        .iter()
        .filter(|c| c.planned.block == 0)
        .cloned()
        .collect();
    let findings = analyse(&pinned(), &first);
    let once = decline(&findings, "epoll").unwrap();
    assert_eq!(
        (once.rate_change.interval, once.parts[0].share),
        (None, None)
    );
    let mut run = pinned();
    run.matrix.connections = vec![100];
    assert_eq!(decline(&analyse(&run, &all), "epoll"), None);
}

/// A block counts only where both ends are valid.
#[test]
fn an_invalid_end_takes_its_block_out() {
    let mut cells = cells([FEW, MANY], [FEW, MANY]);
    let end = |c: &&mut Cell| c.planned.entrant == "epoll" && c.planned.connections == 1000;
    let last = cells.iter_mut().filter(end).last().unwrap();
    *last = invalid(last.clone());
    let findings = analyse(&pinned(), &cells);
    assert_eq!(decline(&findings, "epoll").unwrap().blocks, 2);
    assert_eq!(decline(&findings, "null").unwrap().blocks, 3);
}

/// wrk's own rate also counts the time in which connections open.
#[test]
fn the_opening_of_connections_is_told_apart() {
    let mut cells = cells([FEW, MANY], [FEW, MANY]);
    for cell in &mut cells {
        let load = cell.load.as_mut().unwrap();
        load.requests *= 2;
        if cell.planned.connections == 1000 {
            load.requests -= load.requests / 10;
        }
    }
    let findings = analyse(&pinned(), &cells);
    let decline = decline(&findings, "epoll").unwrap();
    assert!(close(decline.rate_change.value, -0.5), "{decline:?}");
    let opening = decline.opening_change.unwrap();
    assert!(close(opening.value, -0.1), "{decline:?}");

    for cell in &mut cells {
        cell.server.as_mut().unwrap().workers = None;
    }
    let foreign = analyse(&pinned(), &cells);
    let decline = self::decline(&foreign, "epoll").unwrap();
    assert_eq!(decline.opening_change, None);
}
