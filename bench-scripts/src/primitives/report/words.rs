//! What a reader must know of a run before its numbers, and how it was measured.

use rungs_primitives::plan::{Counts, Purpose};
use rungs_primitives::programs::claims::Claim;
use rungs_primitives::row::{Family, Outcome};

use super::findings::{Figures, Findings};
use super::key::placement_name;
use super::ladder_picture::HOW_TO_ADD_SERVERS;
use super::orders::Verdict;
use crate::primitives::record::{ROWS_FILE, Record, Run};
use crate::quantity::{fine_percent, whole};
use crate::render::words::{self as sweep_words, Entry};

/// Named of the rows whose repetitions disagree; the rest is counted.
const NAMED: usize = 6;

/// What was measured, in a sentence.
pub(super) fn headline(record: &Record) -> String {
    let run = &record.run;
    format!(
        "{} rows, at most {} repetitions of each, on {}.",
        whole(record.rows.len() as u64),
        run.repetitions,
        run.machine.cpu_model
    )
}

/// What is wrong with the run, the worst first.
pub(super) fn warnings(record: &Record, findings: &Findings) -> Vec<String> {
    let mut warnings = Vec::new();
    if record.run.purpose == Purpose::Rehearse {
        warnings.push(
            "This is a rehearsal: it shows that everything works, and its numbers mean nothing."
                .to_owned(),
        );
    }
    if record.torn {
        warnings.push(format!(
            "The last line of {ROWS_FILE} was not written to its end, and is left out: the run was interrupted there."
        ));
    }
    if record.rows.len() < record.run.rows {
        warnings.push(format!(
            "The run is not complete: {} of {} rows were measured.",
            whole(record.rows.len() as u64),
            whole(record.run.rows as u64)
        ));
    }
    let failed = record
        .rows
        .iter()
        .filter(|row| matches!(row.outcome, Outcome::Failed(_)));
    warnings.extend(failed.map(|row| {
        format!(
            "{}, {}: {}",
            row.mechanism,
            placement_name(row.placement),
            super::key::absence(row).unwrap_or_default()
        )
    }));
    warnings.extend(findings.broken_orders().map(|broken| {
        format!(
            "An order that should hold does not, {}: {} ({}).",
            placement_name(broken.placement),
            broken.order,
            broken.found
        )
    }));
    warnings.extend(unsteady(findings));
    warnings
}

/// Rows whose repetitions disagree, the worst first.
fn unsteady(findings: &Findings) -> Option<String> {
    let spread = |row: &&Figures| row.value.map_or(0.0, |value| value.spread);
    let mut rows: Vec<&Figures> = findings.unsteady().collect();
    rows.sort_by(|a, b| spread(b).total_cmp(&spread(a)));
    let named = rows.iter().take(NAMED).map(|row| {
        let at = row.key().at_words();
        let at = at.map_or(String::new(), |at| format!(" at {at}"));
        format!(
            "{}{at}, {}, {}",
            row.mechanism,
            placement_name(row.placement),
            fine_percent(spread(row))
        )
    });
    let named = named.collect::<Vec<_>>().join("; ");
    let more = match rows.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!("; and {more} more, marked ‡ in the tables"),
    };
    let of = findings
        .rows
        .iter()
        .filter(|row| row.value.is_some())
        .count();
    (!rows.is_empty()).then(|| {
        format!(
            "{} of {of} rows have a spread above 5%: {named}{more}. Measure on an idle machine.",
            rows.len()
        )
    })
}

/// What stands between a reader and the whole ladder, if anything does.
pub(super) fn hint(record: &Record) -> Option<String> {
    record
        .servers
        .is_none()
        .then(|| format!("{HOW_TO_ADD_SERVERS}."))
}

