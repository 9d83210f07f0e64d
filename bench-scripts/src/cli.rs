//! The command line.

use std::env;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::bail;
use clap::{Args, CommandFactory, Parser, Subcommand};
use clap_complete::Shell;

use crate::compare::{self, FailOn, Judgement};
use crate::interrupt::{self, Interrupt, Interrupted};
use crate::matrix::{Matrix, Overrides};
use crate::paced::command::LoadArgs;
use crate::primitives::command::PrimitivesArgs;
use crate::process::guardian;
use crate::record::{Advice, AdviceLevel, PrecisionGoal};
use crate::sweep::{self, Outcome};
use crate::verify::Depth;
use crate::{
    build, cost, cpu_plan, export, list, machine, output, preflight, primitives, report, serve,
    store, verify,
};

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

/// Exit status of a comparison that `--fail-on` fails.
const WORSE: u8 = 3;

const EXAMPLES: &str = "\
Examples:
  rungs doctor                          what about this machine would spoil the numbers
  rungs sweep                           the quick sweep, under 6 minutes
  rungs sweep --matrix c10k --seed 7    from 100 to 10,000 connections, in order 7
  rungs cost                            what a request costs each rung, taken apart
  rungs primitives                      what lies below: messages, locks, processes
  rungs report results/latest           render a run again
  rungs compare results/a results/b     what changed between two runs
  rungs serve epoll                     look at a rung with a browser";

