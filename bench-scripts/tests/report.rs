//! Renders the made run of `tests/data/made` and looks at every file.

mod common;

use std::fs;
use std::path::PathBuf;

use common::made::{copy, edit, name_hostile, rendered};
use rungs::report::{self, render};
use tempfile::TempDir;

/// A copy of the made run whose matrix asks for no latency at fixed rates.
fn copy_without_rates() -> TempDir {
    let dir = copy();
    fs::remove_file(dir.path().join(report::RATES_FILE)).unwrap();
    edit(&dir, report::RUN_FILE, |text| {
        let mut run: serde_json::Value = serde_json::from_str(&text).unwrap();
        run["matrix"].as_object_mut().unwrap().remove("latency");
        run.to_string()
    });
    dir
}

/// Keeps the cells at one connection count, as the smoke matrix has them.
fn keep_one_connection_count(dir: &TempDir) {
    edit(dir, report::RUN_FILE, |text| {
        let mut run: serde_json::Value = serde_json::from_str(&text).unwrap();
        run["matrix"]["connections"] = serde_json::json!([100]);
        run.to_string()
    });
    edit(dir, report::CELLS_FILE, |text| {
        text.lines()
            .filter(|line| line.contains("\"connections_asked\":100,"))
            .map(|line| format!("{line}\n"))
            .collect()
    });
}

#[test]
fn text_renderings_are_as_reviewed() {
    let dir = copy();
    let rendering = render(dir.path()).unwrap();
    for name in [
        "report.md",
        "cells.csv",
        "findings.json",
        "requests-per-minute.svg",
        "cost-per-request.svg",
        "latency.svg",
        "decline.svg",
        "rates.csv",
        "latency-at-fixed-rates.svg",
        "memory.svg",
    ] {
        insta::assert_snapshot!(name, rendered(&dir, name));
    }
    insta::assert_snapshot!("terminal", report::terminal_table(&rendering.findings));
    insta::assert_snapshot!("sentences", report::terminal_sentences(&rendering.findings));
}

/// An older run, or one with `--no-latency`: nothing of the second pass is in its renderings, and all else is the same.
#[test]
fn a_run_without_fixed_rates_renders_without_them() {
    let (with, without) = (copy(), copy_without_rates());
    let files = |dir: &TempDir| -> Vec<String> {
        let files = render(dir.path()).unwrap().files.into_iter();
        let name = |file: PathBuf| file.file_name().unwrap().to_str().unwrap().to_owned();
        files.map(name).collect()
    };
    let (all, fewer) = (files(&with), files(&without));
    assert_eq!((all.len(), fewer.len()), (17, 14));
    for name in &fewer {
        let text =
            String::from_utf8_lossy(&fs::read(without.path().join(name)).unwrap()).into_owned();
        assert!(
            !text.contains("at a fixed rate") && !text.contains("ixed rates"),
            "{name}"
        );
        let is_of_cells = name.ends_with(".svg") || name.ends_with(".csv");
        assert!(!is_of_cells || text == rendered(&with, name), "{name}");
    }
}

#[test]
fn a_second_pass_that_was_cut_short_says_how_far_it_came() {
    let dir = copy();
    edit(&dir, report::RATES_FILE, |text| {
        let lines: Vec<_> = text.split_inclusive('\n').take(21).collect();
        lines.concat() + "{\"planned\":{"
    });
    let rendering = render(dir.path()).unwrap();
    assert!(rendering.warnings[0].contains("the last line of rates.jsonl"));
    let report = rendered(&dir, "report.md");
    let wanted = "Latency at fixed rates is not complete: 21 of 48 loads were measured.";
    assert!(report.contains(wanted), "{report}");
}

#[test]
fn a_damaged_record_of_a_rate_is_named_with_its_line() {
    let dir = copy();
    edit(&dir, report::RATES_FILE, |text| {
        let first = text.lines().next().unwrap().to_owned();
        format!("{text}{first}\n")
    });
    let wanted = "DIR/rates.jsonl:49: paced cell ";
    assert!(error_of(&dir).starts_with(wanted), "{}", error_of(&dir));
}

