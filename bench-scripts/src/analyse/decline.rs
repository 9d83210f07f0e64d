//! What a request takes longer at the highest connection count, taken apart.
//!
//! A CPU second is spent by the server, by the load generator, by others, or by nobody. So the time of all CPUs that the two sides
//! can use, over the requests of the window, is the sum of a few parts, and what it grows by is the sum of what they grow by. Both
//! ends are cells of one block: differences are taken inside it, and summarised over blocks.

use std::collections::{BTreeMap, BTreeSet};

use super::intervals::Noise;
use super::logs::Blocks;
use super::paired::{mean_of, ratio_of};
use super::spread::{mean, spread};
use super::{Index, by_block, control_of, threads_of, usable};
use crate::findings::{
    Added, AddedPart, Bound, Critical, Decline, Estimate, Interval, Part, Point, Side,
};
use crate::holm::holm;
use crate::matrix::Entrant;
use crate::record::{Cell, CpuPlan, Run};

/// Chance of beginning the decline at a count whose rate is not truly above the lowest count's.
const FALSE_STARTS: f64 = 0.01;

const PINNED: &[Part] = &[
    Part::ServerUser,
    Part::ServerKernel,
    Part::ServerWaiting,
    Part::Client,
    Part::ClientWaiting,
];

const SHARED: &[Part] = &[
    Part::ServerUser,
    Part::ServerKernel,
    Part::Client,
    Part::Others,
    Part::Idle,
];

const SERVER: &[Part] = &[Part::ServerUser, Part::ServerKernel];

/// The decline of one entrant; none where its matrix has one count, where no block has both ends valid, and where the highest count's
/// rate is the best.
pub(super) fn of(run: &Run, index: &Index, entrant: &Entrant, points: &[Point]) -> Option<Decline> {
    let gains = Gains::new(index, entrant, points)?;
    let from = gains.start();
    let to = points.last()?;
    if from == to.connections_asked {
        return None;
    }
    let ends = (from, to.connections_asked);
    let opening = ratios(index, entrant, ends, |cell| {
        cell.server.as_ref()?.workers.as_ref()?;
        Some(cell.requests_per_minute()? / cell.sustained_per_minute()?)
    });
    let control = control_of(run, entrant)
        .filter(|_| !entrant.control)
        .map(|control| Ends::new(run, index, control, ends));
    let times = Times {
        ends: Ends::new(run, index, entrant, ends),
        control,
    };
    let all = times.ends.parts;
    let total = times.added(all)?;
    Some(Decline {
        from_connections_asked: from,
        to_connections_asked: to.connections_asked,
        blocks: times.ends.blocks.len() as u64,
        rate_change: change(&sustained(index, entrant, ends), gains.noise)?,
        opening_change: change(&opening, Noise::learn([&opening], 1.0)),
        total,
        parts: all
            .iter()
            .filter_map(|part| {
                Some(AddedPart {
                    part: *part,
                    time: times.added(&[*part])?,
                    share: times.ends.share(&[*part], all),
                })
            })
            .collect(),
        critical: critical(&run.cpu_plan, to, &times),
    })
}

/// How an entrant's rate changes from the lowest count to each higher one: a logarithm for each block, and how noisy they are.
struct Gains {
    lowest: u32,
    /// By connections asked for.
    to: Vec<(u32, Blocks)>,
    noise: Option<Noise>,
}

impl Gains {
    fn new(index: &Index, entrant: &Entrant, points: &[Point]) -> Option<Self> {
        let (lowest, higher) = points.split_first()?;
        let lowest = lowest.connections_asked;
        let gain = |point: &Point| {
            let count = point.connections_asked;
            let ratios = sustained(index, entrant, (lowest, count));
            (count, ratios)
        };
        let to: Vec<(u32, Blocks)> = higher.iter().map(gain).collect();
        Some(Self {
            lowest,
            // All of them share the cells of the lowest count.
            noise: Noise::learn(to.iter().map(|(_, ratios)| ratios), 0.5),
            to,
        })
    }

