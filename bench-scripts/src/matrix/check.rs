//! What a matrix may hold. Each check says in words what is wrong and what is allowed; the caller says where.

use std::time::Duration;

use crate::ladder;

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

/// Whole seconds, since wrk takes no fractions; `least` is 0 or 1.
pub(super) fn seconds(text: &str, least: u32) -> Result<u32, String> {
    let duration: Duration = humantime::parse_duration(text)
        .map_err(|_| format!("{text:?} is not a duration: write it such as \"2s\" or \"1m\""))?;
    if duration.subsec_nanos() != 0 {
        return Err(format!(
            "{text} has a fraction: whole seconds are allowed, since wrk takes no others"
        ));
    }
    u32::try_from(duration.as_secs())
        .ok()
        .filter(|&seconds| (least..=86_400).contains(&seconds))
        .ok_or_else(|| {
            format!("{text} is out of range: at least {least}s and at most 1day are allowed")
        })
}
