//! Finds where an HTTP/1.1 response ends, however its bytes arrive (RFC 9112, section 6). Knows no socket.

use std::mem;

/// The longest head, or line of a chunked body, that is read.
const LONGEST_HEAD: usize = 64 << 10;

const MAX_HEADERS: usize = 100;

/// A response that has come wholly.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Response {
    /// Its status code.
    pub status: u16,
    /// Length of its body, the framing of chunks not counted.
    pub body_bytes: u64,
    /// Whether the connection may carry another request (RFC 9112, section 9.3).
    pub keeps_connection: bool,
}

/// What makes a response impossible to read on.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum ResponseError {
    /// Its head is none.
    #[error("it is not HTTP: {0}")]
    NotHttp(httparse::Error),
    /// Its `content-length` is no number.
    #[error("its content-length is {0:?}")]
    ContentLength(String),
    /// Its body is not chunked as it says.
    #[error("it has a chunk without a proper size or end")]
    Chunk,
    /// Its head, or a line of its chunked body, does not end.
    #[error("its head, or a line of its chunked body, is longer than {LONGEST_HEAD} bytes")]
    TooLong,
    /// Something follows it that nobody has asked for.
    #[error("more bytes came than its own")]
    Excess,
}

/// Reads the responses of one connection, one after another, to requests (other than HEAD) sent one at a time.
#[derive(Debug)]
pub struct ResponseReader {
    state: State,
    /// Of the response under way.
    response: Response,
    /// The beginning of a head or line whose end has not come yet.
    partial: Vec<u8>,
}

/// What the next byte belongs to.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum State {
    Head,
    /// A body of which so many bytes are to come.
    Length(u64),
    ChunkSize,
    /// A chunk of which so many bytes are to come.
    Chunk(u64),
    /// The line's end that closes a chunk.
    ChunkEnd,
    /// A line after the last chunk; an empty one is the end.
    Trailer,
    /// A body that ends with the connection.
    UntilClose,
}

/// What came of the bytes at hand; the number is how many of them are dealt with.
enum Step {
    /// The rest is too short to say anything.
    NeedsMore(usize),
    Next(usize, State),
    End(usize),
}

impl Default for ResponseReader {
    fn default() -> Self {
        Self {
            state: State::Head,
            response: Response {
                status: 0,
                body_bytes: 0,
                keeps_connection: true,
            },
            partial: Vec::new(),
        }
    }
}

