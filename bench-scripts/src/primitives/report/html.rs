//! `report.html`: one file that opens offline, in any light, on any screen, and on paper.

use askama::Template;

use super::key::Rows;
use super::tables::{self, Section};
use super::{Drawing, Report, words};
use crate::render::tables::Table;
use crate::render::words::{Entry, PreflightRow, preflight_rows};

/// How many sentences stand above everything else.
const ANSWER: usize = 3;

pub(super) fn page(report: &Report) -> askama::Result<String> {
    Page::new(report).render()
}

#[derive(Template)]
#[template(path = "primitives.html")]
struct Page<'a> {
    headline: String,
    started_at: &'a str,
    /// What the run says, in short.
    answer: &'a [String],
    /// What else it says.
    more: &'a [String],
    remarks: Vec<String>,
    hint: Option<String>,
    key_figures: Vec<Entry>,
    drawings: &'a [Drawing],
    sections: Vec<Section>,
    claims: Vec<Entry>,
    every_row: Table,
    preflight: Vec<PreflightRow>,
    environment: Vec<Entry>,
    method: Vec<String>,
    reproduction: String,
    version: &'a str,
}

impl<'a> Page<'a> {
    fn new(report: &'a Report) -> Self {
        let (record, findings) = (report.record, report.findings);
        let (answer, more) = findings
            .sentences
            .split_at(ANSWER.min(findings.sentences.len()));
        Self {
            headline: words::headline(record),
            started_at: &record.run.started_at,
            answer,
            more,
            remarks: words::warnings(record, findings),
            hint: words::hint(record),
            key_figures: words::key_figures(findings),
            drawings: report.drawings,
            sections: tables::all(record, findings),
            claims: words::claims(&record.claims),
            every_row: tables::every_row(Rows(&record.rows), &record.run.families),
            preflight: preflight_rows(&record.run.preflight),
            environment: words::environment(&record.run),
            method: words::method(&record.run),
            reproduction: words::reproduction(&record.run),
            version: &record.run.rungs_version,
        }
    }
}
