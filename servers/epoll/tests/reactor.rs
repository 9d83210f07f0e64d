//! The reactor on socket pairs, as any of its users would drive it.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::{Duration, Instant};

use rungs_epoll::{Interest, Reactor, Readiness, Token};

const NO_TIME: Option<Duration> = Some(Duration::ZERO);

/// What handlers leave behind, and the sources that they work on.
#[derive(Default)]
struct Context {
    seen: Vec<(u64, Readiness)>,
    sources: Vec<(UnixStream, Token)>,
    peers: Vec<UnixStream>,
    nested: Option<std::io::Error>,
}

impl Context {
    fn seen(&mut self) -> Vec<u64> {
        self.seen.drain(..).map(|(about, _)| about).collect()
    }
}

fn note(context: &mut Context, _: &mut Reactor<Context>, about: u64, readiness: Readiness) {
    context.seen.push((about, readiness));
}

/// Two connected sockets, the first non-blocking.
fn pair() -> (UnixStream, UnixStream) {
    let (ours, theirs) = UnixStream::pair().unwrap();
    ours.set_nonblocking(true).unwrap();
    (ours, theirs)
}

fn readable_pair() -> (UnixStream, UnixStream) {
    let (ours, mut theirs) = pair();
    theirs.write_all(b"x").unwrap();
    (ours, theirs)
}

#[test]
fn level_triggered_readiness_is_reported_as_long_as_it_holds() {
    let (mut reactor, mut context) = (Reactor::new(8).unwrap(), Context::default());
    let (mut ours, _theirs) = readable_pair();
    reactor.register(&ours, Interest::READ, note, 7).unwrap();
    for _ in 0..3 {
        assert_eq!(reactor.run(&mut context, None).unwrap(), 1);
        assert_eq!(context.seen(), [7]);
    }
    ours.read_exact(&mut [0]).unwrap();
    assert_eq!(reactor.run(&mut context, NO_TIME).unwrap(), 0);
}

#[test]
fn edge_triggered_readiness_is_reported_once_and_anew_when_reregistered() {
    let (mut reactor, mut context) = (Reactor::new(8).unwrap(), Context::default());
    let (ours, mut theirs) = readable_pair();
    let edge = Interest::READ.edge_triggered();
    let token = reactor.register(&ours, edge, note, 7).unwrap();
    assert_eq!(reactor.run(&mut context, None).unwrap(), 1);
    assert_eq!(reactor.run(&mut context, NO_TIME).unwrap(), 0, "no edge");
    theirs.write_all(b"y").unwrap();
    assert_eq!(reactor.run(&mut context, None).unwrap(), 1, "another edge");
    reactor.reregister(token, &ours, edge).unwrap();
    assert_eq!(reactor.run(&mut context, None).unwrap(), 1, "it holds");
}

#[test]
fn readiness_says_what_for() {
    let (mut reactor, mut context) = (Reactor::new(8).unwrap(), Context::default());
    let (ours, theirs) = pair();
    let token = reactor.register(&ours, Interest::WRITE, note, 0).unwrap();
    reactor.run(&mut context, None).unwrap();
    let (_, readiness) = context.seen.pop().unwrap();
    assert!(readiness.is_writable() && !readiness.is_readable() && !readiness.is_closed());

    reactor.reregister(token, &ours, Interest::READ).unwrap();
    assert_eq!(reactor.run(&mut context, NO_TIME).unwrap(), 0);
    theirs.shutdown(std::net::Shutdown::Write).unwrap();
    reactor.run(&mut context, None).unwrap();
    let (_, readiness) = context.seen.pop().unwrap();
    assert!(readiness.is_readable() && !readiness.is_writable() && readiness.is_closed());
}

/// The first of a batch to be called closes all sources, its own too, and opens another in their place.
fn replace_all(
    context: &mut Context,
    reactor: &mut Reactor<Context>,
    about: u64,
    readiness: Readiness,
) {
    context.seen.push((about, readiness));
    for (source, token) in context.sources.drain(..) {
        reactor.deregister(token, &source).unwrap();
    }
    let (ours, theirs) = readable_pair();
    let token = reactor.register(&ours, Interest::READ, note, 99).unwrap();
    context.sources.push((ours, token));
    context.peers.push(theirs);
}

