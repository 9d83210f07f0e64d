//! Straight and broken lines through the logarithms of a figure over log2 of the connections.
//!
//! A power law is a straight line there; a *knee* is where a broken line turns upwards. Every block may lie higher or
//! lower as a whole: its mean is taken out of everything first (a two-way layout, block and curve).
//!
//! For a given knee the broken line is linear least squares; the knee itself is found on a grid, as D. V. Hinkley,
//! "Inference in two-phase regression", Journal of the American Statistical Association 66 (1971) does, and V. M. R.
//! Muggeo, "Estimating regression models with unknown break-points", Statistics in Medicine 22 (2003). Intervals are those
//! of the profile likelihood: all values at which the best fit is not worse, by F, than the data allow.
//!
//! Whether there is a knee at all is no t test, since it was looked for everywhere. The chance that the best of all knees
//! fits so well where there is none is bounded by H. Hotelling's volume of a tube around the curve that the knees trace on
//! the sphere ("Tubes and spheres in n-spaces", American Journal of Mathematics 61, 1939), as M. Knowles and D. Siegmund,
//! "On Hotelling's approach to testing for a nonlinear parameter in regression", International Statistical Review 57 (1989).

use std::collections::HashMap;
use std::f64::consts::PI;

use statrs::distribution::{ContinuousCDF, StudentsT};

use super::intervals::LogInterval;

/// Knees are looked for in so many steps between two neighbouring counts.
const STEPS: u32 = 20;

/// A knee needs a line on either side of it.
const LEAST_COUNTS: usize = 4;

/// Residual variance below which rounding is all that there is to see.
const ROUNDING_VARIANCE: f64 = 1e-18;

/// One cell: the logarithm of a figure of which less is better.
#[derive(Clone, Copy, Debug)]
pub(super) struct Observation {
    pub(super) block: u32,
    pub(super) connections: u32,
    pub(super) log: f64,
}

/// A slope, per doubling of the connections. Without bounds where the data set none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Slope {
    pub(super) value: f64,
    pub(super) bounds: Option<LogInterval>,
}

/// What fits a curve.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fit {
    /// The straight line's.
    pub(super) slope: Slope,
    /// The best broken line that turns upwards, whether that is more than chance or not.
    pub(super) bend: Option<Bend>,
}

/// A broken line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bend {
    /// Connections where it breaks, with the interval's ends. These are the lowest or highest count where the break may lie anywhere
    /// beyond the last count but one.
    pub(super) connections: (f64, f64, f64),
    pub(super) before: Slope,
    pub(super) after: Slope,
    /// How likely so good a fit of a break is at most where there is none.
    pub(super) chance: f64,
    /// Whether the interval leaves out a part of the counts.
    pub(super) is_located: bool,
}

/// Fits both lines; none where nothing is left over to see the noise by.
pub(super) fn fit(observations: &[Observation]) -> Option<Fit> {
    let data = Centred::new(observations);
    let freedom = data.freedom.checked_sub(1).filter(|f| *f > 0)?;
    let (slope, squares) = data.straight()?;
    let half = t_quantile(freedom)? * (squares / freedom as f64 / data.xx).sqrt();
    Some(Fit {
        slope: Slope {
            value: slope,
            bounds: Some(LogInterval {
                low: slope - half,
                high: slope + half,
            }),
        },
        bend: bend(&data),
    })
}

/// Observations over log2 of the connections, each block's mean taken out.
struct Centred {
    blocks: Blocks,
    log2: Vec<f64>,
    x: Vec<f64>,
    y: Vec<f64>,
    /// Sums of products.
    xx: f64,
    xy: f64,
    yy: f64,
    /// Observations less blocks.
    freedom: usize,
}

impl Centred {
    fn new(observations: &[Observation]) -> Self {
        let blocks = Blocks::new(observations);
        let log2 = observations.iter().map(|o| f64::from(o.connections).log2());
        let log2: Vec<f64> = log2.collect();
        let logs: Vec<f64> = observations.iter().map(|o| o.log).collect();
        let (x, y) = (blocks.centred(&log2), blocks.centred(&logs));
        Self {
            xx: dot(&x, &x),
            xy: dot(&x, &y),
            yy: dot(&y, &y),
            freedom: observations.len() - blocks.sizes.len(),
            x,
            y,
            blocks,
            log2,
        }
    }

    /// log2 of the counts, ascending, each once.
    fn counts(&self) -> Vec<f64> {
        let mut counts = self.log2.clone();
        counts.sort_by(f64::total_cmp);
        counts.dedup();
        counts
    }

