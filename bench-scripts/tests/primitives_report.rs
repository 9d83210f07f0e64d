//! Renders a made-up primitives run and looks at every file.

use std::fs;
use std::path::Path;

use rungs::findings::Interval;
use rungs::primitives::record::{Kind, Record, Run, ServerCost, Servers};
use rungs::primitives::report::findings::Findings;
use rungs::primitives::report::orders::Verdict;
use rungs::primitives::report::{Rendered, render};
use rungs_primitives::Row;
use rungs_primitives::cell::Cell;
use rungs_primitives::failure::{Absence, Failure};
use rungs_primitives::limits::Limit;
use rungs_primitives::plan::{Counts, Plan, Purpose};
use rungs_primitives::programs::claims::Claim;
use rungs_primitives::row::{Each, Family, Outcome, Placement, Unit, Value};
use rungs_primitives::trial::ChildCommand;

const FAMILIES: [Family; 7] = [
    Family::Latency,
    Family::Bandwidth,
    Family::Threads,
    Family::Processes,
    Family::Messages,
    Family::Spawn,
    Family::Wakeups,
];

/// Round trips between processes: quickly rendered, for they have no picture but the ladder.
fn latency() -> Record {
    record(&[Family::Latency])
}

/// A row for every cell of the default plan of some families, on two CPUs.
fn record(families: &[Family]) -> Record {
    let command = ChildCommand {
        program: "rungs".into(),
        args: Vec::new(),
    };
    let plan = Plan::new(families.to_vec(), vec![0, 1], command);
    let groups = plan.groups();
    let rows: Vec<Row> = groups.iter().flat_map(|group| rows(group)).collect();
    Record {
        run: run(families, rows.len()),
        rows,
        claims: vec![Claim {
            said: "it adds two processes at least".to_owned(),
            holds: false,
            found: "one process".to_owned(),
        }],
        servers: Some(servers()),
        torn: false,
    }
}

/// What a group of cells came to: each mechanism takes an eighth more than the one before it.
fn rows(group: &[Cell]) -> Vec<Row> {
    let row = |(position, cell): (usize, &Cell)| {
        let mut row = cell.row(&[0, 1], Outcome::Absent(absence(cell)));
        // What the cell would say depends on the machine.
        row.note = (cell.mechanism() == "pipe").then(|| "capacity 64 KiB".to_owned());
        if !is_absent(&row) {
            row.outcome = Outcome::Value(value(cell, &row, position));
        }
        row
    };
    group.iter().enumerate().map(row).collect()
}

fn is_absent(row: &Row) -> bool {
    row.mechanism == "doors"
        || (row.mechanism == "Posix queue" && row.message_bytes > Some(8192))
        || row.workers == Some(3)
        || (row.family == Family::Threads
            && row.mechanism == "fcntl record lock"
            && row.workers > Some(1))
}

fn absence(cell: &Cell) -> Absence {
    match cell.mechanism() {
        "doors" => Absence::Skipped("Linux has no doors".to_owned()),
        "Posix queue" => Absence::Limit("fs.mqueue.msgsize_max is 8192".to_owned()),
        "fcntl record lock" if cell.family == Family::Threads => {
            Absence::Refused("it does not exclude the threads of one process".to_owned())
        }
        _ => Absence::Skipped("--full measures it".to_owned()),
    }
}

fn value(cell: &Cell, row: &Row, position: usize) -> Value {
    let dearer = 1.125_f64.powi(position as i32);
    let apart = match row.placement {
        Placement::SameCpu => 1.0,
        Placement::AcrossCpus => 2.5,
    };
    let parameter = row.workers.or(row.parent_rss_mb).unwrap_or(1) as f64;
    let median = match row.family {
        Family::Latency | Family::Wakeups => 4.0 * dearer * apart,
        Family::Bandwidth => row.message_bytes.unwrap_or(1) as f64 / 10.0 / dearer,
        Family::Threads | Family::Processes => {
            0.004 * 2_f64.powi(position as i32) * parameter * apart
        }
        Family::Messages => 1.5 * dearer,
        Family::Spawn if row.mechanism == "fork + execv" => 600.0 + parameter,
        Family::Spawn => 900.0 / dearer,
    };
    let off = if row.mechanism == "TCP" { 0.08 } else { 0.01 };
    let repetitions = [1.0, 1.0 - off, 1.0 + off, 1.0 + 2.0 * off, 1.0 - off / 2.0];
    let repetitions = repetitions.map(|factor| factor * median).to_vec();
    Value {
        each: cell.is_latency().then_some(Each {
            p50_us: median * 1.02,
            p99_us: median * 1.5,
        }),
        reader_cpu_s: (row.family == Family::Messages).then_some(median * 1.5),
        lost: (row.family == Family::Messages && row.mechanism == "UDP").then_some(1234),
        ..Value::of(cell.unit(), repetitions, 10_000)
    }
}

