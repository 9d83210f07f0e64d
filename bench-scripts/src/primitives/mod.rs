//! `rungs primitives`: what servers are made of, measured by the crate of that name.

pub mod command;
pub mod record;
mod recorder;
pub mod report;
mod servers;
mod shortened;

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use rungs_primitives::limits;
use rungs_primitives::plan::{Counts, Plan, Purpose};
use rungs_primitives::programs::claims;
use rungs_primitives::row::Family;
use rungs_primitives::trial::ChildCommand;

use crate::interrupt::Interrupt;
use crate::output::{self, note};
use crate::progress::in_words;
use crate::record::SCHEMA_VERSION;
use crate::report::RUN_FILE;
use crate::store::{self, Folder};
use crate::{cpu_plan, machine, preflight, provenance};
use record::{CLAIMS_FILE, Kind, ROWS_FILE, Run, SERVERS_FILE};

/// Name of the link to the primitives run that began last.
const LATEST: &str = "latest-primitives";

/// The subcommand of `rungs` that is a child of a trial.
pub const CHILD: &str = "primitives-child";

/// What a repetition takes beside its batch: its processes are started, made ready, and ended.
const TRIAL_OVERHEAD: Duration = Duration::from_millis(25);

/// What is to be measured, and how.
#[derive(Clone, Debug)]
pub struct Options {
    /// Which tables, each once.
    pub families: Vec<Family>,
    /// How many operations a repetition has.
    pub counts: Counts,
    /// Repetitions of each row; none for the usual number.
    pub repetitions: Option<usize>,
    /// Where to write; none for a new directory under `results/`.
    pub out: Option<PathBuf>,
    /// The sweep that the ladder takes its servers from; none for the last one, if there is one.
    pub sweep: Option<PathBuf>,
    /// Whether the values may be believed.
    pub purpose: Purpose,
    /// The command line, for the record.
    pub command_line: Vec<String>,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Outcome {
    /// Every row is a value, or a named absence.
    Measured,
    /// Something that should have a value has none.
    Failed,
    /// The user stopped it.
    Interrupted,
}

/// Measures, and reports.
///
/// # Errors
///
/// When the run cannot begin, or its results cannot be written.
pub fn run(options: Options, interrupt: &Interrupt) -> anyhow::Result<Outcome> {
    let servers = match &options.sweep {
        Some(dir) => Some(servers::of_sweep(dir)?),
        None => servers::of_last_sweep(),
    };
    let (plan, run) = prepare(&options, interrupt)?;
    let mut folder = Folder::create(options.out.as_deref(), "primitives", ROWS_FILE, LATEST)?;
    announce(&run, &plan, folder.dir());
    folder.write(RUN_FILE, &run)?;
    let failed = recorder::measure(&plan, &run, &mut folder)?;
    let interrupted = interrupt.is_raised();
    if interrupted && !folder.is_kept() {
        note("interrupted before a row was measured: nothing was kept");
        return Ok(Outcome::Interrupted);
    }
    if interrupted {
        note(format_args!(
            "interrupted: the rows measured so far are kept; render them again with: rungs report {}",
            folder.dir().display()
        ));
    }
    let claims_failed = !interrupted && !try_claims(&run, &folder)?;
    if let Some(servers) = &servers {
        folder.write(SERVERS_FILE, servers)?;
    }
    render(folder.dir())?;
    Ok(match (interrupted, failed > 0 || claims_failed) {
        (true, _) => Outcome::Interrupted,
        (false, true) => Outcome::Failed,
        (false, false) => Outcome::Measured,
    })
}

/// Plans, and looks at the machine.
fn prepare(options: &Options, interrupt: &Interrupt) -> anyhow::Result<(Plan, Run)> {
    let machine = machine::look();
    let cpus = cpu_plan::cores_first(&machine.cpus_allowed, &machine.smt_siblings);
    let plan = plan(options, &cpus, interrupt)?;
    let limits = limits::all();
    let findings = preflight::primitives::findings(&machine, &limits);
    preflight::warn(&findings);
    let run = Run {
        schema: SCHEMA_VERSION,
        kind: Kind::Primitives,
        rungs_version: env!("CARGO_PKG_VERSION").into(),
        started_at: provenance::now(),
        command_line: options.command_line.clone(),
        purpose: plan.purpose,
        families: plan.families.clone(),
        rows: plan.groups().iter().map(Vec::len).sum(),
        counts: plan.counts,
        repetitions: plan.repetitions,
        batch_ms: u64::try_from(plan.batch.as_millis())?,
        shortened: shortened::sentences(&plan),
        cpus: plan.cpus.clone(),
        machine,
        limits,
        preflight: findings,
        program_sha256: store::sha256_of_file(&plan.command.program)?,
        toolchain: provenance::TOOLCHAIN.into(),
        cargo_lock_sha256: provenance::cargo_lock_sha256(),
        image_digest: provenance::image_digest(),
    };
    Ok((plan, run))
}

fn plan(options: &Options, cpus: &[u32], interrupt: &Interrupt) -> anyhow::Result<Plan> {
    let command = ChildCommand {
        program: env::current_exe().context("rungs does not know its own path")?,
        args: vec![OsString::from(CHILD)],
    };
    let cpus = cpus.iter().map(|&cpu| cpu as usize).collect();
    let mut plan = Plan::new(options.families.clone(), cpus, command);
    if options.counts == Counts::Documents {
        plan = plan.full();
    }
    if options.purpose == Purpose::Rehearse {
        plan.purpose = Purpose::Rehearse;
        plan.repetitions = 1;
        plan.batch = Duration::from_millis(1);
    }
    plan.repetitions = options.repetitions.unwrap_or(plan.repetitions);
    plan.stop = interrupt.flag();
    plan.check()?;
    Ok(plan)
}

/// Says what will be done.
fn announce(run: &Run, plan: &Plan, dir: &Path) {
    if run.purpose == Purpose::Rehearse {
        note("a rehearsal: its values mean nothing");
    }
    for sentence in &run.shortened {
        note(format_args!("shortened: {sentence}"));
    }
    if !run.shortened.is_empty() {
        note("--full shortens nothing");
    }
    let time = match run.counts {
        Counts::Calibrated => format!("about {}", in_words(run_time(plan))),
        Counts::Documents => "as long as the documents' counts take".to_owned(),
    };
    note(format_args!(
        "{} rows, {time}; writing to {}",
        run.rows,
        dir.display()
    ));
}

/// What all rows take about.
fn run_time(plan: &Plan) -> Duration {
    let cells = plan.groups().into_iter().flatten();
    let measured = cells.filter(|cell| {
        plan.leaves_out(cell)
            .or_else(|| cell.absent(&plan.cpus))
            .is_none()
    });
    measured.map(|_| row_time(plan)).sum()
}

/// What a row takes about.
fn row_time(plan: &Plan) -> Duration {
    // Calibration takes a few batches more.
    let repetitions = u32::try_from(plan.repetitions).unwrap_or(u32::MAX);
    (plan.batch + TRIAL_OVERHEAD) * (repetitions + 2)
}

/// Tries what is said of system(3), where programs were started. False if that failed.
fn try_claims(run: &Run, folder: &Folder) -> anyhow::Result<bool> {
    if !run.families.contains(&Family::Spawn) {
        return Ok(true);
    }
    match claims::try_all() {
        Ok(claims) => {
            folder.write(CLAIMS_FILE, &claims)?;
            Ok(true)
        }
        Err(failure) => {
            note(failure);
            Ok(false)
        }
    }
}

/// Takes the servers of the ladder of the primitives run in `dir` from the sweep in `sweep`.
///
/// # Errors
///
/// When there is no such run or sweep, or the servers cannot be written.
pub fn take_servers(dir: &Path, sweep: &Path) -> anyhow::Result<()> {
    record::read(dir)?; // nothing is added to what is no run
    let servers = servers::of_sweep(sweep)?;
    store::write_json(&dir.join(SERVERS_FILE), &servers)?;
    Ok(())
}

/// Writes everything that follows from the primitives run in `dir` into it, and prints where its report is.
///
/// # Errors
///
/// When the run cannot be read, or a file cannot be written.
pub fn render(dir: &Path) -> anyhow::Result<()> {
    let record = record::read(dir)?;
    let rendered = report::render(&record)?;
    for (name, content) in &rendered.files {
        crate::report::write_file(dir, dir, name, content)?;
    }
    for warning in &rendered.warnings {
        note(warning);
    }
    output::line(format_args!(
        "\n{}\n",
        rendered.findings.sentences.join("\n")
    ))?;
    output::line(format_args!(
        "report: {}",
        dir.join("report.html").display()
    ))?;
    Ok(())
}
