//! A sweep with pipelined requests, and what its reports say of it.

mod common;

use std::fs;

use common::sweep_of;
use rungs::report;

const MATRIX: &str = r#"
name = "pipelined"
about = "a test"
connections = [4]
rounds = 1
warmup = "0s"
duration = "1s"
[load]
pipeline = 16
[[entrant]]
rung = "epoll"
[[entrant]]
rung = "hyper"
"#;

#[test]
fn every_count_fits_and_the_reports_say_that_it_is_pipelined() {
    let dir = tempfile::tempdir().unwrap();
    let (out, stdout) = sweep_of(MATRIX, dir.path());
    assert!(stdout.contains("Pipelined 16 deep"), "{stdout}");
    let markdown = fs::read_to_string(out.join("report.md")).unwrap();
    assert!(markdown.contains("Rates and costs are of requests, not of batches"));

    assert!(!markdown.contains("Latency, as wrk corrects it"));
    assert!(!out.join("latency.svg").exists());

    let record = report::read(&out).unwrap();
    let labels: Vec<_> = record.cells.iter().map(|c| &c.planned.entrant).collect();
    assert_eq!(labels.len(), 4);
    for cell in &record.cells {
        let label = &cell.planned.entrant;
        assert!(cell.is_valid(), "{label}: {:?}", cell.reasons());
        let worker = cell.server.as_ref().unwrap().workers.as_ref().unwrap()[0];
        // An event is a batch, but for the few that tell of something else.
        if let Some(events) = worker.events {
            assert!(worker.requests > 8 * events, "{label}: {worker:?}");
        }
    }
    let findings = rungs::analyse::analyse_record(&record);
    assert_eq!(findings.pipelined, Some(16));
    let points = || findings.entrants.iter().flat_map(|entrant| &entrant.points);
    assert!(points().all(|point| point.latency.is_none() && point.cost.is_some()));
}
