//! The byte check: one request as the load generator will send it, and its answer compared with what it must be.

use std::error::Error;
use std::fmt::Display;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use rungs_response::{Answer, Body, Connection, Encoder, Framing, PATTERN, Version, route};

use crate::ladder;
use crate::matrix::{Entrant, Program};
use crate::response_reader::ResponseReader;

/// Longest answer that is read: the longest body of a rung, and room for its head.
const LONGEST: usize = rungs_response::MAX_BYTES as usize + (64 << 10);

const TIMEOUT: Duration = Duration::from_secs(5);

/// The request that a load run repeats.
#[derive(Clone, Debug)]
pub struct Request {
    /// The target's path.
    pub path: String,
    /// Header lines, `Name: value`.
    pub headers: Vec<String>,
}

impl Request {
    /// Its bytes, as wrk makes them: a line for `host` only where no header is one.
    #[must_use]
    pub fn encode(&self, host: impl Display) -> Vec<u8> {
        let mut text = format!("GET {} HTTP/1.1\r\n", self.path);
        let has_host = |header: &String| header.to_ascii_lowercase().starts_with("host:");
        if !self.headers.iter().any(has_host) {
            text += &format!("Host: {host}\r\n");
        }
        for header in &self.headers {
            text += header;
            text += "\r\n";
        }
        text += "\r\n";
        text.into_bytes()
    }
}

/// Sends `request` to the server of `entrant` at `addr` and returns the length of its whole answer, head included.
///
/// A rung's answer must agree to the byte, the date aside; a foreign server's in status and length of the body.
///
/// # Errors
///
/// A sentence that says what was expected and what came.
pub fn check(entrant: &Entrant, request: &Request, addr: SocketAddr) -> Result<u64, String> {
    let received =
        exchange(request, addr).map_err(|error| format!("no complete answer: {error}"))?;
    match &entrant.program {
        Program::Rung { name, .. } => same_bytes(&received.bytes, &expected(name, request))?,
        Program::Foreign {
            status, body_bytes, ..
        } => {
            if received.status != *status {
                return Err(format!("status {} instead of {status}", received.status));
            }
            if received.body_bytes != *body_bytes {
                return Err(format!(
                    "a body of {} bytes instead of {body_bytes}: correct the server, or `body_bytes` in the matrix",
                    received.body_bytes
                ));
            }
        }
    }
    Ok(received.bytes.len() as u64)
}

/// What a rung must answer. The null rung does not read the request: it always gives the page.
fn expected(rung: &str, request: &Request) -> Vec<u8> {
    let path = if rung == ladder::CONTROL {
        "/"
    } else {
        // The query is no part of the path.
        request.path.split('?').next().unwrap_or_default()
    };
    let answer = match route("GET", path) {
        Ok(route) => route.answer(),
        Err(refusal) => Answer::from(refusal),
    };
    let framing = Framing {
        version: Version::Http11,
        connection: Connection::Unsaid,
        head_only: false,
        echo: b"",
    };
    let mut bytes = Vec::new();
    let mut pattern = Encoder::new(0).answer(&answer, framing, &mut bytes) as usize;
    debug_assert!(pattern == 0 || matches!(answer.body, Body::Pattern(_)));
    while pattern > 0 {
        let piece = pattern.min(PATTERN.len());
        bytes.extend_from_slice(&PATTERN[..piece]);
        pattern -= piece;
    }
    bytes
}

/// Compares two answers, whatever the value of `date` is.
fn same_bytes(got: &[u8], wanted: &[u8]) -> Result<(), String> {
    let (got, wanted) = (without_date(got), without_date(wanted));
    if got == wanted {
        return Ok(());
    }
    let at = got.iter().zip(&wanted).take_while(|(a, b)| a == b).count();
    let around = |bytes: &[u8]| {
        let begin = at.saturating_sub(24).min(bytes.len());
        let end = (at + 40).min(bytes.len());
        bytes[begin..end].escape_ascii().to_string()
    };
    Err(format!(
        "it differs from the contract at byte {at}: expected \"…{}…\", got \"…{}…\" ({} bytes expected, {} came)",
        around(&wanted),
        around(&got),
        wanted.len(),
        got.len()
    ))
}

/// The answer with its date's 29 characters masked; untouched where it has no such line.
fn without_date(answer: &[u8]) -> Vec<u8> {
    const LINE: &[u8] = b"\r\ndate: ";
    const LEN: usize = "Sun, 06 Nov 1994 08:49:37 GMT".len();
    let mut answer = answer.to_vec();
    if let Some(at) = answer.windows(LINE.len()).position(|window| window == LINE) {
        let value = at + LINE.len();
        if let Some(date) = answer.get_mut(value..value + LEN) {
            date.fill(b'?');
        }
    }
    answer
}

struct Received {
    bytes: Vec<u8>,
    status: u16,
    /// Length of the body, the framing of chunks not counted.
    body_bytes: u64,
}

