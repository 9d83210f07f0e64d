//! Where hyper may differ from the raw rungs.

use super::Request;

/// A declared difference.
#[derive(Clone, Copy, Debug)]
pub struct Declared {
    /// How hyper differs, and why.
    pub why: &'static str,
    /// Whether it may show at this request.
    pub applies: fn(&Request) -> bool,
    /// The lines of the head, and the body, of a request at which it does show.
    pub witness: (&'static str, &'static str),
}

/// Each difference, in one line. One that its witness does not show any more fails the test `differential`.
#[rustfmt::skip]
pub const DECLARED: &[Declared] = &[
    Declared { why: "hyper leaves Host to the application", applies: doubtful_host, witness: ("GET / HTTP/1.1\r\nhost: a b", "") },
    Declared { why: "hyper skips only what it has already read of an unwanted body, one chunk at most; it closes instead", applies: unwanted_body, witness: ("GET / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked", "1\r\na\r\n0\r\n\r\n") },
    Declared { why: "hyper tells the application that the FIN has cut a body off, and that answers 400; the raw rungs close without a word", applies: unfinished_body, witness: ("POST /echo HTTP/1.1\r\nhost: a\r\ncontent-length: 999", "abc") },
    Declared { why: "hyper refuses what it cannot read in the version of the request before it, here HTTP/1.0", applies: keeps_alive_on_1_0, witness: ("GET / HTTP/1.0\r\nconnection: keep-alive", "nonsense\r\n\r\n") },
    Declared { why: "hyper lets control characters pass in what it ignores of a chunked body", applies: control_in_framing, witness: ("POST /echo HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked", "1;\x7f\r\na\r\n0\r\n\r\n") },
    Declared { why: "hyper answers 400 to a trailer line without a colon; the raw rungs ignore what is in trailers", applies: bare_trailer, witness: ("POST /echo HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked", "0\r\na\r\n\r\n") },
];

/// The host is not there once, as a plain name.
fn doubtful_host(request: &Request) -> bool {
    let hosts: Vec<_> = request.values("host").collect();
    let is_plain = |host: &&[u8]| {
        host.iter()
            .all(|byte| byte.is_ascii_alphanumeric() || *byte == b'.')
    };
    match &hosts[..] {
        [] => !request.line.ends_with(b" HTTP/1.0"),
        [host] => !is_plain(host),
        _several => true,
    }
}

fn unwanted_body(request: &Request) -> bool {
    let announced = request.has("content-length") || request.has("transfer-encoding");
    announced && !request.line.starts_with(b"POST /echo ")
}

/// More of the body may have to come than there is.
fn unfinished_body(request: &Request) -> bool {
    let length = request.body.len().to_string();
    let has_all = |value: &[u8]| value.trim_ascii_start().ends_with(length.as_bytes());
    if request.has("transfer-encoding") {
        !request.body.ends_with(b"\r\n\r\n")
    } else {
        !request.values("content-length").all(has_all)
    }
}

fn keeps_alive_on_1_0(request: &Request) -> bool {
    request.line.ends_with(b" HTTP/1.0") && request.has("connection")
}

fn control_in_framing(request: &Request) -> bool {
    let is_control = |byte: &u8| byte.is_ascii_control() && !b"\r\n\t".contains(byte);
    request.has("transfer-encoding") && request.body.iter().any(is_control)
}

/// The body ends with a line of trailers that has no colon.
fn bare_trailer(request: &Request) -> bool {
    let lines = request.body.strip_suffix(b"\r\n\r\n").unwrap_or_default();
    let last = lines
        .rsplit(|byte| *byte == b'\n')
        .next()
        .unwrap_or_default();
    request.has("transfer-encoding") && !last.contains(&b':') && !last.starts_with(b"0")
}
