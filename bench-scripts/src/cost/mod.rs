//! `rungs cost`: what a request costs each rung, taken apart. A sweep gives the cost as a ratio to null and the system calls;
//! here is what a timed run cannot tell: instructions and allocations of a request in user space, and the memory of an idle
//! connection.

mod allocator;
mod client;
mod measure;
mod stepper;

use std::path::Path;

use anyhow::{Context, bail};

use crate::analyse::analyse_record;
use crate::answer::Request;
use crate::findings::{EntrantFindings, Findings};
use crate::interrupt::{Interrupt, Interrupted};
use crate::matrix::Entrant;
use crate::output::{self, note};
use crate::record::cost::{UserCost, UserSpace};
use crate::record::trace::{Absence, Traced};
use crate::record::{EntrantBinary, Run, SCHEMA_VERSION};
use crate::render::{cost_md, cost_table};
use crate::server::Launch;
use crate::{machine, process, provenance, report, store};
use measure::{Problem, Subject};

/// Name of the file that holds what was measured.
pub const COST_FILE: &str = "cost.json";

/// Name of the file that holds the table.
pub const TABLE_FILE: &str = "cost.md";

/// Measures the entrants of the sweep in `dir` at its connection counts, writes [`COST_FILE`] and [`TABLE_FILE`] there, and
/// prints the table.
///
/// # Errors
///
/// When the sweep cannot be read, a program is not the one that it measured, or the files cannot be written;
/// [`Interrupted`] if the user wants to stop.
pub fn run(dir: &Path, interrupt: &Interrupt) -> anyhow::Result<()> {
    let record = report::read(dir)?;
    let findings = analyse_record(&record);
    let user_space = measure(&record.run, &findings, interrupt)?;
    let mut json = serde_json::to_vec_pretty(&user_space)?;
    json.push(b'\n');
    write(dir, COST_FILE, &json)?;
    let table = cost_md(&record.run, &findings, &user_space)?;
    write(dir, TABLE_FILE, table.as_bytes())?;
    output::line(cost_table(&findings, &user_space))?;
    output::line(format_args!("\ntable: {}", dir.join(TABLE_FILE).display()))?;
    Ok(())
}

fn write(dir: &Path, name: &str, content: &[u8]) -> anyhow::Result<()> {
    let path = dir.join(name);
    store::write_whole(&path, content).with_context(|| {
        format!(
            "cannot write {}: is it yours, and is there room?",
            path.display()
        )
    })
}

fn measure(run: &Run, findings: &Findings, interrupt: &Interrupt) -> anyhow::Result<UserSpace> {
    machine::raise_open_files_limit();
    // Server and client in turn on one CPU: a step is then two switches of threads, and no CPU has to be woken up.
    let cpu = *run
        .cpu_plan
        .client
        .last()
        .context("the sweep's CPU plan is empty")?;
    process::run_on(&[cpu]).with_context(|| {
        format!(
            "rungs cannot run on CPU {cpu}: measure on the machine of the sweep, or measure it anew"
        )
    })?;
    // The kernel may back memory with pages of 2 MiB at will: too coarse a measure, and servers inherit this.
    rustix::thread::disable_transparent_huge_pages(true)?;
    let entrants = findings.entrants.iter();
    let entrants = entrants.filter(|entrant| entrant.repeat_of.is_none());
    // All of them before the first is measured: one may be another program than it was.
    let prepared = entrants.map(|found| {
        let (entrant, binary) = entered(run, &found.label)?;
        Ok((found, binary, launch(run, entrant, binary, cpu)?))
    });
    let mut costs = Vec::new();
    for (found, binary, launch) in prepared.collect::<anyhow::Result<Vec<_>>>()? {
        costs.extend(of_entrant(run, found, binary, &launch, interrupt)?);
    }
    Ok(UserSpace {
        schema: SCHEMA_VERSION,
        measured_at: provenance::now(),
        costs,
    })
}

/// An entrant of the sweep, and what it was then.
fn entered<'a>(run: &'a Run, label: &str) -> anyhow::Result<(&'a Entrant, &'a EntrantBinary)> {
    let entrant = run
        .matrix
        .entrants
        .iter()
        .find(|entrant| entrant.label == label);
    let binary = run.entrants.iter().find(|binary| binary.label == label);
    entrant
        .zip(binary)
        .with_context(|| format!("run.json does not say what `{label}` is"))
}

/// How it is started: as for the sweep, but for its CPU.
fn launch(
    run: &Run,
    entrant: &Entrant,
    binary: &EntrantBinary,
    cpu: u32,
) -> anyhow::Result<Launch> {
    let threads = entrant.threads.on(run.cpu_plan.server.len());
    let launch = Launch::of(
        entrant,
        Some(vec![cpu]),
        threads,
        run.matrix.most_connections(),
    )?;
    if store::sha256_of_file(Path::new(&launch.program))? != binary.sha256 {
        bail!(
            "{} is not the program that the sweep measured as `{}`: measure anew with `rungs cost`, without --sweep",
            launch.program,
            entrant.label
        );
    }
    Ok(launch)
}

fn of_entrant(
    run: &Run,
    found: &EntrantFindings,
    binary: &EntrantBinary,
    launch: &Launch,
    interrupt: &Interrupt,
) -> Result<Vec<UserCost>, Interrupted> {
    let request = Request {
        path: run.matrix.path.clone(),
        headers: run.matrix.load.headers.clone(),
    };
    let mut costs = Vec::with_capacity(found.points.len());
    for point in &found.points {
        note(format_args!(
            "user space of {} at {} connections",
            found.label, point.connections
        ));
        let subject = Subject {
            launch,
            request: &request,
            response_bytes: binary.response_bytes,
            connections: point.connections,
        };
        let (idle, steps) = match subject.measure(interrupt) {
            Ok((idle, steps)) => (Traced::Counted(idle), steps),
            Err(Problem::Interrupted) => return Err(Interrupted),
            Err(Problem::NotReady(reason)) => absent(Absence {
                what: format!("skipped: {reason}"),
                remedy: format!("`rungs serve {}` shows it alone", found.program),
            }),
            Err(Problem::Failed(absence)) => absent(absence),
        };
        costs.push(UserCost {
            entrant: found.label.clone(),
            connections: point.connections,
            idle,
            steps,
        });
    }
    Ok(costs)
}

fn absent<A, B>(absence: Absence) -> (Traced<A>, Traced<B>) {
    (Traced::Absent(absence.clone()), Traced::Absent(absence))
}