fn run(families: &[Family], rows: usize) -> Run {
    let made = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/made/run.json");
    let sweep: rungs::record::Run =
        serde_json::from_str(&fs::read_to_string(made).unwrap()).unwrap();
    Run {
        schema: rungs::record::SCHEMA_VERSION,
        kind: Kind::Primitives,
        rungs_version: sweep.rungs_version,
        started_at: "2026-01-02T03:04:05Z".to_owned(),
        command_line: vec!["target/release/rungs".to_owned(), "primitives".to_owned()],
        purpose: Purpose::Measure,
        families: families.to_vec(),
        rows,
        counts: Counts::Calibrated,
        repetitions: 5,
        batch_ms: 50,
        shortened: vec!["Fewer messages.".to_owned()],
        cpus: vec![0, 1],
        machine: sweep.machine,
        limits: vec![
            Limit {
                name: "kernel.msgmax".to_owned(),
                value: Some(8192),
            },
            Limit {
                name: "RLIMIT_MSGQUEUE".to_owned(),
                value: None,
            },
        ],
        preflight: sweep.preflight,
        program_sha256: "0123456789abcdef".to_owned(),
        toolchain: sweep.toolchain,
        cargo_lock_sha256: sweep.cargo_lock_sha256,
        image_digest: None,
    }
}

fn servers() -> Servers {
    let made = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/made/run.json");
    let sweep: rungs::record::Run =
        serde_json::from_str(&fs::read_to_string(made).unwrap()).unwrap();
    let cost = |label: &str, cost_us: f64, to_control| ServerCost {
        label: label.to_owned(),
        cost_us,
        interval_us: Some(Interval {
            low: cost_us * 0.95,
            high: cost_us * 1.05,
        }),
        to_control,
    };
    Servers {
        sweep: "20260101T000000Z-quick".to_owned(),
        measured_at: "2026-01-01T00:00:00Z".to_owned(),
        machine: sweep.machine,
        connections: 100,
        costs: vec![
            cost("null", 4.2, None),
            cost("epoll", 4.7, Some(1.12)),
            cost("axum", 9.6, Some(2.29)),
        ],
    }
}

fn file(rendered: &Rendered, name: &str) -> String {
    let (_, content) = rendered
        .files
        .iter()
        .find(|(known, _)| known == name)
        .unwrap();
    String::from_utf8(content.clone()).unwrap()
}

/// Changes the values of a row.
fn set(record: &mut Record, family: Family, mechanism: &str, median: f64) {
    for row in &mut record.rows {
        if row.family == family && row.mechanism == mechanism {
            row.outcome = Outcome::Value(Value::of(Unit::Micros, vec![median], 1));
        }
    }
}

fn verdicts(findings: &Findings, part: &str) -> Vec<Verdict> {
    let orders = findings
        .orders
        .iter()
        .filter(|order| order.order.contains(part));
    orders.map(|order| order.verdict).collect()
}

#[test]
fn files_of_all_families_are_as_reviewed() {
    let rendered = render(&record(&FAMILIES)).unwrap();
    let names: Vec<&str> = rendered
        .files
        .iter()
        .map(|(name, _)| name.as_str())
        .collect();
    insta::assert_snapshot!("primitives-files", names.join("\n"));
    for name in ["report.md", "ladder.svg", "figure-a4.svg"] {
        insta::assert_snapshot!(format!("primitives-{name}"), file(&rendered, name));
    }
    let csv = file(&rendered, "rows.csv");
    let head: Vec<&str> = csv.lines().take(12).collect();
    insta::assert_snapshot!("primitives-rows.csv", head.join("\n"));

    let schema =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas/primitives-findings.schema.json");
    let schema = serde_json::from_str(&fs::read_to_string(schema).unwrap()).unwrap();
    let findings = serde_json::from_str(&file(&rendered, "findings.json")).unwrap();
    jsonschema::validate(&schema, &findings).unwrap();
}

