//! What a run's cells say with what certainty: intervals, noise floor, ties, drift, outliers.

use super::intervals::{LogInterval, Noise};
use super::logs::{Blocks, Logs};
use super::noise::{self, Group};
use super::scaling::{self, Worse};
use super::spread::spread;
use super::{Index, control_of, ties, variants};
use crate::findings::{
    Bound, Comparisons, Drift, EntrantFindings, Interval, Intervals, NoiseFloor, Outlier, Point,
    Scaling, Spread, VariantFindings,
};
use crate::matrix::Entrant;
use crate::record::{Cell, Run};

/// The logarithms of a run, and how noisy they are.
pub(super) struct Estimates<'a> {
    run: &'a Run,
    cost: Figure,
    rate: Figure,
}

/// Cost, or rate.
struct Figure {
    logs: Logs,
    /// Position of the control of each entrant.
    controls: Vec<Option<usize>>,
    /// Noise of the figure as measured.
    direct: Option<Noise>,
    /// Noise of its ratio to the control.
    ratio: Option<Noise>,
    /// Noise of ratios as the A/A pair alone shows it, for runs of one round.
    equals: Option<Noise>,
}

impl<'a> Estimates<'a> {
    pub(super) fn new(run: &'a Run, index: &Index) -> Self {
        Self {
            run,
            cost: Figure::new(run, index, |cell| index.distance.total_cost(cell)),
            rate: Figure::new(run, index, Cell::requests_per_minute),
        }
    }

    /// The intervals of a point's medians, entrant and connection count given by their positions.
    pub(super) fn intervals(&self, entrant: usize, count: usize, point: &Point) -> Intervals {
        let median = |spread: Option<Spread>| spread.map(|spread| spread.median);
        let (rate, cost) = (&self.rate, &self.cost);
        let rate_median = median(point.requests_per_minute);
        let cost_median = median(point.cost.map(|cost| cost.total_us));
        Intervals {
            requests_per_minute: rate.interval(
                entrant,
                count,
                rate_median,
                rate.ratio_is_quieter(),
            ),
            rate_to_control: rate.ratio_interval(entrant, count, median(point.rate_to_control)),
            cost_us: cost.interval(entrant, count, cost_median, true),
            cost_to_control: cost.ratio_interval(entrant, count, median(point.cost_to_control)),
        }
    }

    pub(super) fn noise_floor(&self) -> Option<NoiseFloor> {
        let (entrant, again) = repeated(self.run)?;
        let cost = noise::pairs(&self.cost.logs, entrant, again);
        let rate = noise::pairs(&self.rate.logs, entrant, again);
        let label = |position: usize| self.run.matrix.entrants[position].label.clone();
        Some(NoiseFloor {
            entrant: label(entrant),
            again: label(again),
            pairs: cost.len() as u64,
            cost_share: noise::floor(&cost)?.exp_m1(),
            rate_share: noise::floor(&rate)?.exp_m1(),
        })
    }

    pub(super) fn variants(&self) -> Vec<VariantFindings> {
        variants::findings(&self.run.matrix, &self.cost.logs)
    }

    pub(super) fn drift(&self) -> Option<Drift> {
        let entrants = &self.run.matrix.entrants;
        let control = entrants.iter().position(|e| e.control)?;
        let blocks = noise::drift(&self.cost.logs, control);
        (blocks.len() > 1).then(|| Drift {
            control: entrants[control].label.clone(),
            blocks,
        })
    }

    pub(super) fn outliers(&self, index: &Index) -> Vec<Outlier> {
        let matrix = &self.run.matrix;
        let groups: Vec<Group> = self
            .cost
            .ratio_points()
            .map(|(entrant, control, count)| Group {
                entrant: &matrix.entrants[entrant].label,
                connections_asked: matrix.connections[count],
                ratios: self.cost.logs.ratio(entrant, control, count),
            })
            .collect();
        noise::outliers(&groups, |group, block| {
            let mut cells = index.group(group.entrant, group.connections_asked).iter();
            let cell = cells.find(|cell| cell.planned.block == block);
            cell.map_or(0, |cell| cell.planned.index)
        })
    }

    /// How each entrant's figures run over connections.
    pub(super) fn scalings(&self, index: &Index) -> Vec<Scaling> {
        let matrix = &self.run.matrix;
        let sustained = Logs::new(matrix, index, |cell| index.distance.rate(cell));
        let points = |blocks: &dyn Fn(usize, usize) -> Blocks| -> Vec<Vec<(u32, Blocks)>> {
            let of_entrant = |entrant| {
                let counts = matrix.connections.iter().enumerate();
                let point =
                    |(count, connections): (usize, &u32)| (*connections, blocks(entrant, count));
                counts.map(point).collect()
            };
            (0..matrix.entrants.len()).map(of_entrant).collect()
        };
        let rates = points(&|entrant, count| sustained.point(entrant, count).clone());
        let costs = points(&|entrant, count| self.cost.to_control(entrant, count));
        let rate = scaling::curves(&rates, Worse::Less);
        let cost = scaling::curves(&costs, Worse::More);
        let curves = rate.into_iter().zip(cost);
        curves.map(|(rate, cost)| Scaling { rate, cost }).collect()
    }

