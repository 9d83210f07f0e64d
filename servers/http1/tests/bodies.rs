//! Bodies that are wanted, and bodies that are not.

mod common;

use common::{Client, echo, error, statuses};
use rungs_http1::{MAX_DRAIN, Next};
use rungs_response::MAX_ECHO;

const GET: &str = "GET / HTTP/1.1\r\nhost: a\r\n\r\n";

fn post(lines: &str) -> String {
    format!("POST /echo HTTP/1.1\r\nhost: a\r\n{lines}\r\n\r\n")
}

fn chunked() -> String {
    post("transfer-encoding: chunked")
}

#[test]
fn a_body_comes_back_in_both_framings() {
    let mut client = Client::new();
    let request = post("content-length: 5");
    assert_eq!(client.exchange(&format!("{request}hello")), echo("hello"));
    assert_eq!(client.exchange(&format!("{request}he")), "");
    assert_eq!(
        client.exchange(&format!("llo{request}again")),
        echo("hello") + &echo("again")
    );
    let request = format!("{}3;x=y\r\nabc\r\n2\r\nde\r\n0\r\nA: b\r\n\r\n", chunked());
    assert_eq!(client.exchange(&request.repeat(2)), echo("abcde").repeat(2));
    assert_eq!(
        client.exchange("POST /echo HTTP/1.1\r\nhost: a\r\n\r\n"),
        echo("")
    );
    assert_eq!((client.next(), client.requests), (Next::Read, 6));
}

#[test]
fn two_framings_are_one_body_and_the_last() {
    let mut client = Client::new();
    let request = post("content-length: 3\r\ntransfer-encoding: chunked");
    let answer = client.exchange(&format!("{request}1\r\na\r\n0\r\n\r\n{GET}"));
    assert_eq!(
        answer,
        "HTTP/1.1 200 OK\r\ncontent-length: 1\r\nconnection: close\r\n\r\na"
    );
    assert_eq!(client.next(), Next::Close);
}

#[test]
fn the_longest_body_and_one_byte_more() {
    let body = "x".repeat(MAX_ECHO);
    let too_large = error("413 Payload Too Large");
    let mut client = Client::new();
    let request = post(&format!("content-length: {MAX_ECHO}"));
    assert!(
        client
            .exchange(&format!("{request}{body}"))
            .ends_with(&body)
    );
    let request = format!("{}{MAX_ECHO:x}\r\n{body}\r\n", chunked());
    assert!(
        client
            .exchange(&format!("{request}0\r\n\r\n"))
            .ends_with(&body)
    );

    assert_eq!(client.exchange(&format!("{request}1\r\n")), "");
    assert_eq!(client.exchange("x"), too_large);
    assert_eq!(client.next(), Next::Linger);

    let mut client = Client::new();
    let request = post(&format!(
        "content-length: {}\r\nexpect: 100-continue",
        MAX_ECHO + 1
    ));
    assert_eq!(client.exchange(&request), too_large);
    assert_eq!(client.next(), Next::Linger);

    let request = format!(
        "POST /echo HTTP/1.0\r\ncontent-length: {}\r\n\r\n",
        u64::MAX
    );
    let answer = Client::new().exchange(&request);
    assert!(answer.starts_with("HTTP/1.0 413 "), "{answer}");
}

#[test]
fn broken_chunks_are_a_bad_request() {
    for body in [
        "x\r\n",
        "1\na\r\n0\r\n\r\n",
        "1\r\nab\r\n0\r\n\r\n",
        "10000000000000000\r\n",
    ] {
        let mut client = Client::new();
        let answer = client.exchange(&format!("{}{body}{GET}", chunked()));
        assert_eq!(answer, error("400 Bad Request"), "{body:?}");
        assert_eq!(client.next(), Next::Linger);
    }
}

#[test]
fn a_client_that_waits_is_told_to_go_on() {
    let mut client = Client::new();
    for lines in ["content-length: 2", "transfer-encoding: chunked"] {
        let answer = client.exchange(&post(&format!("{lines}\r\nexpect: 100-continue")));
        assert_eq!(answer, "HTTP/1.1 100 Continue\r\n\r\n");
        let body = if lines.ends_with('2') {
            "ab"
        } else {
            "2\r\nab\r\n0\r\n\r\n"
        };
        assert_eq!(client.exchange(body), echo("ab"));
    }
    assert_eq!(client.exchange(&post("expect: 100-continue")), echo(""));
    let old = "POST /echo HTTP/1.0\r\ncontent-length: 2\r\nexpect: 100-continue\r\n\r\n";
    assert_eq!(client.exchange(old), "");
}

#[test]
fn a_client_that_waits_for_nothing_is_told_at_once() {
    let mut client = Client::new();
    let answer = client.exchange(
        "GET /none HTTP/1.1\r\nhost: a\r\ncontent-length: 2\r\nexpect: 100-continue\r\n\r\n",
    );
    assert_eq!(
        answer,
        "HTTP/1.1 404 Not Found\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
    );
    assert_eq!(client.next(), Next::Linger);
}

#[test]
fn a_short_unwanted_body_is_skipped() {
    let mut client = Client::new();
    let answer = client.exchange("POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 40\r\n\r\nGET");
    assert_eq!(statuses(&answer), ["405"]);
    assert_eq!(
        client.exchange(&" /evil HTTP/1.1\r\nhost: a\r\n\r\n         "[..37]),
        ""
    );
    assert_eq!(statuses(&client.exchange(GET)), ["200"]);
    let request =
        "GET /json HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n";
    assert_eq!(
        statuses(&client.exchange(&format!("{request}{GET}"))),
        ["200", "200"]
    );
    assert_eq!(client.next(), Next::Read);
}

#[test]
fn a_long_unwanted_body_ends_the_connection() {
    let get =
        |length: u64| format!("GET /json HTTP/1.1\r\nhost: a\r\ncontent-length: {length}\r\n\r\n");
    let body = "x".repeat(usize::try_from(MAX_DRAIN).unwrap());
    let mut client = Client::new();
    assert!(!client.exchange(&get(MAX_DRAIN)).contains("connection"));
    assert_eq!(client.exchange(&body), "");
    assert_eq!(client.next(), Next::Read);
    assert!(
        client
            .exchange(&get(MAX_DRAIN + 1))
            .contains("connection: close")
    );
    assert_eq!(client.next(), Next::Linger);

    let mut client = Client::new();
    let request = "GET /json HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n";
    let answer = client.exchange(&format!("{request}100000\r\n"));
    assert!(!answer.contains("connection"), "{answer}");
    assert_eq!(client.exchange(&body), "");
    assert_eq!(client.next(), Next::Linger);
}

#[test]
fn a_broken_unwanted_body_ends_the_connection_silently() {
    let mut client = Client::new();
    let request = "GET / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n1\r\nab";
    assert_eq!(
        statuses(&client.exchange(&format!("{request}{GET}"))),
        ["200"]
    );
    assert_eq!(client.next(), Next::Linger);
}

#[test]
fn an_unwanted_body_behind_a_long_answer() {
    let mut client = Client::new();
    let request = "GET /bytes/100000 HTTP/1.1\r\nhost: a\r\ncontent-length: 3\r\n\r\nabc";
    assert_eq!(
        statuses(&client.exchange(&format!("{request}{GET}"))),
        ["200", "200"]
    );
    assert_eq!(client.next(), Next::Read);
}
