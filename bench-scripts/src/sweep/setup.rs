//! Everything before the first cell.

use std::fmt;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, bail};

use super::{Options, resume};
use crate::answer::{self, Request};
use crate::interrupt::Interrupt;
use crate::load::LoadGenerator;
use crate::load::wrk::{Settings, Wrk};
use crate::matrix::{Entrant, Matrix};
use crate::output::note;
use crate::progress::in_words;
use crate::record::{
    Advice, AdviceLevel, CpuPlan, EntrantBinary, Machine, PlannedCell, Reason, Run, SCHEMA_VERSION,
    Skipped,
};
use crate::server::{Launch, Server};
use crate::store::{self, Store};
use crate::{build, cpu_plan, machine, plan, preflight, process, provenance, verify};

/// Everything that is settled before the first cell.
pub(super) struct Setup {
    pub(super) run: Run,
    pub(super) launches: Vec<Launch>,
    pub(super) request: Request,
    pub(super) wrk: Wrk,
}

impl Setup {
    /// The entrant of a label, and how it is started.
    pub(super) fn entrant(&self, label: &str) -> (&Entrant, &Launch) {
        let mut entrants = self.run.matrix.entrants.iter().zip(&self.launches);
        entrants
            .find(|(entrant, _)| entrant.label == label)
            .expect("what is planned is planned for the matrix's entrants")
    }

    /// The CPUs that either side may use.
    pub(super) fn cpus(&self) -> Vec<u32> {
        let CpuPlan { server, client, .. } = &self.run.cpu_plan;
        let mut cpus = [server.as_slice(), client].concat();
        cpus.sort_unstable();
        cpus.dedup();
        cpus
    }
}

/// Preflight, plans, and the verification of every entrant.
///
/// # Errors
///
/// What hinders the sweep; [`Interrupted`](crate::interrupt::Interrupted) if the user wants to stop.
pub(super) fn prepare(options: Options, interrupt: &Interrupt) -> anyhow::Result<(Setup, Store)> {
    let out = options.out.clone();
    let name = options.matrix.name.clone();
    let prospect = Prospect::look(options)?;
    let store = Store::create(out.as_deref(), &name)?;
    prospect.announce(store.dir());
    let setup = prospect.settle(interrupt)?;
    store.write_run(&setup.run)?;
    Ok((setup, store))
}

/// The same for a run that was cut short, of which some cells are left.
///
/// # Errors
///
/// As [`prepare`]; and if anything has changed since, for then the cells would not belong together.
pub(super) fn prepare_again(run: &Run, dir: &Path, interrupt: &Interrupt) -> anyhow::Result<Setup> {
    let prospect = Prospect::look(Options {
        matrix: run.matrix.clone(),
        out: None,
        seed: Some(run.seed),
        attempts: run.attempts,
        precision: run.precision,
        command_line: run.command_line.clone(),
    })?;
    preflight::warn(&prospect.findings);
    let mut setup = prospect.settle(interrupt)?;
    resume::refuse_changes(run, &setup.run, dir)?;
    setup.run = run.clone();
    setup.run.resumed_at.push(provenance::now());
    Ok(setup)
}

/// What can be settled before there is a directory, and before anything is started.
struct Prospect {
    options: Options,
    machine: Machine,
    cpu_plan: CpuPlan,
    findings: Vec<Advice>,
    wrk: Wrk,
    seed: u64,
    order: Vec<PlannedCell>,
}

impl Prospect {
    fn look(options: Options) -> anyhow::Result<Self> {
        let matrix = &options.matrix;
        machine::raise_open_files_limit();
        let machine = machine::look();
        let cpu_plan = cpu_plan::plan(&machine.cpus_allowed, &machine.smt_siblings, matrix.pinned);
        let findings = preflight::findings(matrix, &machine, &cpu_plan);
        if let Some(sentence) = preflight::blocking(&findings) {
            bail!("{sentence}");
        }
        let wrk = Wrk::find(Settings {
            threads: load_threads(matrix, &cpu_plan),
            timeout_s: matrix.load.timeout_s,
            headers: matrix.load.headers.clone(),
            pipeline: matrix.load.pipeline,
            cpus: cpu_plan::client_cpus(&cpu_plan).map(<[u32]>::to_vec),
        })?;
        let seed = options.seed.unwrap_or_else(new_seed);
        let order = plan::order(matrix, wrk.describe().threads, seed)?;
        Ok(Self {
            options,
            machine,
            cpu_plan,
            findings,
            wrk,
            seed,
            order,
        })
    }

