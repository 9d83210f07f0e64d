//! Reads a run's directory and writes everything that follows from it.
//!
//! `run.json`, `cells.jsonl`, `rates.jsonl` and `traces.jsonl` are what was measured; all other files are made of them and
//! nothing else, so that `rungs report DIR` gives the same bytes each time.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::analyse::analyse_record;
use crate::findings::Findings;
use crate::record::trace::Trace;
use crate::record::{Attempt, Cell, PacedCell, Planned, Run, SCHEMA_VERSION};
use crate::render::{self, Exporter, Report};
use crate::{primitives, store};

pub use crate::render::{terminal_sentences, terminal_table};

/// Name of the file that says what was to be measured.
pub const RUN_FILE: &str = "run.json";

/// Name of the file that holds a record per cell.
pub const CELLS_FILE: &str = "cells.jsonl";

/// Name of the file that holds a record per paced cell; not there where a matrix asks for no latency at fixed rates.
pub const RATES_FILE: &str = "rates.jsonl";

/// Name of the file that holds a record per trace; not there without a traced pass.
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
    let findings = analyse_record(&record);
    let report = Report::new(&record, &findings);
    let files = write(render::exporters(&report), &report, dir, dir)?;
    let warnings = report.warnings();
    Ok(Rendered {
        findings,
        files,
        warnings,
    })
}

/// Writes the bundle for an article about the run in `dir` into `out`: a Markdown text, the pictures, the numbers.
///
/// # Errors
///
/// When the run cannot be read, when `out` holds anything already, or a file cannot be written.
pub fn blog(dir: &Path, out: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let record = read(dir)?;
    let findings = analyse_record(&record);
    let report = Report::new(&record, &findings);
    fs::create_dir_all(out).with_context(|| format!("cannot make {}", out.display()))?;
    let mut there = fs::read_dir(out).with_context(|| format!("cannot read {}", out.display()))?;
    if there.next().is_some() {
        bail!(
            "{} is not empty, and an article in it may have been edited: give another directory with --blog",
            out.display()
        );
    }
    write(render::article_exporters(&report), &report, dir, out)
}

/// Has each exporter write its file into `out`; the run is in `dir`.
fn write(
    exporters: Vec<Box<dyn Exporter + '_>>,
    report: &Report,
    dir: &Path,
    out: &Path,
) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = Vec::with_capacity(exporters.len());
    for exporter in exporters {
        let name = exporter.file_name();
        let content = exporter
            .export(report)
            .with_context(|| format!("cannot make {}", out.join(&name).display()))?;
        files.push(write_file(dir, out, &name, &content)?);
    }
    Ok(files)
}

/// Writes one of the files that follow from the run in `dir` into `out`. Its path.
pub(crate) fn write_file(
    dir: &Path,
    out: &Path,
    name: &str,
    content: &[u8],
) -> anyhow::Result<PathBuf> {
    let path = out.join(name);
    store::write_whole(&path, content).with_context(|| {
        format!(
            "cannot write {}: is it yours, and is there room? What was measured is kept: render it with `rungs report {}`",
            path.display(),
            dir.display()
        )
    })?;
    Ok(path)
}

/// A run as it was recorded.
#[derive(Clone, Debug)]
pub struct Record {
    /// `run.json`.
    pub run: Run,
    /// `cells.jsonl`.
    pub cells: Vec<Cell>,
    /// `rates.jsonl`.
    pub paced: Vec<PacedCell>,
    /// `traces.jsonl`.
    pub traces: Vec<Trace>,
    /// The files whose last line was not written to its end, and was left out.
    pub torn: Vec<&'static str>,
}

