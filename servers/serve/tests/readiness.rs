//! The readiness server on a selector that the tests play themselves.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::net::TcpListener;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::channel;
use std::time::Duration;

use rungs_serve::counters::Counters;
use rungs_serve::readiness::{Interest, Key, Readiness, Selector, Server};
use rungs_serve::{Limits, Stop, Worker};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

const READABLE: Readiness = Readiness { closed: false };
const REQUEST: &[u8] = b"GET /json HTTP/1.1\r\nhost: h\r\n\r\n";

/// The server's end of a connection.
enum Stream {
    Socket(UnixStream),
    /// A client without end: there is always more to read, and everything written is taken.
    Firehose(UnixStream),
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        let (Self::Socket(socket) | Self::Firehose(socket)) = self;
        socket.as_fd()
    }
}

impl Read for Stream {
    fn read(&mut self, input: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Socket(socket) => socket.read(input),
            Self::Firehose(_) => {
                for (byte, of_request) in input.iter_mut().zip(REQUEST.iter().cycle()) {
                    *byte = *of_request;
                }
                // Whole requests only, and yet as full as a read can be.
                let line_ends = input.len() % REQUEST.len();
                let whole = input.len() - line_ends;
                input[whole..].fill(b'\n');
                Ok(input.len())
            }
        }
    }
}

