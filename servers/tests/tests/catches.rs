//! The table must catch a server that breaks it. These servers do, each in one way.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::thread;
use std::time::SystemTime;

use rungs_conformance::{Agreement, Case, Failure, Kind, cases, check, differences};
use rungs_response::{Encoder, Status, Version};

fn case(name: &str) -> Case {
    let found = cases().into_iter().find(|case| case.name == name);
    found.unwrap_or_else(|| panic!("no case {name:?}"))
}

/// A server that answers each read with the same bytes, and closes after `reads` of them.
fn parrot(answer: Vec<u8>, reads: usize) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = listener.local_addr().unwrap();
    // Ends with the test's process.
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut stream, answer) = (stream.unwrap(), answer.clone());
            thread::spawn(move || {
                for _ in 0..reads {
                    if stream.read(&mut [0; 4096]).unwrap_or(0) == 0 {
                        return;
                    }
                    stream.write_all(&answer).unwrap();
                }
            });
        }
    });
    addr
}

fn now() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.unwrap().as_secs()
}

fn page_at(unix_seconds: u64) -> Vec<u8> {
    let mut page = Vec::new();
    Encoder::new(unix_seconds).page(&mut page);
    page
}

fn outcome(answer: Vec<u8>, reads: usize) -> Result<Agreement, Failure> {
    check(parrot(answer, reads), Kind::Raw, &case("GET / is the page"))
}

#[test]
fn the_right_page_passes() {
    assert_eq!(outcome(page_at(now()), 2), Ok(Agreement::Full));
}

#[test]
fn one_wrong_byte_fails_and_both_sides_are_shown() {
    let mut page = page_at(now());
    let at = page.len() - 3;
    page[at] = b'\x07';
    let failure = outcome(page, 2).unwrap_err();
    assert!(failure.expected.contains("width=\\\"320\\\""), "{failure}");
    assert!(failure.got.contains("\\x07"), "{failure}");
    assert_eq!(failure.case, "GET / is the page");
}

#[test]
fn a_wrong_date_fails() {
    assert!(outcome(page_at(now() - 60), 2).is_err());
    assert!(outcome(page_at(now() + 60), 2).is_err());
}

#[test]
fn a_missing_byte_fails() {
    let mut page = page_at(now());
    page.pop();
    assert!(outcome(page, 1).is_err());
}

#[test]
fn a_byte_too_many_fails() {
    let mut page = page_at(now());
    page.push(b'\n');
    assert!(outcome(page, 2).is_err());
}

#[test]
fn a_connection_that_does_not_stay_open_fails() {
    assert!(outcome(page_at(now()), 1).is_err());
}

#[test]
fn a_connection_that_stays_open_fails_where_it_must_close() {
    let closing = case("nothing is answered after a close");
    assert!(check(parrot(page_at(now()), 2), Kind::Raw, &closing).is_err());
}

#[test]
fn a_declared_difference_that_does_not_show_fails() {
    let no_host = case("HTTP/1.1 without Host");
    let addr = parrot(page_at(now()), 2);
    assert!(matches!(
        check(addr, Kind::Hyper, &no_host),
        Ok(Agreement::Declared(reasons)) if reasons.len() == 1
    ));
    assert!(check(addr, Kind::Raw, &no_host).is_err());

    let mut refusal = Vec::new();
    Encoder::new(now()).error(Status::BadRequest, Version::Http11, &mut refusal);
    let addr = parrot(refusal, 1);
    assert_eq!(check(addr, Kind::Raw, &no_host), Ok(Agreement::Full));
    assert!(check(addr, Kind::Hyper, &no_host).is_err());
}

#[test]
fn a_case_about_the_process_needs_one() {
    let idle = case("a server with idle connections sleeps");
    assert!(idle.needs_process());
    assert!(check(parrot(page_at(now()), 1), Kind::Null, &idle).is_err());
}

#[test]
fn the_raw_rungs_are_the_rule() {
    let json = case("GET /json is the object");
    assert_eq!(json.exemption(Kind::Raw), None);
    assert!(json.exemption(Kind::Null).is_some());
    let differing: Vec<_> = differences()
        .iter()
        .map(|difference| difference.kind)
        .collect();
    assert!(differing.contains(&Kind::Hyper) && differing.contains(&Kind::Axum));
    assert!(!differing.contains(&Kind::Raw));
}
