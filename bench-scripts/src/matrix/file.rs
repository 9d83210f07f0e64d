//! The matrix as people write it: TOML, with errors that name the file, the line and what is allowed.
//!
//! The format is documented in docs/matrices.md.

mod latency;
mod trace;

use std::ops::Range;
use std::path::Path;
use std::{fs, io};

use serde::Deserialize;
use toml::{Spanned, Value};

use super::{Entrant, LoadSettings, Matrix, Program, Threads, check, with_repeat};
use crate::build::Build;
use crate::ladder;
use latency::LatencyTable;

/// What is wrong with a matrix, and where.
#[derive(Debug, thiserror::Error)]
pub enum MatrixError {
    /// Neither a built-in matrix nor a file that can be read.
    #[error(
        "there is no matrix `{name}`: built-in ones are {builtin}; as a file it cannot be read ({error})"
    )]
    Unreadable {
        /// As it was asked for.
        name: String,
        /// The names that would have been right.
        builtin: String,
        /// Why it cannot be read as a file. The message holds it, so it is not told again as the cause.
        error: io::Error,
    },
    /// Its text is not a matrix.
    #[error("{origin}:{line}: {problem}")]
    Wrong {
        /// The file, or the name of the built-in matrix.
        origin: String,
        /// The line, from 1.
        line: usize,
        /// What is wrong, and what is allowed.
        problem: String,
    },
    /// It does not fit an override from the command line.
    #[error("{flag}: {problem}")]
    Override {
        /// The flag, `--connections`.
        flag: &'static str,
        /// What is wrong, and what is allowed.
        problem: String,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    name: String,
    about: String,
    connections: Spanned<Vec<u32>>,
    rounds: Spanned<u32>,
    warmup: Spanned<String>,
    duration: Spanned<String>,
    path: Option<Spanned<String>>,
    pinned: Option<bool>,
    again: Option<Spanned<String>>,
    load: Option<LoadTable>,
    latency: Option<LatencyTable>,
    trace: Option<trace::Table>,
    entrant: Vec<Spanned<EntrantTable>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LoadTable {
    threads: Option<Spanned<u32>>,
    headers: Option<Vec<Spanned<String>>>,
    timeout: Option<Spanned<String>>,
    pipeline: Option<Spanned<u32>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EntrantTable {
    label: Option<String>,
    threads: Option<Spanned<Value>>,
    rung: Option<Spanned<String>>,
    args: Option<Vec<String>>,
    build: Option<Spanned<String>>,
    pinned: Option<bool>,
    command: Option<Spanned<Value>>,
    config: Option<String>,
    status: Option<Spanned<u16>>,
    body_bytes: Option<u64>,
}

/// A problem and the bytes of the text that it is about.
struct At {
    span: Range<usize>,
    problem: String,
}

impl At {
    fn new(span: Range<usize>, problem: impl Into<String>) -> Self {
        Self {
            span,
            problem: problem.into(),
        }
    }
}

/// Reads the matrix in the file `path`.
pub(super) fn read(path: &Path, builtin: &str) -> Result<Matrix, MatrixError> {
    let origin = path.display().to_string();
    let text = fs::read_to_string(path).map_err(|error| MatrixError::Unreadable {
        name: origin.clone(),
        builtin: builtin.into(),
        error,
    })?;
    parse(&origin, &text)
}

/// Makes a matrix of `text`, which came from `origin`.
pub(super) fn parse(origin: &str, text: &str) -> Result<Matrix, MatrixError> {
    let file: Result<File, _> = toml::from_str(text);
    let matrix = file
        .map_err(|error| At::new(error.span().unwrap_or(0..0), error.message()))
        .and_then(resolve);
    matrix.map_err(|At { span, problem }| MatrixError::Wrong {
        origin: origin.into(),
        line: 1 + text[..span.start].matches('\n').count(),
        problem,
    })
}

fn resolve(file: File) -> Result<Matrix, At> {
    let load = file.load.unwrap_or(LoadTable {
        threads: None,
        headers: None,
        timeout: None,
        pipeline: None,
    });
    let pipeline = match &load.pipeline {
        Some(depth) => *checked(depth, |&depth| {
            check::pipeline(depth, file.latency.is_some())
        })?,
        None => 1,
    };
    let path = match &file.path {
        Some(path) => checked(path, |path| check::path(path))?.clone(),
        None => "/".into(),
    };
    let mut entrants: Vec<Entrant> = Vec::new();
    for table in file.entrant {
        let span = table.span();
        let entrant = entrant(table.into_inner(), &span)?;
        if entrants.iter().any(|other| other.label == entrant.label) {
            let problem = format!(
                "the label `{}` is used twice: give one of the two entrants another `label`",
                entrant.label
            );
            return Err(At::new(span, problem));
        }
        if entrant.control && entrants.iter().any(|other| other.control) {
            let problem = "the null rung is the control and can be entered only once";
            return Err(At::new(span, problem));
        }
        if matches!(entrant.program, Program::Rung { .. }) && !entrant.control {
            check::rung_answers(&path).map_err(|problem| At::new(span, problem))?;
        }
        entrants.push(entrant);
    }
    let mut entrants = with_control(entrants);
    if pipeline > 1 {
        entrants.iter_mut().for_each(tell_apart_requests);
    }
    let entrants = with_repeat(
        entrants,
        file.again.as_ref().map(|label| label.get_ref().as_str()),
    );
    let connections = checked(&file.connections, |counts| check::connections(counts))?.clone();
    let trace = file.trace.map(|table| trace::resolve(&table, &connections));
    let again_at = || file.again.as_ref().map_or(0..0, Spanned::span);
    Ok(Matrix {
        name: file.name,
        about: file.about,
        connections,
        rounds: *checked(&file.rounds, |&n| check::rounds(n))?,
        warmup_s: time(&file.warmup, check::tenths)?,
        duration_s: time(&file.duration, check::seconds)?,
        path,
        pinned: file.pinned.unwrap_or(true),
        load: LoadSettings {
            threads: match &load.threads {
                Some(threads) => Some(*checked(threads, |&n| check::threads(n))?),
                None => None,
            },
            headers: load
                .headers
                .iter()
                .flatten()
                .map(|header| Ok(checked(header, |header| check::header(header))?.clone()))
                .collect::<Result<_, At>>()?,
            timeout_s: match &load.timeout {
                Some(timeout) => time(timeout, check::seconds)?,
                None => 8,
            },
            pipeline,
        },
        latency: file.latency.as_ref().map(latency::resolve).transpose()?,
        trace: trace.transpose()?,
        entrants: entrants.map_err(|problem| At::new(again_at(), problem))?,
    })
}

/// Each block holds the control, so a matrix that leaves it out gets it.
fn with_control(mut entrants: Vec<Entrant>) -> Vec<Entrant> {
    if !entrants.iter().any(|entrant| entrant.control) {
        entrants.insert(0, Entrant::rung(ladder::CONTROL));
    }
    entrants
}

/// The null rung answers each read, however many requests it holds: where they are pipelined, it has to count them.
fn tell_apart_requests(entrant: &mut Entrant) {
    if let Program::Rung { args, .. } = &mut entrant.program
        && entrant.control
    {
        args.push("--pipelined".into());
    }
}

fn entrant(table: EntrantTable, span: &Range<usize>) -> Result<Entrant, At> {
    let threads = match &table.threads {
        Some(value) => threads(value)?,
        None => Threads::Count(1),
    };
    let pinned = table.pinned.unwrap_or(true);
    let foreign_only =
        table.status.is_some() || table.body_bytes.is_some() || table.config.is_some();
    match (&table.rung, &table.command) {
        (Some(rung), None) if foreign_only => Err(At::new(
            rung.span(),
            "`config`, `status` and `body_bytes` belong to a `command`: what a rung must answer is known",
        )),
        (Some(name), None) => {
            let name = checked(name, |name| check::rung(name))?;
            Ok(Entrant {
                label: table.label.unwrap_or_else(|| name.clone()),
                program: Program::Rung {
                    name: name.clone(),
                    args: table.args.unwrap_or_default(),
                },
                threads,
                build: table.build.as_ref().map(build).transpose()?,
                pinned,
                control: name == ladder::CONTROL,
                repeat_of: None,
            })
        }
        (None, Some(command)) if table.args.is_some() || table.build.is_some() => Err(At::new(
            command.span(),
            "`args` and `build` belong to a `rung`: a `command` holds its arguments itself, and is built by others",
        )),
        (None, Some(command)) => {
            let words = words(command)?;
            check::command(&words, table.config.as_deref())
                .map_err(|problem| At::new(command.span(), problem))?;
            let body_bytes = table.body_bytes.ok_or_else(|| {
                At::new(
                    span.clone(),
                    "a `command` needs `body_bytes`: the length of the body that it must answer with",
                )
            })?;
            Ok(Entrant {
                label: table.label.unwrap_or_else(|| name_of(&words[0])),
                program: Program::Foreign {
                    command: words,
                    config: table.config,
                    status: match &table.status {
                        Some(status) => *checked(status, |&status| check::status(status))?,
                        None => 200,
                    },
                    body_bytes,
                },
                threads,
                build: None,
                pinned,
                control: false,
                repeat_of: None,
            })
        }
        _ => Err(At::new(
            span.clone(),
            "an entrant is either a `rung` (one of ours) or a `command` (any other server)",
        )),
    }
}

/// The last part of a program's path.
fn name_of(program: &str) -> String {
    program.rsplit('/').next().unwrap_or(program).to_owned()
}

fn build(name: &Spanned<String>) -> Result<Build, At> {
    Build::of_name(name.get_ref()).map_err(|problem| At::new(name.span(), problem))
}

fn threads(value: &Spanned<Value>) -> Result<Threads, At> {
    match value.get_ref() {
        Value::String(word) if word == "all" => Ok(Threads::All),
        Value::Integer(n @ 1..=1024) => {
            Ok(Threads::Count(u32::try_from(*n).expect("at most 1024")))
        }
        _ => Err(At::new(
            value.span(),
            "`threads` is a number from 1 to 1024, or \"all\" for one per CPU of the server",
        )),
    }
}

fn words(command: &Spanned<Value>) -> Result<Vec<String>, At> {
    let at = |problem: &str| At::new(command.span(), problem);
    let words = match command.get_ref() {
        Value::String(line) => {
            shlex::split(line).ok_or_else(|| at("`command` has a quote that is not closed"))?
        }
        Value::Array(words) => words
            .iter()
            .map(|word| word.as_str().map(str::to_owned))
            .collect::<Option<_>>()
            .ok_or_else(|| at("`command` as a list must hold strings only"))?,
        _ => return Err(at("`command` is a string, or a list of strings")),
    };
    if words.is_empty() {
        return Err(at("`command` is empty"));
    }
    Ok(words)
}

fn time<T>(text: &Spanned<String>, read: fn(&str) -> Result<T, String>) -> Result<T, At> {
    read(text.get_ref()).map_err(|problem| At::new(text.span(), problem))
}

fn checked<T>(value: &Spanned<T>, check: impl FnOnce(&T) -> Result<(), String>) -> Result<&T, At> {
    check(value.get_ref()).map_err(|problem| At::new(value.span(), problem))?;
    Ok(value.get_ref())
}

#[cfg(test)]
mod tests;
