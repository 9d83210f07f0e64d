//! Made runs with known truth.

use rand::Rng;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use statrs::distribution::{ContinuousCDF, Normal};

use super::*;
use crate::made;
use crate::record::{PlannedCell, Reason, Validity};

/// A run of the made one's entrants with other rounds and figures.
fn run(rounds: u32, counts: &[u32]) -> Record {
    let mut record = made::record();
    record.run.matrix.rounds = rounds;
    record.run.matrix.connections = counts.to_vec();
    record.cells.clear();
    record
}

/// A valid cell in which the server took `cpu_us` for 100,000 requests.
fn cell(template: &Cell, entrant: &str, connections: u32, block: u32, cpu_us: f64) -> Cell {
    let mut cell = template.clone();
    cell.planned = PlannedCell {
        index: 0,
        block,
        entrant: entrant.to_owned(),
        connections_asked: connections,
        connections,
    };
    cell.validity = Validity::Valid;
    let server = cell.server.as_mut().unwrap();
    server.workers.as_mut().unwrap()[0].requests = 100_000;
    let usage = &mut server.usage;
    usage.cpu_us = cpu_us as u64;
    usage.user_us = usage.cpu_us / 3;
    usage.system_us = usage.cpu_us - usage.user_us;
    cell
}

/// Noise of the cost of a cell, as a share: of a ratio to null it is 1.4 times that.
const NOISE: f64 = 0.03;

