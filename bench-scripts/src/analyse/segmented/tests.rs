//! Broken lines of known truth, at the size and the noise of the quick matrix, and of c10k.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::*;
use crate::analyse::simulation::normal;

const RUNS: u64 = 1000;

/// What is true of a made curve: ln of the figure grows by so much for each doubling, before the knee and after it.
#[derive(Clone, Copy)]
struct Truth<'a> {
    counts: &'a [u32],
    blocks: u32,
    knee: f64,
    before: f64,
    after: f64,
    /// Spread of one cell's logarithm.
    noise: f64,
}

const QUICK: Truth = Truth {
    counts: &[100, 172, 316, 560, 1000],
    blocks: 5,
    knee: 316.0,
    before: 0.0,
    after: 0.2,
    noise: 0.055,
};

const C10K: Truth = Truth {
    counts: &[100, 178, 316, 562, 1000, 1780, 3160, 5620, 10000],
    blocks: 2,
    ..QUICK
};

/// Shares of made runs.
#[derive(Debug)]
struct Shares {
    /// In which a knee is claimed.
    claimed: f64,
    /// Of all: the straight line's interval holds the slope before the knee.
    straight: f64,
    /// Of the claimed ones: the interval of the knee holds it.
    knee: f64,
    /// Of the claimed ones: the interval of the slope after the knee holds it.
    after: f64,
}

impl Truth<'_> {
    fn log(&self, connections: f64) -> f64 {
        let beyond = (connections / self.knee).log2();
        beyond
            * if beyond > 0.0 {
                self.after
            } else {
                self.before
            }
    }

    /// One made run's cells; the blocks lie apart by more than the noise.
    fn made(&self, seed: u64) -> Vec<Observation> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut cells = Vec::new();
        for block in 0..self.blocks {
            let drift = 0.15 * normal(&mut rng);
            for &connections in self.counts {
                cells.push(Observation {
                    block,
                    connections,
                    log: self.log(f64::from(connections)) + drift + self.noise * normal(&mut rng),
                });
            }
        }
        cells
    }

    fn shares(&self) -> Shares {
        let holds = |slope: Slope, truth: f64| {
            let inside = |b: LogInterval| b.low <= truth && truth <= b.high;
            u32::from(slope.bounds.is_none_or(inside))
        };
        let (mut claimed, mut straight, mut knee, mut after) = (0, 0, 0, 0);
        for seed in 0..RUNS {
            let fit = fit(&self.made(seed)).unwrap();
            straight += holds(fit.slope, self.before);
            let claim = |bend: &Bend| bend.chance <= 0.05 && bend.is_located;
            if let Some(bend) = fit.bend.filter(claim) {
                let (_, low, high) = bend.connections;
                claimed += 1;
                knee += u32::from(low <= self.knee && self.knee <= high);
                after += holds(bend.after, self.after);
            }
        }
        let of_claimed = |count: u32| f64::from(count) / f64::from(claimed);
        Shares {
            claimed: f64::from(claimed) / RUNS as f64,
            straight: f64::from(straight) / RUNS as f64,
            knee: of_claimed(knee),
            after: of_claimed(after),
        }
    }
}

/// A flat curve, and a power law, have no knee.
#[test]
fn a_straight_line_has_a_knee_in_at_most_one_run_of_twenty() {
    for truth in [QUICK, C10K] {
        for slope in [0.0, 0.1] {
            let straight = Truth {
                before: slope,
                after: slope,
                ..truth
            };
            let shares = straight.shares();
            assert!((0.02..=0.05).contains(&shares.claimed), "{shares:?}");
            assert!((0.93..=0.97).contains(&shares.straight), "{shares:?}");
        }
    }
}

#[test]
fn a_knee_is_found_and_its_intervals_hold_the_truth() {
    let knees = [(QUICK, 316.0), (QUICK, 400.0), (C10K, 316.0), (C10K, 800.0)];
    for (truth, knee) in knees {
        let shares = Truth { knee, ..truth }.shares();
        assert!(shares.claimed >= 0.9, "{knee} {shares:?}");
        assert!((0.93..=0.99).contains(&shares.knee), "{knee} {shares:?}");
        assert!((0.93..=0.98).contains(&shares.after), "{knee} {shares:?}");
    }
}

/// Without noise the knee is where it was put, whatever the blocks are apart.
#[test]
fn a_knee_without_noise_is_exact() {
    let truth = Truth {
        noise: 0.0,
        before: -0.3,
        ..QUICK
    };
    let bend = fit(&truth.made(1)).unwrap().bend.unwrap();
    assert!((bend.connections.0 - 316.0).abs() < 1e-6, "{bend:?}");
    assert!((bend.before.value + 0.3).abs() < 1e-9, "{bend:?}");
    assert!((bend.after.value - 0.2).abs() < 1e-9, "{bend:?}");
    assert!(bend.chance < 1e-9, "{bend:?}");
}

/// Blocks that lack cells are no curve of their own.
#[test]
fn a_missing_cell_bends_nothing() {
    let truth = Truth {
        noise: 0.0,
        before: 0.1,
        after: 0.1,
        ..QUICK
    };
    let mut cells = truth.made(1);
    cells.retain(|cell| cell.block != 0 || cell.connections < 500);
    let fit = fit(&cells).unwrap();
    assert!((fit.slope.value - 0.1).abs() < 1e-9, "{fit:?}");
}

#[test]
fn three_counts_have_a_slope_and_no_knee_and_one_has_neither() {
    let three = Truth {
        counts: &[100, 300, 900],
        ..QUICK
    };
    let fit_of_three = fit(&three.made(1)).unwrap();
    assert!(fit_of_three.bend.is_none());
    assert!(fit_of_three.slope.bounds.is_some());
    let one = Truth {
        counts: &[100],
        ..QUICK
    };
    assert!(fit(&one.made(1)).is_none());
    assert!(fit(&[]).is_none());
}

/// What turns for the better is no knee.
#[test]
fn a_curve_that_flattens_has_no_knee() {
    let flattening = Truth {
        before: 0.4,
        after: 0.0,
        ..QUICK
    };
    let shares = flattening.shares();
    assert!(shares.claimed < 0.001, "{shares:?}");
}
