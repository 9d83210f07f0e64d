//! The paced load generator against servers that do what a test tells them. What needs no socket is tested exactly beside
//! `paced::Pacer`; the bounds here are wide, for machines that are busy.

mod common;

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::num::NonZeroU32;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use std::{str, thread};

use common::finish;
use rungs::interrupt::Interrupt;
use rungs::paced::{self, Errors, PacedLoad, Problem, Settings};
use schemars::schema_for;

const OK: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

/// What a server does with a connection that it has answered on.
#[derive(Clone, Copy, PartialEq)]
enum Then {
    Keep,
    Close,
}

/// A server with a thread for each connection, in which `answer` answers each request; requests are numbered.
fn server(answer: impl Fn(u64, &mut TcpStream) -> Then + Send + Sync + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = listener.local_addr().unwrap();
    thread::spawn(move || {
        let number = AtomicU64::new(0);
        thread::scope(|scope| {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let (number, answer) = (&number, &answer);
                scope.spawn(move || {
                    while read_request(&mut stream) {
                        if answer(number.fetch_add(1, Ordering::Relaxed), &mut stream)
                            == Then::Close
                        {
                            break;
                        }
                    }
                });
            }
        });
    });
    addr
}

/// False once the client has closed. The client sends one request at a time, so nothing follows its head.
fn read_request(stream: &mut TcpStream) -> bool {
    let mut head = Vec::new();
    let mut buffer = [0; 64 << 10];
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read(&mut buffer) {
            Ok(0) | Err(_) => return false,
            Ok(count) => head.extend_from_slice(&buffer[..count]),
        }
    }
    true
}

fn answer_with(answer: &'static [u8], then: Then) -> SocketAddr {
    server(move |_, stream| {
        let _ = stream.write_all(answer);
        then
    })
}

fn settings(addr: SocketAddr, rate: u32, connections: u32, millis: u64) -> Settings {
    Settings {
        target: format!("http://{addr}/").parse().unwrap(),
        allow_remote: None,
        rate: NonZeroU32::new(rate).unwrap(),
        connections: NonZeroU32::new(connections).unwrap(),
        warmup: Duration::ZERO,
        duration: Duration::from_millis(millis),
        timeout: Duration::from_secs(8),
        headers: Vec::new(),
    }
}

fn load(settings: &Settings) -> PacedLoad {
    paced::run(settings, &Interrupt::default()).unwrap()
}

#[test]
fn every_request_is_sent_and_answered_and_only_the_window_is_counted() {
    let mut settings = settings(answer_with(OK, Then::Keep), 200, 8, 1000);
    settings.warmup = Duration::from_millis(500);
    let load = load(&settings);
    assert_eq!((load.requests.due, load.requests.answered), (200, 200));
    assert_eq!((load.latency.count, load.lateness.count), (200, 200));
    assert_eq!((load.errors, load.reconnects), (Errors::default(), 0));
    // These two count the warm-up too.
    assert_eq!(load.answered_in_all, 300);
    assert_eq!(load.bytes, 300 * OK.len() as u64);
    assert!(load.latency.p50_us >= load.service_time.p50_us);
    assert!((0.0..1.0).contains(&load.generator_busy));
}

#[test]
fn a_stall_is_seen_by_every_request_that_it_holds_up() {
    const STALL: Duration = Duration::from_millis(500);
    let start = Instant::now();
    let stall_end = Mutex::new(None);
    let addr = server(move |_, stream| {
        // The first request after 800 ms begins the stall, and whoever comes during it waits for its end.
        let end = (start.elapsed() > Duration::from_millis(800)).then(|| {
            let mut end = stall_end.lock().unwrap();
            *end.get_or_insert_with(|| Instant::now() + STALL)
        });
        thread::sleep(end.map_or(Duration::ZERO, |end| {
            end.saturating_duration_since(Instant::now())
        }));
        let _ = stream.write_all(OK);
        Then::Keep
    });
    let load = load(&settings(addr, 400, 8, 2000));
    // Of 800 requests, 200 are due during the stall, and wait for the rest of it: a tenth of all for at least 300 ms.
    let latency = &load.latency;
    assert!((280e3..490e3).contains(&latency.p90_us), "{latency:?}");
    assert!(latency.p50_us < 200e3, "{latency:?}");
    assert!(latency.max_us >= 480e3, "{latency:?}");
    // The service times know of the eight that were in flight: one in a hundred.
    assert!(load.service_time.max_us >= 480e3, "{load:?}");
    assert!(load.service_time.p90_us < 200e3, "{load:?}");
}

