//! The command line.

use std::env;
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, CommandFactory, Parser, Subcommand};
use clap_complete::Shell;

use crate::interrupt::{self, Interrupt, Interrupted};
use crate::matrix::{Matrix, Overrides};
use crate::paced::command::LoadArgs;
use crate::record::{Advice, AdviceLevel};
use crate::sweep::{self, Outcome};
use crate::verify::Depth;
use crate::{cpu_plan, list, machine, output, preflight, serve, verify};

/// Measures what each rung of the Rust I/O ladder costs, and says why.
///
/// Every rung is a server that gives the same bytes for the same request: on a bare epoll reactor, on mio, on tokio and
/// hyper, on axum. `rungs` runs them under wrk, cross-checks what it measures, and writes a report with curves of
/// requests per minute and the cost of a request in CPU time.
#[derive(Debug, Parser)]
#[command(name = "rungs", version, max_term_width = 100, after_long_help = EXAMPLES)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "\
Examples:
  rungs doctor                          what about this machine would spoil the numbers
  rungs sweep                           the quick sweep, under 6 minutes
  rungs sweep --matrix c10k --seed 7    from 100 to 10,000 connections, in order 7
  rungs report results/latest           render a run again
  rungs serve epoll                     look at a rung with a browser";

#[derive(Debug, Subcommand)]
enum Command {
    /// Measure a matrix of entrants and connection counts, and write a report
    Sweep(SweepArgs),
    /// Check that the rungs keep the contract and agree to the byte
    Verify {
        /// Rungs to verify [default: all]
        #[arg(value_name = "ENTRANT")]
        entrants: Vec<String>,
        /// Only the few cases that run before each sweep
        #[arg(long)]
        quick: bool,
    },
    /// Render a run again, from its run.json and cells.jsonl
    Report {
        /// The run's directory, such as results/latest
        dir: PathBuf,
    },
    /// List the entrants and the built-in matrices
    List,
    /// Look at this machine, and say what would spoil the numbers and what to do about it
    Doctor {
        /// The matrix to look for: a built-in one (see `rungs list`) or a TOML file
        #[arg(long, value_name = "NAME|FILE", default_value = "quick")]
        matrix: String,
    },
    /// Run one rung in the foreground, to look at it with a browser
    #[command(after_long_help = "\
Examples:
  rungs serve epoll
  rungs serve hyper -- --listen 127.0.0.1:8080 --threads 2
  rungs serve axum -- --help            the rung's own flags")]
    Serve {
        /// The rung: see `rungs list`
        #[arg(value_name = "ENTRANT")]
        entrant: String,
        /// Flags of the rung itself
        #[arg(last = true)]
        flags: Vec<String>,
    },
    /// Load a server at a fixed rate, and measure latency free of coordinated omission
    Load(LoadArgs),
    /// Print completions for a shell
    Completions {
        /// Which
        shell: Shell,
    },
}

/// What `rungs sweep` takes.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  rungs sweep
  rungs sweep --matrix smoke --out /tmp/smoke
  rungs sweep --entrants epoll,axum --connections 100,352 --rounds 12
  rungs sweep --matrix my-servers.toml  your own server: docs/matrices.md says how

Ctrl-C ends the sweep; what was measured so far is kept. Exit status: 0 if there are valid cells, 1 if there
are none or the sweep cannot begin, 2 if the command line is wrong, 130 after Ctrl-C.")]
struct SweepArgs {
    /// The matrix: a built-in one (see `rungs list`) or a TOML file
    #[arg(long, value_name = "NAME|FILE", default_value = "quick")]
    matrix: String,
    /// Directory to write to [default: results/<UTC time>-<matrix>, with results/latest pointing to it]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Labels of the matrix's entrants to measure, or rungs to add; the null rung is always measured
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    entrants: Option<Vec<String>>,
    /// Connection counts, instead of the matrix's; ascending
    #[arg(long, value_name = "N,N", value_delimiter = ',')]
    connections: Option<Vec<u32>>,
    /// Length of each measured load, instead of the matrix's; whole seconds, such as 2s
    #[arg(long, value_name = "TIME")]
    duration: Option<String>,
    /// Length of each warm-up, instead of the matrix's; whole seconds, 0s for none
    #[arg(long, value_name = "TIME")]
    warmup: Option<String>,
    /// Rounds, instead of the matrix's; more rounds beat longer ones
    #[arg(long, value_name = "N")]
    rounds: Option<u32>,
    /// Seed of the order of cells [default: a new one, which the report names]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Pin nothing: server and load generator share all CPUs
    #[arg(long)]
    shared: bool,
}

