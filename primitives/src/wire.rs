//! What parent and child say to each other: JSON in SEQPACKET messages, descriptors beside it (unix(7), SCM_RIGHTS).

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
    sockopt,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::failure::{Absence, Failure};
use crate::row::Each;

/// No message is longer.
const MESSAGE_BOUND: usize = 16 << 10;

/// No message carries more descriptors.
const DESCRIPTORS_BOUND: usize = 8;

/// What one end, or every worker, needs to open a mechanism: descriptors and a text of the mechanism's own.
#[derive(Debug, Default)]
pub struct Given {
    /// In the mechanism's order.
    pub fds: Vec<OwnedFd>,
    /// A name, an id.
    pub text: String,
}

impl Given {
    /// Descriptors alone.
    #[must_use]
    pub fn descriptors(fds: impl IntoIterator<Item = OwnedFd>) -> Self {
        Self {
            fds: fds.into_iter().collect(),
            text: String::new(),
        }
    }

    /// A text alone.
    #[must_use]
    pub fn text(text: impl ToString) -> Self {
        Self {
            fds: Vec::new(),
            text: text.to_string(),
        }
    }

    /// The only descriptor that the mechanism was given.
    ///
    /// # Errors
    ///
    /// [`Failure::Wrong`] if there is none.
    pub fn into_fd(self) -> Result<OwnedFd, Failure> {
        self.fds
            .into_iter()
            .next()
            .ok_or_else(|| Failure::Wrong("no descriptor came".to_owned()))
    }
}

/// The parent's first word to a child.
#[derive(Debug, Serialize, Deserialize)]
pub struct Order {
    /// What to do.
    pub role: Role,
    /// Where: thread i runs on CPU i of these, round robin.
    pub cpus: Vec<usize>,
    /// Whose child it should be: if it is not, the parent has died already.
    pub parent: u32,
}

/// What one child does in a trial.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Makes a channel's objects, and removes them when the parent hangs up.
    KeepChannel {
        /// The channel's name.
        channel: String,
        /// How it will be used.
        pattern: Pattern,
    },
    /// Makes a counter and a lock's objects, and removes them.
    KeepLock {
        /// The lock's name.
        lock: String,
    },
    /// Makes a directory to be listed, and removes it.
    KeepDirectory,
    /// One end of a channel.
    End {
        /// The channel's name.
        channel: String,
        /// Which end.
        end: End,
        /// How it is used.
        pattern: Pattern,
        /// Round trips or messages.
        count: u64,
        /// Whether each round trip is timed for itself.
        each: bool,
    },
    /// Threads that each add to the counter.
    Add {
        /// The lock's name.
        lock: String,
        /// How many threads.
        threads: usize,
        /// How often each of them adds 1.
        count: u64,
    },
    /// Two threads or tasks that hand a word to and fro.
    Hand {
        /// The hand-off's name.
        handoff: String,
        /// Round trips.
        count: u64,
        /// Whether each is timed for itself.
        each: bool,
    },
    /// Lists the directory by means of another program.
    Start {
        /// The way's name.
        program: String,
        /// How often.
        count: u64,
        /// The resident set that the starting process has, MB.
        rss_mb: usize,
    },
}

impl Role {
    /// Whether it makes a trial's objects, and so has to outlive the parent until they are removed.
    #[must_use]
    pub fn keeps(&self) -> bool {
        matches!(
            self,
            Self::KeepChannel { .. } | Self::KeepLock { .. } | Self::KeepDirectory
        )
    }

    /// What messages call it.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::KeepChannel { .. } | Self::KeepLock { .. } | Self::KeepDirectory => "keeper",
            Self::End {
                end: End::Near,
                pattern: Pattern::RoundTrip,
                ..
            } => "caller",
            Self::End {
                end: End::Far,
                pattern: Pattern::RoundTrip,
                ..
            } => "answerer",
            Self::End { end: End::Near, .. } => "writer",
            Self::End { end: End::Far, .. } => "reader",
            Self::Add { .. } => "worker",
            Self::Hand { .. } => "pair of threads",
            Self::Start { .. } => "starter",
        }
    }
}

/// Which end of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum End {
    /// Calls, or writes.
    Near,
    /// Answers, or reads.
    Far,
}

/// How a channel is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pattern {
    /// One byte to and fro.
    RoundTrip,
    /// Messages of `bytes` in one direction.
    OneWay {
        /// Length of each.
        bytes: usize,
        /// What is in them.
        body: Body,
    },
}