impl Write for Stream {
    fn write(&mut self, output: &[u8]) -> io::Result<usize> {
        match self {
            Self::Socket(socket) => socket.write(output),
            Self::Firehose(_) => Ok(output.len()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

type Queue = VecDeque<io::Result<Stream>>;

/// Remembers what it was asked for.
#[derive(Default)]
struct Script {
    listening: bool,
    registered: Vec<Key>,
    interests: Vec<(Key, Interest)>,
    deregistered: usize,
}

impl Selector for Script {
    type Stream = Stream;
    type Listener = Queue;

    fn accept(queue: &mut Queue) -> io::Result<Stream> {
        queue.pop_front().unwrap_or(Err(Errno::AGAIN.into()))
    }

    fn listen(&mut self, _: &mut Queue) -> io::Result<()> {
        assert!(!self.listening);
        self.listening = true;
        Ok(())
    }

    fn unlisten(&mut self, _: &mut Queue) -> io::Result<()> {
        assert!(self.listening);
        self.listening = false;
        Ok(())
    }

    fn register(&mut self, _: &mut Stream, key: Key) -> io::Result<()> {
        self.registered.push(key);
        Ok(())
    }

    fn reregister(&mut self, _: &mut Stream, key: Key, interest: Interest) -> io::Result<()> {
        self.interests.push((key, interest));
        Ok(())
    }

    fn deregister(&mut self, _: &mut Stream) -> io::Result<()> {
        self.deregistered += 1;
        Ok(())
    }
}

/// A server that has accepted all of `queue` up to the first error that makes it wait.
struct Bench {
    server: Server<Stream, Queue>,
    selector: Script,
    counters: Counters,
}

fn bench(queue: impl IntoIterator<Item = io::Result<Stream>>) -> Bench {
    let counters = Counters::new(1);
    let worker = Worker {
        index: 0,
        threads: 1,
        listener: TcpListener::bind("127.0.0.1:0").unwrap(),
        ready: channel().0.into(),
        stop: Stop::new().unwrap(),
        counters: counters.clone(),
        limits: Limits {
            header_timeout: Duration::from_secs(30),
            idle_timeout: Duration::from_secs(75),
        },
        grace: Duration::from_secs(5),
    };
    let queue = queue.into_iter().collect();
    let mut server = Server::new(worker, |_| queue);
    let mut selector = Script::default();
    server.start(&mut selector).unwrap();
    server.accept(&mut selector);
    Bench {
        server,
        selector,
        counters,
    }
}

impl Bench {
    fn ready(&mut self, key: Key) {
        self.server.ready(&mut self.selector, key, READABLE);
    }

    fn end_turn(&mut self) {
        self.server.end_turn(&mut self.selector, 1).unwrap();
    }

    fn requests(&self) -> u64 {
        self.counters.slot(0).requests.get().unwrap()
    }
}

/// The server's end, and the client's.
fn pair() -> (io::Result<Stream>, UnixStream) {
    let (ours, theirs) = UnixStream::pair().unwrap();
    ours.set_nonblocking(true).unwrap();
    (Ok(Stream::Socket(ours)), theirs)
}

#[test]
fn an_answer_is_written_at_once_and_nothing_is_reregistered() {
    let (ours, mut client) = pair();
    let mut bench = bench([ours]);
    for served in 1..=3 {
        client.write_all(REQUEST).unwrap();
        bench.ready(bench.selector.registered[0]);
        let mut answer = [0; 4096];
        let n = client.read(&mut answer).unwrap();
        assert!(answer[..n].ends_with(br#"{"message":"Hello, World!"}"#));
        bench.end_turn();
        assert_eq!(bench.requests(), served);
    }
    assert!(bench.selector.interests.is_empty());
}

#[test]
fn pipelined_requests_are_answered_in_one_write() {
    // Each write to such a socket is a packet of its own (unix(7)).
    let (ours, theirs) = socketpair(
        AddressFamily::UNIX,
        SocketType::SEQPACKET,
        SocketFlags::NONBLOCK,
        None,
    )
    .unwrap();
    let mut client = UnixStream::from(theirs);
    let mut bench = bench([Ok(Stream::Socket(ours.into()))]);
    client.write_all(&REQUEST.repeat(100)).unwrap();
    bench.ready(bench.selector.registered[0]);
    bench.end_turn();
    assert_eq!(bench.requests(), 100);
    let mut answers = vec![0; 64 << 10];
    let n = client.read(&mut answers).unwrap();
    let statuses = answers[..n].windows(15).filter(|w| w == b"HTTP/1.1 200 OK");
    assert_eq!(statuses.count(), 100);
}

#[test]
fn a_client_that_does_not_read_is_waited_for_and_then_goes_on() {
    let (ours, mut client) = pair();
    let mut bench = bench([ours]);
    let key = bench.selector.registered[0];
    client
        .write_all(b"GET /bytes/4000000 HTTP/1.1\r\nhost: h\r\n\r\n")
        .unwrap();
    bench.ready(key);
    assert_eq!(bench.selector.interests, [(key, Interest::Write)]);
    client.set_nonblocking(true).unwrap();
    let mut received = 0;
    while received < 4_000_000 {
        match client.read(&mut vec![0; 1 << 20]) {
            Ok(n) => received += n,
            Err(_) => {
                bench.ready(key);
                bench.end_turn();
            }
        }
    }
    while bench.server.next_wait() == Some(Duration::ZERO) {
        bench.end_turn();
    }
    assert_eq!(
        bench.selector.interests.last(),
        Some(&(key, Interest::Read))
    );
}

#[test]
fn a_key_is_of_no_use_once_its_connection_is_closed() {
    let (first, client) = pair();
    let mut bench = bench([first]);
    drop(client);
    bench.ready(bench.selector.registered[0]);
    assert_eq!(bench.selector.deregistered, 1);
    bench.ready(bench.selector.registered[0]);
    assert_eq!(bench.selector.deregistered, 1);
    bench.end_turn();
    assert_eq!(bench.server.next_wait(), None, "no connection, no deadline");
}

#[test]
fn an_event_for_a_closed_connection_is_not_taken_for_its_successor() {
    let (first, first_client) = pair();
    let (second, mut second_client) = pair();
    let mut bench = bench([first, Err(Errno::AGAIN.into()), second]);
    drop(first_client);
    bench.ready(bench.selector.registered[0]);
    bench.server.accept(&mut bench.selector);
    let [old, new] = bench.selector.registered[..] else {
        panic!("both were accepted");
    };
    second_client.write_all(REQUEST).unwrap();
    bench.ready(old);
    bench.end_turn();
    assert_eq!(bench.requests(), 0, "nothing was read from the successor");
    bench.ready(new);
    bench.end_turn();
    assert_eq!(bench.requests(), 1);
}

#[test]
fn errors_of_accept_skip_pause_or_fail() {
    let error = |errno: Errno| Err(errno.into());
    let (first, _first_client) = pair();
    let (second, _second_client) = pair();
    let mut bench = bench([
        error(Errno::CONNABORTED),
        first,
        error(Errno::MFILE),
        second,
        error(Errno::BADF),
    ]);
    assert_eq!(bench.selector.registered.len(), 1);
    assert!(!bench.selector.listening, "readable for ever: not watched");
    bench.end_turn();
    assert!(!bench.selector.listening);
    let pause = bench.server.next_wait().expect("a pause has an end");
    assert!(pause <= rungs_serve::accept::PAUSE);
    std::thread::sleep(pause);
    bench.end_turn();
    assert!(bench.selector.listening);

    bench.server.accept(&mut bench.selector);
    assert_eq!(bench.selector.registered.len(), 2);
    let failed = bench.server.end_turn(&mut bench.selector, 1);
    assert_eq!(
        failed.unwrap_err().raw_os_error(),
        Some(Errno::BADF.raw_os_error())
    );
}

#[test]
fn one_busy_client_does_not_keep_others_waiting() {
    let firehose = Ok(Stream::Firehose(UnixStream::pair().unwrap().0));
    let (ours, mut client) = pair();
    let mut bench = bench([firehose, ours]);
    bench.ready(bench.selector.registered[0]);
    bench.end_turn();
    let share = bench.requests();
    assert!(share > 0);
    assert_eq!(bench.server.next_wait(), Some(Duration::ZERO), "it goes on");

    client.write_all(REQUEST).unwrap();
    bench.ready(bench.selector.registered[1]);
    assert!(client.read(&mut [0; 4096]).unwrap() > 0);
    for _ in 0..10 {
        let before = bench.requests();
        // Reported again, though it is queued already.
        bench.ready(bench.selector.registered[0]);
        bench.end_turn();
        assert!(
            bench.requests() - before <= share,
            "its share does not grow with the turns"
        );
    }
}

#[test]
fn a_burst_of_connections_is_accepted_over_several_turns() {
    let clients: Vec<_> = (0..200).map(|_| pair()).collect();
    let (ours, _clients): (Vec<_>, Vec<_>) = clients.into_iter().unzip();
    let mut bench = bench(ours);
    assert!(bench.selector.registered.len() < 200);
    while bench.server.next_wait() == Some(Duration::ZERO) {
        bench.end_turn();
    }
    assert_eq!(bench.selector.registered.len(), 200);
}

#[test]
fn stopping_ends_idle_sessions_and_then_the_server() {
    let (ours, mut client) = pair();
    let mut bench = bench([ours]);
    assert!(!bench.server.is_over());
    bench.server.stop(&mut bench.selector);
    assert!(bench.server.is_over());
    assert!(!bench.selector.listening);
    assert_eq!(client.read(&mut [0]).unwrap(), 0, "closed");
}