impl Cli {
    /// Does what the command line asks for.
    ///
    /// # Errors
    ///
    /// What a user should read; its causes say why.
    pub fn run(self) -> anyhow::Result<ExitCode> {
        match self.command {
            Command::Sweep(args) => args.run(),
            Command::Verify { entrants, quick } => verify_command(&entrants, quick),
            Command::Report { dir } => {
                output::report(&dir)?;
                Ok(ExitCode::SUCCESS)
            }
            Command::List => {
                output::line(list::text())?;
                Ok(ExitCode::SUCCESS)
            }
            Command::Doctor { matrix } => doctor(&matrix),
            Command::Serve { entrant, flags } => {
                serve::run(&entrant, &flags)?;
                Ok(ExitCode::SUCCESS)
            }
            Command::Load(args) => args.run(),
            Command::Completions { shell } => {
                let mut script = Vec::new();
                clap_complete::generate(shell, &mut Self::command(), "rungs", &mut script);
                output::line(String::from_utf8_lossy(&script).trim_end())?;
                Ok(ExitCode::SUCCESS)
            }
        }
    }
}

impl SweepArgs {
    fn run(self) -> anyhow::Result<ExitCode> {
        let matrix = Matrix::find(&self.matrix)?.with(Overrides {
            entrants: self.entrants,
            connections: self.connections,
            duration: self.duration,
            warmup: self.warmup,
            rounds: self.rounds,
            shared: self.shared,
        })?;
        let options = sweep::Options {
            matrix,
            out: self.out,
            seed: self.seed,
            command_line: env::args().collect(),
        };
        Ok(match sweep::run(options, &Interrupt::catch()?)? {
            Outcome::Measured => ExitCode::SUCCESS,
            Outcome::NothingValid => ExitCode::FAILURE,
            Outcome::Interrupted => ExitCode::from(interrupt::EXIT_STATUS),
        })
    }
}

fn verify_command(entrants: &[String], quick: bool) -> anyhow::Result<ExitCode> {
    let depth = if quick { Depth::Short } else { Depth::Full };
    match verify::run(entrants, depth, &Interrupt::catch()?) {
        Ok(true) => Ok(ExitCode::SUCCESS),
        Ok(false) => Ok(ExitCode::FAILURE),
        Err(error) if error.is::<Interrupted>() => Ok(ExitCode::from(interrupt::EXIT_STATUS)),
        Err(error) => Err(error),
    }
}

/// Prints every finding. Fails where a sweep could not begin.
fn doctor(matrix: &str) -> anyhow::Result<ExitCode> {
    let matrix = Matrix::find(matrix)?;
    machine::raise_open_files_limit();
    let machine = machine::look();
    output::line(format_args!(
        "{} on {}, {}",
        machine.cpu_model, machine.os, machine.kernel
    ))?;
    let plan = cpu_plan::plan(&machine.cpus_allowed, &machine.smt_siblings, matrix.pinned);
    let findings = preflight::findings(&matrix, &machine, &plan);
    for finding in &findings {
        print_finding(finding)?;
    }
    Ok(if preflight::blocking(&findings).is_some() {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}

fn print_finding(finding: &Advice) -> io::Result<()> {
    let level = match finding.level {
        AdviceLevel::Good => "ok  ",
        AdviceLevel::Warning => "warn",
        AdviceLevel::Blocking => "STOP",
    };
    output::line(format_args!(
        "{level}  {}: {}",
        finding.subject, finding.found
    ))?;
    if !finding.advice.is_empty() {
        output::line(format_args!("      → {}", finding.advice))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }
}