#[test]
fn a_server_too_slow_for_the_rate_does_not_hold_it() {
    let addr = server(|_, stream| {
        thread::sleep(Duration::from_millis(20));
        let _ = stream.write_all(OK);
        Then::Keep
    });
    // Two connections carry 100 requests a second at most.
    let load = load(&settings(addr, 400, 2, 1000));
    assert!(!load.held);
    let short = |problem: &Problem| matches!(problem, Problem::RateShort { due: 400, .. });
    assert!(load.problems.iter().any(short), "{:?}", load.problems);
    let requests = load.requests;
    assert!(
        requests.answered <= 104 && requests.not_sent >= 296,
        "{requests:?}"
    );
    assert!(load.latency.p90_us > 400e3, "{:?}", load.latency);
}

#[test]
fn answers_of_every_framing_are_read_and_closed_connections_opened_again() {
    const CHUNKED: &[u8] =
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n2\r\nbc\r\n0\r\n\r\n";
    const CLOSING: &[u8] = b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok";
    const UNTIL_CLOSE: &[u8] = b"HTTP/1.1 200 OK\r\n\r\nok";
    for (answer, then) in [
        (CHUNKED, Then::Keep),
        (CLOSING, Then::Close),
        (UNTIL_CLOSE, Then::Close),
        // It closes without a word: the client sees that before its next request.
        (OK, Then::Close),
    ] {
        let load = load(&settings(answer_with(answer, then), 50, 5, 400));
        let text = str::from_utf8(answer).unwrap();
        assert_eq!(load.errors, Errors::default(), "{text}");
        assert_eq!(
            (load.requests.due, load.requests.answered),
            (20, 20),
            "{text}"
        );
        // The last ones need not be open again when the load ends.
        let expected = if then == Then::Close { 15..=20 } else { 0..=0 };
        assert!(
            expected.contains(&load.reconnects),
            "{text}: {}",
            load.reconnects
        );
    }
}

#[test]
fn a_long_answer_is_read_in_pieces() {
    const LENGTH: usize = 1 << 20;
    let addr = server(|_, stream| {
        let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {LENGTH}\r\n\r\n");
        let _ = stream.write_all(head.as_bytes());
        let _ = stream.write_all(&vec![b'x'; LENGTH]);
        Then::Keep
    });
    let load = load(&settings(addr, 20, 4, 500));
    assert_eq!(
        (load.requests.answered, load.errors),
        (10, Errors::default())
    );
    assert!(load.bytes > 10 * LENGTH as u64);
}

#[test]
fn a_request_longer_than_the_sockets_hold_is_written_in_pieces() {
    let addr = server(|_, stream| {
        let _ = stream.write_all(OK);
        Then::Keep
    });
    let mut settings = settings(addr, 10, 2, 600);
    settings.headers = vec![format!("X-Long: {}", "y".repeat(16 << 20))];
    let load = load(&settings);
    // The second requests of both connections come over the same ones.
    assert_eq!((load.errors, load.reconnects), (Errors::default(), 0));
    assert!(load.requests.answered >= 3, "{load:?}");
}

#[test]
fn what_is_sent_after_the_window_is_not_waited_for_without_end() {
    // Number 98 of 100 is answered after the end of the window, and number 99, which waits for it, never.
    let addr = server(|number, stream| {
        match number {
            98 => thread::sleep(Duration::from_millis(440)),
            99 => thread::sleep(Duration::from_secs(20)),
            _ => {}
        }
        let _ = stream.write_all(OK);
        Then::Keep
    });
    let mut settings = settings(addr, 50, 1, 2000);
    settings.timeout = Duration::from_secs(1);
    let load = load(&settings);
    let requests = load.requests;
    assert_eq!(requests.answered, 99, "{load:?}");
    // Had number 98 been sent too late, number 99 would not have been sent at all.
    if requests.sent_in_window == 99 {
        assert_eq!(
            (load.errors.timeout, requests.failed, requests.not_sent),
            (1, 1, 0)
        );
    }
}

