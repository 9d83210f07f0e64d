//! ONC RPC's wire form (RFC 5531) over plain sockets. No Sun RPC library: glibc has none any more. So no port mapper, no
//! authentication, no generated stubs: what remains are the headers, and for TCP the record mark.

use std::io::{self, Write as _};
use std::os::fd::OwnedFd;

use onc_rpc::auth::AuthFlavor;
use onc_rpc::{
    AcceptedReply, AcceptedStatus, CallBody, MessageType, ReplyBody, RpcMessage,
    expected_message_len,
};

use super::streams::{SOCKET_BUFFER, Stream, connected};
use super::unix::Packets;
use super::{Channel, Made, Port, udp};
use crate::failure::{Absence, Failure};
use crate::limits;
use crate::wire::{End, Given, Pattern};

/// Calls over TCP.
pub(crate) const RPC_OVER_TCP: RpcOverTcp = RpcOverTcp;
/// Calls over UDP.
pub(crate) const RPC_OVER_UDP: RpcOverUdp = RpcOverUdp;

/// The program, its version and its procedure; the number is in the range that RFC 5531, section 13, leaves to users.
const PROGRAM: (u32, u32, u32) = (0x2000_5247, 1, 1);

/// Bytes of a record mark.
const MARK: usize = 4;

/// Set in the mark of a record's last fragment.
const LAST_FRAGMENT: u32 = 1 << 31;

/// Bytes of a call's header: ten words (RFC 5531, section 9), and the length of the opaque argument.
const HEADER: usize = 10 * 4 + 4;

pub(crate) struct RpcOverTcp;
pub(crate) struct RpcOverUdp;

impl Channel for RpcOverTcp {
    type Port = Rpc<Stream>;

    fn name(&self) -> &'static str {
        "RPC form, TCP"
    }

    fn note(&self, pattern: Pattern) -> String {
        note(pattern, &format!("TCP_NODELAY, {SOCKET_BUFFER}"))
    }

    fn absent(&self, _: Pattern) -> Option<Absence> {
        None
    }

    fn make(&self, _: Pattern) -> Result<Made, Failure> {
        let (near, far) = connected()?;
        Ok(Made::ends(
            Given::descriptors([near]),
            Given::descriptors([far]),
        ))
    }

    fn open(&self, end: End, pattern: Pattern, given: Given) -> Result<Rpc<Stream>, Failure> {
        Ok(Rpc::new(Stream::of(given)?, end, pattern))
    }
}

impl Channel for RpcOverUdp {
    type Port = Rpc<Packets>;

    fn name(&self) -> &'static str {
        "RPC form, UDP"
    }

    fn note(&self, pattern: Pattern) -> String {
        note(pattern, SOCKET_BUFFER)
    }

    fn absent(&self, pattern: Pattern) -> Option<Absence> {
        limits::udp(pattern.bytes() + HEADER)
    }

    fn make(&self, _: Pattern) -> Result<Made, Failure> {
        udp::connected()
    }

    fn open(&self, end: End, pattern: Pattern, given: Given) -> Result<Rpc<Packets>, Failure> {
        let fd: OwnedFd = given.into_fd()?;
        Ok(Rpc::new(Packets(fd), end, pattern))
    }
}

fn note(pattern: Pattern, sockets: &str) -> String {
    let replies = match pattern {
        Pattern::RoundTrip => "",
        Pattern::OneWay { .. } => "one call for each message, and the next after its reply; ",
    };
    format!("RFC 5531 headers, no RPC library; {replies}{sockets}")
}

/// A transport that moves whole RPC messages, which in memory always start with a record mark.
pub(crate) trait Transport {
    fn put(&mut self, record: &[u8]) -> io::Result<()>;
    fn take(&mut self, record: &mut Vec<u8>, bound: usize) -> io::Result<()>;
}

impl Transport for Stream {
    fn put(&mut self, record: &[u8]) -> io::Result<()> {
        self.send(record)
    }

    fn take(&mut self, record: &mut Vec<u8>, bound: usize) -> io::Result<()> {
        record.resize(MARK, 0);
        self.recv(record)?;
        let length = expected_message_len(record).map_err(io::Error::other)? as usize;
        if length > bound {
            return Err(io::Error::other(format!("a record of {length} bytes came")));
        }
        record.resize(length, 0);
        self.recv(&mut record[MARK..]).map(drop)
    }
}

