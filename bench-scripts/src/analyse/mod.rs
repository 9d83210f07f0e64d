//! From cells to findings: a pure function.
//!
//! Medians are taken over rounds. Ratios to the control are taken inside each block first and summarised afterwards,
//! which cancels whatever changed between blocks (a neighbour on the machine, a clock that throttles).

mod bound;
mod cells;
mod crossings;
mod decline;
mod distance;
mod estimates;
mod intervals;
mod logs;
mod noise;
mod paired;
mod precision;
mod rates;
mod scaling;
mod segmented;
#[cfg(test)]
mod simulation;
mod spread;
#[cfg(test)]
mod tests;
mod ties;
mod traces;
mod variants;
mod workers;

use std::collections::HashMap;

use crate::findings::{
    Ceiling, CellCounts, CostFindings, EntrantFindings, Findings, Interval, Intervals, InvalidCell,
    LatencyFindings, Point, ResourceFindings, Role, Scaling, Spread,
};
use crate::matrix::{Entrant, Program};
use crate::plan;
use crate::record::{Cell, Cost, Latency, Run, Server, Usage};
use crate::report::Record;

use bound::{Sides, bound_by};
pub(crate) use distance::Distance;
use estimates::Estimates;
pub(crate) use spread::median_of;
use spread::{spread, spread_of};
use workers::worker_findings;

pub use cells::{CellFigures, cell_figures};

/// What all that is on record of a run says.
#[must_use]
pub fn analyse_record(record: &Record) -> Findings {
    let plan = plan::rates::plan(&record.run, &record.cells);
    Findings {
        fixed_rates: plan.and_then(|plan| rates::fixed_rates(&record.run, &plan, &record.paced)),
        traces: traces::findings(&record.traces),
        ..analyse(&record.run, &record.cells)
    }
}

/// What the cells of a run say; nothing of its other passes.
///
/// Cells of an entrant that the run's matrix does not have are ignored; a cell that is missing is just one sample fewer.
#[must_use]
pub fn analyse(run: &Run, cells: &[Cell]) -> Findings {
    let index = Index::new(cells);
    let estimates = Estimates::new(run, &index);
    let scalings = estimates.scalings(&index);
    let entrants: Vec<EntrantFindings> = scalings
        .into_iter()
        .enumerate()
        .map(|(position, scaling)| entrant_findings(run, &index, &estimates, position, scaling))
        .collect();
    let noise_floor = estimates.noise_floor();
    let comparisons = estimates.comparisons(noise_floor.as_ref(), &entrants);
    Findings {
        schema: run.schema,
        matrix: run.matrix.name.clone(),
        cells: CellCounts {
            planned: run.order.len() as u64,
            measured: cells.iter().filter(|cell| cell.attempt == 1).count() as u64,
            attempts: cells.len() as u64,
            valid: cells.iter().filter(|cell| cell.is_valid()).count() as u64,
        },
        pipelined: pipelined(run),
        skipped: run.skipped.clone(),
        ceilings: ceilings(&entrants),
        precision: precision::precision(run, &entrants, noise_floor.as_ref()),
        core_to_core: index.distance.findings(),
        drift: estimates.drift(),
        outliers: estimates.outliers(&index),
        variants: estimates.variants(),
        crossings: crossings::of(&comparisons),
        comparisons,
        noise_floor,
        entrants,
        fixed_rates: None,
        traces: Vec::new(),
    }
}

/// Requests sent at once, where that is more than one.
fn pipelined(run: &Run) -> Option<u32> {
    Some(run.matrix.load.pipeline).filter(|&depth| depth > 1)
}

/// Cells by entrant and connections asked for, and how their costs follow the distance of the CPUs.
struct Index<'a> {
    groups: HashMap<(&'a str, u32), Vec<&'a Cell>>,
    distance: Distance,
}

impl<'a> Index<'a> {
    fn new(cells: &'a [Cell]) -> Self {
        let mut groups: HashMap<(&str, u32), Vec<&Cell>> = HashMap::new();
        for cell in cells {
            let key = (
                cell.planned.entrant.as_str(),
                cell.planned.connections_asked,
            );
            groups.entry(key).or_default().push(cell);
        }
        for group in groups.values_mut() {
            group.sort_by_key(|cell| (cell.planned.block, cell.planned.index));
        }
        Self {
            groups,
            distance: Distance::learn(cells),
        }
    }

