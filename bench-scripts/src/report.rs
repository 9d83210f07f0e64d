//! Reads a run's directory and writes everything that follows from it.
//!
//! `run.json`, `cells.jsonl` and `traces.jsonl` are what was measured; all other files are made of them and nothing else, so that
//! `rungs report DIR` gives the same bytes each time.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::analyse::{analyse, traces};
use crate::findings::Findings;
use crate::record::trace::Trace;
use crate::record::{Cell, Run, SCHEMA_VERSION};
use crate::render::{self, Report};
use crate::store;

pub use crate::render::{terminal_sentences, terminal_table};

/// Name of the file that says what was to be measured.
pub const RUN_FILE: &str = "run.json";

/// Name of the file that holds a record per cell.
pub const CELLS_FILE: &str = "cells.jsonl";

/// Name of the file that holds a record per trace; there is none without a traced pass.
pub const TRACES_FILE: &str = "traces.jsonl";

/// What [`render`] made.
#[derive(Debug)]
pub struct Rendered {
    /// What the run says.
    pub findings: Findings,
    /// The files written, in the order in which a reader wants them.
    pub files: Vec<PathBuf>,
    /// What a reader must know of the rendering: a line that was left out, fonts that are missing.
    pub warnings: Vec<String>,
}

/// Writes everything that follows from the run in a directory into that directory.
///
/// # Errors
///
/// When the run cannot be read (the message names file and line), or a file cannot be written.
pub fn render(dir: &Path) -> anyhow::Result<Rendered> {
    let record = read(dir)?;
    let findings = Findings {
        traces: traces::findings(&record.traces),
        ..analyse(&record.run, &record.cells)
    };
    let report = Report::new(&record, &findings);
    let mut files = Vec::new();
    for exporter in render::exporters(&report) {
        let path = dir.join(exporter.file_name());
        let content = exporter
            .export(&report)
            .with_context(|| format!("cannot make {}", path.display()))?;
        store::write_whole(&path, &content).with_context(|| {
            format!(
                "cannot write {}: is it yours, and is there room? What was measured is kept: render it with `rungs report {}`",
                path.display(),
                dir.display()
            )
        })?;
        files.push(path);
    }
    let warnings = report.warnings();
    Ok(Rendered {
        findings,
        files,
        warnings,
    })
}

/// A run as it was recorded.
#[derive(Debug)]
pub struct Record {
    /// `run.json`.
    pub run: Run,
    /// `cells.jsonl`.
    pub cells: Vec<Cell>,
    /// `traces.jsonl`; empty where there is none.
    pub traces: Vec<Trace>,
    /// The files whose last line was not written to its end, and was left out.
    pub torn: Vec<&'static str>,
}

/// Why a run cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// A file is missing or not readable.
    #[error("cannot read {}: {error}. Give the directory that `rungs sweep` wrote", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// The run has another layout than this program knows.
    #[error(
        "{} has layout {found}, and this rungs reads layout {SCHEMA_VERSION}: render it with the version that measured it",
        path.display()
    )]
    Layout {
        /// `run.json`.
        path: PathBuf,
        /// Its layout.
        found: u32,
    },
    /// A file is not what it must be.
    #[error("{}:{line}: {problem}. The file was changed or damaged: {remedy}", path.display())]
    Line {
        /// Which file.
        path: PathBuf,
        /// Which line, from 1.
        line: usize,
        /// What is wrong.
        problem: String,
        /// What to do about it.
        remedy: &'static str,
    },
}

