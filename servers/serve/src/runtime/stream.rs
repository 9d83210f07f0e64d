//! One connection on tokio.

use std::future::Future;
use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Sleep, sleep};

use super::Tally;

/// How long a closed connection is read further.
const LINGER: Duration = Duration::from_secs(2);

/// How many bytes of a closed connection are read further.
const MAX_LINGER: usize = 64 << 20;

/// A [`TcpStream`] that counts, and that lingers when it is shut down.
///
/// A client that is still sending when the server closes gets RST, which destroys an error answer that it has not read
/// yet (RFC 9112, section 9.6). So shutting down closes the write side only, then reads and discards until the client
/// closes too, for a bounded time and number of bytes.
#[derive(Debug)]
pub struct Stream {
    inner: TcpStream,
    tally: Tally,
    /// Present once the write side is shut down.
    linger: Option<Linger>,
}

#[derive(Debug)]
struct Linger {
    until: Pin<Box<Sleep>>,
    bytes_left: usize,
}

impl Stream {
    pub(super) fn new(inner: TcpStream, tally: Tally) -> Self {
        tally.slot().accepted.add(1);
        Self {
            inner,
            tally,
            linger: None,
        }
    }

    fn count(&self, written: &Poll<io::Result<usize>>) {
        if let Poll::Ready(Ok(bytes)) = written {
            self.tally.slot().bytes.add(*bytes as u64);
        }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.tally.slot().closed.add(1);
    }
}

impl AsyncRead for Stream {
    #[inline]
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(cx, buf)
    }
}

impl AsyncWrite for Stream {
    #[inline]
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write(cx, buf);
        self.count(&written);
        written
    }

    #[inline]
    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write_vectored(cx, bufs);
        self.count(&written);
        written
    }

    #[inline]
    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    #[inline]
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Self { inner, linger, .. } = &mut *self;
        if linger.is_none() {
            ready!(Pin::new(&mut *inner).poll_shutdown(cx))?;
        }
        let linger = linger.get_or_insert_with(Linger::new);
        linger.poll(inner, cx).map(Ok)
    }
}

impl Linger {
    fn new() -> Self {
        Self {
            until: Box::pin(sleep(LINGER)),
            bytes_left: MAX_LINGER,
        }
    }

    /// Discards what comes; ready when the client has closed, or has had its chance.
    fn poll(&mut self, stream: &mut TcpStream, cx: &mut Context<'_>) -> Poll<()> {
        let mut scratch = [MaybeUninit::uninit(); 16 << 10];
        while self.bytes_left > 0 {
            let mut buf = ReadBuf::uninit(&mut scratch);
            match Pin::new(&mut *stream).poll_read(cx, &mut buf) {
                Poll::Ready(Ok(())) if buf.filled().is_empty() => return Poll::Ready(()),
                Poll::Ready(Ok(())) => {
                    self.bytes_left = self.bytes_left.saturating_sub(buf.filled().len());
                }
                Poll::Ready(Err(_reset)) => return Poll::Ready(()),
                Poll::Pending => return self.until.as_mut().poll(cx),
            }
        }
        Poll::Ready(())
    }
}
