//! A page over many runs: what lies in a folder of runs, newest first, and how costs went from run to run.

mod trend;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use crate::analyse::analyse;
use crate::findings::Findings;
use crate::render;
use crate::report::{self, RUN_FILE};
use crate::{primitives, store};

pub(crate) use trend::{Trend, minute, trends};

/// Name of the page.
pub const INDEX_FILE: &str = "index.html";

/// The runs of a folder.
pub(crate) struct Index {
    /// The runs, newest first.
    pub(crate) runs: Vec<IndexedRun>,
    /// What looks like a run and cannot be read, by name.
    pub(crate) damaged: Vec<Damaged>,
}

/// What the page says of one run.
pub(crate) struct IndexedRun {
    /// Name of its directory.
    pub(crate) name: String,
    /// Whether its report.html is there.
    pub(crate) has_report: bool,
    /// When it began, RFC 3339, UTC.
    pub(crate) started_at: String,
    /// What was asked for.
    pub(crate) path: String,
    /// Model name of the processor.
    pub(crate) machine: String,
    /// What it says.
    pub(crate) findings: Findings,
}

/// A directory that looks like a run.
pub(crate) struct Damaged {
    /// Its name.
    pub(crate) name: String,
    /// What is wrong with it.
    pub(crate) problem: String,
}

/// What [`write()`] made.
#[derive(Debug)]
pub struct Written {
    /// The page.
    pub page: PathBuf,
    /// Runs that cannot be read, with what is wrong, a line each.
    pub warnings: Vec<String>,
}

/// Writes `index.html` into a folder of runs, such as `results`. Each run is analysed anew; nothing else is written.
///
/// # Errors
///
/// When the folder cannot be read, holds no run, or cannot be written to.
pub fn write(results: &Path) -> anyhow::Result<Written> {
    let index = read(results)?;
    if index.runs.is_empty() && index.damaged.is_empty() {
        bail!(
            "there is no run in {}: give the folder that holds the directories of `rungs sweep`, such as results",
            results.display()
        );
    }
    let page = results.join(INDEX_FILE);
    store::write_whole(&page, &render::index_html(&index)?).with_context(|| {
        format!(
            "cannot write {}: is it yours, and is there room?",
            page.display()
        )
    })?;
    let damaged = index.damaged.iter();
    Ok(Written {
        page,
        warnings: damaged
            .map(|run| format!("{} is not in the index: {}", run.name, run.problem))
            .collect(),
    })
}

fn read(results: &Path) -> anyhow::Result<Index> {
    let folder = || format!("cannot read {}", results.display());
    let mut index = Index {
        runs: Vec::new(),
        damaged: Vec::new(),
    };
    for entry in fs::read_dir(results).with_context(folder)? {
        let entry = entry.with_context(folder)?;
        // `results/latest` is a link, to a run that is there under its own name.
        if !entry.file_type().with_context(folder)?.is_dir()
            || !entry.path().join(RUN_FILE).exists()
            || primitives::record::is_in(&entry.path())
        {
            continue;
        }
        let name = entry.file_name().to_string_lossy().into_owned();
        match report::read(&entry.path()) {
            Ok(record) => index.runs.push(IndexedRun {
                name,
                has_report: entry.path().join("report.html").exists(),
                findings: analyse(&record.run, &record.cells),
                started_at: record.run.started_at,
                path: record.run.matrix.path,
                machine: record.run.machine.cpu_model,
            }),
            Err(error) => index.damaged.push(Damaged {
                name,
                problem: error.to_string(),
            }),
        }
    }
    index
        .runs
        .sort_by(|a, b| (&b.started_at, &b.name).cmp(&(&a.started_at, &a.name)));
    index.damaged.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(index)
}