/// Fills a run: each entrant costs 1.0, 1.1 … times null, with noise of each cell and drift of each block, and `slower`
/// costs `factor` times as much as that.
fn measure(mut record: Record, rng: &mut ChaCha8Rng, slower: &str, factor: f64) -> Record {
    let template = made::record().cells.remove(0);
    let normal = Normal::standard();
    let mut noise = |deviation: f64| {
        let uniform = ((rng.next_u64() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64;
        (deviation * normal.inverse_cdf(uniform)).exp()
    };
    let matrix = record.run.matrix.clone();
    for block in 0..matrix.rounds {
        let drift = noise(0.2);
        for (step, entrant) in matrix.entrants.iter().enumerate() {
            for &count in &matrix.connections {
                let truth = 1e6 * (1.0 + step as f64 / 10.0);
                let factor = if entrant.label == slower { factor } else { 1.0 };
                let cpu_us = truth * factor * drift * noise(NOISE);
                let cell = cell(&template, &entrant.label, count, block, cpu_us);
                record.cells.push(cell);
            }
        }
    }
    record
}

fn compared(before: &Record, after: &Record) -> Comparison {
    compare((Path::new("A"), before), (Path::new("B"), after)).unwrap()
}

fn verdicts(comparison: &Comparison) -> Vec<(&str, Verdict)> {
    comparison
        .entrants
        .iter()
        .flat_map(|e| {
            let costs = e.lines.iter().filter_map(|line| line.cost);
            costs.map(|cost| (e.label.as_str(), cost.verdict))
        })
        .collect()
}

/// The quick matrix's size: four contestants at six counts in five rounds.
fn quick(rng: &mut ChaCha8Rng, slower: &str, factor: f64) -> Record {
    let record = run(5, &[100, 172, 244, 352, 600, 1000]);
    measure(record, rng, slower, factor)
}

/// Of 400 pairs of runs of the same programs, at most 5% show a difference anywhere, and none fails the gate.
#[test]
fn runs_of_the_same_programs_are_ties() {
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let gate: FailOn = "worse:5%".parse().unwrap();
    let (mut false_alarms, mut failed) = (0, 0);
    for _ in 0..400 {
        let mut made = || measure(run(5, &[100, 1000]), &mut rng, "", 1.0);
        let comparison = compared(&made(), &made());
        let tie = |(_, verdict): &(&str, Verdict)| *verdict == Verdict::Tie;
        false_alarms += u32::from(!verdicts(&comparison).iter().all(tie));
        failed += u32::from(gate.judge(&comparison) != Judgement::Passed);
    }
    // 20 are expected at most; three standard errors of a binomial more.
    assert!(false_alarms <= 33, "{false_alarms} of 400");
    assert!(failed <= 4, "{failed} of 400");
}

/// A server that is 10% slower is found and fails the gate, and nothing else is accused.
#[test]
fn ten_per_cent_are_found() {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let gate: FailOn = "worse:5%".parse().unwrap();
    let (mut found, mut accused) = (0, 0);
    for _ in 0..50 {
        let before = quick(&mut rng, "", 1.0);
        let after = quick(&mut rng, "mio", 1.1);
        let comparison = compared(&before, &after);
        let worse = |label: &str| label == "mio";
        let (of_mio, of_others): (Vec<_>, Vec<_>) = verdicts(&comparison)
            .into_iter()
            .partition(|(label, _)| worse(label));
        let line_over_all = of_mio[0].1;
        let judged = gate.judge(&comparison);
        found +=
            u32::from(line_over_all == Verdict::Worse && matches!(judged, Judgement::Worse(_)));
        accused += u32::from(of_others.iter().any(|(_, v)| *v != Verdict::Tie));
    }
    assert!(found >= 45, "found {found} of 50");
    assert!(accused <= 7, "accused {accused} of 50");
}

#[test]
fn the_other_way_round_it_is_an_improvement() {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let before = quick(&mut rng, "mio", 1.1);
    let after = quick(&mut rng, "", 1.0);
    let comparison = compared(&before, &after);
    let mio = &comparison.entrants[1];
    let cost = mio.lines[0].cost.unwrap();
    assert_eq!(
        (mio.label.as_str(), cost.verdict),
        ("mio", Verdict::Improved)
    );
    let interval = cost.interval.unwrap();
    assert!(interval.low < 1.0 / 1.1 && 1.0 / 1.1 < interval.high);
    let gate: FailOn = "worse:0%".parse().unwrap();
    assert_eq!(gate.judge(&comparison), Judgement::Passed);
}

#[test]
fn a_gate_does_not_pass_what_it_cannot_see() {
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let before = quick(&mut rng, "", 1.0);
    let mut after = quick(&mut rng, "", 1.0);
    for cell in &mut after.cells {
        if cell.planned.entrant == "mio" && cell.planned.connections_asked == 100 {
            cell.validity = Validity::Invalid {
                reasons: vec![Reason::NoRequests],
            };
        }
    }
    let comparison = compared(&before, &after);
    let unseen = vec!["mio at 100 connections".to_owned()];
    let gate: FailOn = "worse:5%".parse().unwrap();
    assert_eq!(gate.judge(&comparison), Judgement::Unseen(unseen));
    assert!(text(&comparison).contains("no valid pair"));
}

#[test]
fn one_round_tells_nothing() {
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let mut made = || measure(run(1, &[100]), &mut rng, "", 1.0);
    let comparison = compared(&made(), &made());
    let too_few = |(_, verdict): &(&str, Verdict)| *verdict == Verdict::TooFewBlocks;
    assert!(verdicts(&comparison).iter().all(too_few));
    assert_eq!(
        comparison.entrants[0].lines.len(),
        1,
        "no line over one count"
    );
}

#[test]
fn runs_with_nothing_in_common_are_refused() {
    let (before, mut after) = (run(2, &[100]), run(2, &[100]));
    let refusal = |before: &Record, after: &Record| {
        compare((Path::new("A"), before), (Path::new("B"), after))
            .unwrap_err()
            .to_string()
    };
    after.run.matrix.path = "/json".into();
    let message = refusal(&before, &after);
    assert!(
        message.contains("one asked for /, the other for /json"),
        "{message}"
    );
    let after = run(2, &[200]);
    let message = refusal(&before, &after);
    assert!(
        message.contains("no connection count in common (connections: 100 → 200)"),
        "{message}"
    );
    let mut after = run(2, &[100]);
    after.run.matrix.entrants.truncate(1);
    let message = refusal(&before, &after);
    assert!(
        message.contains("no entrant besides the control"),
        "{message}"
    );
}
