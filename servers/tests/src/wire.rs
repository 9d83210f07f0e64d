//! One raw connection.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use socket2::SockRef;

use crate::case::Pace;
use crate::reply::EPOCH;

/// How long an answer may take. Far beyond what is needed: the table checks what is answered, not how fast.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// How long a connection is watched to see that nothing comes.
const SILENCE: Duration = Duration::from_millis(60);

/// How far a `date` may be from the client's clock: hyper and the raw rungs renew it once a second.
const DATE_TOLERANCE: Duration = Duration::from_secs(2);

/// How a receipt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// All bytes asked for have come.
    Full,
    /// The server closed in order: FIN.
    Closed,
    /// The server gave the connection up: RST.
    Reset,
    /// Nothing came for so long that the client gave up.
    Waiting,
}

/// A connection as a client sees it.
pub(crate) struct Wire {
    stream: TcpStream,
    opened: SystemTime,
    /// All that was sent so far has been taken.
    all_taken: bool,
}

impl Wire {
    pub(crate) fn open(addr: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect_timeout(&addr, PATIENCE)?;
        stream.set_nodelay(true)?;
        stream.set_write_timeout(Some(PATIENCE))?;
        Ok(Self {
            stream,
            opened: SystemTime::now(),
            all_taken: true,
        })
    }

    /// Sends all. A server that takes it no longer is no error here: what it answered tells.
    pub(crate) fn send(&mut self, bytes: &[u8]) {
        self.all_taken &= self.stream.write_all(bytes).is_ok();
    }

    /// Sends a piece so many times. Small pieces are sent many at once: a client that takes long to send would meet the
    /// server's deadlines.
    pub(crate) fn send_repeated(&mut self, piece: &[u8], times: usize) {
        self.all_taken &= write_repeated(&mut self.stream, piece, times).is_ok();
    }

    /// The same from a thread of its own, so that this one can receive. It ends with the connection at the latest.
    pub(crate) fn send_meanwhile(&self, piece: &'static [u8], times: usize) {
        let stream = self.stream.try_clone();
        thread::spawn(move || write_repeated(&mut stream?, piece, times));
    }

    /// Whether the server has taken all that was sent.
    pub(crate) fn all_taken(&self) -> bool {
        self.all_taken
    }

    /// Sends each byte in its own segment until all are sent or the server has answered or closed.
    pub(crate) fn drip(&mut self, bytes: &[u8], every: Duration) {
        for byte in bytes.chunks(1) {
            self.send(byte);
            let _ = self.stream.set_read_timeout(Some(every));
            let answered = self.stream.peek(&mut [0]);
            let waiting = |e: &io::Error| {
                matches!(
                    e.kind(),
                    ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted
                )
            };
            if !answered.is_err_and(|e| waiting(&e)) {
                return;
            }
        }
    }

    pub(crate) fn half_close(&mut self) {
        let _ = self.stream.shutdown(Shutdown::Write);
    }

    /// Closes with RST instead of FIN (socket(7), SO_LINGER with a time of zero).
    pub(crate) fn reset(self) {
        let _ = SockRef::from(&self.stream).set_linger(Some(Duration::ZERO));
    }

    /// Receives up to `want` bytes, with each right date replaced by [`EPOCH`].
    ///
    /// A date that is malformed, or not that of a moment since the connection was opened, stays as it is, and so fails the
    /// comparison.
    pub(crate) fn receive(&mut self, want: usize, pace: Pace) -> (Vec<u8>, Ended) {
        let (mut bytes, ended) = self.receive_raw(want, pace, PATIENCE);
        let since = self.opened - DATE_TOLERANCE;
        mask_dates(&mut bytes, since, SystemTime::now() + DATE_TOLERANCE);
        (bytes, ended)
    }

    /// Receives what comes within a short time, at most `want` bytes.
    pub(crate) fn receive_stray(&mut self, want: usize) -> (Vec<u8>, Ended) {
        self.receive_raw(want, Pace::Brisk, SILENCE)
    }

    fn receive_raw(&mut self, want: usize, pace: Pace, patience: Duration) -> (Vec<u8>, Ended) {
        const PIECE: usize = 64 << 10;
        let mut bytes = Vec::new();
        let mut piece = vec![0; PIECE.min(want)];
        let deadline = Instant::now() + patience;
        while bytes.len() < want {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return (bytes, Ended::Waiting);
            }
            let _ = self.stream.set_read_timeout(Some(left));
            let room = piece.len().min(want - bytes.len());
            match self.stream.read(&mut piece[..room]) {
                Ok(0) => return (bytes, Ended::Closed),
                Ok(n) => bytes.extend_from_slice(&piece[..n]),
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                    return (bytes, Ended::Waiting);
                }
                Err(_reset) => return (bytes, Ended::Reset),
            }
            if pace == Pace::Slow {
                thread::sleep(Duration::from_millis(1));
            }
        }
        (bytes, Ended::Full)
    }
}

fn write_repeated(stream: &mut TcpStream, piece: &[u8], times: usize) -> io::Result<()> {
    const BATCH: usize = 64 << 10;
    let at_once = (BATCH / piece.len().max(1)).clamp(1, times);
    let batch = piece.repeat(at_once);
    for _ in 0..times / at_once {
        stream.write_all(&batch)?;
    }
    stream.write_all(&batch[..times % at_once * piece.len()])
}

/// Replaces the value of each `date` line that lies between the two moments by [`EPOCH`].
fn mask_dates(bytes: &mut [u8], earliest: SystemTime, latest: SystemTime) {
    const LINE: &[u8] = b"\r\ndate: ";
    let mut at = 0;
    while let Some(found) = find(&bytes[at..], LINE) {
        at += found + LINE.len();
        let Some(value) = bytes.get_mut(at..at + EPOCH.len()) else {
            return;
        };
        let date = std::str::from_utf8(value)
            .ok()
            .and_then(|text| httpdate::parse_http_date(text).ok());
        // The line has whole seconds.
        if date.is_some_and(|date| date + Duration::from_secs(1) > earliest && date <= latest) {
            value.copy_from_slice(EPOCH.as_bytes());
        }
    }
}

fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    let mut from = 0;
    while let Some(at) = haystack[from..].iter().position(|b| *b == needle[0]) {
        from += at;
        if haystack[from..].starts_with(needle) {
            return Some(from);
        }
        from += 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_right_date_is_masked() {
        let at = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        let mask = |text: &str| {
            let mut bytes = text.as_bytes().to_vec();
            mask_dates(&mut bytes, at(784_111_776), at(784_111_778));
            String::from_utf8(bytes).unwrap()
        };
        let right = "a\r\ndate: Sun, 06 Nov 1994 08:49:37 GMT\r\n\r\n";
        assert_eq!(mask(right), format!("a\r\ndate: {EPOCH}\r\n\r\n"));
        for wrong in [
            "a\r\ndate: Sun, 06 Nov 1994 08:49:30 GMT\r\n\r\n",
            "a\r\ndate: Sun, 06 Nov 1994 08:50:37 GMT\r\n\r\n",
            "a\r\ndate: soon\r\n\r\n",
        ] {
            assert_eq!(mask(wrong), wrong);
        }
    }
}
