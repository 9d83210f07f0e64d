//! The matrix: which entrants meet which connection counts, how often and for how long. Written in TOML.

pub(crate) mod check;
mod file;

use std::path::Path;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use file::MatrixError;

use crate::build::Build;
use crate::ladder;
use crate::record::Skipped;

/// A matrix as resolved: defaults filled in, command-line overrides applied, every field explicit.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Matrix {
    /// Its name, `quick`.
    pub name: String,
    /// What it is for, in a sentence.
    pub about: String,
    /// Connection counts asked for, ascending.
    pub connections: Vec<u32>,
    /// Blocks: each holds every entrant at every connection count once.
    pub rounds: u32,
    /// Length of the warm-up of each cell, seconds; tenths are told apart.
    pub warmup_s: f64,
    /// Length of the measured load of each cell, seconds.
    pub duration_s: u32,
    /// The path that is asked for.
    pub path: String,
    /// False where nothing is pinned and both sides share all CPUs.
    pub pinned: bool,
    /// The load generator's settings.
    pub load: LoadSettings,
    /// The second pass, which measures latency at fixed rates; none leaves it out.
    #[serde(default)]
    pub latency: Option<LatencySettings>,
    /// The last pass, which traces; none leaves it out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<TraceSettings>,
    /// The entrants, in the order in which reports list them: from the bottom of the ladder to its top.
    pub entrants: Vec<Entrant>,
}

/// The load generator's settings.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct LoadSettings {
    /// Its threads; none means one per CPU of the client.
    pub threads: Option<u32>,
    /// Header lines added to each request, `Name: value`.
    pub headers: Vec<String>,
    /// Answers later than this are errors, seconds.
    pub timeout_s: u32,
    /// Requests that each connection sends at once, before it waits for all their answers.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub pipeline: u32,
}

/// What a record written before there was pipelining leaves out.
fn one() -> u32 {
    1
}

/// What a record written before an entrant could be left unpinned leaves out.
fn yes() -> bool {
    true
}

fn is_yes(pinned: &bool) -> bool {
    *pinned
}

fn is_one(pipeline: &u32) -> bool {
    *pipeline == 1
}

/// How latency is measured at fixed rates, once every cell is measured.
#[derive(Clone, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct LatencySettings {
    /// Connections that share the requests.
    pub connections: u32,
    /// The rates, as shares of a capacity, percent, ascending.
    pub shares: Vec<u32>,
    /// Load at the same rate before the measured one, ms.
    pub warmup_ms: u64,
    /// Length of the measured load, ms.
    pub duration_ms: u64,
    /// Blocks: each holds every entrant at every one of its rates once.
    pub rounds: u32,
}

/// The traced pass: every entrant loaded once under strace and once under `perf stat`.
#[derive(Clone, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct TraceSettings {
    /// Connection counts, ascending: some of the matrix's.
    pub connections: Vec<u32>,
    /// Length of each of the two loads, seconds.
    pub duration_s: u32,
}

/// One rung or foreign server as it is entered.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Entrant {
    /// The name in tables and legends; unique in a matrix.
    pub label: String,
    /// What is started.
    pub program: Program,
    /// Server threads.
    pub threads: Threads,
    /// How a rung is built otherwise than by the release profile; none where it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build: Option<Build>,
    /// False where the server may run on all CPUs, those of the load generator too, though the matrix pins.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub pinned: bool,
    /// True for the null rung: the control of each block, not a contestant.
    pub control: bool,
    /// Label of the entrant that this one is a second time (A/A): how far the two lie apart is the noise of the
    /// measurement. Not a contestant. None for every other entrant.
    pub repeat_of: Option<String>,
}

/// What is started for an entrant.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum Program {
    /// A rung of ours.
    Rung {
        /// `epoll` for `rung-epoll`.
        name: String,
        /// Its own flags, such as `--trigger edge`.
        args: Vec<String>,
    },
    /// Anybody else's server.
    Foreign {
        /// Program and arguments, with `{addr}`, `{port}`, `{threads}` and `{config}` to be filled in. Not given to a shell.
        command: Vec<String>,
        /// Content of a file that `{config}` in the command names, with `{addr}`, `{port}` and `{threads}` to be filled in.
        config: Option<String>,
        /// Status that it must answer with.
        status: u16,
        /// Length of the body that it must answer with, bytes.
        body_bytes: u64,
    },
}

/// How many threads a server gets.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Threads {
    /// One per CPU of the server's set.
    All,
    /// So many.
    #[serde(untagged)]
    Count(u32),
}

