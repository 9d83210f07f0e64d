//! What a matrix may hold. Each check says in words what is wrong and what is allowed; the caller says where.

use std::time::Duration;

use crate::ladder;

/// More requests than this at once do not fit one read of the rungs.
const MOST_PIPELINED: u32 = 64;

/// Connections that one load generator on one machine can ask of one server: the ports of one loopback address.
const MOST_CONNECTIONS: u32 = 60_000;

pub(super) fn connections(counts: &[u32]) -> Result<(), String> {
    if counts.is_empty() {
        return Err("`connections` must hold at least one count".into());
    }
    if let Some(n) = counts.iter().find(|n| !(1..=MOST_CONNECTIONS).contains(*n)) {
        return Err(format!(
            "{n} connections are not possible: at least 1 and at most {MOST_CONNECTIONS} are"
        ));
    }
    for pair in counts.windows(2) {
        if pair[0] == pair[1] {
            return Err(format!(
                "{} connections are listed twice: list each count once",
                pair[0]
            ));
        }
        if pair[0] > pair[1] {
            return Err(format!(
                "connections must be ascending: {} stands before {}",
                pair[0], pair[1]
            ));
        }
    }
    Ok(())
}

/// Shares of a capacity, percent.
pub(super) fn shares(shares: &[u32]) -> Result<(), String> {
    let in_range = shares.iter().all(|share| (1..=100).contains(share));
    if shares.is_empty() || !in_range || !shares.is_sorted_by(|a, b| a < b) {
        return Err(
            "`shares` are whole percents from 1 to 100, ascending, each once, and at least one"
                .into(),
        );
    }
    Ok(())
}

/// What is traced is to explain what is measured.
pub(super) fn traced_connections(counts: &[u32], measured: &[u32]) -> Result<(), String> {
    connections(counts)?;
    match counts.iter().find(|count| !measured.contains(count)) {
        None => Ok(()),
        Some(count) => Err(format!(
            "{count} connections are not measured, so there is nothing for a trace to explain: name some of the matrix's `connections`"
        )),
    }
}

pub(super) fn rounds(rounds: u32) -> Result<(), String> {
    if rounds == 0 {
        return Err("`rounds` must be at least 1".into());
    }
    Ok(())
}

pub(super) fn threads(threads: u32) -> Result<(), String> {
    if threads == 0 {
        return Err("`threads` of the load generator must be at least 1".into());
    }
    Ok(())
}

/// How many requests are sent at once. What measures latency at fixed rates sends one at a time.
pub(super) fn pipeline(depth: u32, at_fixed_rates: bool) -> Result<(), String> {
    if !(1..=MOST_PIPELINED).contains(&depth) {
        return Err(format!(
            "`pipeline` is the number of requests sent at once, from 1 to {MOST_PIPELINED}"
        ));
    }
    if depth > 1 && at_fixed_rates {
        return Err(
            "latency at fixed rates is not measured with pipelining: leave out [latency] or `pipeline`".into(),
        );
    }
    Ok(())
}

/// A foreign server is told its port in its command or in its configuration.
pub(super) fn command(words: &[String], config: Option<&str>) -> Result<(), String> {
    let names = |placeholder: &str| words.iter().any(|word| word.contains(placeholder));
    match (config, names("{config}")) {
        (Some(_), false) => {
            return Err(
                "`command` must hold {config}: the path of a file with the text of `config`".into(),
            );
        }
        (None, true) => {
            return Err(
                "`command` holds {config}, so the entrant needs a `config`: the text of that file"
                    .into(),
            );
        }
        _ => {}
    }
    let says_where = |text: &str| text.contains("{port}") || text.contains("{addr}");
    if words.iter().any(|word| says_where(word)) || config.is_some_and(says_where) {
        return Ok(());
    }
    Err(
        "`command` (or its `config`) must hold {port} or {addr}: each run gives the server a free port to listen on"
            .into(),
    )
}