fn exchange(request: &Request, addr: SocketAddr) -> io::Result<Received> {
    let mut stream = TcpStream::connect_timeout(&addr, TIMEOUT)?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    stream.set_write_timeout(Some(TIMEOUT))?;
    stream.set_nodelay(true)?;
    stream.write_all(&request.encode(addr))?;
    let mut bytes = Vec::new();
    let mut reader = ResponseReader::default();
    let mut buffer = vec![0; 64 << 10];
    loop {
        let n = stream.read(&mut buffer)?;
        bytes.extend_from_slice(&buffer[..n]);
        let response = if n == 0 {
            reader.close()
        } else {
            reader.feed(&buffer[..n]).map_err(invalid)?
        };
        if let Some(response) = response {
            return Ok(Received {
                status: response.status,
                body_bytes: response.body_bytes,
                bytes,
            });
        }
        if n == 0 {
            let problem = format!("the connection was closed after {} bytes", bytes.len());
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, problem));
        }
        if bytes.len() > LONGEST {
            return Err(invalid(format!("it is longer than {LONGEST} bytes")));
        }
    }
}

fn invalid(problem: impl Into<Box<dyn Error + Send + Sync>>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, problem)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::thread;

    use super::*;

    fn request(path: &str) -> Request {
        Request {
            path: path.into(),
            headers: Vec::new(),
        }
    }

    fn foreign(status: u16, body_bytes: u64) -> Entrant {
        Entrant {
            program: Program::Foreign {
                command: vec!["x".into()],
                config: None,
                status,
                body_bytes,
            },
            ..Entrant::rung("mio")
        }
    }

    /// A server that gives `answer` to one client, and closes.
    fn answering(answer: Vec<u8>) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let addr = listener.local_addr().unwrap();
        thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut buffer = [0; 4096];
            let _ = stream.read(&mut buffer);
            let _ = stream.write_all(&answer);
        });
        addr
    }

    fn with_date(rung: &str, path: &str) -> Vec<u8> {
        let bytes = expected(rung, &request(path));
        let text = String::from_utf8(bytes).unwrap();
        let date = "Thu, 01 Jan 1970 00:00:00 GMT";
        assert!(text.contains(date));
        text.replace(date, "Sun, 06 Nov 1994 08:49:37 GMT")
            .into_bytes()
    }

    #[test]
    fn a_right_answer_has_its_length_whatever_its_date() {
        let answer = with_date("mio", "/");
        let length = answer.len() as u64;
        let checked = check(&Entrant::rung("mio"), &request("/"), answering(answer));
        assert_eq!(checked, Ok(length));
    }

    #[test]
    fn a_single_wrong_byte_is_shown() {
        let mut answer = with_date("mio", "/");
        let at = answer.len() - 1;
        answer[at] = b'!';
        let problem = check(&Entrant::rung("mio"), &request("/"), answering(answer)).unwrap_err();
        assert!(problem.contains(&format!("at byte {at}")), "{problem}");
    }

    #[test]
    fn long_bodies_and_the_null_rung_are_known() {
        assert!(expected("mio", &request("/bytes/200000")).ends_with(&PATTERN[..200_000 % 65_536]));
        assert_eq!(
            expected("null", &request("/json")),
            expected("mio", &request("/"))
        );
        assert_eq!(
            expected("mio", &request("/json?x=1")),
            expected("mio", &request("/json"))
        );
    }

    #[test]
    fn a_foreign_server_is_checked_for_status_and_length() {
        let plain = b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc";
        let chunked =
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n";
        let closing = b"HTTP/1.1 200 OK\r\n\r\nabc";
        for answer in [&plain[..], chunked, closing] {
            let checked = check(&foreign(200, 3), &request("/"), answering(answer.to_vec()));
            assert_eq!(checked, Ok(answer.len() as u64));
        }
        let wrong = |status, body_bytes| {
            let addr = answering(plain.to_vec());
            check(&foreign(status, body_bytes), &request("/"), addr).unwrap_err()
        };
        assert_eq!(wrong(204, 3), "status 200 instead of 204");
        assert!(wrong(200, 4).starts_with("a body of 3 bytes instead of 4"));
    }

    #[test]
    fn what_is_cut_short_or_no_http_is_said() {
        for (answer, problem) in [
            (
                &b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc"[..],
                "closed after 41 bytes",
            ),
            (b"SSH-2.0-x\r\n", "not HTTP"),
            (
                b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nabc",
                "more bytes came",
            ),
            (
                b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
                "chunk",
            ),
        ] {
            let message = check(&foreign(200, 3), &request("/"), answering(answer.to_vec()));
            let message = message.unwrap_err();
            assert!(message.contains(problem), "{message}");
        }
    }

    #[test]
    fn a_given_host_replaces_our_own() {
        let addr = "127.0.0.1:9";
        let mut request = request("/");
        assert!(request.encode(addr).ends_with(b"Host: 127.0.0.1:9\r\n\r\n"));
        request.headers.push("host: a".into());
        assert_eq!(request.encode(addr), b"GET / HTTP/1.1\r\nhost: a\r\n\r\n");
    }
}
