//! `index.html`: a page over many runs, in one file that opens offline.

use askama::Template;

use super::lead;
use super::report_html::{json, legend};
use crate::figure::{Plot, interactive, svg};
use crate::index::{Damaged, Index, IndexedRun, Trend, minute, trends};
use crate::quantity;

/// The page.
pub(crate) fn index_html(index: &Index) -> anyhow::Result<Vec<u8>> {
    let trends = trends(index);
    let views: Vec<TrendView> = trends.iter().map(TrendView::new).collect();
    let charts = views.iter().enumerate();
    let charts: Vec<(String, &str)> = charts
        .map(|(place, view)| (place.to_string(), view.chart.as_str()))
        .collect();
    let charts = json::object(charts.iter().map(|(name, chart)| (name.as_str(), *chart)));
    let page = Page {
        runs: index.runs.iter().map(Row::new).collect(),
        damaged: &index.damaged,
        library: (!views.is_empty()).then(interactive::library),
        charts: json::in_script(&charts),
        trends: views,
    };
    Ok(page.render()?.into_bytes())
}

#[derive(Template)]
#[template(path = "index.html")]
struct Page<'a> {
    runs: Vec<Row<'a>>,
    damaged: &'a [Damaged],
    trends: Vec<TrendView<'a>>,
    /// plotly.js; none where nothing can be followed from run to run.
    library: Option<String>,
    /// What it draws from, as JSON.
    charts: String,
}

struct Row<'a> {
    name: &'a str,
    has_report: bool,
    began: String,
    matrix: &'a str,
    machine: &'a str,
    valid: String,
    noise_floor: String,
    lead: String,
}

struct TrendView<'a> {
    title: &'a str,
    subtitle: &'a str,
    legend: Vec<legend::Entry>,
    chart: String,
    svg: String,
}

impl<'a> Row<'a> {
    fn new(run: &'a IndexedRun) -> Self {
        let findings = &run.findings;
        let floor = findings.noise_floor.as_ref();
        Self {
            name: &run.name,
            has_report: run.has_report,
            began: minute(&run.started_at),
            matrix: &findings.matrix,
            machine: &run.machine,
            valid: format!(
                "{} of {}",
                quantity::whole(findings.cells.valid),
                quantity::whole(findings.cells.planned)
            ),
            noise_floor: floor.map_or("–".to_owned(), |floor| {
                quantity::fine_percent(floor.cost_share)
            }),
            lead: lead::sentences(findings).swap_remove(0),
        }
    }
}

impl<'a> TrendView<'a> {
    fn new(trend: &'a Trend) -> Self {
        let figure = &trend.figure;
        let looks: Vec<_> = trend
            .looks
            .iter()
            .map(|(label, style)| (label.as_str(), *style))
            .collect();
        let curves = figure.panels.iter().find_map(|panel| match &panel.plot {
            Plot::Curves(curves) => Some(interactive::chart(curves, &looks)),
            Plot::Bars(_) | Plot::Dots(_) => None,
        });
        Self {
            title: &figure.title,
            subtitle: &figure.subtitle,
            legend: looks
                .iter()
                .map(|(label, style)| legend::entry(label, *style))
                .collect(),
            chart: curves.unwrap_or_default(),
            svg: svg::draw(figure),
        }
    }
}
