//! `report.html`: one file that opens offline, in any light, on any screen, and on paper.

use askama::Template;

use super::lead;
use super::tables::{self, Table};
use super::words::{self, Entry, InvalidRow, OutlierRow, PreflightRow};
use super::{Drawing, Exporter, Report};
use crate::figure::{Bars, Plot, interactive};

pub(super) struct ReportHtml;

impl Exporter for ReportHtml {
    fn file_name(&self) -> String {
        "report.html".to_owned()
    }

    fn export(&self, report: &Report) -> anyhow::Result<Vec<u8>> {
        Ok(Page::new(report).render()?.into_bytes())
    }
}

#[derive(Template)]
#[template(path = "report.html")]
struct Page<'a> {
    matrix: &'a str,
    about: &'a str,
    headline: String,
    started_at: &'a str,
    sentences: Vec<String>,
    remarks: Vec<String>,
    key_figures: Vec<Entry>,
    figures: Vec<FigureView<'a>>,
    /// plotly.js; none where no figure has curves.
    library: Option<String>,
    tables: Vec<Table>,
    invalid: Vec<InvalidRow>,
    outliers: Vec<OutlierRow>,
    preflight: Vec<PreflightRow>,
    environment: Vec<Entry>,
    programs: Vec<Entry>,
    method: Vec<String>,
    definitions: Vec<Entry>,
    reproduction: String,
    version: &'a str,
}

/// A figure as the page shows it.
struct FigureView<'a> {
    name: &'static str,
    title: &'a str,
    subtitle: &'a str,
    notes: &'a [String],
    has_curves: bool,
    panels: Vec<PanelView>,
    /// The drawing, for paper and for browsers without scripts.
    svg: &'a str,
}

struct PanelView {
    heading: String,
    content: PanelContent,
}

enum PanelContent {
    /// Curves drawn by plotly.js.
    Curves {
        /// What the vertical axis counts.
        unit: String,
        /// The element and its script.
        fragment: String,
    },
    /// Bars drawn by the page itself.
    Bars {
        unit: String,
        parts: Vec<&'static str>,
        rows: Vec<BarView>,
    },
}

struct BarView {
    label: String,
    colour: String,
    /// Widths of the parts, percent of the track.
    parts: Vec<String>,
    /// Start and width of the range over rounds, percent of the track.
    range: Option<(String, String)>,
    /// Places of invalid cells, percent of the track.
    invalid: Vec<String>,
    text: String,
    remark: String,
}

impl<'a> Page<'a> {
    fn new(report: &'a Report) -> Self {
        let run = report.run;
        let figures: Vec<FigureView> = report.drawings.iter().map(FigureView::new).collect();
        let has_curves = figures.iter().any(|figure| figure.has_curves);
        Self {
            matrix: &run.matrix.name,
            about: &run.matrix.about,
            headline: words::headline(run),
            started_at: &run.started_at,
            sentences: lead::sentences(report.findings),
            remarks: words::remarks(report.findings, report.torn),
            key_figures: lead::key_figures(report.findings),
            figures,
            library: has_curves.then(interactive::library),
            tables: tables::all(report.findings),
            invalid: words::invalid_rows(report.findings),
            outliers: words::outlier_rows(report.findings),
            preflight: words::preflight_rows(run),
            environment: words::environment(run),
            programs: words::programs(run),
            method: words::method(run),
            definitions: words::definitions(),
            reproduction: words::reproduction(run),
            version: &run.rungs_version,
        }
    }
}

impl<'a> FigureView<'a> {
    fn new(drawing: &'a Drawing) -> Self {
        let figure = &drawing.figure;
        let panels = figure.panels.iter().enumerate();
        Self {
            name: figure.name,
            title: &figure.title,
            subtitle: &figure.subtitle,
            notes: &figure.notes,
            has_curves: figure
                .panels
                .iter()
                .any(|panel| matches!(panel.plot, Plot::Curves(_))),
            panels: panels
                .map(|(position, panel)| PanelView {
                    heading: panel.heading.clone(),
                    content: match &panel.plot {
                        Plot::Curves(curves) => {
                            let id = format!("plot-{}-{position}", figure.name);
                            let fragment = interactive::fragment(curves, &id);
                            PanelContent::Curves {
                                unit: curves.y.title.clone(),
                                fragment,
                            }
                        }
                        Plot::Bars(bars) => bars_view(bars),
                    },
                })
                .collect(),
            svg: &drawing.svg,
        }
    }
}

/// Top of the ladder first: the bottom is at the bottom.
fn bars_view(bars: &Bars) -> PanelContent {
    let percent = |value: f64| bars.axis.scale.position(value) * 100.0;
    let written = |share: f64| format!("{share:.2}%");
    let rows = bars.rows.iter().rev().map(|row| {
        let value = row.value.as_ref();
        BarView {
            label: row.label.clone(),
            colour: row.style.colour.css(),
            parts: value.map_or_else(Vec::new, |value| {
                value
                    .parts
                    .iter()
                    .map(|part| written(percent(*part)))
                    .collect()
            }),
            range: value.filter(|value| value.high > value.low).map(|value| {
                let (low, high) = (percent(value.low), percent(value.high));
                (written(low), written(high - low))
            }),
            invalid: row
                .invalid
                .iter()
                .map(|value| written(percent(*value)))
                .collect(),
            text: value.map_or("no valid cell".to_owned(), |value| value.text.clone()),
            remark: value
                .and_then(|value| value.remark.clone())
                .unwrap_or_default(),
        }
    });
    PanelContent::Bars {
        unit: bars.axis.title.clone(),
        parts: bars.parts.clone(),
        rows: rows.collect(),
    }
}
