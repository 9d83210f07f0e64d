//! A sweep of servers with several threads, and what its reports say of how the load spread over them.

mod common;

use common::sweep_of;
use rungs::analyse::analyse_record;
use rungs::report;

const MATRIX: &str = r#"
name = "workers"
about = "a test"
connections = [32]
rounds = 1
warmup = "100ms"
duration = "1s"
pinned = false
[[entrant]]
rung = "epoll"
threads = 2
[[entrant]]
rung = "hyper"
threads = 2
args = ["--runtime", "work-stealing"]
"#;

#[test]
fn connections_are_told_where_they_stay_and_requests_everywhere() {
    let dir = tempfile::tempdir().unwrap();
    let (out, stdout) = sweep_of(MATRIX, dir.path());
    assert!(stdout.contains("The busiest worker answers"), "{stdout}");
    let record = report::read(&out).unwrap();
    for cell in &record.cells {
        let label = &cell.planned.entrant;
        assert!(cell.is_valid(), "{label}: {:?}", cell.reasons());
    }
    let findings = analyse_record(&record);
    let workers = |label: &str| {
        let entrant = findings.entrants.iter().find(|e| e.label == label);
        entrant.unwrap().points[0].workers.unwrap()
    };
    let [epoll, hyper] = ["epoll", "hyper"].map(workers);
    assert_eq!((epoll.workers, hyper.workers), (2, 2));
    let connections = epoll.connections.unwrap();
    assert_eq!(connections.least.median + connections.most.median, 32.0);
    assert_eq!(hyper.connections, None);
    assert!(hyper.requests.most.median >= hyper.requests.least.median);
}
