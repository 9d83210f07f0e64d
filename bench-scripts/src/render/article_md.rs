//! `article.md`: the draft of an article about a run, for `rungs report --blog`. Every number in it is the run's; what it means to
//! its readers, its writer says.

use std::fmt::{self, Write};

use super::report_md::{line, write_entries, write_table};
use super::{Exporter, Report};
use super::{lead, scaling_words, tables, words};
use crate::findings::{Bound, Findings};
use crate::quantity;
use crate::record::Run;

pub(super) struct ArticleMd;

impl Exporter for ArticleMd {
    fn file_name(&self) -> String {
        "article.md".to_owned()
    }

    fn export(&self, report: &Report) -> anyhow::Result<Vec<u8>> {
        let mut text = String::new();
        write_article(&mut text, report)?;
        Ok(text.into_bytes())
    }
}

fn write_article(out: &mut String, report: &Report) -> fmt::Result {
    let (run, findings) = (report.run, report.findings);
    writeln!(out, "# What each rung of the Rust I/O ladder costs\n")?;
    writeln!(out, "{}", line(&words::headline(run)))?;
    writeln!(out, "Measured {} with rungs.\n", run.started_at)?;
    for sentence in lead::sentences(findings) {
        writeln!(out, "- {}", line(&sentence))?;
    }
    for drawing in &report.drawings {
        let figure = &drawing.figure;
        let (title, name) = (&figure.title, figure.name);
        writeln!(out, "\n## {title}\n\n![{title}]({name}.png)\n")?;
        writeln!(out, "*{}.*", line(&figure.subtitle))?;
        for note in &figure.notes {
            writeln!(out, "\n{}", line(note))?;
        }
        if figure.name == "decline" {
            writeln!(out)?;
            for sentence in scaling_words::sentences(findings) {
                writeln!(out, "- {}", line(&sentence))?;
            }
        }
    }
    if let Some(table) = tables::all(findings).first() {
        write_table(out, table)?;
    }
    writeln!(out, "\n## How it was measured")?;
    for paragraph in words::method(run) {
        writeln!(out, "\n{paragraph}")?;
    }
    writeln!(out, "\n## What these numbers do not say\n")?;
    for limit in limits(run, findings) {
        writeln!(out, "- {}", line(&limit))?;
    }
    write_entries(out, "The machine", words::environment(run))?;
    write_entries(out, "The programs", words::programs(run))?;
    writeln!(
        out,
        "\n## Measure it yourself\n\n```sh\n{}\n```\n\nThe figures as SVG, and every cell that was measured as CSV, are beside this text.",
        words::reproduction(run)
    )
}

/// What a reader would believe of such numbers, and should not.
fn limits(run: &Run, findings: &Findings) -> Vec<String> {
    let mut limits = vec![
        "Everything went over the loopback device of one machine: no network card, no packet loss, and server and load generator \
         share caches and the kernel. It is the CPU side of serving that was measured."
            .to_owned(),
        format!(
            "{} is a closed loop: each connection waits for its answer. Its latency is not what clients see that come at their own \
             times.",
            run.load_generator.name
        ),
        "One small answer, the same for each request: no application, no database, no TLS.".to_owned(),
    ];
    if let Some(virtualisation) = &run.machine.virtualisation {
        limits.push(format!(
            "The machine was not ours alone ({virtualisation}): times in µs are those of this machine on that day. Ratios to null in the \
             same round are what carries over, if anything does."
        ));
    }
    limits.push(match &findings.noise_floor {
        Some(floor) => format!(
            "Differences in cost below {} are not told from noise.",
            quantity::fine_percent(floor.cost_share)
        ),
        None => "How small a difference can be told from noise was not measured.".to_owned(),
    });
    let contestants = || findings.entrants.iter().filter(|e| e.role.is_contestant());
    let points = || contestants().flat_map(|entrant| &entrant.points);
    let of_client = points()
        .filter(|p| p.bound_by == Some(Bound::Client))
        .count();
    if of_client > 0 {
        limits.push(format!(
            "At {of_client} of {} points the load generator was the limit: the requests per minute there are its own, and say nothing of \
             servers.",
            points().count()
        ));
    }
    let cells = findings.cells;
    let missing = cells.planned - cells.valid.min(cells.planned);
    if missing > 0 {
        limits.push(format!(
            "{missing} of {} cells are missing or invalid, and enter no figure.",
            quantity::whole(cells.planned)
        ));
    }
    if run.matrix.rounds == 1 {
        limits.push(
            "Every point was measured once: no interval of its own stands behind it.".to_owned(),
        );
    }
    limits
}
