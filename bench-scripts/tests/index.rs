//! `rungs report --index`: a page over the runs of a folder.

mod common;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use common::made::copy;
use common::run;
use rungs::index;
use tempfile::TempDir;

/// Puts the made run into a folder of runs, as begun at a time.
fn add(results: &TempDir, name: &str, started_at: &str) {
    let dir = results.path().join(name);
    let made = copy();
    fs::create_dir(&dir).unwrap();
    for file in ["run.json", "cells.jsonl"] {
        let text = fs::read_to_string(made.path().join(file)).unwrap();
        let begun = text.replacen("2026-01-02T03:04:05Z", started_at, 1);
        fs::write(dir.join(file), begun).unwrap();
    }
}

fn page(results: &Path) -> String {
    let written = index::write(results).unwrap();
    fs::read_to_string(written.page).unwrap()
}

#[test]
fn runs_are_listed_newest_first_with_links_to_their_reports() {
    let results = tempfile::tempdir().unwrap();
    add(&results, "a # run", "2026-03-01T10:20:30Z");
    add(&results, "b", "2026-03-02T10:20:30Z");
    fs::write(results.path().join("a # run/report.html"), "").unwrap();
    symlink("b", results.path().join("latest")).unwrap();
    fs::create_dir(results.path().join("no run")).unwrap();
    let page = page(results.path());
    let places: Vec<usize> = [
        "2026-03-02 10:20</th>",
        "\"a%20%23%20run/report.html\">2026-03-01 10:20</a>",
    ]
    .iter()
    .map(|row| page.find(row).unwrap_or_else(|| panic!("{row} is missing")))
    .collect();
    assert!(places.is_sorted(), "{places:?}");
    assert!(page.contains("<h1>2 runs</h1>"));
    assert!(page.contains("58 of 60"));
    assert!(page.contains(
        "At every connection count epoll and mio cost least CPU time per request, a tie."
    ));
}

#[test]
fn runs_of_one_kind_are_followed_and_others_are_not() {
    let results = tempfile::tempdir().unwrap();
    add(&results, "a", "2026-03-01T10:20:30Z");
    assert!(!page(results.path()).contains("class=\"plot\""));
    add(&results, "b", "2026-03-02T10:20:30Z");
    let followed = page(results.path());
    assert_eq!(followed.matches("class=\"plot\"").count(), 1);
    assert_eq!(followed, page(results.path()), "the same bytes again");

    let path = results.path().join("b/run.json");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(path, text.replace("Made-up Processor 9000", "Another")).unwrap();
    assert!(!page(results.path()).contains("class=\"plot\""));
}

#[test]
fn a_damaged_run_is_named_and_the_others_are_listed() {
    let results = tempfile::tempdir().unwrap();
    add(&results, "a", "2026-03-01T10:20:30Z");
    fs::create_dir(results.path().join("torn")).unwrap();
    fs::write(results.path().join("torn/run.json"), "{\"schema\":").unwrap();
    let (status, stdout, stderr) = run(&["report", "--index", results.path().to_str().unwrap()]);
    assert_eq!(status, Some(0), "{stderr}");
    assert!(stdout.ends_with("/index.html\n"), "{stdout}");
    assert!(stderr.starts_with("torn is not in the index: "), "{stderr}");
    let page = fs::read_to_string(results.path().join("index.html")).unwrap();
    assert!(page.contains("torn cannot be read, and is left out."));
    assert!(page.contains("<h1>One run</h1>"));
}

#[test]
fn a_folder_without_a_run_is_said() {
    let empty = tempfile::tempdir().unwrap();
    let (status, _, stderr) = run(&["report", "--index", empty.path().to_str().unwrap()]);
    assert_eq!(status, Some(1));
    assert!(
        stderr.contains("there is no run in ") && stderr.contains("such as results"),
        "{stderr}"
    );
    assert!(!empty.path().join("index.html").exists());
}