/// The biggest numbers.
pub(super) fn key_figures(findings: &Findings) -> Vec<Entry> {
    let measured = findings
        .rows
        .iter()
        .filter(|row| row.value.is_some())
        .count();
    let absent = findings.rows.len() - measured;
    let holding = findings
        .orders
        .iter()
        .filter(|order| order.verdict == Verdict::Holds)
        .count();
    let mut spreads: Vec<f64> = findings
        .rows
        .iter()
        .filter_map(|row| Some(row.value?.spread))
        .collect();
    spreads.sort_by(f64::total_cmp);
    let middle = spreads.get(spreads.len() / 2).copied();
    let mut entries = vec![
        ("rows with a value", whole(measured as u64)),
        ("rows absent, each with its reason", whole(absent as u64)),
        (
            "orders that hold",
            format!("{holding} of {}", findings.orders.len()),
        ),
    ];
    entries.extend(middle.map(|middle| ("typical spread of a row", fine_percent(middle))));
    entries
        .into_iter()
        .map(|(term, text)| (term.to_owned(), text))
        .collect()
}

/// How it was measured, a paragraph each.
pub(super) fn method(run: &Run) -> Vec<String> {
    let counts = match run.counts {
        Counts::Calibrated => format!("as many operations as take {} ms", run.batch_ms),
        Counts::Documents => format!(
            "the documents' own number of operations, or as many as take {} ms if that is more, and fewer of those that take seconds",
            run.batch_ms
        ),
    };
    let mut paragraphs = vec![
        format!(
            "A row is at most {} repetitions of {counts}, and its value is their median. The repetitions of rows that a table compares are interleaved, so \
             that a change of the machine meets all of them. Spread is MAD ÷ median: the median distance of the repetitions from their \
             median, as a share of it. The clock is CLOCK_MONOTONIC.",
            run.repetitions
        ),
        "Every process is started by fork and exec of the program that measures, never through a shell (but in the row that measures \
         system(3)), and pinned: on the same CPU, or each on the next one across CPUs. All say that they are ready; then the clock \
         starts and they go. It stops at the last valid message, or when the last worker has finished. Readers check the index, the length and the \
         content of every message; a counter that is not workers × additions fails its row."
            .to_owned(),
        "Limits of the system are read first. A row beyond one is absent and names it; it is never measured with less under the same \
         name. The documents' values are theirs, of machines of their time: for orientation, and in none of our numbers."
            .to_owned(),
    ];
    if !run.shortened.is_empty() {
        paragraphs.push(format!(
            "Shorter than the documents: {}",
            run.shortened.join(" ")
        ));
    }
    if run.families.contains(&Family::Spawn) {
        paragraphs.push(
            "The ways to start a program do equal work: each lists the regular files of one directory, and the outputs are the same sets."
                .to_owned(),
        );
    }
    paragraphs
}

/// Title of the claims.
pub(super) const CLAIMS: &str = "Claims about system(3), tried";

/// What was found of the article's claims.
pub(super) fn claims(claims: &[Claim]) -> Vec<Entry> {
    let entry = |claim: &Claim| {
        let verdict = if claim.holds {
            "so it is"
        } else {
            "not so here"
        };
        (claim.said.clone(), format!("{verdict}: {}", claim.found))
    };
    claims.iter().map(entry).collect()
}

/// The machine, the limits that bound rows, the program.
pub(super) fn environment(run: &Run) -> Vec<Entry> {
    let mut entries = sweep_words::machine(&run.machine);
    let cpus: Vec<String> = run.cpus.iter().map(ToString::to_string).collect();
    entries.push(("CPUs used".to_owned(), cpus.join(", ")));
    entries.extend(run.limits.iter().map(|limit| {
        let value = limit
            .value
            .map_or_else(|| "no limit, or not told here".to_owned(), whole);
        (limit.name.clone(), value)
    }));
    entries.push(("toolchain".to_owned(), run.toolchain.clone()));
    entries.push(("rungs".to_owned(), run.rungs_version.clone()));
    entries.push((
        "program, SHA-256".to_owned(),
        format!("{:.12}…", run.program_sha256),
    ));
    entries.push((
        "Cargo.lock, SHA-256".to_owned(),
        run.cargo_lock_sha256.clone(),
    ));
    entries.extend(
        run.image_digest
            .clone()
            .map(|digest| ("container image".to_owned(), digest)),
    );
    entries
}

/// The command that measures the same again, into a directory of its own.
pub(super) fn reproduction(run: &Run) -> String {
    sweep_words::shell_line(&sweep_words::again(&run.command_line))
}
