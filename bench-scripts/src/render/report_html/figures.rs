//! Where each figure goes on the page: what is measured over connections into the one chart with a switch, bars and all
//! other figures into sections of their own.

use super::bars::{self, BarView, PartView};
use crate::figure::{Curves, Figure, Plot, Series, interactive, palette::Style};
use crate::render::Drawing;
use crate::render::tables::Table;

/// A choice of the switch: the curves of one panel.
struct Choice {
    /// Name of the figure.
    figure: &'static str,
    /// Which of the figure's panels of curves, from 0.
    panel: usize,
    /// Its name in the page's address.
    key: &'static str,
    /// What the switch says.
    label: &'static str,
    /// What its bands are.
    band: &'static str,
}

const INTERVAL: &str = "bands: 95% intervals";
const RANGE: &str = "bands: lowest to highest round";

const RATE: Choice = Choice {
    figure: "requests-per-minute",
    panel: 0,
    key: "rate",
    label: "Requests per minute",
    band: INTERVAL,
};
const COST: Choice = Choice {
    figure: "cost-per-request",
    panel: 0,
    key: "cost",
    label: "Cost",
    band: INTERVAL,
};
const CHOICES: [Choice; 5] = [
    RATE,
    COST,
    Choice {
        figure: "latency",
        panel: 0,
        key: "p50",
        label: "p50",
        band: RANGE,
    },
    Choice {
        figure: "latency",
        panel: 1,
        key: "p99",
        label: "p99",
        band: RANGE,
    },
    Choice {
        figure: "memory",
        panel: 0,
        key: "memory",
        label: "Memory",
        band: RANGE,
    },
];

/// One choice of the switch, as the page shows it.
pub(super) struct View<'a> {
    pub(super) key: &'static str,
    pub(super) label: &'static str,
    pub(super) is_first: bool,
    /// What the vertical axis counts.
    pub(super) unit: &'a str,
    /// What its bands are; none where there are no bands, as in a run of one round.
    pub(super) band: Option<&'static str>,
    pub(super) figure: &'a Figure,
}

/// A figure in a section of its own.
pub(super) struct FigureView<'a> {
    pub(super) name: &'static str,
    pub(super) title: &'a str,
    pub(super) subtitle: &'a str,
    pub(super) notes: &'a [String],
    pub(super) has_curves: bool,
    pub(super) panels: Vec<PanelView<'a>>,
    /// The drawing, for paper and for browsers without scripts; none where another section has it.
    pub(super) svg: Option<&'a str>,
    /// The tables that carry the figure's title.
    pub(super) tables: Vec<Table>,
}

pub(super) struct PanelView<'a> {
    pub(super) heading: &'a str,
    pub(super) content: PanelContent<'a>,
}

pub(super) enum PanelContent<'a> {
    /// Curves drawn by plotly.js.
    Curves {
        /// What the vertical axis counts.
        unit: &'a str,
        /// The name of the chart in the page's data.
        chart: String,
    },
    /// Bars drawn by the page itself.
    Bars {
        unit: &'a str,
        parts: Vec<PartView>,
        rows: Vec<BarView>,
    },
}

/// Everything that the page draws.
#[derive(Default)]
pub(super) struct Figures<'a> {
    /// The choices of the switch; none where a run has one connection count, and so no curves.
    pub(super) views: Vec<View<'a>>,
    /// The drawings that stand for the switch's charts on paper.
    pub(super) drawings: Vec<&'a str>,
    pub(super) sections: Vec<FigureView<'a>>,
    /// What plotly.js draws from, by the chart's name.
    pub(super) charts: Vec<(String, String)>,
}

impl<'a> Figures<'a> {
    /// Takes from `tables` those that belong to a figure. The switch begins with cost where `cost_leads`, else with the rate.
    pub(super) fn new(
        drawings: &'a [Drawing],
        tables: &mut Vec<Table>,
        looks: &[(&str, Style)],
        cost_leads: bool,
    ) -> Self {
        let mut page = Self::default();
        let first = if cost_leads { COST.key } else { RATE.key };
        for choice in &CHOICES {
            let drawing = drawings.iter().find(|d| d.figure.name == choice.figure);
            let Some((figure, curves)) =
                drawing.and_then(|d| Some((&d.figure, curves_of(&d.figure).nth(choice.panel)?)))
            else {
                continue;
            };
            page.views.push(View {
                key: choice.key,
                label: choice.label,
                is_first: choice.key == first,
                unit: &curves.y.title,
                band: has_bands(curves).then_some(choice.band),
                figure,
            });
            let chart = interactive::chart(curves, looks);
            page.charts.push((choice.key.to_owned(), chart));
        }
        for drawing in drawings {
            let in_switch = page
                .views
                .iter()
                .any(|v| v.figure.name == drawing.figure.name);
            if in_switch {
                page.drawings.push(&drawing.svg);
            }
            page.add_section(drawing, in_switch, tables, looks);
        }
        page
    }

    /// A section for what the switch does not show of a figure, if there is such a thing.
    fn add_section(
        &mut self,
        drawing: &'a Drawing,
        in_switch: bool,
        tables: &mut Vec<Table>,
        looks: &[(&str, Style)],
    ) {
        let figure = &drawing.figure;
        let mut panels = Vec::new();
        for (position, panel) in figure.panels.iter().enumerate() {
            let content = match &panel.plot {
                Plot::Dots(_) => continue,
                Plot::Curves(_) if in_switch => continue,
                Plot::Curves(curves) => {
                    let name = format!("{}-{position}", figure.name);
                    self.charts
                        .push((name.clone(), interactive::chart(curves, looks)));
                    PanelContent::Curves {
                        unit: &curves.y.title,
                        chart: name,
                    }
                }
                Plot::Bars(bars) => PanelContent::Bars {
                    unit: &bars.axis.title,
                    parts: bars::legend(bars),
                    rows: bars::rows(bars),
                },
            };
            panels.push(PanelView {
                heading: &panel.heading,
                content,
            });
        }
        if panels.is_empty() {
            return;
        }
        // What is left of a figure of the switch is a panel, and that has a better name for it.
        let title = match panels.as_mut_slice() {
            [only] if in_switch => std::mem::take(&mut only.heading),
            _ => &figure.title,
        };
        self.sections.push(FigureView {
            name: figure.name,
            title,
            subtitle: &figure.subtitle,
            notes: &figure.notes,
            has_curves: panels
                .iter()
                .any(|panel| matches!(panel.content, PanelContent::Curves { .. })),
            panels,
            svg: (!in_switch).then_some(drawing.svg.as_str()),
            tables: tables.extract_if(.., |t| t.title == figure.title).collect(),
        });
    }
}

fn has_bands(curves: &Curves) -> bool {
    let points = curves.series.iter().flat_map(Series::points);
    points.into_iter().any(|point| point.high > point.low)
}

fn curves_of(figure: &Figure) -> impl Iterator<Item = &Curves> {
    figure.panels.iter().filter_map(|panel| match &panel.plot {
        Plot::Curves(curves) => Some(curves),
        Plot::Bars(_) | Plot::Dots(_) => None,
    })
}
