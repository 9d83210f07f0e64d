//! One request head: parsed by httparse, judged, and routed.

use std::mem::MaybeUninit;

use httparse::{ParserConfig, Status as Parsed};
use rungs_response::{Refusal, Route, Status, Version, route};

use crate::body::Body;
use crate::fields::Fields;
use crate::{MAX_HEAD, MAX_HEADERS, target};

/// A request without its body, routed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Head {
    /// The bytes of the head.
    pub(crate) len: usize,
    pub(crate) version: Version,
    /// What is asked for.
    pub(crate) route: Result<Route, Refusal>,
    /// The method is HEAD.
    pub(crate) head_only: bool,
    /// The client wants the connection to stay open, and the request allows it.
    pub(crate) keep_alive: bool,
    /// The client waits for `100 Continue` before it sends the body.
    pub(crate) expects_continue: bool,
    pub(crate) body: Body,
}

/// The length of the empty lines at the start of `input`, which a server ignores before a request (RFC 9112,
/// section 2.2). A CR whose LF has not come is not counted.
pub(crate) fn empty_lines(input: &[u8]) -> usize {
    let mut rest = input;
    while let [b'\r', b'\n', after @ ..] | [b'\n', after @ ..] = rest {
        rest = after;
    }
    input.len() - rest.len()
}

/// Parses the head that `input` starts with; `None` if it has not ended yet. There are no empty lines before it.
///
/// The error is the status of the answer. It depends on the first [`MAX_HEAD`] bytes only, so that it is the same
/// however they came.
pub(crate) fn parse(input: &[u8]) -> Result<Option<Head>, Status> {
    let window = &input[..input.len().min(MAX_HEAD)];
    let mut headers = [const { MaybeUninit::uninit() }; MAX_HEADERS];
    let mut request = httparse::Request::new(&mut []);
    let parsed = ParserConfig::default().parse_request_with_uninit_headers(
        &mut request,
        window,
        &mut headers,
    );
    match parsed {
        Ok(Parsed::Complete(len)) => Head::new(&request, len).map(Some),
        Ok(Parsed::Partial) if window.len() < MAX_HEAD => Ok(None),
        Ok(Parsed::Partial) if window.contains(&b'\n') => Err(Status::RequestHeaderFieldsTooLarge),
        Ok(Parsed::Partial) => Err(Status::UriTooLong),
        Err(httparse::Error::TooManyHeaders) => Err(Status::RequestHeaderFieldsTooLarge),
        Err(_) => Err(Status::BadRequest),
    }
}

impl Head {
    fn new(request: &httparse::Request<'_, '_>, len: usize) -> Result<Self, Status> {
        let (Some(method), Some(target)) = (request.method, request.path) else {
            unreachable!("httparse has parsed the whole head");
        };
        let version = match request.version {
            Some(1) => Version::Http11,
            _ => Version::Http10,
        };
        let mut fields = Fields::default();
        for header in request.headers.iter() {
            fields.read(header.name, header.value)?;
        }
        fields.check(version)?;
        let path = target::path(target).ok_or(Status::BadRequest)?;
        Ok(Self {
            len,
            version,
            route: route(method, &path),
            head_only: method == "HEAD",
            keep_alive: fields.keep_alive(version),
            expects_continue: fields.expects_continue && version == Version::Http11,
            body: fields.body(),
        })
    }

    /// Whether the body is part of the answer, and so has to be here before it.
    pub(crate) fn wants_body(&self) -> bool {
        self.route == Ok(Route::Echo) && !self.body.is_done()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) const PLAIN: &str = "GET / HTTP/1.1\r\nhost: a\r\n";

    #[track_caller]
    pub(crate) fn accept(head: &str) -> Head {
        let parsed = parse(format!("{head}\r\n").as_bytes());
        parsed.unwrap().expect("the head is whole")
    }

    #[track_caller]
    pub(crate) fn refuse(head: &str) {
        let parsed = parse(format!("{head}\r\n").as_bytes());
        assert_eq!(parsed.err(), Some(Status::BadRequest), "{head:?}");
    }