    fn group<'s>(&'s self, label: &'s str, connections_asked: u32) -> &'s [&'a Cell] {
        // A key's lifetime is that of the map's own keys to the compiler: it cannot outlive this borrow.
        let groups: &'s HashMap<(&'s str, u32), Vec<&'a Cell>> = &self.groups;
        groups
            .get(&(label, connections_asked))
            .map_or(&[], Vec::as_slice)
    }
}

fn entrant_findings(
    run: &Run,
    index: &Index,
    estimates: &Estimates,
    position: usize,
    scaling: Scaling,
) -> EntrantFindings {
    let entrant = &run.matrix.entrants[position];
    let control = control_of(run, entrant);
    let points: Vec<Point> = run
        .matrix
        .connections
        .iter()
        .enumerate()
        .map(|(count, &connections)| {
            let group = index.group(&entrant.label, connections);
            let control_group =
                control.map_or(&[][..], |control| index.group(&control.label, connections));
            let mut point = point(
                run,
                &index.distance,
                entrant,
                connections,
                group,
                control_group,
            );
            point.intervals = estimates.intervals(position, count, &point);
            point.bound_by = bound_by(&sides(run, entrant, &point), group);
            point
        })
        .collect();
    EntrantFindings {
        label: entrant.label.clone(),
        repeat_of: entrant.repeat_of.clone(),
        program: match &entrant.program {
            Program::Rung { name, .. } => name.clone(),
            Program::Foreign { command, .. } => command.first().cloned().unwrap_or_default(),
        },
        role: role(entrant),
        compared_with: control.map(|control| control.label.clone()),
        scaling,
        decline: decline::of(run, index, entrant, &points),
        points,
    }
}

fn role(entrant: &Entrant) -> Role {
    match &entrant.program {
        _ if entrant.control => Role::Control,
        _ if entrant.repeat_of.is_some() => Role::Again,
        Program::Rung { .. } => Role::Rung,
        Program::Foreign { .. } => Role::Foreign,
    }
}

/// The control with as many threads as the entrant, else the matrix's first.
pub(crate) fn control_of<'a>(run: &'a Run, entrant: &Entrant) -> Option<&'a Entrant> {
    let controls = || run.matrix.entrants.iter().filter(|e| e.control);
    controls()
        .find(|control| control.threads == entrant.threads)
        .or_else(|| controls().next())
}

fn sides<'a>(run: &'a Run, entrant: &Entrant, point: &Point) -> Sides<'a> {
    let median = point.rate_to_control.map(|spread| Interval {
        low: spread.median,
        high: spread.median,
    });
    Sides {
        plan: &run.cpu_plan,
        server_busy: point.resources.and_then(|r| Some(r.busy_share?.median)),
        client_busy: point.client_busy_share.map(|share| share.median),
        of_ceiling: point
            .intervals
            .rate_to_control
            .or(median)
            .filter(|_| !entrant.control),
    }
}

/// A point's medians; its intervals and its bound follow from them.
fn point(
    run: &Run,
    distance: &Distance,
    entrant: &Entrant,
    connections_asked: u32,
    group: &[&Cell],
    control: &[&Cell],
) -> Point {
    let valid: Vec<&Cell> = group.iter().copied().filter(|c| c.is_valid()).collect();
    let total_cost = |cell: &Cell| distance.total_cost(cell);
    let drift = Drift::new(entrant, by_block(control, total_cost));
    Point {
        connections_asked,
        connections: group
            .first()
            .map_or(connections_asked, |cell| cell.planned.connections),
        valid_cells: valid.len() as u64,
        invalid_cells: group
            .iter()
            .filter(|cell| !cell.is_valid())
            .map(|cell| invalid_cell(cell))
            .collect(),
        requests_per_minute: spread_of(&valid, Cell::requests_per_minute),
        rate_to_control: block_ratio(&valid, control, Cell::requests_per_minute),
        cost: cost_findings(&valid, distance, &drift),
        cost_as_measured_us: spread_of(&valid, |cell| cell.cost().map(Cost::total_us)),
        cost_to_control: block_ratio(&valid, control, total_cost),
        latency: match pipelined(run) {
            None => latency_findings(&valid),
            Some(_) => None,
        },
        resources: resource_findings(run, &entrant.label, &valid),
        client_busy_share: spread_of(&valid, |cell| client_busy_share(run, cell)),
        workers: worker_findings(&valid, keeps_connections(run, &entrant.label)),
        intervals: Intervals::default(),
        bound_by: None,
    }
}