    /// Slope of the straight line, and the squares that it leaves.
    fn straight(&self) -> Option<(f64, f64)> {
        (self.xx > 0.0).then(|| {
            let slope = self.xy / self.xx;
            (slope, self.left(self.yy - slope * self.xy))
        })
    }

    /// Squares that a fit leaves: rounding alone leaves some.
    fn left(&self, squares: f64) -> f64 {
        squares.max(ROUNDING_VARIANCE * self.y.len() as f64)
    }

    /// What rises from a knee on, and is 0 before it.
    fn hinge(&self, knee: f64) -> Hinge {
        let beyond: Vec<f64> = self.log2.iter().map(|x| (x - knee).max(0.0)).collect();
        let v = self.blocks.centred(&beyond);
        Hinge {
            knee,
            xv: dot(&self.x, &v),
            vv: dot(&v, &v),
            vy: dot(&v, &self.y),
            v,
        }
    }

    /// The line that breaks at a hinge, before · min(x, knee) + after · max(x - knee, 0), by least squares.
    fn broken(&self, hinge: &Hinge) -> Option<Broken> {
        // Of min(x, knee), which is x less what rises from the knee on.
        let uu = self.xx - 2.0 * hinge.xv + hinge.vv;
        let uv = hinge.xv - hinge.vv;
        let uy = self.xy - hinge.vy;
        let determinant = uu * hinge.vv - uv * uv;
        let solvable = determinant > 1e-9 * uu * hinge.vv;
        solvable.then(|| {
            let before = (hinge.vv * uy - uv * hinge.vy) / determinant;
            let after = (uu * hinge.vy - uv * uy) / determinant;
            Broken {
                knee: hinge.knee,
                before,
                after,
                variances: (hinge.vv / determinant, uu / determinant),
                squares: self.left(self.yy - before * uy - after * hinge.vy),
            }
        })
    }

    /// The product of what two hinges add to a straight line.
    fn beside_line(&self, a: &Hinge, b: &Hinge) -> f64 {
        dot(&a.v, &b.v) - a.xv * b.xv / self.xx
    }

    /// The chance, at most, that one of the hinges explains so much of what a straight line leaves, where that is only noise.
    fn chance(&self, hinges: &[Hinge]) -> Option<f64> {
        let (slope, left) = self.straight()?;
        let length = |hinge| self.beside_line(hinge, hinge).sqrt();
        let explained = hinges
            .iter()
            .map(|hinge| (hinge.vy - slope * hinge.xv) / length(hinge) / left.sqrt());
        let cosine = explained.fold(0.0, f64::max).min(1.0);
        let path: f64 = hinges
            .windows(2)
            .map(|pair| (&pair[0], &pair[1]))
            .map(|(a, b)| self.beside_line(a, b) / length(a) / length(b))
            .map(|cosine| cosine.clamp(-1.0, 1.0).acos())
            .sum();
        // What a straight line leaves lies anywhere on a sphere in so many dimensions, if it is noise.
        let dimensions = self.freedom as f64 - 1.0;
        let sine_squared = 1.0 - cosine * cosine;
        let t = cosine * ((dimensions - 1.0) / sine_squared).sqrt();
        let cap = StudentsT::new(0.0, 1.0, dimensions - 1.0).ok()?.sf(t);
        let tube = path / (2.0 * PI) * sine_squared.powf((dimensions - 2.0) / 2.0);
        Some((cap + tube).min(1.0))
    }
}

/// A break at a knee: the vector that rises from it on, centred, and its products with x and y.
struct Hinge {
    /// log2 of the connections.
    knee: f64,
    v: Vec<f64>,
    xv: f64,
    vv: f64,
    vy: f64,
}

/// A broken line for a given knee.
#[derive(Clone, Copy)]
struct Broken {
    /// log2 of the connections.
    knee: f64,
    before: f64,
    after: f64,
    /// Of the two slopes, over the residual variance.
    variances: (f64, f64),
    /// Sum of the squares that it leaves.
    squares: f64,
}

