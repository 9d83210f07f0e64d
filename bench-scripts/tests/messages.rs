//! What a user does wrong gets one clear sentence and a non-zero exit.

mod common;

use std::fs;
use std::net::TcpListener;
use std::process::Stdio;

use common::{finish, run, rungs};

/// The only line of stderr of a run that fails with `status`.
fn sentence(status: i32, args: &[&str]) -> String {
    let (code, stdout, stderr) = run(args);
    assert_eq!(code, Some(status), "{stderr}");
    assert_eq!(stdout, "");
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
    stderr
}

#[test]
fn a_wrong_matrix_names_file_line_and_what_is_allowed() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("mine.toml");
    let quick = include_str!("../matrices/quick.toml");
    fs::write(&file, quick.replace("rung = \"mio\"", "rung = \"moi\"")).unwrap();
    let message = sentence(1, &["sweep", "--matrix", file.to_str().unwrap()]);
    let line = 1 + quick
        .lines()
        .position(|line| line == "rung = \"mio\"")
        .unwrap();
    assert!(
        message.contains(&format!("mine.toml:{line}: there is no rung `moi`")),
        "{message}"
    );
    assert!(
        message.contains("null, epoll, mio, uring, hyper, axum"),
        "{message}"
    );
}

#[test]
fn a_matrix_that_is_not_there_lists_the_built_in_ones() {
    let message = sentence(1, &["sweep", "--matrix", "quik"]);
    assert!(
        message.contains("no matrix `quik`") && message.contains("smoke, quick"),
        "{message}"
    );
}

#[test]
fn a_wrong_override_names_its_flag() {
    let message = sentence(1, &["sweep", "--duration", "1.5s"]);
    assert!(
        message.contains("--duration: ") && message.contains("whole seconds"),
        "{message}"
    );
    let (code, _, stderr) = run(&["sweep", "--connections", "many"]);
    assert_eq!(code, Some(2), "{stderr}");
}

#[test]
fn a_missing_wrk_says_how_to_install_it() {
    let (code, _, stderr) = finish(rungs().args(["sweep", "--matrix", "smoke"]).env("PATH", ""));
    assert_eq!(code, Some(1));
    assert!(
        stderr.contains("wrk is not on PATH: install it with `apt-get install wrk`"),
        "{stderr}"
    );
}

#[test]
fn an_unwritable_out_is_said_before_anything_starts() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let out = file.path().join("run");
    let message = sentence(
        1,
        &["sweep", "--matrix", "smoke", "--out", out.to_str().unwrap()],
    );
    assert!(
        message.contains("cannot be written") && message.contains("--out"),
        "{message}"
    );
}

#[test]
fn a_directory_that_holds_a_run_is_not_written_over() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("run.json"), "{}").unwrap();
    let message = sentence(
        1,
        &[
            "sweep",
            "--matrix",
            "smoke",
            "--out",
            dir.path().to_str().unwrap(),
        ],
    );
    assert!(
        message.contains("holds a run already") && message.contains("rungs report"),
        "{message}"
    );
    assert_eq!(
        fs::read_to_string(dir.path().join("run.json")).unwrap(),
        "{}"
    );
}

#[test]
fn a_port_in_use_is_the_rungs_own_sentence() {
    let holder = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = holder.local_addr().unwrap().to_string();
    let (code, _, stderr) = run(&["serve", "epoll", "--", "--listen", &addr]);
    assert_eq!(code, Some(1), "{stderr}");
    assert!(stderr.contains(&format!("{addr} is in use")), "{stderr}");
}

#[test]
fn an_unknown_rung_lists_the_known_ones() {
    for args in [&["serve", "tokio"][..], &["verify", "tokio"]] {
        let message = sentence(1, args);
        assert!(
            message.contains("no rung `tokio`: the rungs are null, epoll"),
            "{message}"
        );
    }
}

#[test]
fn a_foreign_server_that_answers_wrongly_stops_the_sweep_and_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let (matrix, out) = (dir.path().join("m.toml"), dir.path().join("run"));
    let server = common::rung("epoll");
    let text = format!(
        "name = \"m\"\nabout = \"a test\"\nconnections = [2]\nrounds = 1\nwarmup = \"0s\"\nduration = \"1s\"\n\
         [[entrant]]\nlabel = \"liar\"\ncommand = [{:?}, \"--listen\", \"{{addr}}\"]\nbody_bytes = 82\n",
        server.to_str().unwrap()
    );
    fs::write(&matrix, text).unwrap();
    let args = [
        "sweep",
        "--matrix",
        matrix.to_str().unwrap(),
        "--out",
        out.to_str().unwrap(),
    ];
    let (code, _, stderr) = run(&args);
    assert_eq!(code, Some(1));
    assert!(
        stderr.contains("`liar` gives a wrong answer: a body of 83 bytes instead of 82"),
        "{stderr}"
    );
    assert!(!out.exists());
}

#[test]
fn doctor_looks_at_everything_and_gives_advice() {
    let (code, stdout, _) = run(&["doctor"]);
    assert_eq!(code, Some(0), "{stdout}");
    for subject in [
        "load generator",
        "open files",
        "accept queue",
        "CPUs",
        "steal",
        "fonts",
    ] {
        assert!(
            stdout.contains(&format!("{subject}: ")),
            "{subject} is missing:\n{stdout}"
        );
    }
    let (code, stdout, _) = finish(rungs().arg("doctor").env("PATH", ""));
    assert_eq!(code, Some(1));
    assert!(
        stdout.contains("STOP  load generator: wrk is not on PATH\n      → install"),
        "{stdout}"
    );
}

#[test]
fn verify_prints_how_each_rung_did() {
    let (code, stdout, stderr) = run(&["verify", "--quick", "null", "mio"]);
    assert_eq!(code, Some(0), "{stdout}{stderr}");
    let row = |rung: &str| {
        stdout
            .lines()
            .find(|line| line.trim_start().starts_with(rung))
    };
    assert!(row("mio").unwrap().trim_end().ends_with(" 0"), "{stdout}");
    assert!(row("null").is_some(), "{stdout}");
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let mut list = rungs()
        .arg("list")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(list.stdout.take());
    let output = list.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr.len()), (Some(0), 0));
}

#[test]
fn every_subcommand_has_help_and_the_list_is_whole() {
    for command in [
        "sweep",
        "verify",
        "report",
        "compare",
        "load",
        "list",
        "doctor",
        "serve",
        "completions",
    ] {
        let (code, stdout, _) = run(&[command, "--help"]);
        assert_eq!(code, Some(0));
        assert!(stdout.contains("Usage: rungs"), "{stdout}");
    }
    let (code, stdout, _) = run(&["list"]);
    assert_eq!(code, Some(0));
    assert!(
        stdout.contains("quick") && stdout.contains("axum"),
        "{stdout}"
    );
    let (code, stdout, _) = run(&["completions", "bash"]);
    assert_eq!(code, Some(0));
    assert!(stdout.contains("_rungs"));
}
