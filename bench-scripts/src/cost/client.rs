//! Connections that ask for the same page again and again, in the same thread that runs the server.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use rustix::net::{RecvFlags, recv};
use rustix::thread::sched_yield;

/// How long an answer may take of a server that runs freely.
const TIMEOUT: Duration = Duration::from_secs(5);

/// The connections, and what they send.
pub(super) struct Client {
    connections: Vec<TcpStream>,
    request: Vec<u8>,
    response_bytes: usize,
}

impl Client {
    /// No connection yet; each answer will be so long.
    pub(super) fn new(request: Vec<u8>, response_bytes: u64) -> Self {
        Self {
            connections: Vec::new(),
            request,
            response_bytes: usize::try_from(response_bytes).expect("an answer fits into memory"),
        }
    }

    /// Opens so many connections more, one after the other, and then has one request after the other answered, each on a
    /// connection of its own.
    ///
    /// # Errors
    ///
    /// When a connection is refused, or an answer does not come.
    pub(super) fn open(&mut self, addr: SocketAddr, connections: u32) -> io::Result<()> {
        let first = self.connections.len();
        for _ in 0..connections {
            let stream = TcpStream::connect_timeout(&addr, TIMEOUT)?;
            stream.set_nodelay(true)?;
            stream.set_read_timeout(Some(TIMEOUT))?;
            self.connections.push(stream);
        }
        let mut answer = vec![0; self.response_bytes];
        for stream in &mut self.connections[first..] {
            stream.write_all(&self.request)?;
            stream.read_exact(&mut answer)?;
        }
        Ok(())
    }

    /// Sends a request on each of `at_once` connections, spread evenly over all.
    ///
    /// # Errors
    ///
    /// Those of write(2).
    pub(super) fn ask(&self, at_once: usize) -> io::Result<Vec<Awaited<'_>>> {
        let ask = |index: usize| {
            let mut stream = &self.connections[index * self.connections.len() / at_once];
            stream.write_all(&self.request)?;
            let left = self.response_bytes;
            Ok(Awaited { stream, left })
        };
        (0..at_once).map(ask).collect()
    }

    /// As [`Client::ask`], and waits for the answers of a server that runs freely.
    ///
    /// # Errors
    ///
    /// As [`Client::ask`] and [`Awaited::is_complete`], and if they are not there within `timeout`.
    pub(super) fn have_answered(&self, at_once: u32, timeout: Duration) -> io::Result<()> {
        let deadline = Instant::now() + timeout;
        let mut awaited = self.ask(at_once as usize)?;
        while let Some(answer) = awaited.last_mut() {
            if answer.is_complete()? {
                awaited.pop();
            } else if Instant::now() > deadline {
                return Err(ErrorKind::TimedOut.into());
            } else {
                sched_yield();
            }
        }
        Ok(())
    }
}

/// An answer that is awaited.
pub(super) struct Awaited<'a> {
    stream: &'a TcpStream,
    /// Bytes of it that are still to come.
    left: usize,
}

impl Awaited<'_> {
    /// Reads what there is, without waiting. True once the answer is complete.
    ///
    /// # Errors
    ///
    /// Those of recv(2), and the end of the connection.
    pub(super) fn is_complete(&mut self) -> io::Result<bool> {
        let mut buffer = [0; 4096];
        while self.left > 0 {
            let wanted = self.left.min(buffer.len());
            match recv(self.stream, &mut buffer[..wanted], RecvFlags::DONTWAIT) {
                Ok((_, 0)) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok((_, read)) => self.left -= read,
                Err(rustix::io::Errno::AGAIN) => return Ok(false),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(true)
    }
}
