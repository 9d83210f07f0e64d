//! Hand-offs between two threads of one process, or two tasks of one thread: what a runtime is made of. One file for each
//! mechanism.

mod channels;
mod eventfd;
mod futex;
mod msg_ring;
mod ring;
mod tokio_channel;

use std::fmt::{self, Debug};
use std::thread;

use crate::channels::Port;
use crate::child::Hall;
use crate::clock::pin;
use crate::failure::Failure;
use crate::roles::round_trip;
use crate::row::Waits;
use crate::trial::NoResult;
use crate::wire::Report;

/// A mechanism inside one process.
pub struct Handoff {
    /// Its name in tables.
    pub name: &'static str,
    /// What a side does that has to wait.
    pub waits: Waits,
    /// How many threads take part.
    pub threads: Threads,
    /// What a round is, where it is not a word there and back.
    pub note: Option<&'static str>,
    /// Runs so many rounds on these CPUs, each timed for itself or not.
    pub run: fn(&[usize], u64, bool, &Hall) -> Result<Report, NoResult>,
}

/// How many threads a hand-off takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threads {
    /// Both sides are on one, so there is one placement.
    One,
    /// One for each side.
    Two,
}

impl Debug for Handoff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// Every hand-off, cheapest kind first.
pub const ALL: &[Handoff] = &[
    futex::WITHOUT_WAITER,
    tokio_channel::WAKE_UP,
    tokio_channel::ONE_RUNTIME,
    ring::SPINNING,
    ring::WITH_FUTEX,
    futex::WITH_WAITER,
    channels::STD,
    channels::CROSSBEAM,
    tokio_channel::TWO_RUNTIMES,
    eventfd::EVENTFD,
    msg_ring::MSG_RING,
];

/// The hand-off of that name.
#[must_use]
pub fn named(name: &str) -> Option<&'static Handoff> {
    ALL.iter().find(|handoff| handoff.name == name)
}

/// Round trips between the calling thread, which is pinned already, and one on the last of `cpus`.
fn ping_pong<P: Port + Send + 'static>(
    (mut near, mut far): (P, P),
    cpus: &[usize],
    count: u64,
    each: bool,
    hall: &Hall,
) -> Result<Report, NoResult> {
    let cpu = cpus.last().copied().unwrap_or(0);
    // Not scoped: if the calls fail, nobody answers this thread any more, and it ends with the process.
    let answerer = thread::spawn(move || {
        pin(cpu)?;
        round_trip::answer(&mut far, count)
    });
    hall.ready()?;
    let report = round_trip::call(&mut near, count, each)?;
    answerer
        .join()
        .map_err(|_| Failure::Wrong("the answering thread panicked".to_owned()))??;
    Ok(report)
}
