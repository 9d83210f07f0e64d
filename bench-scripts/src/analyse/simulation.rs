//! Runs made of known truth and seeded noise: whether intervals hold what they promise, and comparisons too.
//!
//! Noise and size are the quick matrix's: five counts, five rounds, and a spread of the cost ratio in one block from 4% to
//! 7%, differing among counts. The machine's drift, common to all cells of a block at one count, is larger than all that.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::analyse;
use super::tests::{cell, run};
use crate::findings::{Curve, EntrantFindings, Findings, Interval, Point};
use crate::record::{Cell, Run};

const RUNS: u64 = 1000;
const COUNTS: [u32; 5] = [100, 172, 316, 560, 1000];

/// What is true of a made run.
#[derive(Clone, Copy)]
struct Truth {
    /// Cost of each contestant over the control's: epoll, mio, hyper, axum.
    costs: [f64; 4],
    rounds: u32,
    /// Whether epoll is entered twice.
    again: bool,
    /// Spread of the logarithm of the drift.
    drift: f64,
    /// One cell in so many is off by 30%.
    outlier_in: Option<f64>,
    /// The noise of all cells, as a share of what is usual.
    noise: f64,
}

const LADDER: Truth = Truth {
    costs: [1.05, 1.155, 1.35, 1.7],
    rounds: 5,
    again: true,
    drift: 0.15,
    outlier_in: None,
    noise: 1.0,
};

/// A virtual CPU that two neighbours share: quiet, but at times slower by a third. From a real quick run: spread of 2.5%, one
/// ratio in eight far off.
const TWO_SPEEDS: Truth = Truth {
    outlier_in: Some(16.0),
    noise: 0.45,
    ..LADDER
};

const EQUALS: Truth = Truth {
    costs: [1.05; 4],
    ..LADDER
};

const LABELS: [&str; 4] = ["epoll", "mio", "hyper", "axum"];

/// Spread of the ratio's logarithm in one block at a count.
fn spread_at(count: usize) -> f64 {
    [0.04, 0.05, 0.055, 0.06, 0.07][count]
}

pub(super) fn normal(rng: &mut ChaCha8Rng) -> f64 {
    // Box and Muller, "A note on the generation of random normal deviates" (1958).
    let (u, v): (f64, f64) = (rng.random(), rng.random());
    (-2.0 * (1.0 - u).ln()).sqrt() * (std::f64::consts::TAU * v).cos()
}

fn made_run(truth: Truth, seed: u64) -> Findings {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut run: Run = run(&COUNTS);
    let mut entrants: Vec<(&str, f64)> = vec![("null", 1.0)];
    entrants.extend(LABELS.into_iter().zip(truth.costs));
    if truth.again {
        let mut again = run.matrix.entrants[1].clone();
        again.label = "epoll (again)".into();
        again.repeat_of = Some("epoll".into());
        run.matrix.entrants.insert(2, again);
        entrants.push(("epoll (again)", truth.costs[0]));
    }
    let mut cells = Vec::new();
    for block in 0..truth.rounds {
        for (count, &connections) in COUNTS.iter().enumerate() {
            let drift = truth.drift * normal(&mut rng);
            for (label, cost) in &entrants {
                let mut noise = truth.noise * spread_at(count) / 2.0_f64.sqrt() * normal(&mut rng);
                if let Some(cells) = truth.outlier_in
                    && rng.random::<f64>() < 1.0 / cells
                {
                    noise += 0.3;
                }
                let cost = 6.0 * cost * (drift + noise).exp();
                cells.push(made_cell(label, connections, block, cost));
            }
        }
    }
    analyse(&run, &cells)
}

/// A cell of that cost, µs, whose server was busy all the time, so that its rate is the inverse of its cost.
fn made_cell(label: &str, connections: u32, block: u32, cost_us: f64) -> Cell {
    let requests = 1e9 / cost_us;
    let mut cell = cell(label, connections, block, requests as u64, 1);
    let usage = &mut cell.server.as_mut().unwrap().usage;
    usage.user_us = (requests * cost_us / 3.0) as u64;
    usage.system_us = (requests * cost_us * 2.0 / 3.0) as u64;
    cell
}

fn contestant<'a>(findings: &'a Findings, label: &str) -> &'a [Point] {
    let entrant = findings.entrants.iter().find(|e| e.label == label);
    &entrant.unwrap().points
}

/// The share of intervals, per count, that hold the truth, in so many runs.
fn coverage(
    truth: Truth,
    runs: u64,
    interval: impl Fn(&Point) -> Option<Interval>,
    of: impl Fn(f64) -> f64,
) -> [f64; 5] {
    let mut held = [0.0; 5];
    for seed in 0..runs {
        let findings = made_run(truth, seed);
        for (label, cost) in LABELS.into_iter().zip(truth.costs) {
            for (count, point) in contestant(&findings, label).iter().enumerate() {
                let Interval { low, high } = interval(point).unwrap();
                if (low..=high).contains(&of(cost)) {
                    held[count] += 1.0;
                }
            }
        }
    }
    held.map(|held| held / (runs as f64 * LABELS.len() as f64))
}

fn assert_covered(covered: [f64; 5]) {
    let mean = covered.iter().sum::<f64>() / 5.0;
    assert!((0.94..=0.97).contains(&mean), "{covered:?}");
    // Where a run's points differ in noise, the loudest may be held a little too short.
    assert!(covered.iter().all(|c| *c >= 0.90), "{covered:?}");
}