impl ResponseReader {
    /// Takes bytes as they came. Gives the response whose last bytes they are.
    ///
    /// # Errors
    ///
    /// [`ResponseError`]: the connection is of no more use.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<Option<Response>, ResponseError> {
        let joined;
        let mut rest = bytes;
        if !self.partial.is_empty() {
            self.partial.extend_from_slice(bytes);
            joined = mem::take(&mut self.partial);
            rest = &joined;
        }
        loop {
            match self.step(rest)? {
                Step::Next(taken, state) => {
                    rest = &rest[taken..];
                    self.state = state;
                }
                Step::NeedsMore(taken) => {
                    self.partial.extend_from_slice(&rest[taken..]);
                    if self.partial.len() > LONGEST_HEAD {
                        return Err(ResponseError::TooLong);
                    }
                    return Ok(None);
                }
                Step::End(taken) if taken < rest.len() => return Err(ResponseError::Excess),
                Step::End(_) => return Ok(Some(mem::take(self).response)),
            }
        }
    }

    /// The connection was closed. Gives the response that ends by that, if one does.
    pub fn close(&mut self) -> Option<Response> {
        let whole = self.state == State::UntilClose;
        let response = mem::take(self).response;
        whole.then_some(response)
    }

    fn step(&mut self, bytes: &[u8]) -> Result<Step, ResponseError> {
        Ok(match self.state {
            State::Head => self.head(bytes)?,
            State::Length(left) => match self.body(bytes, left) {
                (taken, 0) => Step::End(taken),
                (taken, left) => self.wait_for(State::Length(left), taken),
            },
            State::ChunkSize => match httparse::parse_chunk_size(bytes) {
                Err(_) => return Err(ResponseError::Chunk),
                Ok(httparse::Status::Partial) => Step::NeedsMore(0),
                Ok(httparse::Status::Complete((taken, 0))) => Step::Next(taken, State::Trailer),
                Ok(httparse::Status::Complete((taken, size))) => {
                    Step::Next(taken, State::Chunk(size))
                }
            },
            State::Chunk(left) => match self.body(bytes, left) {
                (taken, 0) => Step::Next(taken, State::ChunkEnd),
                (taken, left) => self.wait_for(State::Chunk(left), taken),
            },
            State::ChunkEnd => match bytes {
                [b'\r', b'\n', ..] => Step::Next(2, State::ChunkSize),
                [] | [b'\r'] => Step::NeedsMore(0),
                _ => return Err(ResponseError::Chunk),
            },
            State::Trailer => match bytes.windows(2).position(|pair| pair == b"\r\n") {
                Some(0) => Step::End(2),
                Some(at) => Step::Next(at + 2, State::Trailer),
                None => Step::NeedsMore(0),
            },
            State::UntilClose => {
                self.response.body_bytes += bytes.len() as u64;
                Step::NeedsMore(bytes.len())
            }
        })
    }

    fn wait_for(&mut self, state: State, taken: usize) -> Step {
        self.state = state;
        Step::NeedsMore(taken)
    }

    /// Takes of `bytes` what belongs to a body of which `left` are to come: how many, and how many are still to come.
    fn body(&mut self, bytes: &[u8], left: u64) -> (usize, u64) {
        let taken = usize::try_from(left).unwrap_or(usize::MAX).min(bytes.len());
        self.response.body_bytes += taken as u64;
        (taken, left - taken as u64)
    }

    fn head(&mut self, bytes: &[u8]) -> Result<Step, ResponseError> {
        let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
        let mut head = httparse::Response::new(&mut headers);
        let parsed = head.parse(bytes).map_err(ResponseError::NotHttp)?;
        let httparse::Status::Complete(taken) = parsed else {
            return Ok(Step::NeedsMore(0));
        };
        self.response.status = head.code.unwrap_or(0);
        let (mut length, mut chunked) = (None, false);
        let (mut close, mut keep_alive) = (false, false);
        for header in head.headers.iter() {
            let is = |name: &str| header.name.eq_ignore_ascii_case(name);
            if is("content-length") {
                length = Some(content_length(header.value)?);
            } else if is("transfer-encoding") {
                chunked = tokens(header.value)
                    .last()
                    .is_some_and(|coding| coding.eq_ignore_ascii_case(b"chunked"));
            } else if is("connection") {
                close |= tokens(header.value).any(|token| token.eq_ignore_ascii_case(b"close"));
                keep_alive |=
                    tokens(header.value).any(|token| token.eq_ignore_ascii_case(b"keep-alive"));
            }
        }
        let persistent = head.version == Some(1) || keep_alive;
        self.response.keeps_connection = persistent && !close;
        Ok(match (self.response.status, chunked, length) {
            // An interim response: the final one is still to come (RFC 9110, section 15.2).
            (100..=199, _, _) => Step::Next(taken, State::Head),
            (204 | 304, _, _) | (_, false, Some(0)) => Step::End(taken),
            (_, true, _) => Step::Next(taken, State::ChunkSize),
            (_, false, Some(length)) => Step::Next(taken, State::Length(length)),
            (_, false, None) => {
                self.response.keeps_connection = false;
                Step::Next(taken, State::UntilClose)
            }
        })
    }
}