/// `Name: value`. wrk drops any other form without a word.
pub(crate) fn header(header: &str) -> Result<(), String> {
    let well_formed = header.split_once(": ").is_some_and(|(name, value)| {
        let token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
        !name.is_empty()
            && name.bytes().all(token)
            && !value.is_empty()
            && value.bytes().all(|b| (b' '..=b'~').contains(&b))
    });
    if well_formed {
        Ok(())
    } else {
        Err(format!(
            "the header {header:?} does not have the form `Name: value`"
        ))
    }
}

pub(super) fn path(path: &str) -> Result<(), String> {
    if path.starts_with('/') && path.bytes().all(|b| b.is_ascii_graphic()) {
        Ok(())
    } else {
        Err(format!(
            "the path {path:?} is not one that begins with / and holds no spaces"
        ))
    }
}

/// A GET of `path` is something that the rungs answer with 200.
pub(super) fn rung_answers(path: &str) -> Result<(), String> {
    match rungs_response::route("GET", path) {
        Ok(_) => Ok(()),
        Err(_) => Err(format!(
            "the rungs do not answer a GET of {path}: they know /, /ladder.svg, /json and /bytes/{{n}}"
        )),
    }
}

pub(super) fn rung(name: &str) -> Result<(), String> {
    match ladder::rung(name) {
        Some(_) => Ok(()),
        None => Err(format!(
            "there is no rung `{name}`: the rungs are {}",
            ladder::names()
        )),
    }
}

pub(super) fn status(status: u16) -> Result<(), String> {
    if (200..=399).contains(&status) {
        Ok(())
    } else {
        Err(format!(
            "`status` = {status} would be counted as an error by the load generator: 200 to 399 are allowed"
        ))
    }
}

/// Whole seconds, since wrk takes no fractions.
pub(super) fn seconds(text: &str) -> Result<u32, String> {
    let duration = duration(text)?;
    if duration.subsec_nanos() != 0 {
        return Err(format!(
            "{text} has a fraction: whole seconds are allowed, since wrk takes no others"
        ));
    }
    u32::try_from(duration.as_secs())
        .ok()
        .filter(|&seconds| seconds > 0 && duration <= LONGEST)
        .ok_or_else(|| format!("{text} is out of range: at least 1s and at most 1day are allowed"))
}

/// The length of a warm-up, in seconds: wrk looks ten times a second whether it is to end.
pub(super) fn tenths(text: &str) -> Result<f64, String> {
    let duration = duration(text)?;
    if duration.as_nanos() % 100_000_000 != 0 {
        return Err(format!(
            "{text} is not in steps of 100ms: wrk ends a load no finer than that"
        ));
    }
    if duration > LONGEST {
        return Err(format!("{text} is out of range: at most 1day is allowed"));
    }
    Ok(duration.as_secs_f64())
}

/// The longest time that is no slip of the pen.
const LONGEST: Duration = Duration::from_secs(86_400);

fn duration(text: &str) -> Result<Duration, String> {
    humantime::parse_duration(text)
        .map_err(|_| format!("{text:?} is not a duration: write it such as \"2s\" or \"1m\""))
}

/// Time of a load at a fixed rate, in ms. Its generator takes fractions of a second; but the server's counts are read in the
/// middle of a warm-up, and a shorter window is no measurement.
pub(super) fn paced_time(text: &str) -> Result<u64, String> {
    const SHORTEST: Duration = Duration::from_millis(100);
    let duration = duration(text)?;
    if !duration.subsec_nanos().is_multiple_of(1_000_000) {
        return Err(format!(
            "{text} has a fraction of a millisecond: whole ones are allowed"
        ));
    }
    u64::try_from(duration.as_millis())
        .ok()
        .filter(|_| (SHORTEST..=LONGEST).contains(&duration))
        .ok_or_else(|| {
            format!("{text} is out of range: at least 100ms and at most 1day are allowed")
        })
}
