//! One request after another: what is answered, in which version, and what becomes of the connection.

mod common;

use common::{Client, error, statuses};
use rungs_http1::{MAX_HEAD, Next, OUTPUT_CHUNK};

const GET: &str = "GET / HTTP/1.1\r\nhost: a\r\n\r\n";
const PAGE: &str =
    "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 83\r\n\r\n<img src";

/// A request on a fresh connection: the answer, and what comes next.
fn once(request: &str) -> (String, Next) {
    let mut client = Client::new();
    let answer = client.exchange(request);
    assert_eq!(client.requests, statuses(&answer).len() as u64);
    (answer, client.next())
}

#[test]
fn the_page_stays_open() {
    let mut client = Client::new();
    for round in 1..=3 {
        let answer = client.exchange(GET);
        assert!(answer.starts_with(PAGE), "{answer}");
        assert_eq!(client.next(), Next::Read);
        assert_eq!(client.requests, round);
    }
}

#[test]
fn pipelined_requests_are_answered_in_order_at_once() {
    let mut client = Client::new();
    let other = "GET /json HTTP/1.1\r\nhost: a\r\n\r\n";
    client.receive(
        format!(
            "{GET}{other}BREW / HTTP/1.1\r\nhost: a\r\n\r\n{}",
            &GET[..7]
        )
        .as_bytes(),
    );
    let answers = client.take();
    assert_eq!(statuses(&answers), ["200", "200", "405"]);
    assert!(answers.find("text/html") < answers.find("application/json"));
    assert_eq!(client.next(), Next::Read);
    assert_eq!(statuses(&client.exchange(&GET[7..])), ["200"]);
}

#[test]
fn a_request_in_single_bytes_is_answered_after_the_last() {
    let mut client = Client::new();
    let (last, bytes) = GET.as_bytes().split_last().unwrap();
    for byte in bytes {
        client.receive(&[*byte]);
        assert!(client.out.is_empty());
        assert_eq!(client.next(), Next::Read);
    }
    client.receive(&[*last]);
    assert!(client.take().starts_with(PAGE));
}

#[test]
fn close_is_said_and_done() {
    let (answer, next) = once("GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\nGET /");
    assert!(answer.contains("\r\nconnection: close\r\n"), "{answer}");
    assert_eq!((statuses(&answer).len(), next), (1, Next::Close));
}

#[test]
fn http_1_0_closes_unless_asked() {
    let (answer, next) = once("GET / HTTP/1.0\r\n\r\n");
    assert!(answer.starts_with("HTTP/1.0 200 OK\r\n"), "{answer}");
    assert!(!answer.contains("connection:"), "{answer}");
    assert_eq!(next, Next::Close);
    let (answer, next) = once("GET / HTTP/1.0\r\nconnection: keep-alive\r\n\r\n");
    assert!(
        answer.contains("\r\nconnection: keep-alive\r\n"),
        "{answer}"
    );
    assert_eq!(next, Next::Read);
}

#[test]
fn head_has_the_headers_of_get() {
    let (get, _) = once(GET);
    let (head, next) = once("HEAD / HTTP/1.1\r\nhost: a\r\n\r\n");
    assert_eq!(head, get[..get.find("<img").unwrap()]);
    assert_eq!(next, Next::Read);
    let (head, next) = once("HEAD /bytes/1000000 HTTP/1.1\r\nhost: a\r\n\r\n");
    assert!(head.ends_with("content-length: 1000000\r\n\r\n"), "{head}");
    assert_eq!(next, Next::Read);
}

#[test]
fn unknown_paths_and_methods_keep_the_connection() {
    for (line, status) in [
        ("GET /none", "404"),
        ("POST /", "405"),
        ("BREW /echo", "405"),
        ("BREW /none", "404"),
        ("OPTIONS *", "404"),
        ("CONNECT a:80", "404"),
    ] {
        let (answer, next) = once(&format!("{line} HTTP/1.1\r\nhost: a\r\n\r\n"));
        assert_eq!(statuses(&answer), [status], "{line}");
        assert_eq!(answer.contains("\r\nallow: "), status == "405", "{line}");
        assert_eq!(next, Next::Read, "{line}");
    }
}

