//! The body of `GET /bytes/{n}` as hyper and axum stream it.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use rungs_response::PATTERN;

/// So many bytes of [`PATTERN`], in frames that borrow it: nothing is copied, nothing is held.
#[derive(Clone, Copy, Debug)]
pub struct Pattern {
    left: u32,
}

impl Pattern {
    /// A body of `length` bytes.
    #[must_use]
    pub fn new(length: u32) -> Self {
        Self { left: length }
    }
}

impl Body for Pattern {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.left == 0 {
            return Poll::Ready(None);
        }
        let block = &PATTERN[..PATTERN.len().min(self.left as usize)];
        self.left -= block.len() as u32;
        Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(block)))))
    }

    fn is_end_stream(&self) -> bool {
        self.left == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left.into())
    }
}
