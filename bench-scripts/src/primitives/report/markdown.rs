//! `report.md`: for terminals, repositories and chats.

use std::fmt::{self, Write};

use super::{Report, tables, words};
use crate::render::report_md::{line, write_entries, write_preflight, write_table};

pub(super) fn text(report: &Report) -> Result<String, fmt::Error> {
    let mut text = String::new();
    write_report(&mut text, report)?;
    Ok(text)
}

fn write_report(out: &mut String, report: &Report) -> fmt::Result {
    let (run, findings) = (&report.record.run, report.findings);
    writeln!(out, "# rungs: below the servers\n")?;
    writeln!(out, "{}", line(&words::headline(report.record)))?;
    writeln!(out, "Measured {}.\n", run.started_at)?;
    for sentence in &findings.sentences {
        writeln!(out, "- {}", line(sentence))?;
    }
    writeln!(out)?;
    for remark in words::warnings(report.record, findings) {
        writeln!(out, "> {}\n", line(&remark))?;
    }
    if let Some(hint) = words::hint(report.record) {
        writeln!(out, "{}\n", line(&hint))?;
    }
    for (term, text) in words::key_figures(findings) {
        writeln!(out, "- {}: **{}**", line(&term), line(&text))?;
    }
    for drawing in report.drawings {
        let (title, name) = (&drawing.figure.title, drawing.figure.name);
        writeln!(out, "\n## {title}\n\n![{title}]({name}.svg)")?;
    }
    for section in tables::all(report.record, findings) {
        write_table(out, &section.table)?;
        for note in &section.notes {
            writeln!(out, "\n{}", line(note))?;
        }
    }
    if !report.record.claims.is_empty() {
        write_entries(out, words::CLAIMS, words::claims(&report.record.claims))?;
    }
    write_preflight(out, &run.preflight)?;
    write_entries(out, "Environment", words::environment(run))?;
    writeln!(out, "\n## Method")?;
    for paragraph in words::method(run) {
        writeln!(out, "\n{paragraph}")?;
    }
    let again = words::reproduction(run);
    writeln!(
        out,
        "\n## Again\n\n```sh\n{again}\n```\n\nEvery row with its smallest repetition is in rows.csv."
    )
}