impl Transport for Packets {
    fn put(&mut self, record: &[u8]) -> io::Result<()> {
        self.send(&record[MARK..])
    }

    fn take(&mut self, record: &mut Vec<u8>, bound: usize) -> io::Result<()> {
        record.resize(bound, 0);
        let length = self.recv(&mut record[MARK..])?;
        record.truncate(MARK + length);
        let mark = u32::try_from(length).map_err(io::Error::other)? | LAST_FRAGMENT;
        record[..MARK].copy_from_slice(&mark.to_be_bytes());
        Ok(())
    }
}

/// One end: the near one calls, the far one replies. One way, every call is replied to with an empty reply.
#[derive(Debug)]
pub(crate) struct Rpc<T> {
    transport: T,
    end: End,
    pattern: Pattern,
    xid: u32,
    record: Vec<u8>,
}

type Wire<'a> = RpcMessage<&'a [u8], &'a [u8]>;

impl<T: Transport> Rpc<T> {
    fn new(transport: T, end: End, pattern: Pattern) -> Self {
        Self {
            transport,
            end,
            pattern,
            xid: 0,
            record: Vec::new(),
        }
    }

    fn put(&mut self, payload: &[u8]) -> io::Result<()> {
        let argument = opaque(payload)?;
        let none = || AuthFlavor::AuthNone(None);
        let message: MessageType<&[u8], &[u8]> = match self.end {
            End::Near => {
                self.xid = self.xid.wrapping_add(1);
                let (program, version, procedure) = PROGRAM;
                MessageType::Call(CallBody::new(
                    program,
                    version,
                    procedure,
                    none(),
                    none(),
                    &argument,
                ))
            }
            End::Far => {
                let status = AcceptedStatus::Success(argument.as_slice());
                MessageType::Reply(ReplyBody::Accepted(AcceptedReply::new(none(), status)))
            }
        };
        self.record.clear();
        RpcMessage::new(self.xid, message).serialise_into(&mut self.record)?;
        self.transport.put(&self.record)
    }

    fn take(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bound = MARK + HEADER + self.pattern.bytes().next_multiple_of(4);
        self.transport.take(&mut self.record, bound)?;
        let message = Wire::try_from(self.record.as_slice()).map_err(io::Error::other)?;
        let argument = match (self.end, message.message()) {
            (End::Far, MessageType::Call(call)) if call.program() == PROGRAM.0 => *call.payload(),
            (End::Near, MessageType::Reply(ReplyBody::Accepted(reply)))
                if message.xid() == self.xid =>
            {
                match reply.status() {
                    AcceptedStatus::Success(payload) => *payload,
                    status => {
                        return Err(io::Error::other(format!(
                            "the call was not accepted: {status:?}"
                        )));
                    }
                }
            }
            _ => {
                return Err(io::Error::other(
                    "an RPC message came that does not belong here",
                ));
            }
        };
        self.xid = message.xid();
        let payload = payload_of(argument)?;
        let room = buffer
            .get_mut(..payload.len())
            .ok_or(io::ErrorKind::InvalidData)?;
        room.copy_from_slice(payload);
        Ok(payload.len())
    }
}

impl<T: Transport> Port for Rpc<T> {
    fn send(&mut self, message: &[u8]) -> io::Result<()> {
        self.put(message)?;
        if let (Pattern::OneWay { .. }, End::Near) = (self.pattern, self.end) {
            self.take(&mut [])?;
        }
        Ok(())
    }

    fn recv(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.take(buffer)?;
        if let (Pattern::OneWay { .. }, End::Far) = (self.pattern, self.end) {
            self.put(&[])?;
        }
        Ok(length)
    }
}

/// `bytes` as XDR writes opaque data of variable length: RFC 4506, section 4.10.
fn opaque(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut written = Vec::with_capacity(4 + bytes.len().next_multiple_of(4));
    written.write_all(
        &u32::try_from(bytes.len())
            .map_err(io::Error::other)?
            .to_be_bytes(),
    )?;
    written.write_all(bytes)?;
    written.resize(written.len().next_multiple_of(4), 0);
    Ok(written)
}

fn payload_of(argument: &[u8]) -> io::Result<&[u8]> {
    let (length, rest) = argument
        .split_first_chunk()
        .ok_or(io::ErrorKind::InvalidData)?;
    let length = u32::from_be_bytes(*length) as usize;
    Ok(rest.get(..length).ok_or(io::ErrorKind::InvalidData)?)
}