/// Why a run cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// A file is missing or not readable.
    #[error("cannot read {}: {error}. Give the directory that `rungs sweep` or `rungs primitives` wrote", path.display())]
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
    /// It holds a run of another kind.
    #[error(
        "{} holds a run of `rungs primitives`, not a sweep: give the directory that `rungs sweep` wrote",
        .0.display()
    )]
    NoSweep(PathBuf),
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
/// A last line that a crash cut short is left out, and said so in the result.
///
/// # Errors
///
/// When a file is missing, of another layout, or damaged.
pub fn read(dir: &Path) -> Result<Record, ReadError> {
    if primitives::record::is_in(dir) {
        return Err(ReadError::NoSweep(dir.to_owned()));
    }
    let run: Run = read_run(&dir.join(RUN_FILE))?;
    let mut torn = Vec::new();
    let cells = read_attempts(dir, CELLS_FILE, "cell", &run, &mut torn)?;
    let paced = read_any_attempts(dir, RATES_FILE, "paced cell", &run, &mut torn)?;
    let traces = read_any_attempts(dir, TRACES_FILE, "trace", &run, &mut torn)?;
    Ok(Record {
        run,
        cells,
        paced,
        traces,
        torn,
    })
}

/// Reads a file of attempts at something of a kind: none of an entrant that is not there, and none at what is settled.
fn read_attempts<T: Attempt + DeserializeOwned>(
    dir: &Path,
    file: &'static str,
    kind: &str,
    run: &Run,
    torn: &mut Vec<&'static str>,
) -> Result<Vec<T>, ReadError> {
    let entrants = run.matrix.entrants.iter();
    let labels: HashSet<&str> = entrants.map(|e| e.label.as_str()).collect();
    let mut seen = HashMap::new();
    let lines = read_lines(&dir.join(file), &format!("a {kind}"), |record: &T| {
        let planned = record.planned();
        let (index, entrant) = (planned.index(), planned.entrant());
        if !labels.contains(entrant) {
            return Err(format!(
                "the entrant `{entrant}` is not in the matrix of {RUN_FILE}"
            ));
        }
        let before = seen.insert(index, (record.attempt(), record.validity().is_valid()));
        if before.is_some_and(|(attempt, valid)| valid || attempt >= record.attempt()) {
            return Err(format!("{kind} {index} is there a second time"));
        }
        Ok(())
    })?;
    if lines.torn {
        torn.push(file);
    }
    Ok(lines.records)
}

/// Reads such a file, which is not there before there is a first attempt.
fn read_any_attempts<T: Attempt + DeserializeOwned>(
    dir: &Path,
    file: &'static str,
    kind: &str,
    run: &Run,
    torn: &mut Vec<&'static str>,
) -> Result<Vec<T>, ReadError> {
    if dir.join(file).exists() {
        read_attempts(dir, file, kind, run, torn)
    } else {
        Ok(Vec::new())
    }
}

/// The records of a file that has one per line.
pub(crate) struct Lines<T> {
    pub(crate) records: Vec<T>,
    /// True where the last line was not written to its end, and was left out.
    pub(crate) torn: bool,
}

/// Reads a file that has a record per line, of `what`. `check` says what is wrong with one that can be read.
pub(crate) fn read_lines<T: DeserializeOwned>(
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

/// Reads `run.json`, of a sweep or of primitives.
pub(crate) fn read_run<T: DeserializeOwned>(path: &Path) -> Result<T, ReadError> {
    const WHAT: &str = "the description of a run";
    let Layout { schema } = read_json(path, WHAT)?;
    if schema != SCHEMA_VERSION {
        return Err(ReadError::Layout {
            path: path.to_owned(),
            found: schema,
        });
    }
    read_json(path, WHAT)
}

/// Reads a file that is one JSON value, `what`.
pub(crate) fn read_json<T: DeserializeOwned>(path: &Path, what: &str) -> Result<T, ReadError> {
    serde_json::from_slice(&read_file(path)?).map_err(|error| ReadError::Line {
        path: path.to_owned(),
        line: error.line(),
        problem: format!("not {what}: {}", cause(&error)),
        remedy: "restore it",
    })
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