fn invalid_cell(cell: &Cell) -> InvalidCell {
    let latency = |pick: fn(&Latency) -> f64| {
        cell.load
            .as_ref()
            .filter(|load| load.requests > 0)
            .map(|load| pick(&load.latency))
    };
    InvalidCell {
        index: cell.planned.index,
        block: cell.planned.block,
        attempt: cell.attempt,
        reasons: cell.reasons().to_vec(),
        requests_per_minute: cell.requests_per_minute(),
        cost_us: cell.cost().map(Cost::total_us),
        latency_p50_us: latency(|l| l.p50_us),
        latency_p99_us: latency(|l| l.p99_us),
        rss_bytes: cell.server.as_ref().map(|s| s.usage.rss_bytes as f64),
    }
}

/// A figure of valid cells, by block.
fn by_block(cells: &[&Cell], figure: impl Fn(&Cell) -> Option<f64>) -> HashMap<u32, f64> {
    cells
        .iter()
        .filter(|cell| cell.is_valid())
        .filter_map(|cell| Some((cell.planned.block, figure(cell)?)))
        .collect()
}

/// A figure over the control's figure in the same block, summarised over the blocks that have both.
fn block_ratio(
    valid: &[&Cell],
    control: &[&Cell],
    figure: impl Fn(&Cell) -> Option<f64>,
) -> Option<Spread> {
    let control = by_block(control, &figure);
    spread(valid.iter().filter_map(|cell| {
        let control = *control.get(&cell.planned.block)?;
        (control > 0.0).then_some(figure(cell)? / control)
    }))
}

/// How the machine's speed drifted from block to block, as the control's cost shows it.
enum Drift {
    /// Nothing to correct by, or nothing to correct: the control itself.
    Unknown,
    /// The control's cost in each block, and its median, µs.
    Known {
        by_block: HashMap<u32, f64>,
        median: f64,
    },
}

impl Drift {
    /// From the control's cost in each block.
    fn new(entrant: &Entrant, by_block: HashMap<u32, f64>) -> Self {
        match spread(by_block.values().copied()) {
            Some(costs) if !entrant.control => Self::Known {
                by_block,
                median: costs.median,
            },
            _ => Self::Unknown,
        }
    }

    /// What the costs of a cell are to be multiplied by; none where its block has no valid control.
    fn correction(&self, cell: &Cell) -> Option<f64> {
        match self {
            Self::Unknown => Some(1.0),
            Self::Known { by_block, median } => {
                let control = *by_block.get(&cell.planned.block)?;
                (control > 0.0).then_some(median / control)
            }
        }
    }
}

fn cost_findings(valid: &[&Cell], distance: &Distance, drift: &Drift) -> Option<CostFindings> {
    let corrected = |part: fn(Cost) -> f64| {
        spread_of(valid, |cell| {
            Some(part(distance.cost(cell)?) * drift.correction(cell)?)
        })
    };
    Some(CostFindings {
        user_us: corrected(|cost| cost.user_us)?,
        system_us: corrected(|cost| cost.system_us)?,
        total_us: corrected(Cost::total_us)?,
    })
}

fn latency_findings(valid: &[&Cell]) -> Option<LatencyFindings> {
    let percentile = |pick: fn(&Latency) -> f64| {
        spread_of(valid, |cell| Some(pick(&cell.load.as_ref()?.latency)))
    };
    Some(LatencyFindings {
        p50_us: percentile(|l| l.p50_us)?,
        p90_us: percentile(|l| l.p90_us)?,
        p99_us: percentile(|l| l.p99_us)?,
        p999_us: percentile(|l| l.p999_us)?,
        max_us: percentile(|l| l.max_us)?,
    })
}