    /// The count with the best rate, of those whose rate is proven to be above the lowest count's; else the lowest count. By
    /// Holm's procedure: the luckiest count of equals is no peak.
    fn start(&self) -> u32 {
        let chances: Vec<Option<f64>> = self
            .to
            .iter()
            .map(|(_, ratios)| self.noise?.chance_of(ratios))
            .collect();
        let proven = self.to.iter().zip(holm(&chances, FALSE_STARTS));
        let best = proven
            .filter(|(_, proven)| *proven)
            .filter_map(|((count, ratios), _)| Some((*count, self.noise?.mean(ratios)?)))
            .filter(|(_, gain)| *gain > 0.0)
            .max_by(|a, b| a.1.total_cmp(&b.1));
        best.map_or(self.lowest, |(count, _)| count)
    }
}

/// ln of the rate at `to` over that at `from`, of each block that has both, at the same distance of CPUs.
fn sustained(index: &Index, entrant: &Entrant, ends: (u32, u32)) -> Blocks {
    ratios(index, entrant, ends, |cell| index.distance.rate(cell))
}

/// ln of a rate at `to` over that at `from`, of each block that has both.
fn ratios(
    index: &Index,
    entrant: &Entrant,
    (from, to): (u32, u32),
    rate: impl Fn(&Cell) -> Option<f64>,
) -> Blocks {
    let rates = |count| by_block(index.group(&entrant.label, count), &rate);
    let (from, to) = (rates(from), rates(to));
    let ratios = from.into_iter().filter_map(|(block, from)| {
        let log = (to.get(&block)? / from).ln();
        log.is_finite().then_some((block, log))
    });
    ratios.collect()
}

/// The share by which a figure changes, of logarithms of ratios.
fn change(ratios: &Blocks, noise: Option<Noise>) -> Option<Estimate> {
    let plain = || spread(ratios.values().copied()).map(|logs| logs.median);
    let interval = noise.and_then(|noise| noise.interval(ratios));
    Some(Estimate {
        value: noise
            .map_or_else(plain, |noise| noise.mean(ratios))?
            .exp_m1(),
        interval: interval.map(|interval| Interval {
            low: interval.low.exp_m1(),
            high: interval.high.exp_m1(),
        }),
    })
}

/// What each part takes of a request, µs, in the order of the parts.
type Split = Vec<f64>;

/// An entrant's cells at both ends of a decline.
struct Ends {
    parts: &'static [Part],
    /// Of every block that is valid at both ends.
    blocks: BTreeMap<u32, (Split, Split)>,
}

impl Ends {
    fn new(run: &Run, index: &Index, entrant: &Entrant, (from, to): (u32, u32)) -> Self {
        let parts = if run.cpu_plan.pinned { PINNED } else { SHARED };
        let splits = |count| -> BTreeMap<u32, Split> {
            let cells = index.group(&entrant.label, count).iter();
            cells
                .filter(|cell| cell.is_valid())
                .filter_map(|cell| {
                    let factor = index.distance.factor(cell);
                    let split = split(run, cell, parts)?;
                    let split = split.into_iter().map(|us| us * factor).collect();
                    Some((cell.planned.block, split))
                })
                .collect()
        };
        let (from, mut to) = (splits(from), splits(to));
        let both = from
            .into_iter()
            .filter_map(|(block, split)| Some((block, (split, to.remove(&block)?))));
        Self {
            parts,
            blocks: both.collect(),
        }
    }

    /// The sum of some parts in one split.
    fn sum(&self, split: &Split, of: &[Part]) -> f64 {
        let parts = self.parts.iter().zip(split);
        parts
            .filter(|(p, _)| of.contains(p))
            .map(|(_, us)| us)
            .sum()
    }

