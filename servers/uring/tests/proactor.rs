//! The proactor on socket pairs, as any of its users would drive it.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use rungs_uring::{Completion, Proactor, Standing, Token};

const AT_MOST: Option<Duration> = Some(Duration::from_secs(10));

/// What was told: who, and what came.
#[derive(Debug, PartialEq, Eq)]
enum Told {
    Input(Vec<u8>),
    End,
    Sent(usize, usize),
    Failed,
}

/// One turn.
fn turn(proactor: &mut Proactor<()>, timeout: Option<Duration>) -> Vec<(Token, Told)> {
    proactor.turn(timeout).unwrap();
    let mut all = Vec::new();
    while let Some((token, completion)) = proactor.next_completion() {
        let told = match completion {
            Completion::Received => Told::Input(proactor.input(token).unwrap().1.to_vec()),
            Completion::EndOfInput => Told::End,
            Completion::Sent { bytes, left } => Told::Sent(bytes, left),
            Completion::Failed(_) => Told::Failed,
            other => panic!("{other:?} of a socket that receives"),
        };
        all.push((token, told));
    }
    all
}

/// Turns until so much was told.
fn turns(proactor: &mut Proactor<()>, count: usize) -> Vec<(Token, Told)> {
    let start = Instant::now();
    let mut all = Vec::new();
    while all.len() < count {
        assert!(start.elapsed() < AT_MOST.unwrap(), "only {all:?}");
        all.extend(turn(proactor, AT_MOST));
    }
    all
}

/// A source that receives, and its peer.
fn source(proactor: &mut Proactor<()>) -> (Token, UnixStream) {
    let (ours, theirs) = UnixStream::pair().unwrap();
    theirs.set_read_timeout(AT_MOST).unwrap();
    (proactor.add(ours.into(), Standing::Receive, ()), theirs)
}

fn proactor() -> Proactor<()> {
    Proactor::new(8, 8).unwrap()
}

#[test]
fn input_is_told_as_it_comes_and_then_its_end() {
    let mut proactor = proactor();
    let (token, mut peer) = source(&mut proactor);
    for word in ["one", "two"] {
        peer.write_all(word.as_bytes()).unwrap();
        let told = turns(&mut proactor, 1);
        assert_eq!(told, [(token, Told::Input(word.into()))]);
    }
    drop(peer);
    assert_eq!(turns(&mut proactor, 1), [(token, Told::End)]);
    assert!(proactor.is_open(token), "it can still send");
}

/// The second source finds no buffer (`ENOBUFS`), and completions overflow: neither is the end of input, nor lost.
#[test]
fn too_few_buffers_and_completions_only_take_more_turns() {
    let mut proactor = Proactor::new(1, 1).unwrap();
    let mut sources: Vec<_> = (0..100).map(|_| source(&mut proactor)).collect();
    for (_, peer) in &mut sources {
        peer.write_all(b"hello").unwrap();
    }
    let mut told = turns(&mut proactor, sources.len());
    told.sort_by_key(|(token, _)| token.0);
    let expected: Vec<_> = sources
        .iter()
        .map(|(token, _)| (*token, Told::Input(b"hello".into())))
        .collect();
    assert_eq!(told, expected);
}

#[test]
fn what_finds_no_room_is_sent_when_there_is() {
    let mut proactor = proactor();
    let (token, mut peer) = source(&mut proactor);
    let bytes: Vec<u8> = (0..4 << 20).map(|n| (n % 251) as u8).collect();
    proactor.send(token, bytes.clone());
    let told = turns(&mut proactor, 1);
    assert!(matches!(told[0].1, Told::Sent(_, 1..)), "{told:?}");

    let reader = std::thread::spawn(move || {
        let mut received = vec![0; 4 << 20];
        peer.read_exact(&mut received).unwrap();
        (received, peer)
    });
    let mut last = told.into_iter().last();
    while !matches!(last, Some((_, Told::Sent(_, 0)))) {
        last = turns(&mut proactor, 1).into_iter().last();
    }
    assert!(reader.join().unwrap().0 == bytes);
}

#[test]
fn that_something_was_sent_is_no_news_unless_in_a_hurry() {
    let mut proactor = proactor();
    let (token, mut peer) = source(&mut proactor);
    let timeout = Duration::from_millis(30);
    let start = Instant::now();
    proactor.send(token, b"ping".into());
    assert!(proactor.is_sending(token));
    assert_eq!(turn(&mut proactor, Some(timeout)), []);
    assert!(start.elapsed() >= timeout, "it waits for the peer");
    assert!(!proactor.is_sending(token));
    peer.read_exact(&mut [0; 4]).unwrap();

    proactor.send(token, b"ping".into());
    proactor.hurry(token);
    assert_eq!(turn(&mut proactor, None), [(token, Told::Sent(4, 0))]);
    assert!(!proactor.is_sending(token));
}

#[test]
fn a_paused_source_is_silent_and_goes_on_where_it_was() {
    let mut proactor = proactor();
    let (token, mut peer) = source(&mut proactor);
    proactor.pause(token);
    turn(&mut proactor, Some(Duration::ZERO));
    peer.write_all(b"later").unwrap();
    assert_eq!(turn(&mut proactor, Some(Duration::from_millis(20))), []);

    proactor.resume(token);
    let told = turns(&mut proactor, 1);
    assert_eq!(told, [(token, Told::Input(b"later".into()))]);

    proactor.pause(token);
    proactor.resume(token);
    peer.write_all(b"at once").unwrap();
    let told = turns(&mut proactor, 1);
    assert_eq!(told, [(token, Told::Input(b"at once".into()))]);
}

/// Whatever is under way when a source is closed: nothing more is told, its descriptor is closed, and its buffers are free.
#[test]
fn closing_cancels_and_gives_everything_back() {
    let mut proactor = Proactor::new(4, 1).unwrap();
    for round in 0..20 {
        let (token, mut peer) = source(&mut proactor);
        if round % 2 == 0 {
            turn(&mut proactor, Some(Duration::ZERO));
        }
        peer.write_all(b"unread").unwrap();
        proactor.send(token, vec![0; 4 << 20]);
        if round % 3 == 0 {
            turn(&mut proactor, Some(Duration::ZERO));
        }
        proactor.close(token);
        assert!(!proactor.is_open(token) && proactor.about(token).is_none());
        assert_eq!(turn(&mut proactor, Some(Duration::from_millis(5))), []);
        peer.read_to_end(&mut Vec::new()).unwrap_or_default();
    }
    let (token, mut peer) = source(&mut proactor);
    peer.write_all(b"hello").unwrap();
    let told = turns(&mut proactor, 1);
    assert_eq!(told, [(token, Told::Input(b"hello".into()))]);
    assert_eq!(proactor.tokens(), [token]);
}

#[test]
fn dropping_it_ends_what_is_under_way() {
    let mut proactor = proactor();
    let (token, mut peer) = source(&mut proactor);
    proactor.send(token, vec![7; 4 << 20]);
    turn(&mut proactor, Some(Duration::ZERO));
    drop(proactor);
    let mut received = Vec::new();
    peer.read_to_end(&mut received).unwrap();
    assert!(received.len() < 4 << 20 && received.iter().all(|&byte| byte == 7));
}

#[test]
fn a_source_that_fails_is_told_once() {
    let mut proactor = proactor();
    let file = std::fs::File::open("/dev/null").unwrap();
    let token = proactor.add(file.into(), Standing::Receive, ());
    assert_eq!(turns(&mut proactor, 1), [(token, Told::Failed)]);
    assert_eq!(turn(&mut proactor, Some(Duration::from_millis(5))), []);
}