    #[test]
    fn only_whole_empty_lines_are_counted() {
        assert_eq!(empty_lines(b"GET"), 0);
        assert_eq!(empty_lines(b"\r\n\n\r\nGET"), 5);
        assert_eq!(empty_lines(b"\n\r"), 1);
        assert_eq!(empty_lines(b"\r\r\n"), 0);
    }

    #[test]
    fn a_head_is_routed() {
        let head = accept("HEAD /json?q HTTP/1.1\r\nHost: a\r\n");
        assert_eq!(head.route, Ok(Route::Json));
        assert!(head.head_only && head.keep_alive && head.body.is_done());
        assert_eq!(head.len, "HEAD /json?q HTTP/1.1\r\nHost: a\r\n\r\n".len());
        let head = accept("GET http://a/json HTTP/1.1\nhost: a\n");
        assert_eq!(head.route, Ok(Route::Json));
        let head = accept("BREW / HTTP/1.0\r\n");
        assert!(matches!(head.route, Err(Refusal::MethodNotAllowed { .. })));
        assert_eq!(head.version, Version::Http10);
    }

    #[test]
    fn half_a_head_is_neither_accepted_nor_refused() {
        let whole = format!("{PLAIN}\r\n");
        for end in 0..whole.len() {
            assert!(parse(&whole.as_bytes()[..end]).unwrap().is_none(), "{end}");
        }
    }

    #[test]
    fn broken_request_lines() {
        for line in [
            "G@T / HTTP/1.1",
            " GET / HTTP/1.1",
            "GET  / HTTP/1.1",
            "GET /",
            "GET / ",
            "GET / HTTP/1.2",
            "GET / HTTP/2.0",
            "GET / HTTP/9.9",
            "GET / http/1.1",
            "GET / HTTP/1.1 ",
            "GET /a\u{7f} HTTP/1.1",
            "GET json/ HTTP/1.1",
            "PRI * HTTP/2.0",
        ] {
            refuse(&format!("{line}\r\nhost: a\r\n"));
        }
    }

    #[test]
    fn broken_header_lines() {
        for line in [
            "a: b\r\n c\r\n",
            "a : b\r\n",
            " a: b\r\n",
            "a\r\n",
            ": b\r\n",
            "a: \0\r\n",
            "a: \x01\r\n",
            "a: b\rc\r\n",
            "a\0: b\r\n",
        ] {
            refuse(&format!("{PLAIN}{line}"));
        }
    }

    #[test]
    fn sizes_are_bounded() {
        let fill = |n: usize| {
            let start = format!("{PLAIN}a: ");
            let value = "b".repeat(n - start.len() - "\r\n\r\n".len());
            format!("{start}{value}\r\n\r\n")
        };
        let fits = fill(MAX_HEAD);
        assert_eq!(parse(fits.as_bytes()).unwrap().unwrap().len, MAX_HEAD);
        let too_long = fill(MAX_HEAD + 1);
        let too_large = Some(Status::RequestHeaderFieldsTooLarge);
        assert_eq!(parse(too_long.as_bytes()).err(), too_large);
        assert!(
            parse(&too_long.as_bytes()[..MAX_HEAD - 1])
                .unwrap()
                .is_none()
        );
        assert_eq!(parse(&too_long.as_bytes()[..MAX_HEAD]).err(), too_large);

        let line = format!("GET /{}", "a".repeat(MAX_HEAD));
        assert_eq!(parse(line.as_bytes()).err(), Some(Status::UriTooLong));
    }

    #[test]
    fn header_lines_are_counted() {
        let lines = |n: usize| format!("{PLAIN}{}\r\n", "a: b\r\n".repeat(n - 1));
        assert!(parse(lines(MAX_HEADERS).as_bytes()).unwrap().is_some());
        let parsed = parse(lines(MAX_HEADERS + 1).as_bytes());
        assert_eq!(parsed.err(), Some(Status::RequestHeaderFieldsTooLarge));
    }
}