#[test]
fn the_same_record_gives_the_same_bytes() {
    assert!(render(&latency()).unwrap().files == render(&latency()).unwrap().files);
}

#[test]
fn an_order_that_does_not_hold_is_a_warning() {
    let mut record = latency();
    set(&mut record, Family::Latency, "TCP", 20.0);
    set(&mut record, Family::Latency, "Unix stream", 10.0);
    let rendered = render(&record).unwrap();
    assert_eq!(verdicts(&rendered.findings, "TCP"), [Verdict::Holds; 2]);
    assert!(
        !rendered
            .warnings
            .iter()
            .any(|warning| warning.contains("Unix stream"))
    );

    set(&mut record, Family::Latency, "Unix stream", 22.0);
    let rendered = render(&record).unwrap();
    assert_eq!(
        verdicts(&rendered.findings, "TCP"),
        [Verdict::DoesNotHold; 2]
    );
    let warnings = rendered
        .warnings
        .iter()
        .filter(|warning| warning.contains("Unix stream"));
    assert_eq!(warnings.count(), 2);
    assert!(file(&rendered, "report.md").contains("DOES NOT HOLD | 22.0 µs to 20.0 µs: × 1.10"));
}

#[test]
fn an_order_without_its_rows_is_not_checked() {
    let mut record = latency();
    record.rows.retain(|row| row.mechanism != "FIFO");
    let findings = render(&record).unwrap().findings;
    assert_eq!(verdicts(&findings, "FIFO"), [Verdict::NotChecked; 2]);
}

#[test]
fn failed_rows_and_rehearsals_are_named() {
    let mut record = latency();
    record.run.purpose = Purpose::Rehearse;
    record.torn = true;
    let row = record
        .rows
        .iter_mut()
        .find(|row| row.mechanism == "UDP")
        .unwrap();
    row.outcome = Outcome::Failed(Failure::Wrong("message 7 came twice".to_owned()));
    record.rows.pop();
    let rendered = render(&record).unwrap();
    let (warnings, page) = (rendered.warnings.join("\n"), file(&rendered, "report.html"));
    for part in [
        "rehearsal",
        "rows.jsonl",
        "not complete",
        "UDP, same CPU: FAILED: message 7 came twice",
    ] {
        assert!(warnings.contains(part), "{part} is not in {warnings}");
        assert!(page.contains(part), "{part} is not in the page");
    }
}

#[test]
fn without_a_sweep_the_ladder_says_how_to_add_one() {
    let mut record = latency();
    record.servers = None;
    let rendered = render(&record).unwrap();
    assert!(
        rendered.findings.ladder.servers.is_empty() && !rendered.findings.ladder.steps.is_empty()
    );
    for name in ["report.md", "report.html", "ladder.svg"] {
        assert!(file(&rendered, name).contains("rungs sweep"), "{name}");
    }
    assert!(!file(&rendered, "report.md").contains("axum"));
}

#[test]
fn a_run_of_nothing_is_rendered_too() {
    let mut record = latency();
    record.rows.clear();
    record.claims.clear();
    record.servers = None;
    let rendered = render(&record).unwrap();
    assert!(rendered.findings.sentences.is_empty());
    assert_eq!(rendered.files.len(), 4, "no picture");
}

#[test]
fn foreign_text_does_not_become_html() {
    let mut record = latency();
    record.servers.as_mut().unwrap().costs[2].label = "axum<script>".to_owned();
    record.rows[0].note = Some("<script>".to_owned());
    let rendered = render(&record).unwrap();
    assert!(!file(&rendered, "report.html").contains("axum<script>"));
    assert!(!file(&rendered, "report.html").contains("<script>:"));
    assert!(!file(&rendered, "report.md").contains("<script>"));
}
