//! `rungs primitives`: the command line.

use std::env;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use rungs_primitives::plan::{Counts, Purpose};
use rungs_primitives::row::Family;

use super::{Options, Outcome};
use crate::interrupt::{self, Interrupt};

/// All families, on the command line.
const ALL: &str = "all";

/// What `rungs primitives` takes.
#[derive(Args, Debug)]
#[command(after_long_help = "\
What is measured, each on one CPU and across two:
  latency     round trip of a byte between two processes: pipe, queues, RPC, sockets
  bandwidth   MB/s between two processes, by the size of a message
  threads     1 to 5 threads that add to a counter under a lock
  processes   1 to 5 processes that do
  messages    2,000,000 messages of 1,032 bytes: ZeroMQ, queues, datagrams
  spawn       starting a program: system, popen, fork, posix_spawn; and what is said of system
  wakeups     handing a word to another thread or task: futex, eventfd, channels, rings

Examples:
  rungs primitives                            all of it, under 4 minutes
  rungs primitives latency wakeups
  rungs primitives --full                     with the documents' own counts
  rungs primitives --sweep results/latest     servers of that sweep on top of the ladder
  rungs report results/latest-primitives      render a run again

Ctrl-C ends the run; the rows measured so far are kept. Exit status: 0 if every row is a value, or
absent for a reason that is named; 1 if a row failed or the run cannot begin, 2 if the command line
is wrong, 130 after Ctrl-C.")]
pub struct PrimitivesArgs {
    /// What to measure [default: all]
    #[arg(value_name = "FAMILY", value_parser = family())]
    families: Vec<Choice>,
    /// At least the documents' own counts: 10,000 round trips, 1,000,000 increments, 2,000,000 messages
    #[arg(long)]
    full: bool,
    /// Repetitions of each row, 3 at least; their median is its value [default: 11; with --full fewer of long rows]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(3..))]
    repetitions: Option<u16>,
    /// Directory to write to [default: results/<UTC time>-primitives, with results/latest-primitives pointing to it]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// The sweep whose servers stand on top of the ladder [default: results/latest, if it is there]
    #[arg(long, value_name = "DIR")]
    sweep: Option<PathBuf>,
    /// Only see whether everything works: short, in any build, and marked as worth nothing
    #[arg(long, hide = true, conflicts_with = "full")]
    rehearse: bool,
}

/// A family, or all of them.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Choice {
    All,
    One(Family),
}

fn family() -> impl TypedValueParser<Value = Choice> {
    let names = Family::ALL.map(Family::name).into_iter().chain([ALL]);
    PossibleValuesParser::new(names).map(|name| {
        let family = Family::ALL.into_iter().find(|family| family.name() == name);
        family.map_or(Choice::All, Choice::One)
    })
}

impl PrimitivesArgs {
    /// Measures and reports.
    ///
    /// # Errors
    ///
    /// Why the run cannot begin, or its results cannot be kept.
    pub fn run(self) -> anyhow::Result<ExitCode> {
        let options = Options {
            families: self.families(),
            counts: if self.full {
                Counts::Documents
            } else {
                Counts::Calibrated
            },
            repetitions: self.repetitions.map(usize::from),
            out: self.out,
            sweep: self.sweep,
            purpose: if self.rehearse {
                Purpose::Rehearse
            } else {
                Purpose::Measure
            },
            command_line: env::args().collect(),
        };
        Ok(match super::run(options, &Interrupt::catch()?)? {
            Outcome::Measured => ExitCode::SUCCESS,
            Outcome::Failed => ExitCode::FAILURE,
            Outcome::Interrupted => ExitCode::from(interrupt::EXIT_STATUS),
        })
    }

    /// Each once, in the order of the documents.
    fn families(&self) -> Vec<Family> {
        let all = self.families.is_empty() || self.families.contains(&Choice::All);
        let is_asked_for = |family: &Family| all || self.families.contains(&Choice::One(*family));
        Family::ALL.into_iter().filter(is_asked_for).collect()
    }
}
