//! `report.md`: for terminals, repositories and chats.

use std::fmt::{self, Write};

use super::lead;
use super::scaling_words;
use super::tables::{self, Table};
use super::words::{self, Entry};
use super::{Exporter, Report};
use crate::record::Advice;

pub(super) struct ReportMd;

impl Exporter for ReportMd {
    fn file_name(&self) -> String {
        "report.md".to_owned()
    }

    fn export(&self, report: &Report) -> anyhow::Result<Vec<u8>> {
        let mut text = String::new();
        write_report(&mut text, report)?;
        Ok(text.into_bytes())
    }
}

fn write_report(out: &mut String, report: &Report) -> fmt::Result {
    let run = report.run;
    writeln!(out, "# rungs: {}\n", line(&run.matrix.name))?;
    writeln!(out, "{}", line(&words::headline(run)))?;
    writeln!(out, "{}", line(&run.matrix.about))?;
    writeln!(out, "Measured {}.\n", run.started_at)?;
    for sentence in lead::sentences(report.findings) {
        writeln!(out, "{}", line(&sentence))?;
    }
    writeln!(out)?;
    for remark in words::remarks(report.findings, report.torn) {
        writeln!(out, "> {}\n", line(&remark))?;
    }
    for (term, text) in lead::key_figures(report.findings) {
        writeln!(out, "- {}: **{}**", line(&term), line(&text))?;
    }
    for drawing in &report.drawings {
        let (title, name) = (&drawing.figure.title, drawing.figure.name);
        writeln!(out, "\n## {title}\n\n![{title}]({name}.svg)")?;
    }
    let scaling = scaling_words::sentences(report.findings);
    if !scaling.is_empty() {
        writeln!(out, "\n## How rates and costs scale\n")?;
    }
    for sentence in scaling {
        writeln!(out, "- {}", line(&sentence))?;
    }
    for table in tables::all(report.findings) {
        write_table(out, &table)?;
    }
    write_invalid(out, report)?;
    write_outliers(out, report)?;
    write_preflight(out, &run.preflight)?;
    write_entries(out, "Environment", words::environment(run))?;
    write_entries(out, "Programs", words::programs(run))?;
    writeln!(out, "\n## Method")?;
    for paragraph in words::method(run) {
        writeln!(out, "\n{paragraph}")?;
    }
    write_entries(out, "Definitions", words::definitions(run))?;
    writeln!(
        out,
        "\n## Again\n\n```sh\n{}\n```",
        words::reproduction(run)
    )
}

pub(crate) fn write_table(out: &mut String, table: &Table) -> fmt::Result {
    writeln!(out, "\n## {}\n\n{}", table.title, line(&table.caption))?;
    if table.groups.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    let heads = || [&table.grouped_by].into_iter().chain(&table.columns);
    write_row(out, heads().map(|head| head.head.as_ref()))?;
    write!(out, "|")?;
    for head in heads() {
        write!(out, " {} |", if head.text { "---" } else { "---:" })?;
    }
    writeln!(out)?;
    for group in &table.groups {
        for row in &group.rows {
            let cells = row.iter().map(String::as_str);
            write_row(out, [group.name.as_str()].into_iter().chain(cells))?;
        }
    }
    Ok(())
}

/// One row of a table.
fn write_row<'a>(out: &mut String, cells: impl IntoIterator<Item = &'a str>) -> fmt::Result {
    write!(out, "|")?;
    for cell in cells {
        write!(out, " {} |", line(cell))?;
    }
    writeln!(out)
}

fn write_invalid(out: &mut String, report: &Report) -> fmt::Result {
    writeln!(out, "\n## Invalid cells\n")?;
    let rows = words::invalid_rows(report.findings);
    if rows.is_empty() {
        return writeln!(out, "None.");
    }
    writeln!(out, "| entrant | connections | round | cell | reasons |")?;
    writeln!(out, "| --- | ---: | ---: | ---: | --- |")?;
    for row in rows {
        let cells = [
            &row.entrant,
            &row.connections,
            &row.round,
            &row.cell,
            &row.reasons,
        ];
        write_row(out, cells.map(String::as_str))?;
    }
    Ok(())
}

fn write_outliers(out: &mut String, report: &Report) -> fmt::Result {
    let rows = words::outlier_rows(report.findings);
    if rows.is_empty() {
        return Ok(());
    }
    writeln!(
        out,
        "\n## Outliers\n\nValid, and in every figure: cells whose cost ÷ null is far off the median of their point.\n"
    )?;
    writeln!(
        out,
        "| entrant | connections | round | cell | cost ÷ median |"
    )?;
    writeln!(out, "| --- | ---: | ---: | ---: | ---: |")?;
    for row in rows {
        let cells = [
            &row.entrant,
            &row.connections,
            &row.round,
            &row.cell,
            &row.cost,
        ];
        write_row(out, cells.map(String::as_str))?;
    }
    Ok(())
}

pub(crate) fn write_preflight(out: &mut String, preflight: &[Advice]) -> fmt::Result {
    writeln!(out, "\n## Preflight\n")?;
    writeln!(
        out,
        "| | subject | found | advice |\n| --- | --- | --- | --- |"
    )?;
    for row in words::preflight_rows(preflight) {
        write_row(out, [row.level, &row.subject, &row.found, &row.advice])?;
    }
    Ok(())
}

pub(crate) fn write_entries(out: &mut String, title: &str, entries: Vec<Entry>) -> fmt::Result {
    writeln!(out, "\n## {title}\n")?;
    for (term, text) in entries {
        writeln!(out, "- **{}**: {}", line(&term), line(&text))?;
    }
    Ok(())
}

/// Foreign text on one line, and harmless to a table and to HTML.
pub(crate) fn line(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('|', "\\|")
        .replace('<', "&lt;")
        .replace(['\n', '\r'], " ")
}