#[test]
fn every_kind_of_error_is_counted_as_what_it_is() {
    const UNAVAILABLE: &[u8] = b"HTTP/1.1 503 Busy\r\ncontent-length: 0\r\n\r\n";
    const SHORT: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nok";
    let silent = server(|_, stream| {
        // Until the client gives up.
        let _ = stream.read(&mut [0]);
        Then::Close
    });
    let resetting = server(|_, stream| {
        // A socket closed with unread bytes resets its connection; a linger of none does so at once.
        let socket = socket2::SockRef::from(&*stream);
        let _ = socket.set_linger(Some(Duration::ZERO));
        Then::Close
    });
    type Kind = fn(&Errors) -> u64;
    let cases: [(SocketAddr, Kind); 6] = [
        (answer_with(UNAVAILABLE, Then::Keep), |errors| errors.status),
        (answer_with(SHORT, Then::Close), |errors| errors.short),
        (answer_with(b"", Then::Close), |errors| errors.short),
        (answer_with(b"SSH-2.0\r\n", Then::Close), |errors| {
            errors.protocol
        }),
        (silent, |errors| errors.timeout),
        (resetting, |errors| errors.read),
    ];
    for (case, (addr, kind)) in cases.into_iter().enumerate() {
        let mut settings = settings(addr, 20, 10, 500);
        settings.timeout = Duration::from_millis(400);
        let load = load(&settings);
        let requests = load.requests;
        assert_eq!(
            (requests.failed, requests.answered),
            (10, 0),
            "case {case}: {load:?}"
        );
        assert_eq!(
            (kind(&load.errors), load.errors.total()),
            (10, 10),
            "case {case}: {load:?}"
        );
        assert_eq!(load.latency.count, 0);
        assert!(matches!(load.problems.last(), Some(Problem::Errors { .. })));
    }
}

#[test]
fn a_server_that_goes_away_ends_the_load_in_time() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = listener.local_addr().unwrap();
    let server = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        drop(listener);
        read_request(&mut stream);
        let _ = stream.write_all(OK);
        let _ = stream.shutdown(Shutdown::Both);
    });
    let load = load(&settings(addr, 50, 1, 500));
    server.join().unwrap();
    assert!(!load.held, "{load:?}");
    assert!(
        load.errors.connect > 0 && load.requests.not_sent > 0,
        "{load:?}"
    );
    assert!(load.requests.answered <= 1);
}

fn rungs_load(args: &[&str]) -> (Option<i32>, String, String) {
    finish(
        Command::new(env!("CARGO_BIN_EXE_rungs"))
            .arg("load")
            .args(args),
    )
}

#[test]
fn the_command_prints_json_that_fits_its_schema_and_exits_accordingly() {
    let url = format!("http://{}/", answer_with(OK, Then::Keep));
    let args = [
        "--rate",
        "100",
        "--connections",
        "4",
        "--duration",
        "500ms",
        "--warmup",
        "100ms",
    ];
    let (code, stdout, stderr) =
        rungs_load(&[&args[..], &["--header", "X-Test: yes", &url]].concat());
    let json = serde_json::from_str(&stdout).unwrap();
    let validator = jsonschema::validator_for(schema_for!(PacedLoad).as_value()).unwrap();
    let errors: Vec<_> = validator
        .iter_errors(&json)
        .map(|error| error.to_string())
        .collect();
    assert_eq!(errors, [""; 0]);
    let load: PacedLoad = serde_json::from_value(json).unwrap();
    assert_eq!(
        (load.rate, load.connections, load.requests.due),
        (100, 4, 50)
    );
    assert_eq!(
        (load.url, load.headers),
        (url, vec!["X-Test: yes".to_owned()])
    );
    // On a busy machine the generator may be late: then it says so, here as there.
    let as_asked = load.problems.is_empty();
    assert_eq!(code, Some(if as_asked { 0 } else { 4 }), "{stderr}");
    assert_eq!(stderr.contains("the rate was held"), load.held, "{stderr}");
    assert_eq!(
        stderr.matches("\n- ").count(),
        load.problems.len(),
        "{stderr}"
    );
}

