//! Cells of a real rung under a scripted load generator: what goes wrong on either side becomes a typed reason.

mod common;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rungs::answer::Request;
use rungs::cell::Bench;
use rungs::interrupt::{Interrupt, Interrupted};
use rungs::load::{Job, LoadError, LoadGenerator, LoadRun};
use rungs::matrix::Entrant;
use rungs::record::{self, Cell, Latency, Load, LoadErrors, PlannedCell, Reason};
use rungs::server::{Launch, Server};

const CONNECTIONS: u32 = 4;

/// What the scripted load generator does.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Script {
    /// Loads the server and reports the truth.
    Honest,
    /// Reports so many more requests than it made, and their bytes.
    Overcounts(u64),
    /// Opens a connection less than it should.
    OneShort,
    /// Does not get its result out.
    Fails,
    /// Waits for its end, and finds that the user has no patience.
    Interrupted,
}

impl LoadGenerator for Script {
    fn describe(&self) -> record::LoadGenerator {
        record::LoadGenerator {
            name: "scripted".into(),
            version: "1".into(),
            sha256: String::new(),
            threads: CONNECTIONS,
            command: Vec::new(),
        }
    }

    fn start(&self, job: &Job) -> Result<Box<dyn LoadRun>, LoadError> {
        let connections = job.connections - u32::from(*self == Self::OneShort);
        let (addr, end) = (job.addr, Instant::now() + job.duration);
        let clients = (0..connections).map(|_| thread::spawn(move || load(addr, end)));
        Ok(Box::new(ScriptedRun {
            script: *self,
            duration: job.duration,
            clients: clients.collect(),
        }))
    }
}

struct ScriptedRun {
    script: Script,
    duration: Duration,
    clients: Vec<JoinHandle<(u64, u64)>>,
}

impl LoadRun for ScriptedRun {
    fn pid(&self) -> u32 {
        std::process::id()
    }

    fn has_ended(&mut self) -> bool {
        self.clients.iter().all(JoinHandle::is_finished)
    }

    fn finish(self: Box<Self>, interrupt: &Interrupt) -> Result<Load, LoadError> {
        let counts: Vec<_> = self
            .clients
            .into_iter()
            .map(|client| client.join().unwrap())
            .collect();
        let (mut requests, mut bytes) = counts
            .iter()
            .fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        match self.script {
            Script::Overcounts(more) => {
                bytes += bytes / requests * more;
                requests += more;
            }
            Script::Fails => return Err(LoadError::Failed("it lost its voice".into())),
            Script::Interrupted => {
                interrupt.raise();
                interrupt.check()?;
            }
            Script::Honest | Script::OneShort => {}
        }
        Ok(Load {
            duration_us: self.duration.as_micros().try_into().unwrap(),
            requests,
            bytes,
            errors: LoadErrors::default(),
            latency: Latency::default(),
            raw: String::new(),
        })
    }
}

/// One connection, one request after the other, until `end` or the connection's: requests and bytes.
fn load(addr: SocketAddr, end: Instant) -> (u64, u64) {
    let (mut requests, mut bytes) = (0, 0);
    let Ok(mut stream) = TcpStream::connect(addr) else {
        return (0, 0);
    };
    let mut buffer = [0; 1024];
    while Instant::now() < end {
        if stream
            .write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            .is_err()
        {
            break;
        }
        match stream.read(&mut buffer) {
            Ok(n @ 1..) => (requests, bytes) = (requests + 1, bytes + n as u64),
            _ => break,
        }
        // Leave the CPUs to the other tests.
        thread::sleep(Duration::from_micros(500));
    }
    (requests, bytes)
}

/// A rung of ours with these flags.
fn rung(flags: &[&str]) -> Launch {
    let mut args: Vec<String> = vec!["--listen".into(), "{addr}".into()];
    args.extend(flags.iter().map(ToString::to_string));
    Launch {
        program: common::rung("epoll").to_str().unwrap().into(),
        config: None,
        args,
        threads: 1,
        cpus: None,
        foreign: false,
    }
}

/// A shell that behaves as `script` says; in it, `"$@"` is a rung with its arguments.
fn shell(script: &str) -> Launch {
    let rung = rung(&[]);
    let mut args = ["-c", script, "sh", &rung.program]
        .map(String::from)
        .to_vec();
    args.extend(rung.args);
    Launch {
        program: "/bin/sh".into(),
        args,
        ..rung
    }
}

fn measure(script: Script, warmup: Duration, launch: &Launch) -> Result<Cell, Interrupted> {
    let request = Request {
        path: "/".into(),
        headers: Vec::new(),
    };
    let planned = PlannedCell {
        index: 0,
        block: 0,
        entrant: "epoll".into(),
        connections_asked: CONNECTIONS,
        connections: CONNECTIONS,
    };
    let bench = Bench {
        generator: &script,
        request: &request,
        warmup,
        duration: Duration::from_secs(1),
        cpus: &[0],
        ends: None,
        interrupt: &Interrupt::default(),
    };
    bench.measure(&planned, 1, &Entrant::rung("epoll"), launch)
}

fn reasons(script: Script, flags: &[&str]) -> Vec<Reason> {
    let cell = measure(script, Duration::ZERO, &rung(flags)).unwrap();
    cell.reasons().to_vec()
}