/// The matrices that come with `rungs`, by name.
const BUILTIN: &[(&str, &str)] = &[
    ("smoke", include_str!("../matrices/smoke.toml")),
    ("quick", include_str!("../matrices/quick.toml")),
    ("article", include_str!("../matrices/article.toml")),
    ("c10k", include_str!("../matrices/c10k.toml")),
    ("workers", include_str!("../matrices/workers.toml")),
    ("pipelining", include_str!("../matrices/pipelining.toml")),
    ("ablation", include_str!("../matrices/ablation.toml")),
    (
        "ablation-hyper",
        include_str!("../matrices/ablation-hyper.toml"),
    ),
    ("cost", include_str!("../matrices/cost.toml")),
];

/// What the command line changes in a matrix; none leaves the matrix's own.
#[derive(Clone, Debug, Default)]
pub struct Overrides {
    /// Labels of the entrants to keep, or names of rungs to enter. The control always stays.
    pub entrants: Option<Vec<String>>,
    /// Connection counts.
    pub connections: Option<Vec<u32>>,
    /// Length of the measured load, such as `2s`.
    pub duration: Option<String>,
    /// Length of the warm-up, such as `1s`.
    pub warmup: Option<String>,
    /// Rounds.
    pub rounds: Option<u32>,
    /// Pin nothing.
    pub shared: bool,
    /// Leave out latency at fixed rates.
    pub no_latency: bool,
    /// Trace nothing.
    pub no_trace: bool,
}

impl Matrix {
    /// The built-in matrix `name`, else the one in the file `name`.
    ///
    /// # Errors
    ///
    /// [`MatrixError`].
    pub fn find(name: &str) -> Result<Self, MatrixError> {
        match BUILTIN.iter().find(|(builtin, _)| *builtin == name) {
            Some((name, text)) => file::parse(name, text),
            None => {
                let names: Vec<_> = BUILTIN.iter().map(|(name, _)| *name).collect();
                file::read(Path::new(name), &names.join(", "))
            }
        }
    }

    /// All built-in matrices.
    ///
    /// # Panics
    ///
    /// If one of them is wrong, which a test excludes.
    pub fn builtin() -> impl Iterator<Item = Self> {
        BUILTIN
            .iter()
            .map(|(name, text)| file::parse(name, text).expect("built-in matrices are tested"))
    }

    /// The matrix with what the command line changes.
    ///
    /// # Errors
    ///
    /// [`MatrixError::Override`], which names the flag.
    pub fn with(mut self, overrides: Overrides) -> Result<Self, MatrixError> {
        let wrong = |flag| move |problem| MatrixError::Override { flag, problem };
        if let Some(labels) = overrides.entrants {
            self.entrants = self.chosen(&labels).map_err(wrong("--entrants"))?;
        }
        if let Some(connections) = overrides.connections {
            check::connections(&connections).map_err(wrong("--connections"))?;
            self.trace = self.trace.map(|trace| trace.among(&connections));
            self.connections = connections;
        }
        if let Some(duration) = overrides.duration {
            self.duration_s = check::seconds(&duration).map_err(wrong("--duration"))?;
        }
        if let Some(warmup) = overrides.warmup {
            self.warmup_s = check::tenths(&warmup).map_err(wrong("--warmup"))?;
        }
        if let Some(rounds) = overrides.rounds {
            check::rounds(rounds).map_err(wrong("--rounds"))?;
            self.rounds = rounds;
        }
        self.pinned &= !overrides.shared;
        if overrides.no_latency {
            self.latency = None;
        }
        if overrides.no_trace {
            self.trace = None;
        }
        Ok(self)
    }

    /// The entrants that are the control or are asked for, in the matrix's order; rungs that it lacks come last.
    ///
    /// The repeated entrant stays so where it is asked for; else the first contestant is.
    fn chosen(&self, labels: &[String]) -> Result<Vec<Entrant>, String> {
        let asked = |entrant: &&Entrant| {
            entrant.repeat_of.is_none() && (entrant.control || labels.contains(&entrant.label))
        };
        let mut entrants: Vec<_> = self.entrants.iter().filter(asked).cloned().collect();
        for label in labels {
            if entrants.iter().any(|entrant| &entrant.label == label) {
                continue;
            }
            if ladder::rung(label).is_none() {
                let known: Vec<_> = self.entrants.iter().map(|e| e.label.as_str()).collect();
                return Err(format!(
                    "`{label}` is neither an entrant of the matrix `{}` ({}) nor a rung ({})",
                    self.name,
                    known.join(", "),
                    ladder::names()
                ));
            }
            entrants.push(Entrant::rung(label));
        }
        self.again(entrants)
    }

