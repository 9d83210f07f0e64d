//! A script of what happens to one connection, as bytes that a fuzzer can change, and what must hold for every one.
//!
//! Bytes up to [`LAST_TEXT`] are sent as they are, so that a script reads as the requests in it. The others are marks:
//!
//! | mark | means |
//! | --- | --- |
//! | `ff` | a cut: what follows comes in another call |
//! | `fe` n | the text since the last mark is sent n times more |
//! | `fd` n | n seconds pass, and the connection is called if its deadline was reached |
//! | `fc` | the server stops |
//!
//! At the end the client sends its FIN.

use std::time::Duration;

use rungs_http1::{Connection, Context, MAX_HEAD, Next, OUTPUT_CHUNK};
use rungs_response::MAX_ECHO;

use super::{Client, counting};

pub const CUT: u8 = 0xff;
pub const REPEAT: u8 = 0xfe;
pub const WAIT: u8 = 0xfd;
pub const STOP: u8 = 0xfc;
const LAST_TEXT: u8 = STOP - 1;

/// The most bytes that a script sends; what goes beyond is left out. More than every limit but that of an echo.
const MAX_SENT: usize = 160 << 10;

/// The most bytes that are sent one by one: a head is looked at anew whenever something of it comes.
const MAX_DRIPPED: usize = 2 << 10;

/// When a client has received so much, it goes away: one script could ask for gigabytes.
const ENOUGH: usize = 512 << 10;

/// More than an answer without the body of an echo and what of a long body is owed.
const ANSWER: usize = 2 << 10;

#[derive(Clone, Debug)]
enum Step {
    Send(Vec<u8>),
    Wait(Duration),
    Stop,
}

/// When the client takes output, so that the connection is resumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Takes {
    /// After each piece of input, as on readiness.
    EachTime,
    /// When something else happens than that input comes: so it may be if completions come in a batch.
    Late,
    /// Once all has happened.
    InTheEnd,
}

/// Everything that can be seen from outside.
#[derive(Debug, PartialEq)]
struct Seen {
    /// At most [`ENOUGH`] of it.
    out: Vec<u8>,
    end: End,
}

#[derive(Debug, PartialEq)]
enum End {
    /// The client has received [`ENOUGH`].
    WentAway,
    /// The script is at its end.
    Over {
        requests: u64,
        next: Next,
        /// Until the deadline.
        patience: Duration,
    },
}

/// Plays the script, cut in several ways.
///
/// # Panics
///
/// If a cut makes a difference, or the connection holds or writes more than it may, or does not close after the FIN.
pub fn check(script: &[u8]) {
    let steps = parse(script);
    let whole = Play::drive(&joined(&steps), Takes::EachTime);
    let compare = |how: &str, steps: &[Step], takes| {
        let seen = Play::drive(steps, takes);
        assert!(seen == whole, "{how}: {seen:?}\nin one piece: {whole:?}");
    };
    compare("as cut", &steps, Takes::EachTime);
    compare("as cut, with late output", &steps, Takes::Late);
    if sent(&steps).len() <= MAX_DRIPPED {
        compare("byte by byte", &dripped(&steps), Takes::EachTime);
    }
    // Here it matters how much of the output was taken when time passed or the server stopped.
    Play::drive(&steps, Takes::InTheEnd);
}

fn parse(script: &[u8]) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut room = MAX_SENT;
    let mut rest = script;
    while let Some((&mark, after)) = rest.split_first() {
        let parameter = after.first().copied().unwrap_or(0);
        let used = match mark {
            CUT => 1,
            STOP => {
                steps.push(Step::Stop);
                1
            }
            WAIT => {
                steps.push(Step::Wait(Duration::from_secs(parameter.into())));
                2
            }
            REPEAT => {
                if let Some(Step::Send(text)) = steps.last_mut() {
                    let times = usize::from(parameter).min(room / text.len());
                    room -= times * text.len();
                    *text = text.repeat(times + 1);
                }
                2
            }
            _ => {
                let end = rest.iter().position(|byte| *byte > LAST_TEXT);
                let text = &rest[..end.unwrap_or(rest.len())];
                let sent = &text[..text.len().min(room)];
                room -= sent.len();
                if !sent.is_empty() {
                    steps.push(Step::Send(sent.to_vec()));
                }
                text.len()
            }
        };
        rest = rest.get(used..).unwrap_or_default();
    }
    steps
}

