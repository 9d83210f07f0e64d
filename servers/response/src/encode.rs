//! Answers as bytes. What can be encoded once is; only the date changes, once a second.

use std::time::{Duration, SystemTime};

use crate::{Answer, Body, Route, Status};

/// Length of an IMF-fixdate such as `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110, section 5.6.7).
const DATE_LEN: usize = 29;

/// The version that the status line names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// HTTP/1.0
    Http10,
    /// HTTP/1.1
    Http11,
}

/// What the `connection` line says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Connection {
    /// There is no such line: the version's default holds.
    Unsaid,
    /// `keep-alive`, said to an HTTP/1.0 client that asked for it.
    KeepAlive,
    /// `close`
    Close,
}

/// How an [`Answer`] is to be framed for the request at hand.
#[derive(Clone, Copy, Debug)]
pub struct Framing<'a> {
    /// The version of the status line.
    pub version: Version,
    /// The `connection` line.
    pub connection: Connection,
    /// The request was HEAD: the same head, no body.
    pub head_only: bool,
    /// The request's body, which [`Body::Echo`] gives back.
    pub echo: &'a [u8],
}

impl Framing<'_> {
    /// The answer to an HTTP/1.1 request without a body, on a connection that stays open.
    pub const PLAIN: Self = Self {
        version: Version::Http11,
        connection: Connection::Unsaid,
        head_only: false,
        echo: b"",
    };
}

/// Writes answers as bytes. Each worker owns one.
#[derive(Debug)]
pub struct Encoder {
    date: [u8; DATE_LEN],
    second: u64,
    /// The whole answer to a plain `GET /`, which is what a sweep asks for.
    page: Vec<u8>,
    page_date_at: usize,
}

impl Encoder {
    /// An encoder whose `date` is that of `unix_seconds`.
    #[must_use]
    pub fn new(unix_seconds: u64) -> Self {
        let mut encoder = Self {
            date: [0; DATE_LEN],
            second: unix_seconds,
            page: Vec::new(),
            page_date_at: 0,
        };
        encoder.date = imf_fixdate(unix_seconds);
        let answer = Route::Page.answer();
        let Body::Static(body) = answer.body else {
            unreachable!("the page is static");
        };
        let mut page = Vec::new();
        encoder.head(&answer, body.len(), &Framing::PLAIN, &mut page);
        encoder.page_date_at = page.len() - DATE_LEN - b"\r\n\r\n".len();
        page.extend_from_slice(body);
        encoder.page = page;
        encoder
    }

    /// Moves `date` to `unix_seconds`; costs a comparison while the second is the same.
    pub fn set_time(&mut self, unix_seconds: u64) {
        if unix_seconds == self.second {
            return;
        }
        self.second = unix_seconds;
        self.date = imf_fixdate(unix_seconds);
        self.page[self.page_date_at..][..DATE_LEN].copy_from_slice(&self.date);
    }

    /// Appends the whole answer to a `GET /` of HTTP/1.1 on a connection that stays open.
    #[inline]
    pub fn page(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.page);
    }

    /// Appends `answer`, and returns how many bytes of [`crate::PATTERN`] the caller has still to send after it.
    pub fn answer(&self, answer: &Answer, framing: Framing<'_>, out: &mut Vec<u8>) -> u32 {
        let (body, pattern): (&[u8], u32) = match &answer.body {
            Body::Empty => (&[], 0),
            Body::Static(bytes) => (bytes, 0),
            Body::Inline(inline) => (inline.as_slice(), 0),
            Body::Pattern(n) => (&[], *n),
            Body::Echo => (framing.echo, 0),
        };
        let length = body.len() + pattern as usize;
        self.head(answer, length, &framing, out);
        if framing.head_only {
            return 0;
        }
        out.extend_from_slice(body);
        pattern
    }

    /// Appends the answer to a request that could not be served, after which the connection closes.
    ///
    /// hyper writes `connection` before `content-length` here, and so do we.
    pub fn error(&self, status: Status, version: Version, out: &mut Vec<u8>) {
        self.status_line(status, version, out);
        out.extend_from_slice(b"connection: close\r\ncontent-length: 0\r\n");
        self.date_and_end(out);
    }

    /// Appends the interim answer to `Expect: 100-continue`.
    pub fn proceed(out: &mut Vec<u8>) {
        out.extend_from_slice(b"HTTP/1.1 100 Continue\r\n\r\n");
    }

    fn head(&self, answer: &Answer, length: usize, framing: &Framing<'_>, out: &mut Vec<u8>) {
        self.status_line(answer.status, framing.version, out);
        if let Some(allow) = answer.allow {
            line(out, b"allow: ", allow.as_bytes());
        }
        if let Some(content_type) = answer.content_type {
            line(out, b"content-type: ", content_type.as_bytes());
        }
        // hyper drops a `content-length: 0` that it is given, and adds its own behind `connection`; but not to HEAD.
        if length == 0 && !framing.head_only {
            connection_line(framing.connection, out);
            out.extend_from_slice(b"content-length: 0\r\n");
        } else {
            let mut digits = itoa::Buffer::new();
            line(out, b"content-length: ", digits.format(length).as_bytes());
            connection_line(framing.connection, out);
        }
        self.date_and_end(out);
    }

    fn status_line(&self, status: Status, version: Version, out: &mut Vec<u8>) {
        let version: &[u8] = match version {
            Version::Http10 => b"HTTP/1.0 ",
            Version::Http11 => b"HTTP/1.1 ",
        };
        line(out, version, status.line().as_bytes());
    }

    fn date_and_end(&self, out: &mut Vec<u8>) {
        line(out, b"date: ", &self.date);
        out.extend_from_slice(b"\r\n");
    }
}