impl Pattern {
    /// Bytes in one message.
    #[must_use]
    pub fn bytes(self) -> usize {
        match self {
            Self::RoundTrip => 1,
            Self::OneWay { bytes, .. } => bytes,
        }
    }
}

/// What a one-way message holds after its index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Body {
    /// A constant pattern, and the index again at the end.
    Stamp,
    /// A text formatted anew for each message.
    Text,
}

/// What a child says.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Word {
    /// Made, for one end or for every worker; descriptors come with it.
    Made(String),
    /// Everything is open: go when you like.
    Ready,
    /// Done, and all checks passed.
    Done(Report),
    /// It cannot be had here.
    Absent(Absence),
    /// It went wrong.
    Failed(Failure),
}

/// What a child found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// When its last valid operation ended, CLOCK_MONOTONIC.
    pub end_ns: u64,
    /// CPU time that it used between go and its end, with all its threads.
    pub cpu_ns: u64,
    /// Percentiles, if each operation was timed.
    pub each: Option<Each>,
    /// Messages that were sent and did not arrive.
    pub lost: Option<u64>,
    /// The counter's value at the end.
    pub counter: Option<u64>,
}

/// One end of the conversation.
#[derive(Debug)]
pub struct Line(OwnedFd);

impl AsFd for Line {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Line {
    /// Two connected ends.
    ///
    /// # Errors
    ///
    /// Those of socketpair(2).
    pub fn pair() -> Result<(Self, OwnedFd), Failure> {
        let (ours, theirs) = socketpair(
            AddressFamily::UNIX,
            SocketType::SEQPACKET,
            SocketFlags::CLOEXEC,
            None,
        )
        .map_err(Failure::call("socketpair"))?;
        Ok((Self(ours), theirs))
    }

    /// The end that a child has as its stdin.
    ///
    /// # Errors
    ///
    /// Those of dup(2).
    pub fn stdin() -> Result<Self, Failure> {
        io::stdin()
            .as_fd()
            .try_clone_to_owned()
            .map(Self)
            .map_err(Failure::call("dup"))
    }

    /// Says `word` and passes `fds`.
    ///
    /// # Errors
    ///
    /// Those of sendmsg(2): EPIPE if the other side has ended.
    pub fn say(&self, word: &impl Serialize, fds: &[OwnedFd]) -> io::Result<()> {
        let json = serde_json::to_vec(word)?;
        let fds: Vec<BorrowedFd<'_>> = fds.iter().map(AsFd::as_fd).collect();
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS_BOUND))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        if !fds.is_empty() {
            control.push(SendAncillaryMessage::ScmRights(&fds));
        }
        sendmsg(
            &self.0,
            &[IoSlice::new(&json)],
            &mut control,
            SendFlags::NOSIGNAL,
        )?;
        Ok(())
    }

    /// The next word and what came with it; `None` after the other side has hung up.
    ///
    /// # Errors
    ///
    /// Those of recvmsg(2): EAGAIN after [`Line::wait_at_most`].
    pub fn hear<T: DeserializeOwned>(&self) -> io::Result<Option<(T, Vec<OwnedFd>)>> {
        let mut bytes = vec![0; MESSAGE_BOUND];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS_BOUND))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let mut parts = [IoSliceMut::new(&mut bytes)];
        let got = rustix::io::retry_on_intr(|| {
            recvmsg(&self.0, &mut parts, &mut control, RecvFlags::CMSG_CLOEXEC)
        })?;
        let fds = control
            .drain()
            .filter_map(|message| match message {
                RecvAncillaryMessage::ScmRights(fds) => Some(fds),
                _ => None,
            })
            .flatten()
            .collect();
        if got.bytes == 0 {
            return Ok(None);
        }
        Ok(Some((serde_json::from_slice(&bytes[..got.bytes])?, fds)))
    }

    /// From now on [`Line::hear`] gives up after `time`.
    ///
    /// # Errors
    ///
    /// Those of setsockopt(2).
    pub fn wait_at_most(&self, time: Duration) -> io::Result<()> {
        let time = time.max(Duration::from_micros(1)); // zero would mean for ever
        Ok(sockopt::set_socket_timeout(
            &self.0,
            sockopt::Timeout::Recv,
            Some(time),
        )?)
    }
}
