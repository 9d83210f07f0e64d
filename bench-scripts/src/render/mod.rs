//! Renderings of a run: an exporter per file.

mod cells_csv;
mod findings_json;
mod lead;
mod pictures;
mod report_html;
mod report_md;
mod tables;
mod terminal;
mod traces;
mod traces_csv;
mod words;

use crate::figure::{Figure, pictures as figures, png::Rasteriser, svg};
use crate::findings::Findings;
use crate::record::trace::Trace;
use crate::record::{Cell, Run};
use crate::report::Record;

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
    traces: &'a [Trace],
    findings: &'a Findings,
    drawings: Vec<Drawing>,
    rasteriser: Rasteriser,
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
        let fonts = self.rasteriser.warning().map(str::to_owned);
        torn.chain(fonts).collect()
    }
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
    if !report.traces.is_empty() {
        exporters.push(Box::new(traces_csv::TracesCsv));
    }
    for drawing in &report.drawings {
        exporters.push(Box::new(pictures::Svg(drawing)));
        exporters.push(Box::new(pictures::Png(drawing)));
    }
    exporters
}
