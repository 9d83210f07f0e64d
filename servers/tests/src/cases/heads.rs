//! Request lines and header lines, good and bad.

use rungs_response::{Route, Status};

use super::{get, request};
use crate::case::{Case, Ending, nothing};
use crate::reply::{bad_request, error, not_found, ok, page};
use crate::{Group, Kind};

/// The longest head, in bytes.
const MAX_HEAD: usize = 16 << 10;

fn case(name: &'static str) -> Case {
    Case::new(Group::Heads, name)
}

/// A case in which this head is a bad request, and what follows it is not read as another one.
fn bad(name: &'static str, head: &str) -> Case {
    case(name)
        .send_text(format!("{head}{}", get("/")))
        .expect(bad_request().closed())
}

pub(super) fn cases() -> Vec<Case> {
    [
        lines(),
        targets(),
        hosts(),
        sizes(),
        bad_lines(),
        bad_versions(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn lines() -> Vec<Case> {
    vec![
        case("bare LF ends a line of the head")
            .send(b"GET /json HTTP/1.1\nhost: a\n\n")
            .expect(ok(Route::Json).open()),
        case("empty lines before a request are ignored")
            .send_text(format!("\r\n\r\n{}\r\n{}", get("/"), get("/")))
            .expect(vec![page(), page()].open()),
        case("an empty line alone is not a request")
            .send(b"\r\n")
            .expect(nothing().silent())
            .send_text(get("/"))
            .expect(page().open()),
        case("names in any case, spaces around values, bytes above 127")
            .send(b"GET / HTTP/1.1\r\nHOST:  a \t\r\nX-Bytes: \xc3\xa9\xff\r\n\r\n")
            .expect(page().open()),
    ]
}

fn targets() -> Vec<Case> {
    vec![
        case("an absolute target is routed by its path")
            .send_text(get("http://example.com/json?x"))
            .expect(ok(Route::Json).open()),
        case("an absolute target without a path is the page")
            .send_text(get("http://example.com"))
            .expect(page().open()),
        bad(
            "a target with a space",
            "GET /a b HTTP/1.1\r\nhost: a\r\n\r\n",
        ),
        bad(
            "a target without a slash",
            "GET json/x HTTP/1.1\r\nhost: a\r\n\r\n",
        ),
        bad("no target", "GET HTTP/1.1\r\nhost: a\r\n\r\n"),
    ]
}

fn hosts() -> Vec<Case> {
    const WHY: &str = "RFC 9112, section 3.2 wants 400; hyper leaves Host to the application";
    let malformed = |name, lines: &str| {
        let text = format!("GET / HTTP/1.1\r\n{lines}\r\n");
        case(name)
            .send_text(text)
            .expect(bad_request().closed())
            .unless(Kind::Hyper, page().open(), WHY)
            .unless(Kind::Axum, page().open(), WHY)
    };
    vec![
        malformed("HTTP/1.1 without Host", ""),
        malformed("two Host lines", "host: a\r\nhost: a\r\n"),
        malformed("a Host with a space", "host: a b\r\n"),
        malformed("a Host with a path", "host: a/b\r\n"),
        malformed("a Host with a user", "host: me@a\r\n"),
        malformed("a Host with a bad port", "host: a:80a\r\n"),
        case("a Host with a port")
            .send(b"GET / HTTP/1.1\r\nhost: localhost:18470\r\n\r\n")
            .expect(page().open()),
        case("a Host that is an IPv6 address")
            .send(b"GET / HTTP/1.1\r\nhost: [::1]:18470\r\n\r\n")
            .expect(page().open()),
        case("an empty Host")
            .send(b"GET / HTTP/1.1\r\nhost:\r\n\r\n")
            .expect(page().open()),
    ]
}

/// A GET whose head has so many bytes in all.
fn padded(length: usize) -> String {
    let bare = request("GET", "/", "x: \r\n").len();
    request("GET", "/", &format!("x: {}\r\n", "p".repeat(length - bare)))
}

fn sizes() -> Vec<Case> {
    const AXUM: &str =
        "axum::serve cannot limit heads: they may be as long as hyper's read buffer, about 400 KB";
    const HYPER: &str = "hyper's limit of the head does not tell the request line from the rest: 431 instead of 414";
    let too_large = || error(Status::RequestHeaderFieldsTooLarge).closed();
    let too_long = || error(Status::UriTooLong).closed();
    let headers = |n: usize| "x: y\r\n".repeat(n - 1);
    vec![
        case("a head of 16 KiB")
            .send_text(padded(MAX_HEAD))
            .expect(page().open()),
        case("a head of 16 KiB and one byte")
            .send_text(padded(MAX_HEAD + 1))
            .expect(too_large())
            .unless(Kind::Axum, page().open(), AXUM),
        case("a head of 2 MB is refused while it is sent")
            .send_text(padded(2_000_000))
            .expect(error(Status::RequestHeaderFieldsTooLarge).closed_in_order()),
        case("100 header lines")
            .send_text(request("GET", "/", &headers(100)))
            .expect(page().open()),
        case("101 header lines")
            .send_text(request("GET", "/", &headers(101)))
            .expect(too_large()),
        case("a target of 20,000 bytes")
            .send_text(get(&format!("/{}", "a".repeat(19_999))))
            .expect(too_long())
            .unless(Kind::Hyper, too_large(), HYPER)
            .unless(Kind::Axum, not_found().open(), AXUM),
        case("a target of 65,535 bytes")
            .send_text(get(&format!("/{}", "a".repeat(65_534))))
            .expect(too_long())
            .unless(Kind::Hyper, too_large(), HYPER),
    ]
}

fn bad_lines() -> Vec<Case> {
    let with = |line: &str| format!("GET / HTTP/1.1\r\nhost: a\r\n{line}\r\n\r\n");
    vec![
        bad("a folded header line", &with("x: a\r\n b")).quick(),
        bad("a space before the colon", &with("x : a")),
        bad("a name with a space", &with("x y: a")),
        bad("an empty name", &with(": a")),
        bad("a header line without a colon", &with("x")),
        bad("NUL in a name", &with("x\0: a")),
        bad("NUL in a value", &with("x: a\0b")),
        bad("a control character in a value", &with("x: a\u{1}b")),
        bad("CR in a value", &with("x: a\rb")),
        bad(
            "a method with a bad character",
            "G@T / HTTP/1.1\r\nhost: a\r\n\r\n",
        ),
        bad("a request line without version", "GET /\r\nhost: a\r\n\r\n"),
        bad(
            "a request line with a method only",
            "GET\r\nhost: a\r\n\r\n",
        ),
        bad(
            "a space before the method",
            " GET / HTTP/1.1\r\nhost: a\r\n\r\n",
        ),
        bad(
            "two spaces in the request line",
            "GET  / HTTP/1.1\r\nhost: a\r\n\r\n",
        ),
        bad(
            "words after the version",
            "GET / HTTP/1.1 x\r\nhost: a\r\n\r\n",
        ),
        bad(
            "a TLS greeting",
            "\u{16}\u{3}\u{1}\0\u{7f}\u{1}\0\0\u{7b}\r\n\r\n",
        ),
    ]
}

fn bad_versions() -> Vec<Case> {
    let version = |version| format!("GET / {version}\r\nhost: a\r\n\r\n");
    vec![
        bad("HTTP/1.2", &version("HTTP/1.2")),
        bad("HTTP/2.0", &version("HTTP/2.0")),
        bad("HTTP/9.9", &version("HTTP/9.9")),
        bad("http/1.1 in small letters", &version("http/1.1")),
        case("the preface of HTTP/2")
            .send(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
            .expect(bad_request().closed())
            .unless(
                Kind::Hyper,
                nothing().closed(),
                "hyper closes without a word",
            )
            .unless(
                Kind::Axum,
                nothing().closed(),
                "hyper closes without a word",
            ),
    ]
}
