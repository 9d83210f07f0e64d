//! The words of a script.

use std::borrow::Cow;
use std::time::Duration;

use rustix::process::Signal;

use crate::Kind;
use crate::reply::Reply;

/// What a case is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// Routes, statuses, HEAD.
    Routes,
    /// Keep-alive, close, versions, pipelining, half-close.
    Connections,
    /// Request lines and header lines, good and bad.
    Heads,
    /// Request bodies in both framings, good and bad.
    Bodies,
    /// Slow, vanishing and hostile clients; deadlines; lack of descriptors.
    Faults,
    /// The contract of the process: flags, signals, counters.
    Process,
}

/// One row of the table: a script of what a client does and what it must get back.
#[derive(Clone, Debug)]
pub struct Case {
    /// What is tested, as a statement about the server.
    pub name: &'static str,
    /// What it is about.
    pub group: Group,
    /// Flags that the server must have been started with.
    pub flags: &'static [&'static str],
    /// Belongs to the short form that runs before every sweep.
    pub quick: bool,
    pub(crate) steps: Vec<Step>,
    pub(crate) exempt: Vec<(Kind, &'static str)>,
    pub(crate) holds_for_null: bool,
}

/// A declared difference between one kind of rung and all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The name of the case in which it shows.
    pub case: &'static str,
    /// Who differs.
    pub kind: Kind,
    /// How, and why.
    pub why: &'static str,
}

/// One thing that a client does or expects.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// Go on with this connection; it is opened when first used.
    On(usize),
    /// Send these bytes, so many times over, in as few segments as the kernel likes.
    Send(Cow<'static, [u8]>, usize),
    /// The same from a thread of its own, while the script goes on.
    SendMeanwhile(&'static [u8], usize),
    /// Send byte by byte, each in a segment of its own, with this pause between them; stops early if the server closes.
    Drip(Cow<'static, [u8]>, Duration),
    /// Send nothing more: FIN.
    HalfClose,
    /// Vanish: RST.
    Reset,
    /// Close in the ordinary way.
    HangUp,
    /// Do nothing for so long.
    Pause(Duration),
    /// Connect and vanish at once, so many times.
    ConnectAndReset(usize),
    /// Get this.
    Expect(Pace, Expectation),
    /// See and touch the server's process.
    Process(ProcessStep),
}

/// How fast a client reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pace {
    Brisk,
    /// A short pause after each 64 KiB.
    Slow,
}

/// What concerns the process rather than one connection.
#[derive(Clone, Debug)]
pub(crate) enum ProcessStep {
    /// Send it this signal.
    Signal(Signal),
    /// It exits with 0 within this time, and its last line has the counters.
    Exits(Duration),
    /// It can open no more descriptors.
    DenyDescriptors,
    /// It can again.
    AllowDescriptors,
    /// Stop all its threads; what waits in the kernel gets EINTR when it goes on (signal(7), "Interruption of system calls").
    Halt,
    /// Let them go on.
    GoOn,
    /// For so long it uses less than a quarter of one CPU.
    Rests(Duration),
    /// For so long none of its threads runs at all.
    Sleeps(Duration),
    /// It holds less than so many bytes of memory more than when it began to listen.
    GrowsBelow(u64),
    /// No connection is left that the client has closed and the server has not (CLOSE_WAIT).
    ClosesAll,
    /// SIGUSR1 tells that it has answered so many requests, all with the page, and has so many connections open.
    Counts { pages: u64, open: u64 },
    /// SIGUSR1 tells that it has so many connections open.
    Open(u64),
    /// A new connection gets no service: it is refused, or closed without an answer.
    Refuses,
    /// Another process of the same program with these flags (`{addr}` is the server's address) exits so, with this on stderr.
    Launch {
        flags: &'static [&'static str],
        code: i32,
        stderr: &'static str,
    },
}

/// What all must answer at this step, and what some may instead.
#[derive(Clone, Debug)]
pub(crate) struct Expectation {
    pub(crate) of_all: Expected,
    pub(crate) differences: Vec<(Kind, Expected, &'static str)>,
}

impl Expectation {
    /// What a rung of this kind must answer, with the reason if that is not what all must.
    pub(crate) fn of(&self, kind: Kind) -> (&Expected, Option<&'static str>) {
        self.differences
            .iter()
            .find(|(differing, _, _)| *differing == kind)
            .map_or((&self.of_all, None), |(_, expected, why)| {
                (expected, Some(*why))
            })
    }
}

/// One of these, to the byte.
#[derive(Clone, Debug)]
pub(crate) struct Expected(pub(crate) Vec<Outcome>);

/// Answers, and what becomes of the connection.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    pub(crate) replies: Vec<Reply>,
    pub(crate) end: End,
}

/// What becomes of a connection after the answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// It serves another request.
    Open,
    /// More of the answer follows, which is not looked at yet.
    Continues,
    /// It stays, without a further byte for now: the server waits for more.
    Silent,
    /// The server closes it, with FIN or RST.
    Closed,
    /// The server closes it with FIN, after it has taken all that the client had to send (RFC 9112, section 9.6). A RST
    /// could destroy the answer, or keep a client that still sends from reading it.
    ClosedInOrder,
    /// The server closes it before all of the answer was sent.
    CutShort,
}

impl Expected {
    /// Or that. Only endings that close can be alternatives.
    pub(crate) fn or(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        debug_assert!(self.0.iter().all(|outcome| outcome.end == End::Closed));
        self
    }
}

/// A reply, or several, with what comes after them.
pub(crate) trait Ending: Sized {
    fn replies(self) -> Vec<Reply>;

    fn ends(self, end: End) -> Expected {
        Expected(vec![Outcome {
            replies: self.replies(),
            end,
        }])
    }

