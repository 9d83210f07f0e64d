//! `rungs verify`: every rung keeps the contract, and all agree to the byte. The table of cases is rungs-conformance's.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::Path;

use anyhow::{Context, bail};
use comfy_table::Table;
use rungs_conformance::{Agreement, Case, Kind, Verdict, cases, run_table};

use crate::interrupt::Interrupt;
use crate::ladder;
use crate::matrix::{Matrix, Program};
use crate::{output, table};

/// Which cases are played.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Depth {
    /// The few that run before each sweep.
    Short,
    /// All of them.
    Full,
}

impl Depth {
    fn cases(self) -> Vec<Case> {
        let mut cases = cases();
        cases.retain(|case| self == Self::Full || case.quick);
        cases
    }
}

/// How one rung did.
struct Score {
    rung: String,
    agreed: usize,
    /// Declared differences that it showed, each with its reason.
    declared: Vec<String>,
    exempt: usize,
    failures: Vec<String>,
    /// Why it cannot run on this machine; none where it can.
    skipped: Option<String>,
}

/// Verifies the rungs of these names and prints a table; all rungs where none is named. True if all that can run on this
/// machine keep the contract.
///
/// # Errors
///
/// When a name is no rung's, or a program cannot be run.
pub fn run(rungs: &[String], depth: Depth, interrupt: &Interrupt) -> anyhow::Result<bool> {
    let names: Vec<&str> = if rungs.is_empty() {
        ladder::RUNGS.iter().map(|rung| rung.name).collect()
    } else {
        rungs.iter().map(String::as_str).collect()
    };
    if let Some(unknown) = names.iter().find(|name| ladder::rung(name).is_none()) {
        bail!(
            "there is no rung `{unknown}`: the rungs are {}",
            ladder::names()
        );
    }
    let mut scores = Vec::new();
    for name in names {
        interrupt.check()?;
        eprintln!("verifying {name} ...");
        scores.push(verify(name, &ladder::program_of(name)?, &[], depth)?);
    }
    output::line(table(&scores).trim_fmt())?;
    for score in &scores {
        for why in &score.declared {
            output::line(format_args!("{}: declared difference: {why}", score.rung))?;
        }
    }
    for score in &scores {
        if let Some(reason) = &score.skipped {
            output::line(format_args!("{}: skipped: {reason}", score.rung))?;
        }
        for failure in &score.failures {
            output::line(format_args!("{} breaks: {failure}", score.rung))?;
        }
    }
    Ok(scores.iter().all(|score| score.failures.is_empty()))
}

/// The short form, before a sweep, for each rung of the matrix with the flags with which it is entered.
///
/// # Errors
///
/// When a rung breaks a case, or cannot be run.
pub fn short(matrix: &Matrix, interrupt: &Interrupt) -> anyhow::Result<()> {
    let mut seen = BTreeSet::new();
    for entrant in &matrix.entrants {
        let Program::Rung { name, args } = &entrant.program else {
            continue;
        };
        if !seen.insert((name, args, entrant.build)) {
            continue;
        }
        interrupt.check()?;
        let args: Vec<_> = args.iter().map(String::as_str).collect();
        let program = ladder::program_of_entrant(entrant)?;
        let score = verify(name, &program, &args, Depth::Short)?;
        if let Some(failure) = score.failures.first() {
            bail!(
                "{} breaks the contract, so its numbers would mean nothing ({failure}); see all with `rungs verify {name}`",
                score.rung
            );
        }
    }
    Ok(())
}

fn verify(name: &str, program: &Path, mode: &[&str], depth: Depth) -> anyhow::Result<Score> {
    let kind = Kind::of_rung(&format!("rung-{name}"))
        .with_context(|| format!("the table of cases does not know the rung {name}"))?;
    match run_table(program, kind, mode, depth.cases()) {
        Ok(verdicts) => Ok(Score::of(name, &verdicts)),
        Err(error) if error.kind() == ErrorKind::Unsupported => Ok(Score {
            skipped: Some(error.to_string()),
            ..Score::of(name, &[])
        }),
        Err(error) => {
            Err(error).with_context(|| format!("{} cannot be verified", program.display()))
        }
    }
}

impl Score {
    fn of(rung: &str, verdicts: &[Verdict]) -> Self {
        let mut score = Self {
            rung: rung.into(),
            agreed: 0,
            declared: Vec::new(),
            exempt: 0,
            failures: Vec::new(),
            skipped: None,
        };
        for verdict in verdicts {
            match &verdict.result {
                Ok(Agreement::Full) => score.agreed += 1,
                Ok(Agreement::Declared(reasons)) => {
                    let why = format!("{} ({})", verdict.case.name, reasons.join("; "));
                    score.declared.push(why);
                }
                Ok(Agreement::Exempt(_)) => score.exempt += 1,
                Err(failure) => score.failures.push(failure.to_string()),
            }
        }
        score
    }
}

fn table(scores: &[Score]) -> Table {
    let mut table = table::plain(&["rung", "agrees", "differs as declared", "exempt", "breaks"]);
    for score in scores {
        table.add_row([
            score.rung.clone(),
            score.agreed.to_string(),
            score.declared.len().to_string(),
            score.exempt.to_string(),
            score.failures.len().to_string(),
        ]);
    }
    table
}
