//! The two framings of a request's body (RFC 9112, section 6.3).

use crate::MAX_DRAIN;
use crate::chunked::Chunked;

/// The framing is broken: what follows cannot be told from the body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Malformed;

/// What of a request's body is still to come, and how it is framed.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Body {
    /// So many bytes.
    Length(u64),
    /// Until the coding says that it ends.
    Chunked(Chunked),
}

impl Body {
    /// Whether nothing more is to come.
    pub(crate) fn is_done(&self) -> bool {
        match self {
            Self::Length(left) => *left == 0,
            Self::Chunked(chunked) => chunked.is_done(),
        }
    }

    /// The bytes that are known to come. A chunked body does not say.
    pub(crate) fn announced(&self) -> u64 {
        match self {
            Self::Length(left) => *left,
            Self::Chunked(_) => 0,
        }
    }

    /// Takes the whole body off `input`, if all of it is there in one piece.
    pub(crate) fn take_whole<'a>(&mut self, input: &'a [u8]) -> Option<&'a [u8]> {
        match self {
            Self::Length(left) => {
                let whole = input.get(..usize::try_from(*left).ok()?)?;
                *left = 0;
                Some(whole)
            }
            Self::Chunked(_) => None,
        }
    }

    /// Takes the next piece off `input`. Returns the bytes used, and the data among them; some are used as long as the
    /// body is not done and there is input.
    pub(crate) fn take<'a>(&mut self, input: &'a [u8]) -> Result<(usize, &'a [u8]), Malformed> {
        match self {
            Self::Length(left) => {
                let n = usize::try_from(*left).map_or(input.len(), |n| n.min(input.len()));
                *left -= n as u64;
                Ok((n, &input[..n]))
            }
            Self::Chunked(chunked) => chunked.take(input),
        }
    }
}

/// A body nobody wants, read and dropped so that the next request can be found behind it.
#[derive(Debug)]
pub(crate) struct Skip {
    body: Body,
    /// Bytes that may still be read, chunk framing included.
    allowance: u64,
}

impl Skip {
    pub(crate) fn new(body: Body) -> Self {
        Self {
            body,
            allowance: MAX_DRAIN,
        }
    }

    pub(crate) fn is_done(&self) -> bool {
        self.body.is_done()
    }

    /// Takes the next piece off `input`. Returns the bytes used, or `None` if the body is malformed or longer than
    /// [`MAX_DRAIN`].
    pub(crate) fn take(&mut self, input: &[u8]) -> Option<usize> {
        let n = usize::try_from(self.allowance).map_or(input.len(), |n| n.min(input.len()));
        let (used, _) = self.body.take(&input[..n]).ok()?;
        self.allowance -= used as u64;
        (used > 0).then_some(used)
    }
}