fn connection_line(connection: Connection, out: &mut Vec<u8>) {
    match connection {
        Connection::Unsaid => {}
        Connection::KeepAlive => line(out, b"connection: ", b"keep-alive"),
        Connection::Close => line(out, b"connection: ", b"close"),
    }
}

fn line(out: &mut Vec<u8>, name: &[u8], value: &[u8]) {
    out.extend_from_slice(name);
    out.extend_from_slice(value);
    out.extend_from_slice(b"\r\n");
}

fn imf_fixdate(unix_seconds: u64) -> [u8; DATE_LEN] {
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(unix_seconds);
    let text = httpdate::fmt_http_date(time);
    text.as_bytes()
        .try_into()
        .expect("an IMF-fixdate has 29 characters until the year 9999")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{PAGE, Refusal, route};

    fn encode(answer: &Answer, framing: Framing<'_>) -> (String, u32) {
        let mut out = Vec::new();
        let pattern = Encoder::new(784_111_777).answer(answer, framing, &mut out);
        (String::from_utf8(out).unwrap(), pattern)
    }

    #[test]
    fn the_prepared_page_is_the_encoded_page() {
        let mut encoder = Encoder::new(0);
        encoder.set_time(784_111_777);
        let mut prepared = Vec::new();
        encoder.page(&mut prepared);
        let (encoded, _) = encode(&Route::Page.answer(), Framing::PLAIN);
        assert_eq!(String::from_utf8(prepared).unwrap(), encoded);
        assert_eq!(
            encoded,
            format!(
                "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 83\r\n\
                 date: Sun, 06 Nov 1994 08:49:37 GMT\r\n\r\n{}",
                std::str::from_utf8(PAGE).unwrap()
            )
        );
    }

    #[test]
    fn head_keeps_the_length_and_drops_the_body() {
        let framing = Framing {
            head_only: true,
            ..Framing::PLAIN
        };
        let (text, pattern) = encode(&Route::Bytes(70_000).answer(), framing);
        assert!(text.contains("content-length: 70000\r\n"), "{text}");
        assert!(text.ends_with("GMT\r\n\r\n"), "{text}");
        assert_eq!(pattern, 0);
    }

    #[test]
    fn a_long_body_is_left_to_the_caller() {
        let (text, pattern) = encode(&Route::Bytes(70_000).answer(), Framing::PLAIN);
        assert!(text.ends_with("GMT\r\n\r\n"), "{text}");
        assert_eq!(pattern, 70_000);
    }

    #[test]
    fn refusals_and_http_1_0() {
        let answer = Answer::from(route("BREW", "/").unwrap_err());
        let framing = Framing {
            version: Version::Http10,
            connection: Connection::KeepAlive,
            ..Framing::PLAIN
        };
        assert_eq!(
            encode(&answer, framing).0,
            "HTTP/1.0 405 Method Not Allowed\r\nallow: GET,HEAD\r\nconnection: keep-alive\r\n\
             content-length: 0\r\ndate: Sun, 06 Nov 1994 08:49:37 GMT\r\n\r\n"
        );
        let answer = Answer::from(Refusal::NotFound);
        assert!(
            encode(&answer, Framing::PLAIN)
                .0
                .starts_with("HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\ndate")
        );
    }

    #[test]
    fn errors_close() {
        let mut out = Vec::new();
        Encoder::new(784_111_777).error(Status::BadRequest, Version::Http11, &mut out);
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-length: 0\r\n\
             date: Sun, 06 Nov 1994 08:49:37 GMT\r\n\r\n"
        );
    }
}