fn resource_findings(run: &Run, label: &str, valid: &[&Cell]) -> Option<ResourceFindings> {
    let of_server = |figure: &dyn Fn(&Cell, &Server) -> Option<f64>| {
        spread_of(valid, |cell| figure(cell, cell.server.as_ref()?))
    };
    Some(ResourceFindings {
        busy_share: of_server(&|_, s| server_busy_share(run, label, s)),
        rss_bytes: of_server(&|_, s| Some(s.usage.rss_bytes as f64))?,
        rss_per_connection_bytes: of_server(&|_, s| {
            let growth = s.usage.rss_bytes as f64 - s.rss_before_bytes as f64;
            (s.established > 0).then(|| growth / f64::from(s.established))
        }),
        context_switches_per_request: of_server(&|cell, s| {
            let switches = s.usage.voluntary_switches + s.usage.involuntary_switches;
            Some(switches as f64 / cell.requests_in_window()?)
        }),
        events_per_wakeup: of_server(&|_, s| {
            let workers = s.workers.as_ref()?;
            let wakeups: u64 = workers.iter().map(|w| w.wakeups).sum::<Option<u64>>()?;
            let events: u64 = workers.iter().map(|w| w.events).sum::<Option<u64>>()?;
            (wakeups > 0).then(|| events as f64 / wakeups as f64)
        }),
        run_delay_us_per_request: of_server(&|cell, s| {
            Some(s.usage.run_delay_us as f64 / cell.requests_in_window()?)
        }),
        retransmits_per_1000_requests: of_server(&|cell, _| {
            Some(1000.0 * cell.system?.retransmits as f64 / cell.requests_in_window()?)
        }),
        listen_overflows: of_server(&|cell, _| Some(cell.system?.listen_overflows as f64)),
    })
}

/// Whether each connection of an entrant's server stays with one of its threads.
fn keeps_connections(run: &Run, label: &str) -> bool {
    let mut binaries = run.entrants.iter();
    let binary = binaries.find(|binary| binary.label == label);
    binary.is_none_or(|binary| binary.workers.is_none() || binary.workers == binary.threads)
}

/// Threads that an entrant's server was started with; none where it is not known.
fn threads_of(run: &Run, label: &str) -> Option<u32> {
    let mut binaries = run.entrants.iter();
    binaries.find(|binary| binary.label == label)?.threads
}

fn server_busy_share(run: &Run, label: &str, server: &Server) -> Option<f64> {
    let threads = threads_of(run, label);
    busy_share(&server.usage, &run.cpu_plan.server, threads)
}

fn client_busy_share(run: &Run, cell: &Cell) -> Option<f64> {
    busy_share(
        cell.client.as_ref()?,
        &run.cpu_plan.client,
        Some(run.load_generator.threads),
    )
}

/// Time on CPU over the time of the CPUs that could be used.
fn busy_share(usage: &Usage, cpus: &[u32], threads: Option<u32>) -> Option<f64> {
    let available_us = usage.window_us as f64 * usable(cpus, threads) as f64;
    (available_us > 0.0).then(|| usage.cpu_us as f64 / available_us)
}

/// How many CPUs of a set so many threads can use; all of the set where the number of threads is not known.
fn usable(cpus: &[u32], threads: Option<u32>) -> usize {
    threads.map_or(cpus.len(), |threads| cpus.len().min(threads as usize))
}

fn ceilings(entrants: &[EntrantFindings]) -> Vec<Ceiling> {
    let mut ceilings: Vec<Ceiling> = entrants
        .iter()
        .filter(|entrant| entrant.role == Role::Control)
        .flat_map(|control| {
            control.points.iter().map(|point| Ceiling {
                connections_asked: point.connections_asked,
                control: control.label.clone(),
                requests_per_minute: point.requests_per_minute,
            })
        })
        .collect();
    ceilings.sort_by_key(|ceiling| ceiling.connections_asked);
    ceilings
}