#[test]
fn bad_requests_are_told_and_the_client_can_read_it() {
    let bad = error("400 Bad Request");
    for request in [
        "GET / HTTP/1.1\r\n\r\n",
        "GET / HTTP/2.0\r\nhost: a\r\n\r\n",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "\0",
        "GET / HTTP/1.0\r\ntransfer-encoding: chunked\r\n\r\n",
    ] {
        assert_eq!(once(request), (bad.clone(), Next::Linger), "{request:?}");
    }
}

#[test]
fn nothing_is_answered_after_an_error() {
    let mut client = Client::new();
    let answers = client.exchange(&format!("{GET}nonsense\r\n\r\n{GET}"));
    assert_eq!(statuses(&answers), ["200", "400"]);
    assert_eq!(client.exchange(GET), "");
    assert_eq!((client.next(), client.requests), (Next::Linger, 2));
}

#[test]
fn too_much_head() {
    let lines = "a: b\r\n".repeat(MAX_HEAD / 6);
    let (answer, next) = once(&format!("GET / HTTP/1.1\r\n{lines}"));
    let too_large = error("431 Request Header Fields Too Large");
    assert_eq!((answer, next), (too_large, Next::Linger));
    let (answer, next) = once(&format!("GET /{}", "a".repeat(70_000)));
    assert_eq!((answer, next), (error("414 URI Too Long"), Next::Linger));
}

#[test]
fn empty_lines_before_a_request_are_ignored() {
    let (answer, next) = once(&format!("\r\n\n{GET}\r\n"));
    assert_eq!((statuses(&answer), next), (vec!["200"], Next::Read));
    let (answer, _) = once(&format!("{}{GET}", "\r\n".repeat(MAX_HEAD)));
    assert_eq!(statuses(&answer), ["200"]);
    assert_eq!(statuses(&once("\r\r\n").0), ["400"]);
}

#[test]
fn long_answers_come_in_pieces() {
    let mut client = Client::new();
    let request = "GET /bytes/200000 HTTP/1.1\r\nhost: a\r\n\r\n";
    client.receive(format!("{request}{GET}").as_bytes());
    let mut pieces = vec![client.out.len()];
    while client.next() == Next::Resume {
        let before = client.out.len();
        client.call(rungs_http1::Connection::resume);
        pieces.push(client.out.len() - before);
    }
    assert_eq!(pieces.len(), 4, "{pieces:?}");
    assert!(pieces.iter().all(|&n| n <= OUTPUT_CHUNK), "{pieces:?}");

    let answers = client.take();
    assert_eq!(statuses(&answers), ["200", "200"]);
    let body = &answers[answers.find("\r\n\r\n").unwrap() + 4..][..200_000];
    assert!(
        body.bytes().eq(rungs_response::PATTERN
            .iter()
            .copied()
            .cycle()
            .take(200_000))
    );
}

#[test]
fn what_comes_during_a_long_answer_is_answered_after_it() {
    let mut client = Client::new();
    client.receive(b"GET /bytes/100000 HTTP/1.1\r\nhost: a\r\n\r\n");
    assert_eq!(client.next(), Next::Resume);
    client.receive(&GET.as_bytes()[..5]);
    client.receive(&GET.as_bytes()[5..]);
    assert_eq!(statuses(&client.take()), ["200"]);
    client.flush();
    assert_eq!(statuses(&client.take()), ["200"]);
    assert_eq!(client.next(), Next::Read);
}

#[test]
fn many_pipelined_requests_wait_for_the_flush() {
    let mut client = Client::new();
    client.receive(GET.repeat(1000).as_bytes());
    assert_eq!(client.next(), Next::Resume);
    assert!(client.out.len() < OUTPUT_CHUNK + 1000);
    assert!(client.requests < 1000);
    client.flush();
    assert_eq!((client.next(), client.requests), (Next::Read, 1000));
    assert_eq!(statuses(&client.take()).len(), 1000);
}