/// Enters epoll a second time: with mio's cells, which are not far off.
fn enter_epoll_twice(dir: &TempDir) {
    // There is no mio any more whose rates these could be.
    fs::remove_file(dir.path().join(report::RATES_FILE)).unwrap();
    edit(dir, report::RUN_FILE, |text| {
        let mut run: serde_json::Value = serde_json::from_str(&text).unwrap();
        let again = &mut run["matrix"]["entrants"][2];
        assert_eq!(again["label"], "mio");
        again["label"] = "epoll (again)".into();
        again["repeat_of"] = "epoll".into();
        again["program"]["rung"]["name"] = "epoll".into();
        run.to_string()
    });
    edit(dir, report::CELLS_FILE, |text| {
        text.replace("\"entrant\":\"mio\"", "\"entrant\":\"epoll (again)\"")
    });
}

#[test]
fn a_pair_of_equals_gives_the_noise_floor_and_is_no_contestant() {
    let dir = copy();
    enter_epoll_twice(&dir);
    let findings = render(dir.path()).unwrap().findings;
    let floor = findings.noise_floor.as_ref().unwrap();
    assert_eq!(
        (floor.entrant.as_str(), floor.again.as_str(), floor.pairs),
        ("epoll", "epoll (again)", 11)
    );
    let compared: Vec<&str> = findings.comparisons[0]
        .cost
        .pairs
        .iter()
        .flat_map(|pair| [pair.a.as_str(), pair.b.as_str()])
        .collect();
    assert_eq!(
        compared,
        ["epoll", "hyper", "epoll", "axum", "hyper", "axum"]
    );
    insta::assert_snapshot!("terminal-again", report::terminal_table(&findings));
    insta::assert_snapshot!("sentences-again", report::terminal_sentences(&findings));
}

#[test]
fn with_one_connection_count_there_are_bars() {
    let dir = copy_without_rates();
    keep_one_connection_count(&dir);
    render(dir.path()).unwrap();
    insta::assert_snapshot!("one-count.svg", rendered(&dir, "requests-per-minute.svg"));
    let html = rendered(&dir, "report.html");
    assert!(!html.contains("Plotly"), "no curves, no library");
    assert_eq!(html.matches("<table class=\"ladder\"").count(), 5);
    assert!(!html.contains("How rates and costs scale"));
    assert!(!rendered(&dir, "report.md").contains("The decline taken apart"));
}

#[test]
fn one_round_shows_the_decline_and_proves_nothing() {
    let dir = copy();
    edit(&dir, report::CELLS_FILE, |text| {
        let first = text.lines().filter(|line| line.contains("\"block\":0,"));
        first.map(|line| format!("{line}\n")).collect()
    });
    render(dir.path()).unwrap();
    let text = rendered(&dir, "report.md");
    for wanted in [
        "is not told: that takes two rounds",
        "| epoll, 100 to 1,000 | server, kernel | 5.67 | 5.78 | +0.11 | – | – | – | +0.08 | – |",
    ] {
        assert!(text.contains(wanted), "{wanted} is missing");
    }
}

#[test]
fn rendering_again_gives_the_same_bytes() {
    let (first, second) = (copy(), copy());
    let files = render(first.path()).unwrap().files;
    render(second.path()).unwrap();
    render(second.path()).unwrap();
    assert_eq!(files.len(), 17);
    for file in files {
        let name = file.file_name().unwrap();
        let (a, b) = (
            fs::read(&file).unwrap(),
            fs::read(second.path().join(name)).unwrap(),
        );
        assert!(a == b, "{} differs", name.display());
    }
}

