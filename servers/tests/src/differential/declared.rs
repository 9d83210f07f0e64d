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
