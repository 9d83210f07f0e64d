//! Request bodies that are not as they should be. None may end as a second request.

use std::time::Duration;

use super::{chunked, get, post_head, request};
use crate::Group;
use crate::case::{Case, Ending, Expected, ProcessStep, nothing};
use crate::reply::{bad_request, echo, page};

fn case(name: &'static str) -> Case {
    Case::new(Group::Bodies, name)
}

/// An error, or no word: but no answer to what follows.
fn refused() -> Expected {
    bad_request().closed().or(nothing().closed())
}

pub(super) fn cases() -> Vec<Case> {
    [lengths(), encodings(), chunks(), cut_off()]
        .into_iter()
        .flatten()
        .collect()
}

/// A case in which these framing lines are a bad request.
fn bad_framing(name: &'static str, lines: &str) -> Case {
    let text = request("POST", "/echo", lines) + "0\r\n\r\n" + &get("/");
    case(name).send_text(text).expect(bad_request().closed())
}

fn lengths() -> Vec<Case> {
    let length = |name, value: &str| bad_framing(name, &format!("content-length: {value}\r\n"));
    vec![
        length("content-length: abc", "abc").quick(),
        length("content-length: -1", "-1"),
        length("content-length: +5", "+5"),
        length("content-length: 5, 5", "5, 5"),
        length("content-length: 0x5", "0x5"),
        length("content-length: 5 5", "5 5"),
        length("an empty content-length", ""),
        length("a content-length over u64", "18446744073709551616"),
        length("two content-lengths that differ", "5\r\ncontent-length: 6"),
    ]
}

fn encodings() -> Vec<Case> {
    let both = |name, lines: &str| {
        let text = request("POST", "/echo", lines) + "5\r\nhello\r\n0\r\n\r\n" + &get("/");
        case(name)
            .send_text(text)
            .expect(echo("hello").closing().closed())
    };
    vec![
        both(
            "transfer-encoding wins over content-length before it, then the connection closes",
            "content-length: 3\r\ntransfer-encoding: chunked\r\n",
        ),
        both(
            "transfer-encoding wins over content-length after it, then the connection closes",
            "transfer-encoding: chunked\r\ncontent-length: 3\r\n",
        ),
        bad_framing("transfer-encoding: gzip", "transfer-encoding: gzip\r\n"),
        bad_framing(
            "transfer-encoding: chunked, gzip",
            "transfer-encoding: chunked, gzip\r\n",
        ),
        bad_framing(
            "transfer-encoding: xchunked",
            "transfer-encoding: xchunked\r\n",
        ),
        bad_framing("an empty transfer-encoding", "transfer-encoding:\r\n"),
        bad_framing(
            "a space after transfer-encoding",
            "transfer-encoding : chunked\r\n",
        ),
        bad_framing(
            "a control character before chunked",
            "transfer-encoding: \u{b}chunked\r\n",
        ),
        bad_framing(
            "content-length and a transfer-encoding that is not chunked",
            "content-length: 5\r\ntransfer-encoding: identity\r\n",
        ),
        case("transfer-encoding on HTTP/1.0")
            .send_text(format!(
                "POST /echo HTTP/1.0\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n{}",
                get("/")
            ))
            .expect(bad_request().closed()),
    ]
}

fn chunks() -> Vec<Case> {
    let bad = |name, body: &str| {
        let text = chunked(body) + &get("/");
        case(name).send_text(text).expect(refused())
    };
    let long = "x".repeat(20_000);
    vec![
        bad("a chunk size that is no number", "g\r\nhello\r\n0\r\n\r\n"),
        bad("an empty chunk size", "\r\nhello\r\n0\r\n\r\n"),
        bad("a negative chunk size", "-5\r\nhello\r\n0\r\n\r\n"),
        bad("a chunk size with 0x", "0x5\r\nhello\r\n0\r\n\r\n"),
        bad(
            "a chunk size over u64",
            "10000000000000005\r\nhello\r\n0\r\n\r\n",
        ),
        bad("bare LF after a chunk size", "5\nhello\r\n0\r\n\r\n"),
        bad("bare LF in a chunk extension", "5;a\nhello\r\n0\r\n\r\n"),
        bad("bare LF after chunk data", "5\r\nhello\n0\r\n\r\n"),
        bad("chunk data longer than its size", "4\r\nhello\r\n0\r\n\r\n"),
        bad(
            "chunk extensions over 16 KiB",
            &format!("5;{long}\r\nhello\r\n0\r\n\r\n"),
        ),
        bad(
            "trailers over 16 KiB",
            &format!("5\r\nhello\r\n0\r\nx: {long}\r\n\r\n"),
        ),
        case("a bad chunk in a body that nobody wants is not followed by another answer")
            .send_text(request("GET", "/", "transfer-encoding: chunked\r\n") + "g\r\n" + &get("/"))
            .expect(page().closed().or(page().closing().closed())),
    ]
}

fn cut_off() -> Vec<Case> {
    vec![
        case("a body cut off by FIN")
            .send_text(post_head(10) + "abc")
            .half_close()
            .process(ProcessStep::Rests(Duration::from_millis(200)))
            .expect(refused()),
        case("a chunked body cut off by FIN")
            .send_text(chunked("5\r\nhel"))
            .half_close()
            .expect(refused()),
        case("a head cut off by FIN")
            .send(b"GET / HTTP/1.1\r\nho")
            .half_close()
            .expect(refused()),
    ]
}