#[test]
fn pictures_are_pictures() {
    let dir = copy();
    render(dir.path()).unwrap();
    for name in [
        "requests-per-minute",
        "cost-per-request",
        "latency",
        "decline",
        "latency-at-fixed-rates",
        "memory",
    ] {
        let png = fs::read(dir.path().join(format!("{name}.png"))).unwrap();
        assert_eq!(&png[..8], b"\x89PNG\r\n\x1a\n");
        let width = u32::from_be_bytes(png[16..20].try_into().unwrap());
        assert_eq!(width, 2400);
    }
}

/// Everything in the page but the bodies of its scripts, which hold addresses that plotly.js uses for maps only.
fn without_scripts(html: &str) -> String {
    let mut kept = String::new();
    let mut rest = html;
    while let Some(start) = rest.find("<script") {
        let end = rest[start..].find("</script>").unwrap();
        let open_end = rest[start..].find('>').unwrap();
        kept.push_str(&rest[..=start + open_end]);
        rest = &rest[start + end..];
    }
    kept + rest
}

#[test]
fn the_page_loads_nothing() {
    let dir = copy();
    render(dir.path()).unwrap();
    let page = without_scripts(&rendered(&dir, "report.html"));
    for loader in [
        "src=", "<link", "@import", "url(", "<iframe", "<object", "<img",
    ] {
        assert!(!page.contains(loader), "{loader} in the page");
    }
    let addresses: Vec<&str> = page
        .match_indices("http")
        .map(|(at, _)| &page[at..at + 26])
        .collect();
    let only_namespaces = addresses.iter().all(|a| *a == "http://www.w3.org/2000/svg");
    assert!(only_namespaces, "{addresses:?}");
}

#[test]
fn the_page_holds_what_a_reader_needs() {
    let dir = copy();
    render(dir.path()).unwrap();
    let page = without_scripts(&rendered(&dir, "report.html"));
    for wanted in [
        "rungs sweep --matrix made --seed 20260102",
        "socket errors: 0 connect, 512 read, 0 write, 3 timeout",
        "the hypervisor took 23.4%",
        "Made-up Processor 9000",
        "The noise floor was not measured",
        "data-chart=\"cost\"",
        "<noscript>",
        "prefers-color-scheme: dark",
    ] {
        assert!(page.contains(wanted), "{wanted} is missing");
    }
}

/// Labels come from files that people write.
#[test]
fn a_label_cannot_break_out() {
    let dir = copy();
    name_hostile(&dir, "</script><img src=x>|`&");
    render(dir.path()).unwrap();
    assert!(!rendered(&dir, "report.html").contains("<img src=x>"));
    assert!(!rendered(&dir, "report.md").contains("<img src=x>"));
    assert!(!rendered(&dir, "latency.svg").contains("<img src=x>"));
    assert!(!rendered(&dir, "latency-at-fixed-rates.svg").contains("<img src=x>"));
}

#[test]
fn a_torn_last_line_is_left_out_and_said() {
    let dir = copy();
    edit(&dir, report::CELLS_FILE, |text| {
        text[..text.len() - 40].to_owned()
    });
    let rendering = render(dir.path()).unwrap();
    assert_eq!(rendering.findings.cells.measured, 59);
    assert!(rendering.warnings[0].contains("the last line of cells.jsonl"));
    assert!(rendered(&dir, "report.md").contains("The sweep is not complete: 59 of 60"));
    assert!(rendered(&dir, "report.html").contains("the last line of cells.jsonl"));
}

#[test]
fn a_whole_last_line_without_its_end_counts() {
    let dir = copy();
    edit(&dir, report::CELLS_FILE, |text| text.trim_end().to_owned());
    let rendering = render(dir.path()).unwrap();
    assert_eq!(rendering.findings.cells.measured, 60);
    assert_eq!(rendering.warnings, [""; 0]);
}

