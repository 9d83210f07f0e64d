//! Each mistake in a matrix is told with its line and what is allowed.

use super::*;
use crate::matrix::LatencySettings;

const HEAD: &str = r#"name = "t"
about = "a test"
connections = [8, 16]
rounds = 1
warmup = "1s"
duration = "2s"
"#;

fn problem(text: &str) -> String {
    parse("t.toml", text).unwrap_err().to_string()
}

/// The problem of a matrix whose head has `from` replaced by `to`.
fn head_problem(from: &str, to: &str) -> String {
    assert!(HEAD.contains(from));
    problem(&(HEAD.replace(from, to) + "[[entrant]]\nrung = \"epoll\"\n"))
}

/// The matrix with a table `[trace]` that holds this.
fn traced(table: &str) -> Result<Matrix, MatrixError> {
    parse(
        "t.toml",
        &format!("{HEAD}[trace]\n{table}\n[[entrant]]\nrung = \"epoll\"\n"),
    )
}

#[test]
fn a_traced_pass_takes_a_count_or_a_list() {
    let counts = |text: &str| {
        let matrix = traced(&format!("connections = {text}\nduration = \"1s\""));
        matrix.unwrap().trace.unwrap().connections
    };
    assert_eq!(counts("16"), [16]);
    assert_eq!(counts("[8, 16]"), [8, 16]);
    let without = parse("t.toml", &format!("{HEAD}[[entrant]]\nrung = \"epoll\"\n"));
    assert_eq!(without.unwrap().trace, None);
}

#[test]
fn a_wrong_traced_pass_is_told_with_its_line() {
    for (table, said) in [
        (
            "connections = 9\nduration = \"1s\"",
            "t.toml:8: 9 connections are not measured",
        ),
        (
            "connections = []\nduration = \"1s\"",
            "t.toml:8: `connections` must hold at least one",
        ),
        (
            "connections = \"8\"\nduration = \"1s\"",
            "t.toml:8: a connection count, or a list",
        ),
        (
            "connections = 8\nduration = \"0s\"",
            "t.toml:9: 0s is out of range: at least 1s",
        ),
        ("connections = 8", "t.toml:7: missing field `duration`"),
    ] {
        let problem = traced(table).unwrap_err().to_string();
        assert!(problem.starts_with(said), "{problem}");
    }
}

fn entrant_problem(entrant: &str) -> String {
    problem(&format!("{HEAD}[[entrant]]\n{entrant}\n"))
}

#[test]
fn defaults_are_filled_in_and_the_control_is_added() {
    let text = format!(
        "{HEAD}[[entrant]]\nrung = \"epoll\"\nthreads = \"all\"\n[[entrant]]\n\
         command = \"srv --port '{{port}}'\"\nbody_bytes = 5\n"
    );
    let matrix = parse("t.toml", &text).unwrap();
    assert_eq!((matrix.warmup_s, matrix.duration_s), (1.0, 2));
    assert_eq!((matrix.path.as_str(), matrix.pinned), ("/", true));
    assert_eq!(matrix.load.timeout_s, 8);
    let labels: Vec<_> = matrix.entrants.iter().map(|e| e.label.as_str()).collect();
    assert_eq!(labels, ["null", "epoll", "epoll (again)", "srv"]);
    assert!(matrix.entrants[0].control);
    assert_eq!(matrix.entrants[1].threads, Threads::All);
    assert_eq!(
        matrix.entrants[3].program,
        Program::Foreign {
            command: vec!["srv".into(), "--port".into(), "{port}".into()],
            config: None,
            status: 200,
            body_bytes: 5
        }
    );
}

#[test]
fn a_matrix_can_name_the_entrant_that_is_there_twice() {
    let entrants = "[[entrant]]\nrung = \"epoll\"\n[[entrant]]\nrung = \"axum\"\nthreads = 2\n";
    let matrix = parse("t.toml", &format!("{HEAD}again = \"axum\"\n{entrants}")).unwrap();
    let again = &matrix.entrants[3];
    assert_eq!(again.label, "axum (again)");
    assert_eq!(again.repeat_of.as_deref(), Some("axum"));
    assert_eq!(again.threads, Threads::Count(2));
    for label in ["null", "mio"] {
        let message = problem(&format!("{HEAD}again = \"{label}\"\n{entrants}"));
        let start = format!("t.toml:7: there is no contestant `{label}` to be entered again");
        assert!(message.starts_with(&start), "{message}");
    }
    let message =
        entrant_problem("rung = \"epoll\"\n[[entrant]]\nrung = \"mio\"\nlabel = \"epoll (again)\"");
    assert!(message.contains("choose another"), "{message}");
}

#[test]
fn an_unknown_key_lists_the_allowed_ones() {
    let message = head_problem("rounds = 1", "rounds = 1\nround = 1");
    assert!(
        message.starts_with("t.toml:5: unknown field `round`"),
        "{message}"
    );
    assert!(message.contains("`duration`"), "{message}");
    let message = entrant_problem("rung = \"epoll\"\nport = 1");
    assert!(
        message.starts_with("t.toml:9: unknown field `port`"),
        "{message}"
    );
    assert!(message.contains("`body_bytes`"), "{message}");
}