    /// Compares the contestants; `findings` tell what limits their rates.
    pub(super) fn comparisons(
        &self,
        floor: Option<&NoiseFloor>,
        findings: &[EntrantFindings],
    ) -> Vec<Comparisons> {
        let contestants: Vec<(usize, &str)> = findings
            .iter()
            .enumerate()
            .filter(|(_, entrant)| entrant.role.is_contestant())
            .map(|(position, entrant)| (position, entrant.label.as_str()))
            .collect();
        let log = |share: Option<f64>| share.map_or(0.0, f64::ln_1p);
        let of_client = |entrant: usize, count: usize| {
            findings[entrant].points[count].bound_by == Some(Bound::Client)
        };
        let cost = ties::compare(
            &self.cost.logs,
            &contestants,
            self.cost.equals,
            log(floor.map(|f| f.cost_share)),
            |_, _, _| true,
        );
        let rate = ties::compare(
            &self.rate.logs,
            &contestants,
            self.rate.equals,
            log(floor.map(|f| f.rate_share)),
            |count, a, b| !(of_client(a, count) && of_client(b, count)),
        );
        let counts = self.run.matrix.connections.iter();
        counts
            .zip(cost.into_iter().zip(rate))
            .map(|(&connections_asked, (cost, rate))| Comparisons {
                connections_asked,
                cost,
                rate,
            })
            .collect()
    }
}

impl Figure {
    fn new(run: &Run, index: &Index, figure: impl Fn(&Cell) -> Option<f64>) -> Self {
        let logs = Logs::new(&run.matrix, index, figure);
        let entrants = &run.matrix.entrants;
        let control_position = |entrant: &Entrant| {
            let control = control_of(run, entrant).filter(|_| !entrant.control)?;
            entrants.iter().position(|e| e.label == control.label)
        };
        let equals = repeated(run).and_then(|(entrant, again)| {
            Noise::of_equals(noise::pairs(&logs, entrant, again).into_iter())
        });
        let mut new = Self {
            controls: entrants.iter().map(control_position).collect(),
            logs,
            direct: None,
            ratio: None,
            equals,
        };
        let entrants = 0..entrants.len();
        let direct = entrants
            .flat_map(|entrant| (0..new.logs.counts()).map(move |count| (entrant, count)))
            .map(|(entrant, count)| new.logs.point(entrant, count));
        let ratio: Vec<Blocks> = new
            .ratio_points()
            .map(|(entrant, to, count)| new.logs.ratio(entrant, to, count))
            .collect();
        let (direct, ratio) = (Noise::learn(direct, 1.0), Noise::learn(&ratio, 1.0));
        new.direct = direct;
        new.ratio = ratio.or(equals);
        new
    }

    /// The ratio to the control; of a control, the figure as measured.
    fn to_control(&self, entrant: usize, count: usize) -> Blocks {
        match self.controls[entrant] {
            Some(control) => self.logs.ratio(entrant, control, count),
            None => self.logs.point(entrant, count).clone(),
        }
    }

    /// Every entrant that has a control, with it, at each connection count.
    fn ratio_points(&self) -> impl Iterator<Item = (usize, usize, usize)> {
        let entrants = self.controls.iter().enumerate();
        entrants
            .filter_map(|(entrant, control)| Some((entrant, (*control)?)))
            .flat_map(|(entrant, control)| {
                (0..self.logs.counts()).map(move |count| (entrant, control, count))
            })
    }

    /// The interval that goes with a median in the figure's own unit: by the ratio to the control, times the control's median,
    /// or as measured; as measured too where there is no ratio.
    fn interval(
        &self,
        entrant: usize,
        count: usize,
        median: Option<f64>,
        by_ratio: bool,
    ) -> Option<Interval> {
        let of_ratio = self.of_ratio(entrant, count).filter(|_| by_ratio);
        let of_ratio = of_ratio.zip(self.control_median(entrant, count));
        let as_measured = || {
            let point = self.logs.point(entrant, count);
            Some((self.direct?.interval(point)?, 1.0))
        };
        let (log, unit) = of_ratio.or_else(as_measured)?;
        Some(log.of_figure(unit, median?))
    }

    /// The interval that goes with the median of the ratio to the control.
    fn ratio_interval(
        &self,
        entrant: usize,
        count: usize,
        median: Option<f64>,
    ) -> Option<Interval> {
        Some(self.of_ratio(entrant, count)?.of_figure(1.0, median?))
    }

    fn of_ratio(&self, entrant: usize, count: usize) -> Option<LogInterval> {
        let ratios = self.logs.ratio(entrant, self.controls[entrant]?, count);
        self.ratio?.interval(&ratios)
    }

    /// Whether the control cancels more noise than it adds: decided once for a run, since the narrower of two intervals of one
    /// point would be too narrow too often.
    fn ratio_is_quieter(&self) -> bool {
        self.ratio
            .is_some_and(|ratio| self.direct.is_none_or(|direct| ratio.is_less_than(&direct)))
    }

    /// The median of the control's figure in an entrant's blocks.
    fn control_median(&self, entrant: usize, count: usize) -> Option<f64> {
        let control = self.logs.point(self.controls[entrant]?, count);
        spread(control.values().map(|log| log.exp())).map(|spread| spread.median)
    }
}

/// Positions of the entrant that is there twice, and of its repetition.
fn repeated(run: &Run) -> Option<(usize, usize)> {
    let entrants = &run.matrix.entrants;
    let again = entrants.iter().position(|e| e.repeat_of.is_some())?;
    let entrant = entrants
        .iter()
        .position(|e| Some(&e.label) == entrants[again].repeat_of.as_ref())?;
    Some((entrant, again))
}