    /// Then the connection serves another request.
    fn open(self) -> Expected {
        self.ends(End::Open)
    }

    /// Then more follows, which the next expectation looks at.
    fn and_more(self) -> Expected {
        self.ends(End::Continues)
    }

    /// Then nothing comes for now.
    fn silent(self) -> Expected {
        self.ends(End::Silent)
    }

    /// Then the server closes.
    fn closed(self) -> Expected {
        self.ends(End::Closed)
    }

    /// Then the server closes, but only after it has taken all that was sent.
    fn closed_in_order(self) -> Expected {
        self.ends(End::ClosedInOrder)
    }

    /// The server closes before the end of it.
    fn cut_short(self) -> Expected {
        self.ends(End::CutShort)
    }
}

impl Ending for Reply {
    fn replies(self) -> Vec<Reply> {
        vec![self]
    }
}

impl Ending for Vec<Reply> {
    fn replies(self) -> Vec<Reply> {
        self
    }
}

/// No answer at all.
pub(crate) fn nothing() -> Vec<Reply> {
    Vec::new()
}

impl Case {
    pub(crate) fn new(group: Group, name: &'static str) -> Self {
        Self {
            name,
            group,
            flags: &[],
            quick: false,
            steps: Vec::new(),
            exempt: Vec::new(),
            holds_for_null: false,
        }
    }

    fn step(mut self, step: Step) -> Self {
        self.steps.push(step);
        self
    }

    /// The server needs these flags.
    pub(crate) fn flags(self, flags: &'static [&'static str]) -> Self {
        Self { flags, ..self }
    }

    /// Part of the short form.
    pub(crate) fn quick(self) -> Self {
        Self {
            quick: true,
            ..self
        }
    }

    /// The null rung is held to this as well.
    pub(crate) fn null_too(self) -> Self {
        Self {
            holds_for_null: true,
            ..self
        }
    }

    /// This kind is not held to this case.
    pub(crate) fn exempt(mut self, kind: Kind, why: &'static str) -> Self {
        self.exempt.push((kind, why));
        self
    }

    pub(crate) fn on(self, connection: usize) -> Self {
        self.step(Step::On(connection))
    }

    pub(crate) fn send(self, bytes: impl Into<Cow<'static, [u8]>>) -> Self {
        self.step(Step::Send(bytes.into(), 1))
    }

    pub(crate) fn send_text(self, text: impl Into<String>) -> Self {
        self.send(text.into().into_bytes())
    }

    pub(crate) fn send_repeated(self, piece: &'static [u8], times: usize) -> Self {
        self.step(Step::Send(piece.into(), times))
    }

    pub(crate) fn send_meanwhile(self, piece: &'static [u8], times: usize) -> Self {
        self.step(Step::SendMeanwhile(piece, times))
    }

    pub(crate) fn drip(self, bytes: impl Into<Cow<'static, [u8]>>, every: Duration) -> Self {
        self.step(Step::Drip(bytes.into(), every))
    }

    pub(crate) fn half_close(self) -> Self {
        self.step(Step::HalfClose)
    }

    pub(crate) fn reset(self) -> Self {
        self.step(Step::Reset)
    }

    pub(crate) fn hang_up(self) -> Self {
        self.step(Step::HangUp)
    }

    pub(crate) fn pause(self, duration: Duration) -> Self {
        self.step(Step::Pause(duration))
    }

    pub(crate) fn connect_and_reset(self, times: usize) -> Self {
        self.step(Step::ConnectAndReset(times))
    }

    pub(crate) fn process(self, step: ProcessStep) -> Self {
        self.step(Step::Process(step))
    }

    pub(crate) fn expect(self, expected: Expected) -> Self {
        self.expect_at(Pace::Brisk, expected)
    }

    pub(crate) fn expect_slowly(self, expected: Expected) -> Self {
        self.expect_at(Pace::Slow, expected)
    }

    fn expect_at(self, pace: Pace, expected: Expected) -> Self {
        let expectation = Expectation {
            of_all: expected,
            differences: Vec::new(),
        };
        self.step(Step::Expect(pace, expectation))
    }

    /// At the step before, this kind does that instead.
    pub(crate) fn unless(mut self, kind: Kind, expected: Expected, why: &'static str) -> Self {
        let Some(Step::Expect(_, expectation)) = self.steps.last_mut() else {
            unreachable!("a difference follows an expectation");
        };
        expectation.differences.push((kind, expected, why));
        self
    }

    /// Why a rung of this kind is not held to the case; none if it is.
    #[must_use]
    pub fn exemption(&self, kind: Kind) -> Option<&'static str> {
        if kind == Kind::Null && !self.holds_for_null {
            return Some("null does not read HTTP");
        }
        let declared = self.exempt.iter().find(|(exempt, _)| *exempt == kind);
        declared.map(|(_, why)| *why)
    }

    /// Whether it concerns the server's process, so that it needs a server of its own: see [`crate::check_process`].
    #[must_use]
    pub fn needs_process(&self) -> bool {
        self.steps
            .iter()
            .any(|step| matches!(step, Step::Process(_)))
    }

    /// The differences declared in this case, each once: of several steps, each may differ for the same reason.
    #[must_use]
    pub fn differences(&self) -> Vec<Difference> {
        let stepwise = self.steps.iter().filter_map(|step| match step {
            Step::Expect(_, expectation) => Some(&expectation.differences),
            _ => None,
        });
        let stepwise = stepwise.flatten().map(|(kind, _, why)| (*kind, *why));
        let mut differences = Vec::new();
        for (kind, why) in stepwise.chain(self.exempt.iter().copied()) {
            let difference = Difference {
                case: self.name,
                kind,
                why,
            };
            if !differences.contains(&difference) {
                differences.push(difference);
            }
        }
        differences
    }
}
