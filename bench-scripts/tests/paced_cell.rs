//! Loads at a fixed rate as a sweep makes them: a child process that loads a server of ours. What goes wrong becomes a typed
//! reason.

mod common;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::thread;
use std::time::Duration;

use rungs::answer::Request;
use rungs::cell::Observer;
use rungs::cell::paced::PacedBench;
use rungs::interrupt::Interrupt;
use rungs::load::paced::PacedGenerator;
use rungs::matrix::{Entrant, Program};
use rungs::paced::Problem;
use rungs::record::{CapacityOf, PacedCell, PlannedPacedCell, Reason};
use rungs::server::Launch;

const CONNECTIONS: u32 = 4;

/// The epoll rung with these flags.
fn epoll(flags: &[&str]) -> Launch {
    let args = ["--listen", "{addr}"].iter().chain(flags);
    Launch {
        program: common::rung("epoll").to_str().unwrap().into(),
        args: args.map(ToString::to_string).collect(),
        config: None,
        threads: 1,
        cpus: None,
        foreign: false,
    }
}

/// Loads a server with 500 requests a second for 600 ms, with `program` as the generator.
fn measure_with(program: &Path, entrant: &Entrant, launch: &Launch) -> PacedCell {
    let planned = PlannedPacedCell {
        index: 0,
        block: 0,
        entrant: entrant.label.clone(),
        connections: CONNECTIONS,
        rate_per_s: 500,
        share_percent: 50,
        of: CapacityOf::Own,
    };
    let generator = PacedGenerator {
        program: program.into(),
        cpus: None,
        timeout: Duration::from_secs(2),
    };
    let request = Request {
        path: "/".into(),
        headers: Vec::new(),
    };
    let bench = PacedBench {
        generator: &generator,
        observer: Observer {
            request: &request,
            cpus: &[0],
            interrupt: &Interrupt::default(),
        },
        warmup: Duration::from_millis(200),
        duration: Duration::from_millis(400),
    };
    bench.measure(&planned, 1, entrant, launch).unwrap()
}

fn measure(launch: &Launch) -> PacedCell {
    let rungs = Path::new(env!("CARGO_BIN_EXE_rungs"));
    measure_with(rungs, &Entrant::rung("epoll"), launch)
}

/// Whether it held its rate depends on the machine; that all counts agree does not.
#[test]
fn the_counts_of_both_sides_agree_over_warm_up_and_window() {
    let cell = measure(&epoll(&[]));
    let of_machine = |reason: &&Reason| {
        matches!(
            reason,
            Reason::RateNotHeld { .. } | Reason::Steal { .. } | Reason::Throttled { .. }
        )
    };
    let reasons = cell.validity.reasons();
    assert!(
        reasons.iter().all(|reason| of_machine(&reason)),
        "{reasons:?}"
    );
    let (load, server) = (cell.load.unwrap(), cell.server.unwrap());
    assert_eq!((load.rate, load.connections), (500, CONNECTIONS));
    assert_eq!((load.requests.due, load.answered_in_all), (200, 300));
    assert_eq!(server.established, CONNECTIONS);
    // The byte check's request is of its life too.
    assert_eq!(server.requests_in_life, Some(301));
    let in_window: u64 = server.workers.unwrap().iter().map(|w| w.requests).sum();
    // All of the window, and the second half of the warm-up.
    assert!((200..300).contains(&in_window), "{in_window}");
    assert!(server.usage.cpu_us > 0 && cell.system.is_some());
}

/// A server that takes 20 ms for each answer, a connection each: four carry 200 requests a second at most.
fn slow_server() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            thread::spawn(move || answer_slowly(&mut stream.unwrap()));
        }
    });
    addr
}

fn answer_slowly(stream: &mut TcpStream) {
    let mut buffer = [0; 4096];
    while let Ok(1..) = stream.read(&mut buffer) {
        thread::sleep(Duration::from_millis(20));
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok");
    }
}

#[test]
fn a_rate_that_a_server_cannot_hold_makes_the_cell_invalid_and_is_kept() {
    // It speaks as a rung, for a server that we hold.
    let script = format!(
        r#"counts='"at_us":1,"workers":[{{"open":4,"requests":1,"bytes":1,"wakeups":null,"events":null}}]'
        trap 'echo "{{\"event\":\"counters\",$counts}}"' USR1
        trap 'echo "{{\"event\":\"stopped\",$counts}}"; exit 0' TERM
        echo '{{"event":"listening","addr":"{}","threads":1,"pid":1,"build":"debug","allocator":"system"}}'
        while :; do sleep 0.01; done"#,
        slow_server()
    );
    let launch = Launch {
        program: "/bin/sh".into(),
        args: vec!["-c".into(), script],
        ..epoll(&[])
    };
    let entrant = Entrant {
        program: Program::Foreign {
            command: vec!["slow".into()],
            config: None,
            status: 200,
            body_bytes: 2,
        },
        ..Entrant::rung("epoll")
    };
    let cell = measure_with(Path::new(env!("CARGO_BIN_EXE_rungs")), &entrant, &launch);
    let is_short = |reason: &Reason| {
        let Reason::RateNotHeld { problem } = reason else {
            return false;
        };
        matches!(problem, Problem::RateShort { due: 200, .. })
    };
    let reasons = cell.validity.reasons();
    assert!(reasons.iter().any(is_short), "{reasons:?}");
    assert!(!cell.load.unwrap().held);
}

#[test]
fn a_server_that_dies_under_the_load_is_the_reason() {
    let cell = measure(&epoll(&["--run-for", "300ms"]));
    let reasons = cell.validity.reasons();
    assert!(
        matches!(reasons, [Reason::ServerDied { .. }]),
        "{reasons:?}"
    );
    assert_eq!(cell.load, None);
}

#[test]
fn a_generator_that_fails_says_why() {
    let cell = measure_with(
        Path::new("/bin/false"),
        &Entrant::rung("epoll"),
        &epoll(&[]),
    );
    let reasons = cell.validity.reasons();
    assert!(
        matches!(reasons, [Reason::LoadGeneratorFailed { detail }] if detail.contains("status 1")),
        "{reasons:?}"
    );
}