    fn announce(&self, dir: &Path) {
        preflight::warn(&self.findings);
        let matrix = &self.options.matrix;
        if let Some(sentence) = plan::rounding(matrix, self.wrk.describe().threads) {
            note(sentence);
        }
        note(format_args!(
            "matrix {}: {} cells, about {}; seed {}; writing to {}",
            matrix.name,
            plan::cells(matrix),
            in_words(plan::sweep_time(matrix)),
            self.seed,
            dir.display()
        ));
    }

    /// Starts every entrant once, and verifies the rungs.
    fn settle(self, interrupt: &Interrupt) -> anyhow::Result<Setup> {
        let Self {
            options,
            machine,
            cpu_plan,
            mut findings,
            wrk,
            seed,
            mut order,
        } = self;
        if let Some(cpus) = cpu_plan::client_cpus(&cpu_plan) {
            // We look on from the load generator's side, so that the server's CPUs are its own.
            process::run_on(cpus).context("rungs cannot be put on the load generator's CPUs")?;
        }
        let request = Request {
            path: options.matrix.path.clone(),
            headers: options.matrix.load.headers.clone(),
        };
        let planned = options.matrix.entrants.len();
        let Runnable {
            matrix,
            launches,
            entrants,
            skipped,
        } = Runnable::of(options.matrix, &cpu_plan, &request, interrupt)?;
        if matrix.entrants.len() < planned {
            order = plan::order(&matrix, wrk.describe().threads, seed)?;
        }
        warn_of_debug_builds(&entrants, &mut findings);
        verify::short(&matrix, interrupt)?;
        let run = Run {
            schema: SCHEMA_VERSION,
            rungs_version: env!("CARGO_PKG_VERSION").into(),
            started_at: provenance::now(),
            command_line: options.command_line,
            matrix,
            seed,
            order,
            attempts: options.attempts,
            precision: options.precision,
            resumed_at: Vec::new(),
            cpu_plan,
            machine,
            preflight: findings,
            entrants,
            skipped,
            load_generator: wrk.describe(),
            toolchain: provenance::TOOLCHAIN.into(),
            cargo_lock_sha256: provenance::cargo_lock_sha256(),
            image_digest: provenance::image_digest(),
        };
        Ok(Setup {
            run,
            launches,
            request,
            wrk,
        })
    }
}

/// The load generator's threads: the matrix's, or one per CPU of the client.
fn load_threads(matrix: &Matrix, cpu_plan: &CpuPlan) -> u32 {
    let cpus = u32::try_from(cpu_plan.client.len()).unwrap_or(u32::MAX);
    matrix.load.threads.unwrap_or(cpus.max(1))
}

/// The clock's nanoseconds: short enough to be typed, different each time.
fn new_seed() -> u64 {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH);
    since_1970.map_or(0, |time| u64::from(time.subsec_nanos()))
}

fn launches(matrix: &Matrix, cpu_plan: &CpuPlan) -> anyhow::Result<Vec<Launch>> {
    let connections = matrix.most_connections();
    let launch = |entrant: &Entrant| {
        let threads = entrant.threads.on(cpu_plan.server.len());
        let cpus = cpu_plan::entrant_cpus(cpu_plan, entrant);
        Ok(Launch::of(entrant, cpus, threads, connections)?)
    };
    matrix.entrants.iter().map(launch).collect()
}

/// What of a matrix can run on this machine.
struct Runnable {
    matrix: Matrix,
    launches: Vec<Launch>,
    entrants: Vec<EntrantBinary>,
    skipped: Vec<Skipped>,
}