/// What is wrong with a cell whose server is behind a shell that does as `script` says.
fn reasons_of(script: &str) -> Vec<Reason> {
    let cell = measure(Script::Honest, Duration::ZERO, &shell(script)).unwrap();
    cell.reasons().to_vec()
}

#[test]
fn an_honest_load_is_valid_and_counted_over_warm_up_and_window() {
    let cell = measure(Script::Honest, Duration::from_millis(300), &rung(&[])).unwrap();
    assert!(cell.is_valid(), "{:?}", cell.reasons());
    let (load, server) = (cell.load.unwrap(), cell.server.unwrap());
    assert_eq!(server.established, CONNECTIONS);
    // The warm-up's requests and the byte check's are of its life, but not of the measured load.
    assert!(server.requests_in_life.unwrap() > load.requests + 1);
    let in_window: u64 = server
        .workers
        .unwrap()
        .iter()
        .map(|worker| worker.requests)
        .sum();
    assert!(0 < in_window && in_window < load.requests);
    assert!(cell.spent.warmup_us >= 300_000 && cell.spent.load_us >= 1_000_000);
    // The window's edges lie inside the load.
    assert!(server.usage.window_us < 1_000_000 && server.usage.window_us > 300_000);
}

#[test]
fn a_load_generator_that_counts_too_many_is_found_out() {
    let reasons = reasons(Script::Overcounts(100), &[]);
    assert!(
        matches!(reasons[..], [Reason::CountMismatch { .. }]),
        "{reasons:?}"
    );
}

#[test]
fn a_missing_connection_is_found_out() {
    let missing = Reason::FewerConnections {
        wanted: CONNECTIONS,
        established: CONNECTIONS - 1,
    };
    assert_eq!(reasons(Script::OneShort, &[]), [missing]);
}

#[test]
fn a_load_generator_that_fails_is_the_reason() {
    let failed = Reason::LoadGeneratorFailed {
        detail: "it lost its voice".into(),
    };
    assert_eq!(reasons(Script::Fails, &[]), [failed]);
}

#[test]
fn a_server_that_ends_under_load_is_the_reason() {
    let reasons = reasons(Script::Honest, &["--run-for", "500ms", "--grace", "0s"]);
    assert!(
        matches!(reasons[..], [Reason::ServerDied { .. }]),
        "{reasons:?}"
    );
}

#[test]
fn a_server_that_does_not_start_is_the_reason() {
    let reasons = reasons(Script::Honest, &["--no-such-flag"]);
    assert!(
        matches!(&reasons[..], [Reason::ServerNotReady { detail }] if detail.contains("no-such-flag")),
        "{reasons:?}"
    );
}

#[test]
fn an_interrupted_cell_is_none() {
    assert!(measure(Script::Interrupted, Duration::ZERO, &rung(&[])).is_err());
}

#[test]
fn a_server_that_floods_stderr_is_measured_all_the_same() {
    let flood = "yes a flood of words | head -c 20000000 >&2 & exec \"$@\"";
    assert_eq!(reasons_of(flood), []);
}

#[test]
fn a_server_that_hangs_under_load_is_the_reason() {
    let begun = Instant::now();
    let reasons = reasons_of("(sleep 0.4; kill -STOP $$) & exec \"$@\"");
    assert!(
        matches!(reasons[..], [Reason::ServerStuck { .. }]),
        "{reasons:?}"
    );
    assert!(begun.elapsed() < Duration::from_secs(8));
}

#[test]
fn a_server_that_dies_before_it_says_a_word_is_the_reason() {
    let reasons = reasons_of("echo 'no room' >&2; kill -KILL $$");
    assert!(
        matches!(&reasons[..], [Reason::ServerNotReady { detail }] if detail.contains("SIGKILL") && detail.contains("no room")),
        "{reasons:?}"
    );
}

/// It says the port of another server, whose answers are right: the counts give it away.
#[test]
fn a_server_that_lies_about_its_port_is_found_out() {
    let other = Server::start(&rung(&[])).unwrap();
    let lie = format!(
        r#"counts='"at_us":1,"workers":[{{"open":4,"requests":1,"bytes":1,"wakeups":null,"events":null}}]'
        trap 'echo "{{\"event\":\"counters\",$counts}}"' USR1
        trap 'echo "{{\"event\":\"stopped\",$counts}}"; exit 0' TERM
        echo '{{"event":"listening","addr":"{}","threads":1,"pid":1,"build":"debug","allocator":"system"}}'
        while :; do sleep 0.01; done"#,
        other.addr
    );
    let reasons = reasons_of(&lie);
    assert!(
        matches!(reasons[..], [Reason::CountMismatch { server: 1, .. }]),
        "{reasons:?}"
    );
    other.stop().unwrap();
}

#[test]
fn a_server_that_names_a_port_where_nobody_listens_is_found_out() {
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr();
    let lie = format!(
        r#"echo '{{"event":"listening","addr":"{}","threads":1,"pid":1,"build":"debug","allocator":"system"}}'; sleep 60"#,
        closed.unwrap()
    );
    let reasons = reasons_of(&lie);
    assert!(
        matches!(reasons[..], [Reason::WrongResponse { .. }]),
        "{reasons:?}"
    );
}
