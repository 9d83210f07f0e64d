//! `report.html`: one file that opens offline, in any light, on any screen, and on paper.

mod bars;
mod cells;
mod figures;
pub(super) mod json;
pub(super) mod legend;

use askama::Template;

use super::lead;
use super::scaling_words;
use super::tables::{self, Table};
use super::words::{self, Entry, InvalidRow, OutlierRow, PreflightRow};
use super::{Exporter, Report};
use crate::figure::{interactive, pictures};
use crate::quantity;
use figures::{FigureView, Figures, PanelContent, View};

/// How many sentences of the lead stand above everything else.
const ANSWER: usize = 3;

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
    /// What the run says, in short.
    answer: Vec<String>,
    /// What else it says.
    more: Vec<String>,
    remarks: Vec<String>,
    key_figures: Vec<Entry>,
    views: Vec<View<'a>>,
    drawings: Vec<&'a str>,
    figures: Vec<FigureView<'a>>,
    legend: Vec<legend::Entry>,
    /// plotly.js; none where no figure has curves.
    library: Option<String>,
    /// What it draws from, as JSON.
    charts: String,
    /// How rates and costs scale, in sentences.
    scaling: Vec<String>,
    tables: Vec<Table>,
    cell_columns: &'static [cells::Column],
    cell_labels: Vec<&'a str>,
    cell_counts: Vec<String>,
    cell_total: String,
    /// Every cell, as JSON.
    cells: String,
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

impl<'a> Page<'a> {
    fn new(report: &'a Report) -> Self {
        let (run, findings) = (report.run, report.findings);
        let mut answer = lead::sentences(findings);
        let more = answer.split_off(ANSWER.min(answer.len()));
        let mut tables = tables::all(findings);
        let looks = pictures::looks(findings);
        let cost_leads = lead::cost_leads(findings);
        let figures = Figures::new(&report.drawings, &mut tables, &looks, cost_leads);
        let charts = figures.charts.iter();
        let charts = json::object(charts.map(|(name, chart)| (name.as_str(), chart.as_str())));
        Self {
            matrix: &run.matrix.name,
            about: &run.matrix.about,
            headline: words::headline(run),
            started_at: &run.started_at,
            answer,
            more,
            remarks: words::remarks(findings, report.torn),
            key_figures: lead::key_figures(findings),
            library: (!figures.charts.is_empty()).then(interactive::library),
            charts: json::in_script(&charts),
            views: figures.views,
            drawings: figures.drawings,
            figures: figures.sections,
            legend: legend::entries(findings),
            scaling: scaling_words::sentences(findings),
            tables,
            cell_columns: cells::COLUMNS,
            cell_labels: cells::labels(run).collect(),
            cell_counts: connection_counts(report),
            cell_total: quantity::whole(report.cells.len() as u64),
            cells: cells::data(run, report.cells),
            invalid: words::invalid_rows(findings),
            outliers: words::outlier_rows(findings),
            preflight: words::preflight_rows(&run.preflight),
            environment: words::environment(run),
            programs: words::programs(run),
            method: words::method(run),
            definitions: words::definitions(run),
            reproduction: words::reproduction(run),
            version: &run.rungs_version,
        }
    }
}

/// The connections that cells opened, ascending.
fn connection_counts(report: &Report) -> Vec<String> {
    let cells = report.cells.iter();
    let mut counts: Vec<u32> = cells.map(|cell| cell.planned.connections).collect();
    counts.sort_unstable();
    counts.dedup();
    counts.iter().map(ToString::to_string).collect()
}
