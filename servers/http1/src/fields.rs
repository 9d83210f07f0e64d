//! The header lines that decide anything here: how the body is framed, and whether the connection stays open.

use rungs_response::{Status, Version};

use crate::body::Body;
use crate::chunked::Chunked;
use crate::host;

/// What the header lines of one request say.
#[derive(Debug, Default)]
pub(crate) struct Fields {
    has_host: bool,
    content_length: Option<u64>,
    coding: Option<Coding>,
    says_close: bool,
    says_keep_alive: bool,
    /// There is an `expect: 100-continue`.
    pub(crate) expects_continue: bool,
}

/// The last transfer coding of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Coding {
    Chunked,
    Other,
}

impl Fields {
    /// Takes one line in. Names are told apart by their length first: most lines are none of ours.
    pub(crate) fn read(&mut self, name: &str, value: &[u8]) -> Result<(), Status> {
        match name.len() {
            4 if name.eq_ignore_ascii_case("host") => self.host(value)?,
            6 if name.eq_ignore_ascii_case("expect") => {
                self.expects_continue = value.eq_ignore_ascii_case(b"100-continue");
            }
            10 if name.eq_ignore_ascii_case("connection") => self.connection(value),
            14 if name.eq_ignore_ascii_case("content-length") => self.content_length(value)?,
            17 if name.eq_ignore_ascii_case("transfer-encoding") => {
                self.coding = Some(last_coding(value));
            }
            _ => {}
        }
        Ok(())
    }

    /// A second line, or an invalid value, is a bad request in every version (RFC 9112, section 3.2).
    fn host(&mut self, value: &[u8]) -> Result<(), Status> {
        if self.has_host || !host::is_valid(value) {
            return Err(Status::BadRequest);
        }
        self.has_host = true;
        Ok(())
    }

    /// A list of options, of which two count. There may be several such lines.
    fn connection(&mut self, value: &[u8]) {
        for option in value.split(|&byte| byte == b',').map(<[u8]>::trim_ascii) {
            self.says_close |= option.eq_ignore_ascii_case(b"close");
            self.says_keep_alive |= option.eq_ignore_ascii_case(b"keep-alive");
        }
    }

    /// Several lines may repeat one length (RFC 9112, section 6.3, rule 5); a list in one line is refused.
    fn content_length(&mut self, value: &[u8]) -> Result<(), Status> {
        let length = decimal(value).ok_or(Status::BadRequest)?;
        if self.content_length.is_some_and(|other| other != length) {
            return Err(Status::BadRequest);
        }
        self.content_length = Some(length);
        Ok(())
    }

    /// What can be judged only when every line is known.
    pub(crate) fn check(&self, version: Version) -> Result<(), Status> {
        let acceptable = match version {
            Version::Http11 => self.has_host && self.coding != Some(Coding::Other),
            Version::Http10 => self.coding.is_none(),
        };
        acceptable.then_some(()).ok_or(Status::BadRequest)
    }

    /// `close` wins over `keep-alive`, in whichever line they are (RFC 9112, section 9.3). Two framings at once may be
    /// an attempt to smuggle a request past a proxy: the connection ends with this one (RFC 9112, section 6.1).
    pub(crate) fn keep_alive(&self, version: Version) -> bool {
        let framed_twice = self.coding.is_some() && self.content_length.is_some();
        let wished = version == Version::Http11 || self.says_keep_alive;
        wished && !self.says_close && !framed_twice
    }

    /// The transfer coding wins over the length (RFC 9112, section 6.3, rule 3).
    pub(crate) fn body(&self) -> Body {
        match self.coding {
            Some(_) => Body::Chunked(Chunked::new()),
            None => Body::Length(self.content_length.unwrap_or(0)),
        }
    }
}

fn last_coding(value: &[u8]) -> Coding {
    let last = value.rsplit(|&byte| byte == b',').next().unwrap_or(value);
    if last.trim_ascii().eq_ignore_ascii_case(b"chunked") {
        Coding::Chunked
    } else {
        Coding::Other
    }
}