/// Reads a run's directory.
///
/// A last line of `cells.jsonl` or `traces.jsonl` that a crash cut short is left out, and said so in the result.
///
/// # Errors
///
/// When a file is missing, of another layout, or damaged.
pub fn read(dir: &Path) -> Result<Record, ReadError> {
    let run = read_run(&dir.join(RUN_FILE))?;
    let labels: HashSet<&str> = run
        .matrix
        .entrants
        .iter()
        .map(|e| e.label.as_str())
        .collect();
    let is_known = |entrant: &str| match labels.contains(entrant) {
        true => Ok(()),
        false => Err(format!(
            "the entrant `{entrant}` is not in the matrix of {RUN_FILE}"
        )),
    };
    let mut seen = HashMap::new();
    let cells = read_lines(&dir.join(CELLS_FILE), "a cell", |cell: &Cell| {
        let planned = &cell.planned;
        is_known(&planned.entrant)?;
        let before = seen.insert(planned.index, (cell.attempt, cell.is_valid()));
        if before.is_some_and(|(attempt, valid)| valid || attempt >= cell.attempt) {
            return Err(format!("cell {} is there a second time", planned.index));
        }
        Ok(())
    })?;
    let traces = read_traces(&dir.join(TRACES_FILE), is_known)?;
    let torn = [(CELLS_FILE, cells.torn), (TRACES_FILE, traces.torn)];
    Ok(Record {
        run,
        cells: cells.records,
        traces: traces.records,
        torn: torn
            .iter()
            .filter(|(_, torn)| *torn)
            .map(|(file, _)| *file)
            .collect(),
    })
}

/// The traces of a run; none where it has no such file.
fn read_traces(
    path: &Path,
    is_known: impl Fn(&str) -> Result<(), String>,
) -> Result<Lines<Trace>, ReadError> {
    let mut seen = HashSet::new();
    let traces = read_lines(path, "a trace", |trace: &Trace| {
        is_known(&trace.planned.entrant)?;
        let index = trace.planned.index;
        match seen.insert(index) {
            true => Ok(()),
            false => Err(format!("trace {index} is there a second time")),
        }
    });
    match traces {
        Err(ReadError::File { error, .. }) if error.kind() == io::ErrorKind::NotFound => {
            Ok(Lines {
                records: Vec::new(),
                torn: false,
            })
        }
        traces => traces,
    }
}

/// The records of a file that has one per line.
struct Lines<T> {
    records: Vec<T>,
    /// True where the last line was not written to its end, and was left out.
    torn: bool,
}

/// Reads a file that has a record per line, of `what`. `check` says what is wrong with one that can be read.
fn read_lines<T: DeserializeOwned>(
    path: &Path,
    what: &str,
    mut check: impl FnMut(&T) -> Result<(), String>,
) -> Result<Lines<T>, ReadError> {
    let bytes = read_file(path)?;
    let mut records = Vec::new();
    for (position, line) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
        let problem = |problem: String| ReadError::Line {
            path: path.to_owned(),
            line: position + 1,
            problem,
            remedy: "restore it, or take that line out",
        };
        match serde_json::from_slice(line) {
            Ok(record) => {
                check(&record).map_err(problem)?;
                records.push(record);
            }
            // Only the last line can be without its end.
            Err(_) if !line.ends_with(b"\n") => {
                return Ok(Lines {
                    records,
                    torn: true,
                });
            }
            Err(error) => {
                return Err(problem(format!(
                    "not the record of {what}: {}",
                    cause(&error)
                )));
            }
        }
    }
    Ok(Lines {
        records,
        torn: false,
    })
}

/// The one field that every layout has.
#[derive(Deserialize)]
struct Layout {
    schema: u32,
}

fn read_run(path: &Path) -> Result<Run, ReadError> {
    let bytes = read_file(path)?;
    let damaged = |error: serde_json::Error| ReadError::Line {
        path: path.to_owned(),
        line: error.line(),
        problem: format!("not the description of a run: {}", cause(&error)),
        remedy: "restore it",
    };
    let Layout { schema } = serde_json::from_slice(&bytes).map_err(damaged)?;
    if schema != SCHEMA_VERSION {
        return Err(ReadError::Layout {
            path: path.to_owned(),
            found: schema,
        });
    }
    serde_json::from_slice(&bytes).map_err(damaged)
}

/// What is wrong, without the place: the line is named in front of it, and inside one record it is always the first.
fn cause(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    format!(
        "{} (column {})",
        text.strip_suffix(&place).unwrap_or(&text),
        error.column()
    )
}

fn read_file(path: &Path) -> Result<Vec<u8>, ReadError> {
    fs::read(path).map_err(|error| ReadError::File {
        path: path.to_owned(),
        error,
    })
}