    /// `entrants`, some of the matrix's, with the one that the matrix has twice, or the first one.
    fn again(&self, entrants: Vec<Entrant>) -> Result<Vec<Entrant>, String> {
        let repeated = self.entrants.iter().find_map(|e| e.repeat_of.as_deref());
        let repeated = repeated.filter(|label| entrants.iter().any(|e| e.label == *label));
        with_repeat(entrants, repeated)
    }

    /// The matrix without entrants that cannot run on this machine.
    ///
    /// # Errors
    ///
    /// In a sentence, if nothing is left to measure.
    pub fn without(mut self, skipped: &[Skipped]) -> Result<Self, String> {
        let reason = |entrant: &Entrant| {
            let label = entrant.repeat_of.as_ref().unwrap_or(&entrant.label);
            let skipped = skipped.iter().find(|skipped| skipped.label == *label)?;
            Some(format!("{label} cannot run here: {}", skipped.reason))
        };
        let (left, gone): (Vec<_>, Vec<_>) =
            self.entrants.iter().partition(|e| reason(e).is_none());
        if gone.is_empty() {
            return Ok(self);
        }
        if let Some(control) = gone.iter().find(|entrant| entrant.control) {
            return Err(reason(control).unwrap_or_default());
        }
        if !left.iter().any(|entrant| entrant.is_contestant()) {
            let contestants = gone.into_iter().filter(|e| e.is_contestant());
            let reasons: Vec<_> = contestants.filter_map(reason).collect();
            return Err(format!(
                "nothing is left to measure: {}",
                reasons.join("; ")
            ));
        }
        let left = left.into_iter().filter(|e| e.repeat_of.is_none());
        self.entrants = self.again(left.cloned().collect())?;
        Ok(self)
    }

    /// Length of the warm-up of each cell.
    #[must_use]
    pub fn warmup(&self) -> Duration {
        Duration::from_secs_f64(self.warmup_s)
    }

    /// Length of the measured load of each cell.
    #[must_use]
    pub fn duration(&self) -> Duration {
        Duration::from_secs(self.duration_s.into())
    }

    /// The largest connection count, in either pass.
    #[must_use]
    pub fn most_connections(&self) -> u32 {
        let paced = self.latency.iter().map(|latency| latency.connections);
        let counts = self.connections.iter().copied().chain(paced);
        counts.max().unwrap_or(0)
    }
}

impl TraceSettings {
    /// The same at those of its counts that are among `connections`; where none is, at the first of them.
    fn among(mut self, connections: &[u32]) -> Self {
        self.connections.retain(|count| connections.contains(count));
        if self.connections.is_empty() {
            self.connections.extend(connections.first());
        }
        self
    }
}

impl Entrant {
    /// The rung `name` with one thread and its own defaults.
    #[must_use]
    pub fn rung(name: &str) -> Self {
        Self {
            label: name.into(),
            program: Program::Rung {
                name: name.into(),
                args: Vec::new(),
            },
            threads: Threads::Count(1),
            build: None,
            pinned: true,
            control: name == ladder::CONTROL,
            repeat_of: None,
        }
    }

    /// True for what a sweep compares: neither the control nor the entrant that is there a second time.
    #[must_use]
    pub fn is_contestant(&self) -> bool {
        !self.control && self.repeat_of.is_none()
    }

    /// The same server under a second name.
    fn again(&self) -> Self {
        Self {
            label: format!("{} (again)", self.label),
            repeat_of: Some(self.label.clone()),
            ..self.clone()
        }
    }
}

/// The entrants with one contestant of them a second time, right behind itself: the one of that label, else the first.
/// Without a contestant there is none to repeat.
fn with_repeat(mut entrants: Vec<Entrant>, label: Option<&str>) -> Result<Vec<Entrant>, String> {
    let wanted = |e: &Entrant| e.is_contestant() && label.is_none_or(|label| e.label == label);
    let Some(position) = entrants.iter().position(wanted) else {
        return match label {
            Some(label) => Err(format!(
                "there is no contestant `{label}` to be entered again: name one of the matrix's entrants, but not the null rung"
            )),
            None => Ok(entrants),
        };
    };
    let again = entrants[position].again();
    if entrants.iter().any(|e| e.label == again.label) {
        return Err(format!(
            "the label `{}` is kept for the entrant that is measured a second time: choose another",
            again.label
        ));
    }
    entrants.insert(position + 1, again);
    Ok(entrants)
}

impl Threads {
    /// The number of threads on a server that has `cpus` CPUs.
    #[must_use]
    pub fn on(self, cpus: usize) -> u32 {
        match self {
            Self::All => u32::try_from(cpus).unwrap_or(u32::MAX),
            Self::Count(n) => n,
        }
    }
}

#[cfg(test)]
mod tests;