#[test]
fn failed_requests_make_the_command_fail_although_it_prints_them() {
    let addr = answer_with(b"HTTP/1.1 500 No\r\ncontent-length: 0\r\n\r\n", Then::Keep);
    let url = format!("http://{addr}/");
    let (code, stdout, stderr) = rungs_load(&[
        "--rate",
        "50",
        "--duration",
        "200ms",
        "--warmup",
        "0s",
        &url,
    ]);
    assert_eq!(code, Some(4), "{stderr}");
    assert!(stderr.contains("there were errors: 10 status"), "{stderr}");
    let load: PacedLoad = serde_json::from_str(&stdout).unwrap();
    assert_eq!(load.errors.status, 10);
}

/// The message of a load that exits with `status` and prints no result.
fn refusal(status: i32, args: &[&str]) -> String {
    let (code, stdout, stderr) = rungs_load(args);
    assert_eq!((code, stdout.as_str()), (Some(status), ""), "{stderr}");
    stderr
}

#[test]
fn what_cannot_be_loaded_is_said_in_one_sentence() {
    let unused = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let unused = format!("http://{unused}/");
    for (args, problem) in [
        (
            &["127.0.0.1:80"][..],
            "write it such as http://127.0.0.1:18470/",
        ),
        (&["https://127.0.0.1/"], "only http:// can be loaded"),
        (&["http://192.0.2.1/"], "add --allow-remote 192.0.2.1"),
        (
            &["http://192.0.2.1/", "--allow-remote", "192.0.2.2"],
            "add --allow-remote 192.0.2.1",
        ),
        (
            &["http://no-such-host.invalid/"],
            "the host no-such-host.invalid is not known",
        ),
        (&[&unused], "start the server first"),
        (
            &[&unused, "--duration", "0s"],
            "no request is due in the measured 0s",
        ),
    ] {
        let message = refusal(1, &[&["--rate", "100"], args].concat());
        assert!(message.contains(problem), "{args:?}: {message}");
        assert_eq!(message.lines().count(), 1, "{message}");
    }
    for (flag, problem) in [
        (["--rate", "0"], "from 1 to"),
        (["--connections", "many"], "from 1 to"),
        (["--duration", "10"], "such as 10s"),
        (["--header", "no colon"], "`Name: value`"),
        (["--cpus", "0-"], "such as 0,2-3"),
        (["--cpus", "4095"], "CPU 4095 is none of those"),
    ] {
        let mut args = vec![unused.as_str()];
        args.extend(flag);
        if flag[0] != "--rate" {
            args.extend(["--rate", "1"]);
        }
        let message = refusal(2, &args);
        assert!(message.contains(problem), "{flag:?}: {message}");
    }
}

#[test]
fn more_connections_than_descriptors_are_refused_beforehand() {
    let url = format!("http://{}/", answer_with(OK, Then::Keep));
    let script = format!(
        "ulimit -n 64; exec {} load --rate 10 --connections 100 {url}",
        env!("CARGO_BIN_EXE_rungs")
    );
    let (code, stdout, stderr) = finish(Command::new("sh").args(["-c", &script]));
    assert_eq!((code, stdout.as_str()), (Some(1), ""), "{stderr}");
    let expected = "100 connections need 132 descriptors, and this process may open 64";
    assert!(stderr.contains(expected), "{stderr}");
}

#[test]
fn ctrl_c_ends_a_load_at_once_and_without_a_result() {
    let addr = answer_with(OK, Then::Keep);
    let load = Command::new(env!("CARGO_BIN_EXE_rungs"))
        .args([
            "load",
            "--rate",
            "1",
            "--connections",
            "1",
            "--duration",
            "10m",
        ])
        .arg(format!("http://{addr}/"))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // It catches signals before it connects.
    common::eventually("a connection of the load", || {
        let pid = load.id();
        let links = std::fs::read_dir(format!("/proc/{pid}/fd")).ok()?;
        let mut targets = links
            .flatten()
            .filter_map(|fd| std::fs::read_link(fd.path()).ok());
        targets.find(|target| target.to_string_lossy().starts_with("socket:"))
    });
    let pid = rustix::process::Pid::from_child(&load);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let output = load.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stdout.len()), (Some(130), 0));
}
