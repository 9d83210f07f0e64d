//! Plays the whole table against one server binary.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use crate::case::Case;
use crate::{Agreement, Failure, Kind, Server, cases, check, check_process};

/// How many cases are played at once. They mostly wait.
const AT_ONCE: usize = 8;

/// How long a server may take to stop after its cases. Connections that a case left behind may use up its grace.
const STOP: Duration = Duration::from_secs(10);

/// How one case went.
#[derive(Debug)]
pub struct Verdict {
    /// The case.
    pub case: Case,
    /// How it was kept or broken.
    pub result: Result<Agreement, Failure>,
}

/// Plays `cases` against `program`, started with the flags of `mode` and those of each case, and returns the verdicts in
/// the table's order.
///
/// Cases that need no process of their own share a server for each set of flags, and run at the same time.
///
/// # Errors
///
/// A server that cannot be started, or that does not survive its cases: after them, each must still stop in order.
pub fn run_table(
    program: &Path,
    kind: Kind,
    mode: &[&str],
    cases: Vec<Case>,
) -> io::Result<Vec<Verdict>> {
    let start = |flags: &[&str]| Server::start(program, mode.iter().chain(flags));
    let mut shared = BTreeMap::new();
    for case in &cases {
        let shares = case.exemption(kind).is_none() && !case.needs_process();
        if shares && !shared.contains_key(case.flags) {
            shared.insert(case.flags, start(case.flags)?);
        }
    }
    let addrs: BTreeMap<_, _> = shared
        .iter()
        .map(|(flags, server)| (*flags, server.addr()))
        .collect();
    let play = |case: &Case| -> io::Result<Result<Agreement, Failure>> {
        if let Some(why) = case.exemption(kind) {
            return Ok(Ok(Agreement::Exempt(why)));
        }
        if case.needs_process() {
            return Ok(check_process(&mut start(case.flags)?, kind, case));
        }
        Ok(check(addrs[case.flags], kind, case))
    };
    let results = at_once(&cases, play);
    let verdicts = cases
        .into_iter()
        .zip(results)
        .map(|(case, result)| result.map(|result| Verdict { case, result }));
    let verdicts = verdicts.collect::<io::Result<Vec<_>>>()?;
    for server in shared.into_values() {
        server.stop(STOP)?;
    }
    Ok(verdicts)
}

/// Calls `play` for each case on a few threads, and returns the results in the order of the cases.
fn at_once<R: Send>(cases: &[Case], play: impl Fn(&Case) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let results = Mutex::new(BTreeMap::new());
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some((at, case)) = take(cases, &next) {
                    let result = play(case);
                    results.lock().expect("no player panics").insert(at, result);
                }
            });
        }
    });
    results
        .into_inner()
        .expect("no player panics")
        .into_values()
        .collect()
}

fn take<'a>(cases: &'a [Case], next: &AtomicUsize) -> Option<(usize, &'a Case)> {
    let at = next.fetch_add(1, Ordering::Relaxed);
    cases.get(at).map(|case| (at, case))
}

/// Plays the whole table, and fails a test with every case that `program` breaks.
///
/// # Panics
///
/// If the program breaks a case, or cannot be run.
pub fn assert_contract(program: &str, kind: Kind, mode: &[&str]) {
    let verdicts = run_table(Path::new(program), kind, mode, cases())
        .unwrap_or_else(|e| panic!("{program} {}: {e}", mode.join(" ")));
    let failures: Vec<_> = verdicts
        .iter()
        .filter_map(|verdict| verdict.result.as_ref().err())
        .map(ToString::to_string)
        .collect();
    assert!(
        failures.is_empty(),
        "{program} {} breaks {} of {} cases:\n\n{}\n",
        mode.join(" "),
        failures.len(),
        verdicts.len(),
        failures.join("\n\n")
    );
}