#[test]
fn intervals_of_the_cost_ratio_hold_the_truth_as_often_as_they_say() {
    for (rounds, runs) in [(3, RUNS), (5, RUNS), (14, RUNS / 4)] {
        let truth = Truth { rounds, ..LADDER };
        let of_ratio = |point: &Point| point.intervals.cost_to_control;
        assert_covered(coverage(truth, runs, of_ratio, |cost| cost));
    }
}

#[test]
fn cells_at_another_speed_do_not_break_intervals() {
    let covered = coverage(TWO_SPEEDS, RUNS, |p| p.intervals.cost_to_control, |c| c);
    assert!(covered.iter().all(|c| *c >= 0.94), "{covered:?}");
}

/// The mean noise floor of so many runs.
fn noise_floor(truth: Truth) -> f64 {
    let floors = (0..200).map(|seed| made_run(truth, seed).noise_floor.unwrap().cost_share);
    floors.sum::<f64>() / 200.0
}

/// One ratio in eight is off by 30%: a mean of 25 would have an interval of ±4.5%.
#[test]
fn cells_at_another_speed_hardly_lift_the_noise_floor() {
    let floor = noise_floor(TWO_SPEEDS);
    assert!((0.018..0.026).contains(&floor), "{floor}");
}

/// Where nothing drifts, rates are best taken as they are.
#[test]
fn intervals_of_the_rate_hold_the_truth_as_often_as_they_say() {
    let steady = Truth {
        drift: 0.0,
        ..LADDER
    };
    let per_minute = |cost: f64| 1e9 / (6.0 * cost) * 30.0;
    let of_rate = |point: &Point| point.intervals.requests_per_minute;
    assert_covered(coverage(steady, RUNS, of_rate, per_minute));
}

/// Where the machine drifts, the ratio to the control gives the narrower interval, of the rate too.
#[test]
fn the_rate_of_a_drifting_machine_takes_its_interval_from_the_ratio() {
    let point = contestant(&made_run(LADDER, 1), "hyper")[0].clone();
    let (rate, ratio) = (
        point.intervals.requests_per_minute,
        point.intervals.rate_to_control,
    );
    let width = |interval: Option<Interval>| interval.map(|i| i.high / i.low).unwrap();
    assert!((width(rate) - width(ratio)).abs() < 1e-9, "{point:?}");
}

/// The share of runs in which at least one difference is claimed.
fn false_claims(truth: Truth) -> f64 {
    let claims = |seed: &u64| {
        let findings = made_run(truth, *seed);
        findings.comparisons.iter().any(|at| {
            let all = [&at.cost, &at.rate];
            all.iter()
                .any(|compared| compared.pairs.iter().any(|p| p.less.is_some()))
        })
    };
    (0..RUNS).filter(claims).count() as f64 / RUNS as f64
}

#[test]
fn equal_servers_are_told_apart_in_at_most_one_run_of_twenty() {
    let share = false_claims(EQUALS);
    assert!(share <= 0.05, "{share}");
}

/// Holm's procedure alone, and with cells that are off by far.
#[test]
fn neither_a_missing_pair_nor_outliers_make_false_claims() {
    let without_pair = Truth {
        again: false,
        ..EQUALS
    };
    let share = false_claims(without_pair);
    assert!((0.01..=0.05).contains(&share), "{share}");
    let outliers = Truth {
        outlier_in: Some(20.0),
        ..EQUALS
    };
    let share = false_claims(outliers);
    assert!(share <= 0.05, "{share}");
}

/// Over the connections nothing changes in truth, but the machine does.
#[test]
fn flat_curves_have_no_knees_and_do_not_fall() {
    let runs = RUNS / 2;
    let (mut knees, mut falls) = (0, 0);
    for seed in 0..runs {
        let findings = made_run(LADDER, seed);
        let entrants = || findings.entrants.iter();
        let has_knee = |curve: Option<Curve>| curve.is_some_and(|c| c.knee.is_some());
        knees += u32::from(entrants().any(|e| has_knee(e.scaling.cost)));
        let fell = |e: &&EntrantFindings| {
            let decline = e.decline.as_ref();
            decline.is_some_and(|d| d.rate_change.is_below_zero())
        };
        falls += entrants().filter(fell).count();
    }
    let knees = f64::from(knees) / runs as f64;
    assert!((0.01..=0.05).contains(&knees), "{knees}");
    // Of 95% intervals one in forty lies below the truth as a whole.
    let falls = falls as f64 / (runs * 6) as f64;
    assert!((0.01..=0.04).contains(&falls), "{falls}");
}

#[test]
fn a_difference_of_ten_percent_is_found() {
    let (mut runs, mut points) = (0, 0);
    for seed in 0..RUNS {
        let findings = made_run(LADDER, seed);
        let found = findings.comparisons.iter().filter(|at| {
            let pair = at
                .cost
                .pairs
                .iter()
                .find(|p| p.a == "epoll" && p.b == "mio");
            pair.unwrap().less.as_deref() == Some("epoll")
        });
        let found = found.count();
        points += found;
        runs += u32::from(found > 0);
    }
    let share = points as f64 / (RUNS as f64 * 5.0);
    assert!(share >= 0.85, "at so many of all points: {share}");
    assert!(runs >= 990, "at one count at least: {runs} of {RUNS} runs");
}

/// The noise floor is that of the pair, and shrinks as more of it is measured.
#[test]
fn the_noise_floor_is_about_what_the_pair_shows() {
    let mean = noise_floor(LADDER);
    // 25 pairs, spread 5.6%: an interval of ±2.3% about a mean that is off by 0.9%.
    assert!((0.028..0.036).contains(&mean), "{mean}");
    assert_eq!(
        made_run(
            Truth {
                again: false,
                ..LADDER
            },
            1
        )
        .noise_floor,
        None
    );
}