impl Runnable {
    /// Starts every entrant once: whether it can run here, what it is, and that it answers as it must.
    fn of(
        matrix: Matrix,
        cpu_plan: &CpuPlan,
        request: &Request,
        interrupt: &Interrupt,
    ) -> anyhow::Result<Self> {
        let launches = launches(&matrix, cpu_plan)?;
        let mut entrants = Vec::with_capacity(launches.len());
        let mut skipped = Vec::new();
        for (entrant, launch) in matrix.entrants.iter().zip(&launches) {
            interrupt.check()?;
            match identify(entrant, launch, request)? {
                Identity::Known(binary) => entrants.push(binary),
                // What is there a second time is skipped with the first.
                Identity::Unsupported { .. } if entrant.repeat_of.is_some() => {}
                Identity::Unsupported { sentence } => skipped.push(Skipped {
                    label: entrant.label.clone(),
                    reason: sentence,
                }),
            }
        }
        if skipped.is_empty() {
            return Ok(Self {
                matrix,
                launches,
                entrants,
                skipped,
            });
        }
        // Once more, since another entrant may be the one that is measured twice now.
        let matrix = matrix.without(&skipped).map_err(anyhow::Error::msg)?;
        for Skipped { label, reason } in &skipped {
            note(format_args!("{label} is skipped: {reason}"));
        }
        let mut rest = Self::of(matrix, cpu_plan, request, interrupt)?;
        rest.skipped.splice(..0, skipped);
        Ok(rest)
    }
}

/// What starting an entrant showed.
enum Identity {
    Known(EntrantBinary),
    /// It says that it cannot run on this machine.
    Unsupported {
        sentence: String,
    },
}

fn identify(entrant: &Entrant, launch: &Launch, request: &Request) -> anyhow::Result<Identity> {
    let of = || format!("the entrant `{}`", entrant.label);
    let server = match Server::start(launch) {
        Err(Reason::Unsupported { sentence }) => return Ok(Identity::Unsupported { sentence }),
        started => started.map_err(to_error).with_context(of)?,
    };
    let response_bytes = answer::check(entrant, request, server.addr)
        .map_err(anyhow::Error::msg)
        .with_context(|| format!("{} gives a wrong answer", of()))?;
    let hello = server.hello.clone();
    server.stop().map_err(to_error).with_context(of)?;
    Ok(Identity::Known(EntrantBinary {
        label: entrant.label.clone(),
        command: launch.command(),
        sha256: store::sha256_of_file(Path::new(&launch.program)).with_context(of)?,
        foreign: launch.foreign,
        build: hello.as_ref().map(|hello| hello.build.clone()),
        allocator: hello.as_ref().map(|hello| hello.allocator.clone()),
        threads: hello.as_ref().map(|hello| hello.threads),
        workers: hello.as_ref().and_then(|hello| hello.workers),
        flags: match entrant.build {
            Some(_) => build::stamp_of(Path::new(&launch.program)).map(|stamp| stamp.flags),
            None => None,
        }
        .unwrap_or_default(),
        response_bytes,
    }))
}

fn to_error(reason: impl fmt::Display) -> anyhow::Error {
    anyhow::Error::msg(reason.to_string())
}

/// A release build of `rungs` may have found debug builds of the rungs on PATH.
fn warn_of_debug_builds(entrants: &[EntrantBinary], findings: &mut Vec<Advice>) {
    let is_debug = |entrant: &&EntrantBinary| entrant.build.as_deref() == Some("debug");
    let labels: Vec<_> = entrants
        .iter()
        .filter(is_debug)
        .map(|entrant| entrant.label.as_str())
        .collect();
    if labels.is_empty() || cfg!(debug_assertions) {
        // Preflight has said it of a debug build of `rungs` itself.
        return;
    }
    let advice = Advice {
        level: AdviceLevel::Warning,
        subject: "servers".into(),
        found: format!(
            "debug builds, whose numbers mean nothing: {}",
            labels.join(", ")
        ),
        advice: "build with `cargo build --release --workspace`".into(),
    };
    preflight::warn(std::slice::from_ref(&advice));
    findings.push(advice);
}
