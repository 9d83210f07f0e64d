//! Renderings of a run: an exporter per file.

mod article_md;
mod cells_csv;
mod cost;
mod decline_tables;
mod decline_words;
mod findings_json;
mod index_html;
mod lead;
mod pictures;
mod rates;
mod rates_csv;
mod report_html;
pub(crate) mod report_md;
mod scaling_words;
pub(crate) mod tables;
pub(crate) mod terminal;
mod traces;
mod traces_csv;
pub(crate) mod words;

use crate::figure::{Figure, pictures as figures, png::Rasteriser, svg};
use crate::findings::Findings;
use crate::record::trace::Trace;
use crate::record::{Cell, PacedCell, Run};
use crate::report::Record;

pub use cost::{cost_md, cost_table};
pub(crate) use index_html::index_html;
pub use terminal::{terminal_sentences, terminal_table};

/// Makes one file of a run's directory.
///
/// The content is a function of the report alone: no clock, no randomness, no order of a hash table.
pub trait Exporter {
    /// Name of the file.
    fn file_name(&self) -> String;

    /// Its content.
    ///
    /// # Errors
    ///
    /// When the content cannot be encoded.
    fn export(&self, report: &Report) -> anyhow::Result<Vec<u8>>;
}

/// What all exporters draw from.
pub struct Report<'a> {
    run: &'a Run,
    cells: &'a [Cell],
    paced: &'a [PacedCell],
    traces: &'a [Trace],
    findings: &'a Findings,
    drawings: Vec<Drawing>,
    rasteriser: Rasteriser,
    /// The files whose last line was left out.
    torn: &'a [&'static str],
}

/// A figure, and how it is drawn.
struct Drawing {
    figure: Figure,
    svg: String,
}

impl<'a> Report<'a> {
    /// Draws the figures, once for all exporters.
    #[must_use]
    pub fn new(record: &'a Record, findings: &'a Findings) -> Self {
        let drawings = figures::all(&record.run, findings)
            .into_iter()
            .map(|figure| Drawing {
                svg: svg::draw(&figure),
                figure,
            })
            .collect();
        Self {
            run: &record.run,
            cells: &record.cells,
            paced: &record.paced,
            traces: &record.traces,
            findings,
            drawings,
            rasteriser: Rasteriser::new(),
            torn: &record.torn,
        }
    }

    /// What a reader must know of the rendering itself.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let torn = self.torn.iter().map(|file| words::torn_last_line(file));
        torn.chain(self.rasteriser.warning().map(str::to_owned))
            .collect()
    }
}

/// The exporters of the bundle for an article: text, pictures, numbers.
#[must_use]
pub fn article_exporters<'a>(report: &'a Report) -> Vec<Box<dyn Exporter + 'a>> {
    let text: Box<dyn Exporter> = Box::new(article_md::ArticleMd);
    let others = exporters(report).into_iter();
    let for_readers = others.filter(|exporter| {
        let name = exporter.file_name();
        [".svg", ".png", ".csv"]
            .iter()
            .any(|end| name.ends_with(end))
    });
    [text].into_iter().chain(for_readers).collect()
}

/// Every exporter, in the order in which a reader wants its files.
#[must_use]
pub fn exporters<'a>(report: &'a Report) -> Vec<Box<dyn Exporter + 'a>> {
    let mut exporters: Vec<Box<dyn Exporter + 'a>> = vec![
        Box::new(report_html::ReportHtml),
        Box::new(report_md::ReportMd),
        Box::new(findings_json::FindingsJson),
        Box::new(cells_csv::CellsCsv),
    ];
    if !report.paced.is_empty() {
        exporters.push(Box::new(rates_csv::RatesCsv));
    }
    if !report.traces.is_empty() {
        exporters.push(Box::new(traces_csv::TracesCsv));
    }
    for drawing in &report.drawings {
        exporters.push(Box::new(pictures::Svg(drawing)));
        exporters.push(Box::new(pictures::Png(drawing)));
    }
    exporters
}
