//! Compares what came with what was expected, and words the difference.

use crate::case::{End, Expected, Outcome, Pace};
use crate::reply::page;
use crate::wire::{Ended, Wire};

/// What was expected, and what came.
pub(crate) type Mismatch = (String, String);

/// What is sent to see that a connection still serves.
pub(crate) const PROBE: &[u8] = b"GET / HTTP/1.1\r\nhost: probe\r\n\r\n";

/// Receives one of the expected outcomes.
pub(crate) fn expect(wire: &mut Wire, expected: &Expected, pace: Pace) -> Result<(), Mismatch> {
    match &expected.0[..] {
        [outcome] => expect_one(wire, outcome, pace),
        alternatives => expect_any(wire, alternatives, pace),
    }
}

/// Whether the server has closed, in whatever way.
pub(crate) fn closed(ended: Ended) -> bool {
    matches!(ended, Ended::Closed | Ended::Reset)
}

fn encode(outcome: &Outcome) -> Vec<u8> {
    let mut bytes = Vec::new();
    for reply in &outcome.replies {
        reply.encode(&mut bytes);
    }
    bytes
}

fn expect_one(wire: &mut Wire, outcome: &Outcome, pace: Pace) -> Result<(), Mismatch> {
    let wanted = encode(outcome);
    let (mut got, ended) = wire.receive(wanted.len(), pace);
    if outcome.end == End::CutShort {
        let cut = closed(ended) && wanted.starts_with(&got);
        return if cut {
            Ok(())
        } else {
            Err(mismatch(&wanted, outcome.end, &got, ended))
        };
    }
    if got != wanted {
        let (rest, ended) = if ended == Ended::Full {
            wire.receive_stray(1 << 10)
        } else {
            (Vec::new(), ended)
        };
        got.extend(rest);
        return Err(mismatch(&wanted, outcome.end, &got, ended));
    }
    let (after, ended) = match outcome.end {
        End::Open => return expect_open(wire),
        End::Continues => return Ok(()),
        End::Silent => wire.receive_stray(1 << 10),
        End::Closed | End::ClosedInOrder => wire.receive(1 << 10, pace),
        End::CutShort => unreachable!("handled above"),
    };
    let ended_as_wanted = match outcome.end {
        End::Silent => ended == Ended::Waiting,
        End::ClosedInOrder => ended == Ended::Closed && wire.all_taken(),
        _ => closed(ended),
    };
    if after.is_empty() && ended_as_wanted {
        return Ok(());
    }
    got.extend(after);
    Err(mismatch(&wanted, outcome.end, &got, ended))
}

/// Any of several ways in which the server may end the connection.
fn expect_any(wire: &mut Wire, alternatives: &[Outcome], pace: Pace) -> Result<(), Mismatch> {
    let wanted: Vec<_> = alternatives.iter().map(encode).collect();
    let longest = wanted.iter().map(Vec::len).max().unwrap_or(0);
    let (got, ended) = wire.receive(longest + 1, pace);
    if closed(ended) && wanted.contains(&got) {
        return Ok(());
    }
    let ways: Vec<_> = wanted
        .iter()
        .map(|bytes| describe_wanted(bytes, 0, End::Closed))
        .collect();
    Err((ways.join(", or "), describe(&got, 0, ended)))
}

fn expect_open(wire: &mut Wire) -> Result<(), Mismatch> {
    let mut wanted = Vec::new();
    page().encode(&mut wanted);
    wire.send(PROBE);
    let (got, ended) = wire.receive(wanted.len(), Pace::Brisk);
    if got == wanted {
        return Ok(());
    }
    let (wanted, got) = mismatch(&wanted, End::Silent, &got, ended);
    Err((format!("another request to be served: {wanted}"), got))
}

/// Both sides, from shortly before the first byte that differs.
fn mismatch(wanted: &[u8], end: End, got: &[u8], ended: Ended) -> Mismatch {
    let same = wanted.iter().zip(got).take_while(|(a, b)| a == b).count();
    let from = if same < 512 { 0 } else { same - 32 };
    (
        describe_wanted(wanted, from, end),
        describe(got, from, ended),
    )
}

fn describe_wanted(bytes: &[u8], from: usize, end: End) -> String {
    let end = match end {
        End::Open => "then another request served",
        End::Continues => "then more",
        End::Silent => "then silence",
        End::Closed => "then a close",
        End::ClosedInOrder => "then FIN, after all that was sent was taken",
        End::CutShort => "cut short by a close",
    };
    format!("{} {end}", escape(bytes, from))
}

/// What came, from this byte on, and how it ended.
pub(crate) fn describe(bytes: &[u8], from: usize, ended: Ended) -> String {
    let end = match ended {
        Ended::Full => "",
        Ended::Closed => " then FIN",
        Ended::Reset => " then RST",
        Ended::Waiting => " then silence",
    };
    format!("{}{end}", escape(bytes, from))
}

fn escape(bytes: &[u8], from: usize) -> String {
    const SHOWN: usize = 600;
    if bytes.is_empty() {
        return "nothing".into();
    }
    let shown = &bytes[from..bytes.len().min(from + SHOWN)];
    let rest = bytes.len() - from - shown.len();
    let before = if from == 0 {
        String::new()
    } else {
        format!("({from} bytes) … ")
    };
    let after = if rest == 0 {
        String::new()
    } else {
        format!(" … ({rest} bytes)")
    };
    format!("{before}\"{}\"{after}", shown.escape_ascii())
}