    /// What some parts grew by in one block, µs.
    fn growth(&self, block: u32, of: &[Part]) -> Option<f64> {
        let (from, to) = self.blocks.get(&block)?;
        Some(self.sum(to, of) - self.sum(from, of))
    }

    fn growths(&self, of: &[Part]) -> Vec<f64> {
        let blocks = self.blocks.keys();
        blocks.filter_map(|b| self.growth(*b, of)).collect()
    }

    /// The share of some parts in the growth of others; none where it is not proven that these grew.
    fn share(&self, of: &[Part], all: &[Part]) -> Option<Estimate> {
        let whole = self.growths(all);
        mean_of(&whole)?.is_above_zero().then_some(())?;
        ratio_of(&self.growths(of), &whole)
    }
}

/// An entrant's times, and those of its control at the same counts.
struct Times {
    ends: Ends,
    control: Option<Ends>,
}

impl Times {
    fn added(&self, parts: &[Part]) -> Option<Added> {
        let blocks = || self.ends.blocks.values();
        let sums = |of: fn(&(Split, Split)) -> &Split| -> Vec<f64> {
            blocks()
                .map(|ends| self.ends.sum(of(ends), parts))
                .collect()
        };
        let beyond: Vec<f64> = self
            .ends
            .blocks
            .keys()
            .filter_map(|block| {
                let control = self.control.as_ref()?.growth(*block, parts)?;
                Some(self.ends.growth(*block, parts)? - control)
            })
            .collect();
        Some(Added {
            from_us: mean(&sums(|(from, _)| from))?,
            to_us: mean(&sums(|(_, to)| to))?,
            added_us: mean_of(&self.ends.growths(parts))?,
            beyond_control_us: mean_of(&beyond),
        })
    }
}

/// The parts of one cell.
fn split(run: &Run, cell: &Cell, parts: &[Part]) -> Option<Split> {
    let (server, client) = (cell.server.as_ref()?.usage, cell.client?);
    let requests = cell.requests_in_window()?;
    let window_us = server.window_us as f64;
    let plan = &run.cpu_plan;
    let threads = threads_of(run, &cell.planned.entrant);
    let server_us = usable(&plan.server, threads) as f64 * window_us;
    let client_us = usable(&plan.client, Some(run.load_generator.threads)) as f64 * window_us;
    let others_us = cell.system?.other_cpu_us as f64;
    let used_us = (server.user_us + server.system_us) as f64;
    let of_part = |part: &Part| match part {
        Part::ServerUser => server.user_us as f64,
        Part::ServerKernel => server.system_us as f64,
        Part::ServerWaiting => server_us - used_us,
        Part::Client => client.cpu_us as f64,
        Part::ClientWaiting => client_us - client.cpu_us as f64,
        Part::Others => others_us,
        Part::Idle => all_cpus(plan) * window_us - used_us - client.cpu_us as f64 - others_us,
    };
    Some(parts.iter().map(|part| of_part(part) / requests).collect())
}

/// How many CPUs the two sides have together.
fn all_cpus(plan: &CpuPlan) -> f64 {
    let cpus: BTreeSet<u32> = plan.server.iter().chain(&plan.client).copied().collect();
    cpus.len() as f64
}

/// The same from the point of view of the side whose CPUs were full at the end.
fn critical(plan: &CpuPlan, to: &Point, times: &Times) -> Option<Critical> {
    let client = &[Part::Client][..];
    let (side, own, other, waiting) = match to.bound_by? {
        _ if !plan.pinned => return None,
        Bound::Server => (Side::Server, SERVER, client, Part::ServerWaiting),
        Bound::Client => (Side::Client, client, SERVER, Part::ClientWaiting),
        Bound::Quota | Bound::Noise | Bound::Neither => return None,
    };
    let whole = [own, &[waiting]].concat();
    Some(Critical {
        side,
        cpu: times.added(own)?,
        cpu_share: times.ends.share(own, &whole),
        other: times.added(other)?,
    })
}