#[test]
fn each_wrong_value_names_its_line_and_what_is_allowed() {
    for (from, to, start, allowed) in [
        ("[8, 16]", "[]", "t.toml:3:", "at least one"),
        ("[8, 16]", "[0, 16]", "t.toml:3:", "at least 1"),
        ("[8, 16]", "[16, 8]", "t.toml:3:", "ascending"),
        ("[8, 16]", "[8, 8]", "t.toml:3:", "once"),
        ("rounds = 1", "rounds = 0", "t.toml:4:", "at least 1"),
        ("\"2s\"", "\"1.5s\"", "t.toml:6:", "whole seconds"),
        ("\"2s\"", "\"1500ms\"", "t.toml:6:", "whole seconds"),
        ("\"1s\"", "\"1250ms\"", "t.toml:5:", "steps of 100ms"),
        ("\"2s\"", "\"0s\"", "t.toml:6:", "at least 1s"),
        ("\"2s\"", "\"two\"", "t.toml:6:", "such as \"2s\""),
        ("\"2s\"", "2", "t.toml:6:", "string"),
        (
            "rounds = 1",
            "rounds = 1\npath = \"x\"",
            "t.toml:5:",
            "begins with /",
        ),
        ("rounds = 1\n", "", "t.toml:1:", "rounds"),
    ] {
        let message = head_problem(from, to);
        assert!(message.starts_with(start), "{to}: {message}");
        assert!(message.contains(allowed), "{to}: {message}");
    }
}

#[test]
fn entrants_are_checked() {
    for (entrant, line, allowed) in [
        ("rung = \"tokio\"", 8, "null, epoll, mio, uring, hyper, axum"),
        ("label = \"x\"", 7, "either a `rung`"),
        (
            "rung = \"mio\"\ncommand = \"x {port}\"",
            7,
            "either a `rung`",
        ),
        ("rung = \"mio\"\nthreads = 0", 9, "\"all\""),
        ("rung = \"mio\"\nthreads = \"some\"", 9, "\"all\""),
        ("rung = \"mio\"\nstatus = 200", 8, "belong to a `command`"),
        ("command = \"x\"\nbody_bytes = 1", 8, "{port} or {addr}"),
        ("command = \"x {port}\"", 7, "body_bytes"),
        (
            "command = \"x {config}\"\nbody_bytes = 1",
            8,
            "needs a `config`",
        ),
        (
            "command = \"x {port}\"\nconfig = \"y\"\nbody_bytes = 1",
            8,
            "must hold {config}",
        ),
        (
            "command = \"x {config}\"\nconfig = \"y\"\nbody_bytes = 1",
            8,
            "{port} or {addr}",
        ),
        ("rung = \"mio\"\nconfig = \"y\"", 8, "belong to a `command`"),
        ("command = \"x '{port}\"\nbody_bytes = 1", 8, "quote"),
        ("command = [1]\nbody_bytes = 1", 8, "strings"),
        (
            "command = \"x {port}\"\nbody_bytes = 1\nstatus = 404",
            10,
            "200 to 399",
        ),
        (
            "rung = \"mio\"\n[[entrant]]\nrung = \"mio\"",
            9,
            "used twice",
        ),
        (
            "rung = \"null\"\n[[entrant]]\nrung = \"null\"\nlabel = \"n\"",
            9,
            "only once",
        ),
    ] {
        let message = entrant_problem(entrant);
        assert!(
            message.starts_with(&format!("t.toml:{line}: ")),
            "{entrant}: {message}"
        );
        assert!(message.contains(allowed), "{entrant}: {message}");
    }
}

#[test]
fn a_header_must_be_one_that_wrk_sends() {
    let text = format!("{HEAD}[load]\nheaders = [\"Accept:x\"]\n[[entrant]]\nrung = \"mio\"\n");
    assert!(
        problem(&text).contains("`Name: value`"),
        "{}",
        problem(&text)
    );
}

#[test]
fn a_path_that_no_rung_answers_is_refused() {
    let message = problem(&format!(
        "path = \"/nowhere\"\n{HEAD}[[entrant]]\nrung = \"mio\"\n"
    ));
    assert!(message.contains("/bytes/"), "{message}");
}

const LATENCY: &str =
    "[latency]\nconnections = 8\nwarmup = \"200ms\"\nduration = \"1500ms\"\nrounds = 2\n";

#[test]
fn latency_is_left_out_or_has_four_shares_by_default() {
    let entrant = "[[entrant]]\nrung = \"epoll\"\n";
    let without = parse("t.toml", &format!("{HEAD}{entrant}")).unwrap();
    assert_eq!(without.latency, None);
    let with = parse("t.toml", &format!("{HEAD}{LATENCY}{entrant}")).unwrap();
    let expected = LatencySettings {
        connections: 8,
        shares: vec![25, 50, 75, 90],
        warmup_ms: 200,
        duration_ms: 1500,
        rounds: 2,
    };
    assert_eq!(with.latency, Some(expected));
}

#[test]
fn each_mistake_in_latency_names_its_line_and_what_is_allowed() {
    for (from, to, line, allowed) in [
        ("connections = 8", "connections = 0", 8, "at least 1"),
        ("200ms", "50ms", 9, "at least 100ms"),
        ("200ms", "100500us", 9, "a fraction of a millisecond"),
        ("1500ms", "soon", 10, "is not a duration"),
        ("rounds = 2", "rounds = 0", 11, "at least 1"),
        ("rounds = 2", "round = 2", 11, "unknown field `round`"),
        (
            "rounds = 2",
            "rounds = 2\nshares = [50, 25]",
            12,
            "ascending",
        ),
        (
            "rounds = 2",
            "rounds = 2\nshares = [101]",
            12,
            "from 1 to 100",
        ),
        ("rounds = 2", "rounds = 2\nshares = []", 12, "at least one"),
    ] {
        let latency = LATENCY.replace(from, to);
        let message = problem(&format!("{HEAD}{latency}[[entrant]]\nrung = \"epoll\"\n"));
        let start = format!("t.toml:{line}: ");
        assert!(
            message.starts_with(&start) && message.contains(allowed),
            "{message}"
        );
    }
}
