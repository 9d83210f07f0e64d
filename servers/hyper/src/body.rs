//! The bodies that the service answers with.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Frame, SizeHint};
use rungs_serve::runtime::Pattern;

/// A body without a box, of a length known beforehand.
#[derive(Debug)]
pub(crate) enum Body {
    /// All of it in one piece; empty once it is taken.
    Whole(Bytes),
    /// A long one, in pieces.
    Pattern(Pattern),
}

impl Body {
    pub(crate) fn empty() -> Self {
        Self::Whole(Bytes::new())
    }

    pub(crate) fn from_static(bytes: &'static [u8]) -> Self {
        Self::Whole(Bytes::from_static(bytes))
    }

    /// The body of an answer; `echo` is that of the request.
    pub(crate) fn of(body: &rungs_response::Body, echo: Bytes) -> Self {
        use rungs_response::Body as Answer;
        match body {
            Answer::Empty => Self::empty(),
            Answer::Static(bytes) => Self::from_static(bytes),
            Answer::Inline(bytes) => Self::Whole(Bytes::copy_from_slice(bytes.as_slice())),
            Answer::Pattern(length) => Self::Pattern(Pattern::new(*length)),
            Answer::Echo => Self::Whole(echo),
        }
    }
}

impl hyper::body::Body for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match self.get_mut() {
            Self::Whole(bytes) if bytes.is_empty() => Poll::Ready(None),
            Self::Whole(bytes) => Poll::Ready(Some(Ok(Frame::data(std::mem::take(bytes))))),
            Self::Pattern(pattern) => Pin::new(pattern).poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Whole(bytes) => bytes.is_empty(),
            Self::Pattern(pattern) => pattern.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Self::Pattern(pattern) => pattern.size_hint(),
        }
    }
}
