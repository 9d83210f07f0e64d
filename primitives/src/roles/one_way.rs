//! Messages in one direction, each with its index, every one checked.
//!
//! A message is `index: u64` and a body. A stamped body is a constant pattern that ends with the index once more, so that a
//! message put together of two is noticed; a text body is formatted anew for each message, as the ZeroMQ article does. The
//! reader compares every byte of every message with what was sent; the rows' notes say so, for that is part of what they cost.

use std::io::{self, Write as _};
use std::time::Duration;

use crate::channels::Port;
use crate::clock::{cpu_ns, now_ns};
use crate::failure::Failure;
use crate::wire::{Body, Report};

/// Bytes of an index.
const INDEX: usize = size_of::<u64>();

/// The index of the marker that ends a flow in which messages may be lost.
const END: u64 = u64::MAX;

/// How often the marker is sent, and in what distance: it may be lost too.
const MARKERS: (u32, Duration) = (20, Duration::from_millis(1));

/// A message that is made, or expected, for one index after the other.
struct Message {
    bytes: Vec<u8>,
    body: Body,
}

impl Message {
    fn new(length: usize, body: Body) -> Self {
        let pattern = match body {
            Body::Stamp => 0xa5,
            Body::Text => 0,
        };
        Self {
            bytes: vec![pattern; length],
            body,
        }
    }

    fn set(&mut self, index: u64) {
        let stamp = index.to_le_bytes();
        let length = self.bytes.len();
        self.bytes[..INDEX].copy_from_slice(&stamp);
        match self.body {
            Body::Stamp => self.bytes[length - INDEX..].copy_from_slice(&stamp),
            Body::Text => {
                // It cannot fail: a slice takes what fits, and the text does.
                let _ = write!(
                    &mut self.bytes[INDEX..],
                    "message number {index} of this run"
                );
            }
        }
    }
}

/// Writes `count` messages of `length` bytes.
///
/// # Errors
///
/// A call of the mechanism failed.
pub fn write(
    port: &mut impl Port,
    length: usize,
    body: Body,
    count: u64,
    loses: bool,
) -> Result<Report, Failure> {
    let cpu = cpu_ns();
    let mut message = Message::new(length, body);
    for index in 0..count {
        message.set(index);
        port.send(&message.bytes).map_err(Failure::call("send"))?;
    }
    if loses {
        message.set(END);
        for _ in 0..MARKERS.0 {
            // A reader that has seen one marker may be gone.
            let _ = port.send(&message.bytes);
            std::thread::sleep(MARKERS.1);
        }
    }
    // Without an end: the clock stops at the reader's last valid message.
    Ok(Report {
        cpu_ns: cpu_ns() - cpu,
        ..Report::default()
    })
}

/// Reads them and checks each. Where none may be lost, a gap is a failure.
///
/// # Errors
///
/// A call of the mechanism failed, the writer left early, or a message is not what was sent.
pub fn read(
    port: &mut impl Port,
    length: usize,
    body: Body,
    count: u64,
    loses: bool,
) -> Result<Report, Failure> {
    let cpu = cpu_ns();
    let mut expected = Message::new(length, body);
    let mut buffer = vec![0; length];
    let (mut next, mut valid, mut end_ns) = (0, 0, 0);
    while next < count {
        let got = match port.recv(&mut buffer) {
            Err(error) if loses && error.kind() == io::ErrorKind::WouldBlock => break,
            result => result.map_err(Failure::call("receive"))?,
        };
        let index = index_of(&buffer[..got])?;
        if loses && index == END {
            break;
        }
        if index != next && !(loses && (next..count).contains(&index)) {
            return Err(Failure::Wrong(format!(
                "message {index} came where {next} was expected"
            )));
        }
        expected.set(index);
        if buffer[..got] != expected.bytes {
            return Err(Failure::Wrong(format!(
                "message {index} has {got} bytes that are not those sent"
            )));
        }
        (next, valid) = (index + 1, valid + 1);
        if loses || next == count {
            end_ns = now_ns();
        }
    }
    if valid == 0 {
        return Err(Failure::Wrong(format!("none of {count} messages came")));
    }
    let lost = loses.then_some(count - valid);
    Ok(Report {
        end_ns,
        cpu_ns: cpu_ns() - cpu,
        lost,
        ..Report::default()
    })
}

fn index_of(message: &[u8]) -> Result<u64, Failure> {
    let bytes = message.first_chunk::<INDEX>();
    let bytes = bytes
        .ok_or_else(|| Failure::Wrong(format!("a message of {} bytes came", message.len())))?;
    Ok(u64::from_le_bytes(*bytes))
}
