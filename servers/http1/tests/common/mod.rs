//! A client that talks to one connection without a socket, and a clock that it moves itself.

#![allow(dead_code, reason = "each test binary uses its own part")]

pub mod counting;
pub mod script;

use std::time::{Duration, Instant};

use rungs_http1::{Connection, Context, Limits, Next};
use rungs_response::Encoder;

pub const LIMITS: Limits = Limits {
    header_timeout: Duration::from_secs(10),
    idle_timeout: Duration::from_secs(60),
};

/// Sun, 06 Nov 1994 08:49:37 GMT
const UNIX_SECONDS: u64 = 784_111_777;

pub struct Client {
    pub connection: Connection,
    pub now: Instant,
    /// What the server wrote since [`Client::take`].
    pub out: Vec<u8>,
    pub requests: u64,
    encoder: Encoder,
}

impl Client {
    pub fn new() -> Self {
        let now = Instant::now();
        Self {
            connection: Connection::new(now),
            now,
            out: Vec::new(),
            requests: 0,
            encoder: Encoder::new(UNIX_SECONDS),
        }
    }

    /// One call of the connection.
    pub fn call(&mut self, call: impl FnOnce(&mut Connection, &mut Context<'_>)) {
        let mut cx = Context {
            now: self.now,
            limits: &LIMITS,
            encoder: &self.encoder,
            out: &mut self.out,
            requests: &mut self.requests,
        };
        call(&mut self.connection, &mut cx);
    }

    pub fn receive(&mut self, input: &[u8]) {
        self.call(|connection, cx| connection.receive(input, cx));
    }

    /// Resumes until nothing more is to be written.
    pub fn flush(&mut self) {
        while self.connection.next() == Next::Resume {
            self.call(Connection::resume);
        }
    }

    pub fn fin(&mut self) {
        self.call(|connection, _| connection.end_of_input());
    }

    pub fn shut_down(&mut self) {
        self.call(|connection, _| connection.shut_down());
    }

    pub fn next(&self) -> Next {
        self.connection.next()
    }

    /// What the server wrote since the last time, as text without the lines that are the same everywhere.
    pub fn take(&mut self) -> String {
        let out = String::from_utf8(std::mem::take(&mut self.out)).unwrap();
        out.replace("date: Sun, 06 Nov 1994 08:49:37 GMT\r\n", "")
            .replace("content-type: application/octet-stream\r\n", "")
    }

    /// Sends `input` and returns everything that comes back.
    pub fn exchange(&mut self, input: &str) -> String {
        self.receive(input.as_bytes());
        self.flush();
        self.take()
    }

    /// How long until the deadline.
    pub fn patience(&self) -> Duration {
        self.connection.deadline(&LIMITS) - self.now
    }

    pub fn wait(&mut self, seconds: u64) {
        self.now += Duration::from_secs(seconds);
    }

    pub fn expire(&mut self) {
        self.call(Connection::expire);
    }
}

/// The statuses of the answers in `text`, in order.
pub fn statuses(text: &str) -> Vec<&str> {
    text.split("HTTP/1.")
        .skip(1)
        .map(|answer| &answer[2..5])
        .collect()
}

/// The answer to a request that could not be served.
pub fn error(status: &str) -> String {
    format!("HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n")
}

/// The answer that gives `body` back.
pub fn echo(body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n{body}")
}
