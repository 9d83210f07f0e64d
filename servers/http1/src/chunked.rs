//! The chunked transfer coding (RFC 9112, section 7.1).
//!
//! Stricter than the RFC allows us to be in one point and laxer in another: a line of the framing ends with CRLF and
//! nothing else, so that no proxy can see other chunks than we do; what is in an extension or a trailer field is
//! ignored, as long as it has no control characters.

use crate::body::Malformed;

/// The most bytes of extensions in one body, and the most bytes of trailer fields.
const MAX_IGNORED: u16 = 16 << 10;

/// A decoder that can stop and go on at every byte.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chunked {
    /// Of the present chunk: its size while that is read, then the bytes of data still to come.
    size: u64,
    expects: Expects,
    extension_left: u16,
    trailer_left: u16,
}

/// What the next byte has to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expects {
    FirstDigit,
    Digit,
    /// White space after the size: no digit may follow.
    SpaceAfterSize,
    Extension,
    SizeLf,
    Data,
    DataCr,
    DataLf,
    /// The start of a trailer field, or of the empty line that ends the body.
    TrailerStart,
    Trailer,
    TrailerLf,
    EndLf,
    Nothing,
}

impl Chunked {
    pub(crate) fn new() -> Self {
        Self {
            size: 0,
            expects: Expects::FirstDigit,
            extension_left: MAX_IGNORED,
            trailer_left: MAX_IGNORED,
        }
    }

    /// Whether the whole body has been decoded.
    pub(crate) fn is_done(&self) -> bool {
        self.expects == Expects::Nothing
    }

    /// Decodes up to the end of the next piece of data, of the body, or of `input`. Returns the bytes used, and the
    /// data among them.
    pub(crate) fn take<'a>(&mut self, input: &'a [u8]) -> Result<(usize, &'a [u8]), Malformed> {
        let mut used = 0;
        while let Some(&byte) = input.get(used) {
            match self.expects {
                Expects::Data => {
                    let data = &input[used..];
                    let n = usize::try_from(self.size).map_or(data.len(), |n| n.min(data.len()));
                    self.size -= n as u64;
                    if self.size == 0 {
                        self.expects = Expects::DataCr;
                    }
                    return Ok((used + n, &data[..n]));
                }
                Expects::Nothing => break,
                _ => self.expects = self.framing(byte)?,
            }
            used += 1;
        }
        Ok((used, &[]))
    }

    /// What has to follow `byte`, which is not data.
    fn framing(&mut self, byte: u8) -> Result<Expects, Malformed> {
        Ok(match (self.expects, byte) {
            (Expects::FirstDigit | Expects::Digit, b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F') => {
                self.digit(byte)?;
                Expects::Digit
            }
            (Expects::Digit | Expects::SpaceAfterSize, b' ' | b'\t') => {
                spend(&mut self.extension_left)?;
                Expects::SpaceAfterSize
            }
            (Expects::Digit | Expects::SpaceAfterSize, b';') => Expects::Extension,
            (Expects::Digit | Expects::SpaceAfterSize | Expects::Extension, b'\r') => {
                Expects::SizeLf
            }
            (Expects::Extension, _) => {
                text(byte, &mut self.extension_left)?;
                Expects::Extension
            }
            (Expects::SizeLf, b'\n') if self.size == 0 => Expects::TrailerStart,
            (Expects::SizeLf, b'\n') => Expects::Data,
            (Expects::DataCr, b'\r') => Expects::DataLf,
            (Expects::DataLf, b'\n') => Expects::FirstDigit,
            (Expects::TrailerStart, b'\r') => Expects::EndLf,
            (Expects::Trailer, b'\r') => Expects::TrailerLf,
            (Expects::TrailerStart | Expects::Trailer, _) => {
                text(byte, &mut self.trailer_left)?;
                Expects::Trailer
            }
            (Expects::TrailerLf, b'\n') => Expects::TrailerStart,
            (Expects::EndLf, b'\n') => Expects::Nothing,
            _ => return Err(Malformed),
        })
    }

    fn digit(&mut self, byte: u8) -> Result<(), Malformed> {
        let value = char::from(byte).to_digit(16).ok_or(Malformed)?;
        let shifted = self.size.checked_mul(16).ok_or(Malformed)?;
        self.size = shifted | u64::from(value);
        Ok(())
    }
}