/// The same without cuts.
fn joined(steps: &[Step]) -> Vec<Step> {
    let mut joined = Vec::new();
    for step in steps {
        match (joined.last_mut(), step) {
            (Some(Step::Send(before)), Step::Send(text)) => before.extend(text),
            _ => joined.push(step.clone()),
        }
    }
    joined
}

/// The same with a cut between any two bytes.
fn dripped(steps: &[Step]) -> Vec<Step> {
    let drip = |step: &Step| match step {
        Step::Send(text) => text.iter().map(|byte| Step::Send(vec![*byte])).collect(),
        other => vec![other.clone()],
    };
    steps.iter().flat_map(drip).collect()
}

/// All that is sent.
fn sent(steps: &[Step]) -> Vec<u8> {
    let texts = steps.iter().filter_map(|step| match step {
        Step::Send(text) => Some(&text[..]),
        Step::Wait(_) | Step::Stop => None,
    });
    texts.collect::<Vec<_>>().concat()
}

fn asks_for_echo(steps: &[Step]) -> bool {
    sent(steps).windows(5).any(|text| text == b"/echo")
}

/// One connection in the course of a script.
struct Play {
    client: Client,
    takes: Takes,
    /// Output that the client has taken, in bytes.
    taken: usize,
    /// What was live before, in bytes.
    live: isize,
    /// The most bytes that the connection may hold between two calls.
    may_hold: usize,
    /// The most bytes that one call may write.
    may_write: usize,
}

impl Play {
    fn drive(steps: &[Step], takes: Takes) -> Seen {
        let mut play = Self::new(steps, takes);
        for step in steps {
            play.step(step);
            if play.client.out.len() >= ENOUGH {
                break;
            }
        }
        play.finish()
    }

    fn new(steps: &[Step], takes: Takes) -> Self {
        let lengths = steps.iter().map(|step| match step {
            Step::Send(text) => text.len(),
            Step::Wait(_) | Step::Stop => 0,
        });
        let at_once = match takes {
            Takes::EachTime => lengths.max().unwrap_or(0),
            Takes::Late | Takes::InTheEnd => lengths.sum(),
        };
        let echo = if asks_for_echo(steps) { MAX_ECHO } else { 0 };
        let client = Client::new();
        Self {
            takes,
            taken: 0,
            live: counting::live(),
            client,
            // A vector that grows may have twice the room that it needs.
            may_hold: 2 * (MAX_HEAD + at_once + echo),
            may_write: OUTPUT_CHUNK + ANSWER + echo,
        }
    }

    fn step(&mut self, step: &Step) {
        if self.takes == Takes::Late && !matches!(step, Step::Send(_)) {
            self.take();
        }
        match step {
            Step::Send(text) => self.call(|connection, cx| connection.receive(text, cx)),
            Step::Wait(time) => {
                self.client.now += *time;
                self.call(Connection::expire);
            }
            Step::Stop => self.call(|connection, _| connection.shut_down()),
        }
        if self.takes == Takes::EachTime {
            self.take();
        }
    }

    fn call(&mut self, call: impl FnOnce(&mut Connection, &mut Context<'_>)) {
        let before = self.client.out.len();
        self.client.call(call);
        let written = self.client.out.len() - before;
        assert!(written <= self.may_write, "one call wrote {written} bytes");
        let room = self.client.out.capacity().cast_signed();
        let held = (counting::live() - self.live - room).cast_unsigned();
        let may_hold = match self.client.next() {
            Next::Read | Next::Resume => self.may_hold,
            Next::Linger | Next::Close => 0,
        };
        assert!(held <= may_hold, "{held} bytes held, {may_hold} allowed");
    }

    /// The client takes all output, until it has enough.
    fn take(&mut self) {
        loop {
            if self.client.out.len() > self.taken {
                self.taken = self.client.out.len();
                self.client.connection.progressed(self.client.now);
            }
            if self.client.next() != Next::Resume || self.taken >= ENOUGH {
                return;
            }
            self.call(Connection::resume);
        }
    }

    fn finish(mut self) -> Seen {
        self.take();
        let end = if self.taken >= ENOUGH {
            self.client.out.truncate(ENOUGH);
            End::WentAway
        } else {
            let (next, patience) = (self.client.next(), self.client.patience());
            self.call(|connection, _| connection.end_of_input());
            assert_eq!(self.client.next(), Next::Close, "after the FIN");
            End::Over {
                requests: self.client.requests,
                next,
                patience,
            }
        };
        Seen {
            out: self.client.out,
            end,
        }
    }
}