/// Digits only: no sign, no space, nothing over `u64`.
fn decimal(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0_u64, |value, byte| {
        let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'))?;
        value.checked_mul(10)?.checked_add(digit)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::head::Head;
    use crate::head::tests::{PLAIN, accept, refuse};

    #[track_caller]
    fn accept_lines(lines: &str) -> Head {
        accept(&format!("{PLAIN}{lines}"))
    }

    #[track_caller]
    fn refuse_lines(lines: &str) {
        refuse(&format!("{PLAIN}{lines}"));
    }

    fn length(head: &Head) -> Option<u64> {
        match head.body {
            Body::Length(length) => Some(length),
            Body::Chunked(_) => None,
        }
    }

    #[test]
    fn exactly_one_host_on_1_1_and_at_most_one_on_1_0() {
        refuse("GET / HTTP/1.1\r\n");
        refuse_lines("host: a\r\n");
        refuse("GET / HTTP/1.1\r\nhost: a b\r\n");
        refuse("GET / HTTP/1.1\r\nhost: user@a\r\n");
        accept("GET / HTTP/1.1\r\nHOST:\r\n");
        accept("GET / HTTP/1.0\r\n");
        refuse("GET / HTTP/1.0\r\nhost: a\r\nhost: a\r\n");
        refuse("GET / HTTP/1.0\r\nhost: a/\r\n");
    }

    #[test]
    fn lengths_are_digits_and_agree() {
        assert_eq!(length(&accept_lines("Content-Length: 007\r\n")), Some(7));
        let twice = accept_lines("content-length: 7\r\ncontent-length: 7\r\n");
        assert_eq!(length(&twice), Some(7));
        for value in [
            "",
            "abc",
            "-1",
            "+1",
            "5, 5",
            "5 5",
            "0x5",
            "18446744073709551616",
        ] {
            refuse_lines(&format!("content-length: {value}\r\n"));
        }
        refuse_lines("content-length: 7\r\ncontent-length: 8\r\n");
    }

    #[test]
    fn the_last_coding_is_chunked() {
        for value in ["chunked", "Chunked", "gzip, chunked", "gzip,\tCHUNKED "] {
            let head = accept_lines(&format!("transfer-encoding: {value}\r\n"));
            assert!(matches!(head.body, Body::Chunked(_)), "{value}");
            assert!(head.keep_alive);
        }
        for value in [
            "",
            "gzip",
            "chunked, gzip",
            "chunked,",
            "xchunked",
            "identity",
        ] {
            refuse_lines(&format!("transfer-encoding: {value}\r\n"));
        }
        refuse_lines("transfer-encoding: chunked\r\ntransfer-encoding: gzip\r\n");
        refuse("GET / HTTP/1.0\r\ntransfer-encoding: chunked\r\n");
    }

    #[test]
    fn two_framings_close() {
        for lines in [
            "content-length: 5\r\ntransfer-encoding: chunked\r\n",
            "transfer-encoding: chunked\r\ncontent-length: 5\r\n",
        ] {
            let head = accept_lines(lines);
            assert!(matches!(head.body, Body::Chunked(_)));
            assert!(!head.keep_alive);
        }
    }

    #[test]
    fn connection_lines() {
        let keeps = |head: &str| accept(head).keep_alive;
        assert!(keeps(PLAIN));
        assert!(!keeps("GET / HTTP/1.0\r\n"));
        assert!(keeps("GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n"));
        assert!(keeps(
            "GET / HTTP/1.0\r\nconnection: a , keep-alive\r\nconnection: te\r\n"
        ));
        for lines in [
            "Connection: close",
            "connection: TE, CLOSE",
            "connection: close\r\nconnection: keep-alive",
            "connection: keep-alive\r\nconnection: close",
        ] {
            assert!(!keeps(&format!("{PLAIN}{lines}\r\n")), "{lines}");
            assert!(!keeps(&format!("GET / HTTP/1.0\r\n{lines}\r\n")), "{lines}");
        }
        assert!(keeps(&format!("{PLAIN}connection: closed\r\n")));
    }

    #[test]
    fn expectations() {
        assert!(accept_lines("Expect: 100-Continue\r\n").expects_continue);
        assert!(!accept_lines("expect: something\r\n").expects_continue);
        assert!(!accept("GET / HTTP/1.0\r\nexpect: 100-continue\r\n").expects_continue);
    }
}
