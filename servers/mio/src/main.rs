//! `rung-mio`: the shared server on [`mio::Poll`], one for each thread. Edge-triggered, as mio always is.
//!
//! With `--accept shared` each connection wakes all threads that wait, though one accepts it: mio has no interest that
//! stands for `EPOLLEXCLUSIVE`, which spares the epoll rung that.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::process::ExitCode;

use mio::event::Event;
use mio::net::{TcpListener, TcpStream};
use mio::unix::SourceFd;
use mio::{Events, Poll, Token};
use rungs_serve::readiness::{Interest, Key, Readiness, Selector, Server};
use rungs_serve::{Rung, Stop, Worker, socket};

/// Not the token of any connection: see [`Key::to_bits`].
const LISTENER: Token = Token(usize::MAX);
/// As [`LISTENER`].
const STOP: Token = Token(usize::MAX - 1);

const _: () = assert!(usize::BITS == u64::BITS, "a token holds a whole key");

fn main() -> ExitCode {
    rungs_serve::main::<Mio>()
}

struct Mio;

#[derive(Clone, clap::Args)]
struct Options {
    /// Events taken from the kernel at once
    #[arg(long, value_name = "N", default_value_t = 1024, value_parser = clap::value_parser!(u32).range(1..=1 << 20))]
    max_events: u32,
}

impl Rung for Mio {
    const NAME: &'static str = "rung-mio";
    const ABOUT: &'static str = "HTTP/1.1 on mio, one Poll for each thread";
    type Options = Options;

    fn run(options: &Options, worker: Worker) -> io::Result<()> {
        let mut selector = Watch(Poll::new()?);
        let mut events = Events::with_capacity(options.max_events as usize);
        let stop = worker.stop.clone();
        selector.watch_for(&stop)?;
        let mut server = Server::new(worker, TcpListener::from_std);
        server.start(&mut selector)?;
        while !server.is_over() {
            let wait = server.next_wait();
            match selector.0.poll(&mut events, wait) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => events.clear(),
                Err(error) => return Err(error),
            }
            let mut count = 0;
            for event in &events {
                count += 1;
                dispatch(&mut server, &mut selector, event);
            }
            server.end_turn(&mut selector, count)?;
        }
        Ok(())
    }
}

fn dispatch(server: &mut Server<Connection, TcpListener>, selector: &mut Watch, event: &Event) {
    match event.token() {
        LISTENER => server.accept(selector),
        STOP => server.stop(selector),
        Token(bits) => {
            let readiness = Readiness {
                closed: event.is_read_closed() || event.is_error(),
            };
            server.ready(selector, Key::from_bits(bits as u64), readiness);
        }
    }
}

/// A connection that is read and written as the epoll rung's are. mio's own calls are std's, which on Linux mio adds nothing to.
struct Connection(TcpStream);

impl Read for Connection {
    fn read(&mut self, input: &mut [u8]) -> io::Result<usize> {
        socket::read(&self.0, input)
    }
}

impl Write for Connection {
    fn write(&mut self, output: &[u8]) -> io::Result<usize> {
        socket::write(&self.0, output)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// mio as the server's selector.
struct Watch(Poll);

impl Watch {
    fn watch_for(&self, stop: &Stop) -> io::Result<()> {
        let fd = stop.as_raw_fd();
        let registry = self.0.registry();
        registry.register(&mut SourceFd(&fd), STOP, mio::Interest::READABLE)
    }
}

impl Selector for Watch {
    type Stream = Connection;
    type Listener = TcpListener;

    fn accept(listener: &mut TcpListener) -> io::Result<Connection> {
        listener.accept().map(|(stream, _)| Connection(stream))
    }

    fn listen(&mut self, listener: &mut TcpListener) -> io::Result<()> {
        let registry = self.0.registry();
        registry.register(listener, LISTENER, mio::Interest::READABLE)
    }

    fn unlisten(&mut self, listener: &mut TcpListener) -> io::Result<()> {
        self.0.registry().deregister(listener)
    }

    fn register(&mut self, stream: &mut Connection, key: Key) -> io::Result<()> {
        let registry = self.0.registry();
        registry.register(&mut stream.0, token(key), mio::Interest::READABLE)
    }

    fn reregister(
        &mut self,
        stream: &mut Connection,
        key: Key,
        interest: Interest,
    ) -> io::Result<()> {
        let interest = match interest {
            Interest::Read => mio::Interest::READABLE,
            Interest::Write => mio::Interest::WRITABLE,
        };
        self.0
            .registry()
            .reregister(&mut stream.0, token(key), interest)
    }

    fn deregister(&mut self, stream: &mut Connection) -> io::Result<()> {
        self.0.registry().deregister(&mut stream.0)
    }
}

fn token(key: Key) -> Token {
    Token(key.to_bits() as usize)
}