#[derive(Debug, Subcommand)]
enum Command {
    /// Measure a matrix of entrants and connection counts, and write a report
    Sweep(SweepArgs),
    /// Measure what lies below the servers: what messages, locks, processes and wake-ups cost
    Primitives(PrimitivesArgs),
    /// Check that the rungs keep the contract and agree to the byte
    Verify {
        /// Rungs to verify [default: all]
        #[arg(value_name = "ENTRANT")]
        entrants: Vec<String>,
        /// Only the few cases that run before each sweep
        #[arg(long)]
        quick: bool,
    },
    /// Render a run again, from what was measured
    #[command(after_long_help = "\
Examples:
  rungs report results/latest
  rungs report results/latest-primitives --sweep results/latest    primitives, below the servers of a sweep
  rungs report --index results                               a page over all runs in results
  rungs report results/latest --blog article                 text, pictures and numbers for an article
  rungs report results/latest --export bencher bmf.json      for bencher run --adapter json
  rungs report results/latest --export hyperfine times.json  for what reads hyperfine's JSON")]
    Report {
        /// The run's directory, such as results/latest
        dir: PathBuf,
        /// Write index.html, a page over all runs that DIR holds, such as results; render none of them
        #[arg(long, conflicts_with = "export")]
        index: bool,
        /// Also write the bundle for an article into the new directory OUT: a Markdown text with table, method and honest limits, the
        /// pictures as SVG and PNG, the numbers as CSV
        #[arg(long, value_name = "OUT", conflicts_with = "index")]
        blog: Option<PathBuf>,
        /// Also write the run to FILE in another tool's format: bencher (Bencher Metric Format) or hyperfine; may be repeated
        #[arg(long, num_args = 2, value_names = ["FORMAT", "FILE"])]
        export: Vec<String>,
        /// Of a run of primitives: take the servers on top of the ladder from the sweep in SWEEP
        #[arg(long, value_name = "SWEEP", conflicts_with_all = ["index", "blog", "export"])]
        sweep: Option<PathBuf>,
    },
    /// Compare two runs: what became cheaper or dearer, with intervals and verdicts
    #[command(after_long_help = "\
Compares every entrant and connection count that both runs have: the change of its cost and of
its rate, each as a ratio to the null rung in the same round, with a 95% interval. In what else
the runs differ is said on stderr.

Examples:
  rungs compare results/before results/after
  rungs compare results/before results/after --fail-on worse:5%
  rungs compare results/before results/after --json

Exit status: 0; 3 if --fail-on found something worse; 1 if the runs cannot be compared, or
--fail-on cannot judge a point for want of valid rounds; 2 if the command line is wrong.")]
    Compare {
        /// Directory of the first run
        before: PathBuf,
        /// Directory of the second run
        after: PathBuf,
        /// Print JSON, as schemas/compare.schema.json describes it
        #[arg(long)]
        json: bool,
        /// Exit with 3 if anything costs more by over so many per cent, with confidence: worse:5%
        #[arg(long, value_name = "worse:N%")]
        fail_on: Option<FailOn>,
    },
    /// Take apart what a request costs each rung, at several connection counts
    Cost(CostArgs),
    /// List the entrants and the built-in matrices
    List,
    /// Look at this machine, and say what would spoil the numbers and what to do about it
    Doctor {
        /// The matrix to look for: a built-in one (see `rungs list`) or a TOML file
        #[arg(long, value_name = "NAME|FILE", default_value = "quick")]
        matrix: String,
    },
    /// Build the build variants that a matrix asks for: for this machine's processor, guided by a profile, on another allocator
    #[command(after_long_help = "\
Each is built with cargo, in the sources that rungs was built from, into target/variants. A sweep
says when one is missing, or of other sources than the plain program.

Examples:
  rungs build --matrix ablation")]
    Build {
        /// The matrix: a built-in one (see `rungs list`) or a TOML file
        #[arg(long, value_name = "NAME|FILE")]
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
    /// Ends the children of a killed rungs, which starts it
    #[command(name = guardian::SUBCOMMAND, hide = true)]
    Guardian,
    /// A part of a row of primitives, which `rungs primitives` starts
    #[command(name = primitives::CHILD, hide = true)]
    PrimitivesChild,
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
  rungs sweep --connections 100 --precision 1% --budget 10m   rounds until costs are known to ±1%
  rungs sweep --resume results/latest   go on with a sweep that was cut short

Ctrl-C ends the sweep; what was measured so far is kept, and --resume measures the rest. Exit
status: 0 if there are valid cells, 1 if there are none or the sweep cannot begin, 2 if the
command line is wrong, 130 after Ctrl-C.")]
struct SweepArgs {
    /// The matrix: a built-in one (see `rungs list`) or a TOML file [default: quick]
    #[arg(long, value_name = "NAME|FILE")]
    matrix: Option<String>,
    /// Go on with the sweep in DIR that a crash, a kill or a full disk cut short: as it was begun, on the same machine,
    /// with the same programs
    #[arg(long, value_name = "DIR", conflicts_with = "out")]
    resume: Option<PathBuf>,
    /// Directory to write to [default: results/<UTC time>-<matrix>, with results/latest pointing to it]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Labels of the matrix's entrants to measure, or rungs to add; the null rung is always measured, and one entrant twice
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    entrants: Option<Vec<String>>,
    /// Connection counts, instead of the matrix's; ascending
    #[arg(long, value_name = "N,N", value_delimiter = ',')]
    connections: Option<Vec<u32>>,
    /// Length of each measured load, instead of the matrix's; whole seconds, such as 2s
    #[arg(long, value_name = "TIME")]
    duration: Option<String>,
    /// Length of each warm-up, instead of the matrix's, in steps of 100ms; 0s for none
    #[arg(long, value_name = "TIME")]
    warmup: Option<String>,
    /// Rounds, instead of the matrix's; more rounds beat longer ones
    #[arg(long, value_name = "N")]
    rounds: Option<u32>,
    /// Seed of the order of cells [default: a new one, which the report names]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Measure an invalid cell again at once, until it was measured N times; every attempt is kept and reported [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100))]
    attempts: Option<u32>,
    /// Add rounds until every contestant's cost ÷ null is known so well at every connection count (95% interval: ± so much) and the
    /// noise floor is as low, or the budget is spent; such as 2%
    #[arg(long, value_name = "PERCENT", value_parser = precision)]
    precision: Option<f64>,
    /// What all rounds together may take with --precision, such as 30m [default: 20m]
    #[arg(long, value_name = "TIME", value_parser = budget, requires = "precision")]
    budget: Option<Duration>,
    /// Pin nothing: server and load generator share all CPUs
    #[arg(long)]
    shared: bool,
    /// Leave out the second pass, which measures latency at fixed rates
    #[arg(long)]
    no_latency: bool,
    /// Leave out the last pass, which counts system calls (strace) and hardware events (perf stat)
    #[arg(long)]
    no_trace: bool,
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
            Command::Primitives(args) => args.run(),
            Command::PrimitivesChild => {
                rungs_primitives::child::main()?;
                Ok(ExitCode::SUCCESS)
            }
            Command::Verify { entrants, quick } => verify_command(&entrants, quick),
            Command::Report {
                dir, index: true, ..
            } => {
                output::index(&dir)?;
                Ok(ExitCode::SUCCESS)
            }
            Command::Report {
                dir,
                sweep: Some(sweep),
                ..
            } => {
                primitives::take_servers(&dir, &sweep)?;
                primitives::render(&dir)?;
                Ok(ExitCode::SUCCESS)
            }
            Command::Report {
                dir, export, blog, ..
            } => report_command(&dir, &export, blog.as_deref()),
            Command::Compare {
                before,
                after,
                json,
                fail_on,
            } => compare_command(&before, &after, json, fail_on),
            Command::Cost(args) => args.run(),
            Command::List => {
                output::line(list::text())?;
                Ok(ExitCode::SUCCESS)
            }
            Command::Doctor { matrix } => doctor(&matrix),
            Command::Build { matrix } => {
                guardian::engage()?;
                build::run(&Matrix::find(&matrix)?, &Interrupt::catch()?)?;
                Ok(ExitCode::SUCCESS)
            }
            Command::Serve { entrant, flags } => {
                serve::run(&entrant, &flags)?;
                Ok(ExitCode::SUCCESS)
            }
            Command::Guardian => {
                guardian::stand(io::stdin().lock(), guardian::GRACE);
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
        let overrides = Overrides {
            entrants: self.entrants,
            connections: self.connections,
            duration: self.duration,
            warmup: self.warmup,
            rounds: self.rounds,
            shared: self.shared,
            no_latency: self.no_latency,
            no_trace: self.no_trace,
        };
        guardian::engage()?;
        let outcome = if let Some(dir) = self.resume {
            let asked = sweep::Asked {
                matrix: self.matrix,
                overrides,
                seed: self.seed,
                attempts: self.attempts,
                precision: self.precision,
                budget_s: self.budget.map(|budget| budget.as_secs()),
            };
            sweep::go_on(&dir, asked, &Interrupt::catch()?)?
        } else {
            let matrix =
                Matrix::find(self.matrix.as_deref().unwrap_or("quick"))?.with(overrides)?;
            let options = sweep::Options {
                precision: self.precision.map(|share| PrecisionGoal {
                    share,
                    budget_s: self.budget.unwrap_or(BUDGET).as_secs(),
                    least_rounds: matrix.rounds,
                }),
                matrix,
                out: self.out,
                seed: self.seed,
                attempts: self.attempts.unwrap_or(1),
                command_line: env::args().collect(),
            };
            sweep::run(options, &Interrupt::catch()?)?
        };
        Ok(exit_code(outcome))
    }
}

/// What `rungs cost` takes.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Prints, for every rung and connection count: cost as a ratio to the null rung, system calls,
user-space instructions and allocations of a request, and the user memory of an idle
connection. Begins with a sweep of the matrix `cost`, and adds cost.json and cost.md to its
directory. docs/method.md says how each figure is made.

Examples:
  rungs cost                                        every rung; about 17 minutes
  rungs cost --entrants epoll,hyper --connections 100 --rounds 12
  rungs cost --sweep results/latest                 of a sweep that is there already

Exit status: that of `rungs sweep`.")]
struct CostArgs {
    /// Take cost and system calls from the sweep in DIR, and measure only the rest
    #[arg(long, value_name = "DIR", conflicts_with_all = ["out", "entrants", "connections", "rounds", "seed"])]
    sweep: Option<PathBuf>,
    /// Directory to write to [default: results/<UTC time>-cost]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Rungs to measure; the null rung is always measured, and one entrant twice [default: all]
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    entrants: Option<Vec<String>>,
    /// Connection counts, ascending [default: 100,352,1000,10000]
    #[arg(long, value_name = "N,N", value_delimiter = ',')]
    connections: Option<Vec<u32>>,
    /// Rounds of the sweep; more rounds make narrower intervals [default: 5]
    #[arg(long, value_name = "N")]
    rounds: Option<u32>,
    /// Seed of the order of the sweep's cells [default: a new one, which cost.md names]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
}

impl CostArgs {
    fn run(self) -> anyhow::Result<ExitCode> {
        guardian::engage()?;
        let interrupt = Interrupt::catch()?;
        let dir = match self.sweep {
            Some(dir) => dir,
            None => {
                let dir = self.out.unwrap_or_else(|| store::new_dir("cost"));
                let overrides = Overrides {
                    entrants: self.entrants,
                    connections: self.connections,
                    rounds: self.rounds,
                    ..Overrides::default()
                };
                let options = sweep::Options {
                    matrix: Matrix::find("cost")?.with(overrides)?,
                    out: Some(dir.clone()),
                    seed: self.seed,
                    attempts: 1,
                    precision: None,
                    command_line: env::args().collect(),
                };
                let outcome = sweep::run(options, &interrupt)?;
                if outcome != Outcome::Measured {
                    return Ok(exit_code(outcome));
                }
                dir
            }
        };
        match cost::run(&dir, &interrupt) {
            Ok(()) => Ok(ExitCode::SUCCESS),
            Err(error) if error.is::<Interrupted>() => Ok(exit_code(Outcome::Interrupted)),
            Err(error) => Err(error),
        }
    }
}

fn exit_code(outcome: Outcome) -> ExitCode {
    match outcome {
        Outcome::Measured => ExitCode::SUCCESS,
        Outcome::NothingValid => ExitCode::FAILURE,
        Outcome::Interrupted => ExitCode::from(interrupt::EXIT_STATUS),
    }
}

/// What the rounds of a sweep may take where that is not said.
const BUDGET: Duration = Duration::from_secs(20 * 60);

/// `2%`, as a share.
fn precision(text: &str) -> Result<f64, String> {
    let percent = text.strip_suffix('%').unwrap_or(text).parse::<f64>();
    percent
        .ok()
        .filter(|percent| (0.1..=50.0).contains(percent))
        .map(|percent| percent / 100.0)
        .ok_or_else(|| "write a percentage from 0.1% to 50%, such as 2%".to_owned())
}

/// A time of a minute or more: a round takes about one.
fn budget(text: &str) -> Result<Duration, String> {
    humantime::parse_duration(text)
        .ok()
        .filter(|time| (60..=7 * 86_400).contains(&time.as_secs()))
        .ok_or_else(|| "write a time from 1m to 7days, such as 20m".to_owned())
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

fn report_command(dir: &Path, export: &[String], blog: Option<&Path>) -> anyhow::Result<ExitCode> {
    let exports = export::parse(export)?;
    if primitives::record::is_in(dir) && exports.is_empty() && blog.is_none() {
        primitives::render(dir)?;
        return Ok(ExitCode::SUCCESS);
    }
    output::report(dir)?;
    export::write(dir, &exports)?;
    if let Some(out) = blog {
        report::blog(dir, out)?;
        output::line(format_args!(
            "article: {}",
            out.join("article.md").display()
        ))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn compare_command(
    before: &Path,
    after: &Path,
    json: bool,
    fail_on: Option<FailOn>,
) -> anyhow::Result<ExitCode> {
    let (before_record, after_record) = (report::read(before)?, report::read(after)?);
    let comparison = compare::compare((before, &before_record), (after, &after_record))?;
    for difference in &comparison.differences {
        output::note(format_args!("differs: {difference}"));
    }
    if json {
        output::line(serde_json::to_string_pretty(&comparison)?)?;
    } else {
        output::line(compare::text(&comparison))?;
    }
    match fail_on.map_or(Judgement::Passed, |fail_on| fail_on.judge(&comparison)) {
        Judgement::Passed => Ok(ExitCode::SUCCESS),
        Judgement::Worse(lines) => {
            output::note(format_args!("worse in cost: {}", lines.join(", ")));
            Ok(ExitCode::from(WORSE))
        }
        Judgement::Unseen(lines) => bail!(
            "nothing can be said of {}: measure again, with two valid rounds at least",
            lines.join(", ")
        ),
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
    let mut findings = preflight::findings(&matrix, &machine, &plan);
    findings.extend(preflight::support::findings(&matrix));
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