fn bend(data: &Centred) -> Option<Bend> {
    let counts = data.counts();
    if counts.len() < LEAST_COUNTS {
        return None;
    }
    // Two slopes and the knee.
    let freedom = data.freedom.checked_sub(3).filter(|f| *f > 0)?;
    let grid = grid(&counts[1..counts.len() - 1]).into_iter();
    let hinges: Vec<Hinge> = grid.map(|knee| data.hinge(knee)).collect();
    let fits: Vec<Broken> = hinges.iter().filter_map(|h| data.broken(h)).collect();
    let upwards = fits.iter().filter(|fit| fit.after > fit.before);
    let best = upwards.min_by(|a, b| a.squares.total_cmp(&b.squares))?;
    let allowed = best.squares * (1.0 + t_quantile(freedom)?.powi(2) / freedom as f64);
    let region = Region::new(&fits, allowed)?;
    let (low, high) = region.ends(&counts);
    Some(Bend {
        connections: (best.knee.exp2(), low.exp2(), high.exp2()),
        before: Slope {
            value: best.before,
            bounds: region
                .bounds(|fit| (fit.before, fit.variances.0))
                .filter(|_| !region.is_open_below()),
        },
        after: Slope {
            value: best.after,
            bounds: region
                .bounds(|fit| (fit.after, fit.variances.1))
                .filter(|_| !region.is_open_above()),
        },
        chance: data.chance(&hinges)?,
        is_located: !(region.is_open_below() && region.is_open_above()),
    })
}

/// The knees that the data allow.
struct Region<'a> {
    /// All knees of the grid, ascending.
    fits: &'a [Broken],
    /// The squares that a fit may leave.
    allowed: f64,
    /// The first knee that is allowed, and the last.
    first: usize,
    last: usize,
}

impl<'a> Region<'a> {
    fn new(fits: &'a [Broken], allowed: f64) -> Option<Self> {
        let is_allowed = |fit: &Broken| fit.squares <= allowed;
        Some(Self {
            fits,
            allowed,
            first: fits.iter().position(is_allowed)?,
            last: fits.iter().rposition(is_allowed)?,
        })
    }

    /// Whether the knee may lie anywhere below the second count: all such knees fit alike, with one count before them.
    fn is_open_below(&self) -> bool {
        self.first == 0
    }

    /// Whether the knee may lie anywhere above the last count but one.
    fn is_open_above(&self) -> bool {
        self.last + 1 == self.fits.len()
    }

    /// Its ends. They lie between two knees of the grid, of which the outer one is taken.
    fn ends(&self, counts: &[f64]) -> (f64, f64) {
        let below = self.first.checked_sub(1).map(|before| &self.fits[before]);
        let above = self.fits.get(self.last + 1);
        (
            below.map_or(counts[0], |fit| fit.knee),
            above.map_or(counts[counts.len() - 1], |fit| fit.knee),
        )
    }

    /// What the data allow a slope to be, given with its variance, whichever of these knees it is.
    fn bounds(&self, slope: fn(&Broken) -> (f64, f64)) -> Option<LogInterval> {
        let fits = self.fits[self.first..=self.last].iter();
        let allowed = fits.filter(|fit| fit.squares <= self.allowed).map(|fit| {
            let (slope, variance) = slope(fit);
            let half = (variance * (self.allowed - fit.squares)).sqrt();
            LogInterval {
                low: slope - half,
                high: slope + half,
            }
        });
        allowed.reduce(|a, b| LogInterval {
            low: a.low.min(b.low),
            high: a.high.max(b.high),
        })
    }
}

/// From the first to the last of some counts, all of them included.
fn grid(counts: &[f64]) -> Vec<f64> {
    let between = counts.windows(2).flat_map(|pair| {
        let step = (pair[1] - pair[0]) / f64::from(STEPS);
        (0..STEPS).map(move |k| pair[0] + f64::from(k) * step)
    });
    between.chain(counts.last().copied()).collect()
}

/// The 97.5% quantile of Student's t.
fn t_quantile(freedom: usize) -> Option<f64> {
    let t = StudentsT::new(0.0, 1.0, freedom as f64).ok()?;
    Some(t.inverse_cdf(0.975))
}

/// Which block each observation belongs to.
struct Blocks {
    /// Position of its block.
    of: Vec<usize>,
    /// Observations of each block.
    sizes: Vec<f64>,
}

impl Blocks {
    fn new(observations: &[Observation]) -> Self {
        let mut positions: HashMap<u32, usize> = HashMap::new();
        let mut sizes: Vec<f64> = Vec::new();
        let of = observations.iter().map(|observation| {
            let next = positions.len();
            let position = *positions.entry(observation.block).or_insert(next);
            sizes.resize(positions.len(), 0.0);
            sizes[position] += 1.0;
            position
        });
        Self {
            of: of.collect(),
            sizes,
        }
    }

    /// Values less the mean of their block.
    fn centred(&self, values: &[f64]) -> Vec<f64> {
        let mut means = vec![0.0; self.sizes.len()];
        for (block, value) in self.of.iter().zip(values) {
            means[*block] += value / self.sizes[*block];
        }
        let blocks = self.of.iter();
        blocks.zip(values).map(|(b, v)| v - means[*b]).collect()
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests;