fn content_length(value: &[u8]) -> Result<u64, ResponseError> {
    let text = String::from_utf8_lossy(value);
    match text.trim().parse() {
        Ok(length) => Ok(length),
        Err(_) => Err(ResponseError::ContentLength(text.into_owned())),
    }
}

/// The elements of a list such as `keep-alive, close` (RFC 9110, section 5.6.1).
fn tokens(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|&byte| byte == b',').map(<[u8]>::trim_ascii)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn response(status: u16, body_bytes: u64, keeps_connection: bool) -> Response {
        Response {
            status,
            body_bytes,
            keeps_connection,
        }
    }

    const CASES: [(&[u8], u16, u64, bool); 7] = [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", 200, 3, true),
        (b"HTTP/1.1 404 No\r\ncontent-length: 0\r\n\r\n", 404, 0, true),
        (b"HTTP/1.1 204 No Content\r\nConnection: keep-alive, Close\r\n\r\n", 204, 0, false),
        (b"HTTP/1.0 200 OK\r\ncontent-length: 1\r\n\r\n!", 200, 1, false),
        (
            b"HTTP/1.0 200 OK\r\nconnection: Keep-Alive\r\ncontent-length: 1\r\n\r\n!",
            200,
            1,
            true,
        ),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n2;x=y\r\nab\r\n1\r\nc\r\n0\r\na: b\r\n\r\n",
            200,
            3,
            true,
        ),
        (
            b"HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nab",
            200,
            2,
            true,
        ),
    ];

    #[test]
    fn the_end_is_found_wherever_the_bytes_are_cut() {
        for (bytes, status, body_bytes, keeps) in CASES {
            let expected = Ok(Some(response(status, body_bytes, keeps)));
            for cut in 0..bytes.len() {
                let mut reader = ResponseReader::default();
                assert_eq!(reader.feed(&bytes[..cut]), Ok(None), "cut at {cut}");
                assert_eq!(reader.feed(&bytes[cut..]), expected, "cut at {cut}");
                // And the next one on the same connection.
                assert_eq!(reader.feed(bytes), expected);
            }
            let mut reader = ResponseReader::default();
            let (last, others) = bytes.split_last().unwrap();
            for byte in others {
                assert_eq!(reader.feed(&[*byte]), Ok(None));
            }
            assert_eq!(reader.feed(&[*last]), expected);
        }
    }

    #[test]
    fn without_a_length_the_body_ends_with_the_connection() {
        let mut reader = ResponseReader::default();
        assert_eq!(reader.feed(b"HTTP/1.1 200 OK\r\n\r\nab"), Ok(None));
        assert_eq!(reader.feed(&[b'c'; 100_000]), Ok(None));
        assert_eq!(reader.close(), Some(response(200, 100_002, false)));
    }

    #[test]
    fn what_a_close_cuts_short_is_none() {
        for (bytes, ..) in CASES {
            for cut in 0..bytes.len() {
                let mut reader = ResponseReader::default();
                assert_eq!(reader.feed(&bytes[..cut]), Ok(None));
                assert_eq!(reader.close(), None);
            }
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
        let problem = |bytes: &[u8]| ResponseReader::default().feed(bytes).unwrap_err();
        assert!(matches!(
            problem(b"SSH-2.0-x\r\n"),
            ResponseError::NotHttp(_)
        ));
        assert_eq!(
            problem(b"HTTP/1.1 200 OK\r\ncontent-length: x\r\n\r\n"),
            ResponseError::ContentLength("x".into())
        );
        assert_eq!(
            problem(b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nab"),
            ResponseError::Excess
        );
        for body in ["xyz\r\n", "1\r\nabc"] {
            let text = format!("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n{body}");
            assert_eq!(problem(text.as_bytes()), ResponseError::Chunk);
        }
        let endless = [b"HTTP/1.1 200 OK\r\nx: ".to_vec(), vec![b'y'; LONGEST_HEAD]].concat();
        assert_eq!(problem(&endless), ResponseError::TooLong);
    }
}