#[test]
fn what_was_reported_of_a_closed_source_is_not_taken_for_its_successor() {
    let (mut reactor, mut context) = (Reactor::new(8).unwrap(), Context::default());
    for about in 0..3 {
        let (ours, theirs) = readable_pair();
        let token = reactor
            .register(&ours, Interest::READ, replace_all, about)
            .unwrap();
        context.sources.push((ours, token));
        context.peers.push(theirs);
    }
    assert_eq!(reactor.run(&mut context, None).unwrap(), 3);
    assert_eq!(context.seen().len(), 1, "two of the batch were stale");
    assert_eq!(reactor.run(&mut context, None).unwrap(), 1);
    assert_eq!(context.seen(), [99], "the successor has its own event");
}

#[test]
fn a_token_is_of_no_use_once_deregistered() {
    let (mut reactor, mut context) = (Reactor::new(8).unwrap(), Context::default());
    let (first, _first_peer) = readable_pair();
    let old = reactor.register(&first, Interest::READ, note, 1).unwrap();
    reactor.deregister(old, &first).unwrap();
    let (second, _second_peer) = readable_pair();
    let new = reactor.register(&second, Interest::READ, note, 2).unwrap();
    assert_ne!(old, new);
    assert!(reactor.deregister(old, &first).is_err());
    assert_eq!(reactor.run(&mut context, None).unwrap(), 1);
    assert_eq!(context.seen(), [2], "the successor is still registered");
}

#[test]
fn a_time_out_is_waited_for_in_full() {
    let (mut reactor, mut context) = (Reactor::new(8).unwrap(), Context::default());
    let start = Instant::now();
    let timeout = Duration::from_micros(1_500);
    assert_eq!(reactor.run(&mut context, Some(timeout)).unwrap(), 0);
    assert!(start.elapsed() >= timeout);
}

#[test]
fn a_batch_is_no_longer_than_asked_for() {
    let (mut reactor, mut context) = (Reactor::new(2).unwrap(), Context::default());
    let pairs: Vec<_> = (0..3).map(|_| readable_pair()).collect();
    for ((ours, _), about) in pairs.iter().zip(0..) {
        reactor.register(ours, Interest::READ, note, about).unwrap();
    }
    assert_eq!(reactor.run(&mut context, None).unwrap(), 2);
    reactor.run(&mut context, None).unwrap();
    let mut seen = context.seen();
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen, [0, 1, 2], "those that waited come first");
}

#[test]
fn a_source_that_cannot_be_registered_leaves_nothing_behind() {
    let mut reactor = Reactor::<Context>::new(8).unwrap();
    let file = std::fs::File::open("/proc/self/exe").unwrap();
    let refused = reactor.register(&file, Interest::READ, note, 0);
    let error = refused.expect_err("epoll takes no regular files");
    assert_eq!(error.kind(), std::io::ErrorKind::PermissionDenied);
    let (ours, _theirs) = readable_pair();
    reactor.register(&ours, Interest::READ, note, 5).unwrap();
    let mut context = Context::default();
    assert_eq!(reactor.run(&mut context, None).unwrap(), 1);
    assert_eq!(context.seen(), [5]);
}

#[test]
fn running_it_from_a_handler_is_an_error_and_no_more() {
    fn run_again(
        context: &mut Context,
        reactor: &mut Reactor<Context>,
        about: u64,
        readiness: Readiness,
    ) {
        context.nested = reactor.run(&mut Context::default(), NO_TIME).err();
        note(context, reactor, about, readiness);
    }
    let (mut reactor, mut context) = (Reactor::new(8).unwrap(), Context::default());
    let (ours, _theirs) = readable_pair();
    reactor
        .register(&ours, Interest::READ, run_again, 3)
        .unwrap();
    for _ in 0..2 {
        assert_eq!(reactor.run(&mut context, None).unwrap(), 1);
        assert_eq!(context.seen(), [3]);
        let error = context.nested.take().expect("an error");
        assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput);
    }
}

/// How many of two reactors that wait for connections on one listener are told of a single one.
fn told_of_a_connection(interest: Interest) -> usize {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    thread::scope(|scope| {
        let wait = || {
            let (mut reactor, mut context) = (Reactor::new(8).unwrap(), Context::default());
            reactor.register(&listener, interest, note, 0).unwrap();
            reactor.run(&mut context, Some(Duration::from_millis(500)))
        };
        let waiting = [scope.spawn(wait), scope.spawn(wait)];
        thread::sleep(Duration::from_millis(50));
        let _client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let told = waiting.map(|reactor| reactor.join().unwrap().unwrap());
        told.iter().sum()
    })
}

#[test]
fn one_connection_to_accept_is_told_to_one_reactor() {
    assert_eq!(told_of_a_connection(Interest::READ), 2);
    // Both are told if one of them was not waiting yet.
    let one_alone = (0..20).any(|_| told_of_a_connection(Interest::ACCEPT) == 1);
    assert!(one_alone);
}
