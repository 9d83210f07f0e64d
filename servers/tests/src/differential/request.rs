//! One request, right or wrong, in the parts that matter to those who read it.

use std::fmt;

/// A request as it is sent. Nothing has to be right about it.
#[derive(Clone, PartialEq, Eq)]
pub struct Request {
    /// The request line, without its end.
    pub line: Vec<u8>,
    /// The header lines, without their ends.
    pub fields: Vec<Vec<u8>>,
    /// What ends each line of the head: CRLF, or LF alone.
    pub line_end: &'static str,
    /// What follows the head.
    pub body: Vec<u8>,
}

impl Request {
    /// The request whose head has these lines, with CRLF at the end of each, and this body.
    #[must_use]
    pub fn new(head: &str, body: &str) -> Self {
        let mut lines = head.split("\r\n").map(|line| line.as_bytes().to_vec());
        Self {
            line: lines.next().unwrap_or_default(),
            fields: lines.collect(),
            line_end: "\r\n",
            body: body.into(),
        }
    }

    /// What goes over the wire.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for line in [&self.line].into_iter().chain(&self.fields) {
            bytes.extend_from_slice(line);
            bytes.extend_from_slice(self.line_end.as_bytes());
        }
        bytes.extend_from_slice(self.line_end.as_bytes());
        bytes.extend_from_slice(&self.body);
        bytes
    }

    /// The values of the header lines of this name. After an LF, a line of CR alone ends the head.
    pub(super) fn values(&self, name: &str) -> impl Iterator<Item = &[u8]> {
        let ends_head = |line: &&Vec<u8>| matches!(&line[..], b"" | b"\r");
        let lines = self.fields.iter().take_while(move |line| !ends_head(line));
        lines.filter_map(move |line| {
            let colon = line.iter().position(|byte| *byte == b':')?;
            let (found, value) = line.split_at(colon);
            let is_it = found.eq_ignore_ascii_case(name.as_bytes());
            is_it.then(|| value[1..].trim_ascii())
        })
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.values(name).next().is_some()
    }
}

impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.bytes().escape_ascii())
    }
}