#[test]
fn a_sweep_that_was_stopped_at_once_still_renders() {
    let dir = copy();
    edit(&dir, report::CELLS_FILE, |_| String::new());
    let rendering = render(dir.path()).unwrap();
    assert_eq!(rendering.findings.cells.valid, 0);
    assert!(rendered(&dir, "report.md").contains("not measured"));
}

fn error_of(dir: &TempDir) -> String {
    format!("{:#}", render(dir.path()).unwrap_err())
        .replace(&dir.path().display().to_string(), "DIR")
}

#[test]
fn a_damaged_record_is_named_with_its_line() {
    let dir = copy();
    edit(&dir, report::CELLS_FILE, |text| {
        let second = text.find('\n').unwrap() + 1;
        text[..second].to_owned() + &text[second..].replacen("\"planned\"", "\"plan\"", 1)
    });
    let error = error_of(&dir);
    let start = "DIR/cells.jsonl:2: not the record of a cell: unknown field `plan`";
    assert!(error.starts_with(start), "{error}");
    assert!(
        error.ends_with("restore it, or take that line out"),
        "{error}"
    );
}

#[test]
fn a_cell_cannot_be_there_twice() {
    let dir = copy();
    edit(&dir, report::CELLS_FILE, |text| {
        let first = text.lines().next().unwrap().to_owned();
        format!("{text}{first}\n")
    });
    let error = error_of(&dir);
    assert!(
        error.starts_with("DIR/cells.jsonl:61: cell 0 is there a second time"),
        "{error}"
    );
}

#[test]
fn a_cell_of_an_unknown_entrant_is_refused() {
    let dir = copy();
    edit(&dir, report::CELLS_FILE, |text| {
        text.replace("\"hyper\"", "\"nginx\"")
    });
    let error = error_of(&dir);
    let wanted = "the entrant `nginx` is not in the matrix of run.json";
    assert!(error.contains(wanted), "{error}");
}

#[test]
fn another_layout_is_told_from_damage() {
    let dir = copy();
    edit(&dir, report::RUN_FILE, |text| {
        text.replacen("\"schema\": 1", "\"schema\": 99", 1)
            .replacen("\"seed\"", "\"seeds\"", 1)
    });
    assert_eq!(
        error_of(&dir),
        "DIR/run.json has layout 99, and this rungs reads layout 1: render it with the version that measured it"
    );
}

#[test]
fn a_damaged_run_is_named_with_its_line() {
    let dir = copy();
    edit(&dir, report::RUN_FILE, |text| {
        text.replacen("\"seed\"", "\"seeds\"", 1)
    });
    let error = error_of(&dir);
    assert!(error.starts_with("DIR/run.json:"), "{error}");
    assert!(error.contains("unknown field `seeds`"), "{error}");
}

#[test]
fn a_directory_without_a_run_is_said() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(
        error_of(&dir),
        "cannot read DIR/run.json: No such file or directory (os error 2). Give the directory that `rungs sweep` or `rungs primitives` wrote"
    );
}

#[test]
fn the_bundle_for_an_article_is_whole_and_never_written_over() {
    let dir = copy();
    let out = dir.path().join("article");
    let files = report::blog(dir.path(), &out).unwrap();
    let names: Vec<_> = files
        .iter()
        .map(|f| f.file_name().unwrap().to_str().unwrap())
        .collect();
    for wanted in [
        "article.md",
        "cells.csv",
        "rates.csv",
        "decline.svg",
        "cost-per-request.png",
    ] {
        assert!(names.contains(&wanted), "{wanted} is missing: {names:?}");
    }
    let text = fs::read_to_string(out.join("article.md")).unwrap();
    for line in text.lines().filter(|line| line.starts_with("![")) {
        let picture = line.split(['(', ')']).nth_back(1).unwrap();
        assert!(out.join(picture).exists(), "{line}");
    }
    insta::assert_snapshot!("article.md", text);
    let error = report::blog(dir.path(), &out).unwrap_err().to_string();
    assert!(error.contains("is not empty"), "{error}");
}