/// Accepts one byte of text that is ignored.
fn text(byte: u8, left: &mut u16) -> Result<(), Malformed> {
    if byte != b'\t' && byte.is_ascii_control() {
        return Err(Malformed);
    }
    spend(left)
}

fn spend(left: &mut u16) -> Result<(), Malformed> {
    *left = left.checked_sub(1).ok_or(Malformed)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The body, and what is left behind it.
    fn decode(mut input: &[u8]) -> Result<(Vec<u8>, &[u8]), Malformed> {
        let mut chunked = Chunked::new();
        let mut body = Vec::new();
        while !chunked.is_done() && !input.is_empty() {
            let (used, data) = chunked.take(input)?;
            body.extend_from_slice(data);
            input = &input[used..];
        }
        assert!(chunked.is_done(), "the body has no end");
        Ok((body, input))
    }

    #[track_caller]
    fn accepts(input: &str, body: &str) {
        let (decoded, rest) = decode(input.as_bytes()).unwrap();
        assert_eq!(std::str::from_utf8(&decoded).unwrap(), body);
        assert!(rest.is_empty(), "{rest:?}");
    }

    #[track_caller]
    fn rejects(input: &str) {
        assert!(decode(input.as_bytes()).is_err(), "{input:?}");
    }

    #[test]
    fn it_is_small() {
        assert!(size_of::<Chunked>() <= 16);
    }

    #[test]
    fn chunks_are_joined() {
        accepts("0\r\n\r\n", "");
        accepts("3\r\nabc\r\n0\r\n\r\n", "abc");
        accepts(
            "3\r\nabc\r\n00A\r\n0123456789\r\na\r\n0123456789\r\n000\r\n\r\n",
            "abc01234567890123456789",
        );
    }

    #[test]
    fn what_follows_the_body_is_left() {
        assert_eq!(
            decode(b"1\r\na\r\n0\r\n\r\nGET /"),
            Ok((b"a".to_vec(), &b"GET /"[..]))
        );
    }

    #[test]
    fn extensions_and_trailers_are_ignored() {
        accepts("1;a=b;c=\"d e\"\r\nx\r\n0;z\r\n\r\n", "x");
        accepts("1 \t;\ta\r\nx\r\n0 \r\n\r\n", "x");
        accepts("1\r\nx\r\n0\r\nA: b\r\nC:\td\r\n\r\n", "x");
    }

    #[test]
    fn ignored_text_is_bounded_over_the_whole_body() {
        let half = "e".repeat(usize::from(MAX_IGNORED) / 2);
        accepts(&format!("1;{half}\r\nx\r\n0;{half}\r\n\r\n"), "x");
        rejects(&format!("1;{half}\r\nx\r\n0;{half}e\r\n\r\n"));
        accepts(&format!("0\r\n{half}\r\n{half}\r\n\r\n"), "");
        rejects(&format!("0\r\n{half}\r\n{half}e\r\n\r\n"));
        rejects(&format!(
            "1{}\r\n",
            " ".repeat(1 + usize::from(MAX_IGNORED))
        ));
    }

    #[test]
    fn sizes_are_hexadecimal_and_fit_64_bits() {
        for size in ["", "g", "-1", "+1", "0x1", " 1", ";x", "1 1", "1_0"] {
            rejects(&format!("{size}\r\na\r\n0\r\n\r\n"));
        }
        rejects("10000000000000000\r\n");
        let mut chunked = Chunked::new();
        let longest = b"ffffffffffffffff\r\nabc";
        assert_eq!(chunked.take(longest), Ok((longest.len(), &b"abc"[..])));
        assert_eq!(chunked.size, u64::MAX - 3);
    }

    #[test]
    fn every_line_ends_with_crlf() {
        rejects("1\na\r\n0\r\n\r\n");
        rejects("1\r\na\n0\r\n\r\n");
        rejects("1\r\nab\r\n0\r\n\r\n");
        rejects("1\r\na\r\n0\n\r\n");
        rejects("1;x\na\r\n0\r\n\r\n");
        rejects("1;x\rx\r\na\r\n0\r\n\r\n");
        rejects("0\r\n\n");
        rejects("0\r\nA: b\n\r\n");
        rejects("0\r\nA: b\rc\r\n\r\n");
        rejects("0\r\n\rx");
        rejects("0\r\nA\0: b\r\n\r\n");
    }
}
