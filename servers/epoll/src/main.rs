//! `rung-epoll`: the shared server on a [`Reactor`], one for each thread.

use std::io;
use std::net::{TcpListener, TcpStream};
use std::process::ExitCode;

use clap::ValueEnum;
use rungs_epoll::{Interest, Reactor, Readiness, Source, accept};
use rungs_serve::readiness::{self, Key, Selector, Server};
use rungs_serve::{Rung, Stop, Worker};

fn main() -> ExitCode {
    rungs_serve::main::<Epoll>()
}

struct Epoll;

#[derive(Clone, clap::Args)]
struct Options {
    /// Whether readiness is reported as long as it holds, or once when it comes about
    #[arg(long, value_enum, value_name = "WHEN", default_value_t)]
    trigger: Trigger,

    /// Events taken from the kernel at once
    #[arg(long, value_name = "N", default_value_t = 1024, value_parser = clap::value_parser!(u32).range(1..=1 << 20))]
    max_events: u32,
}

#[derive(Clone, Copy, Default, ValueEnum)]
enum Trigger {
    /// As long as it holds
    #[default]
    Level,
    /// Once, when it comes about
    Edge,
}

impl Trigger {
    const fn of(self, interest: Interest) -> Interest {
        match self {
            Self::Level => interest,
            Self::Edge => interest.edge_triggered(),
        }
    }
}

impl Rung for Epoll {
    const NAME: &'static str = "rung-epoll";
    const ABOUT: &'static str = "HTTP/1.1 on a bare epoll reactor, one for each thread";
    type Options = Options;

    fn run(options: &Options, worker: Worker) -> io::Result<()> {
        let mut reactor = Reactor::new(options.max_events as usize)?;
        let mut stop = Source::new(worker.stop.clone());
        stop.register(&mut reactor, Interest::READ, on_stop, 0)?;
        let mut context = Context {
            server: Server::new(worker, Source::new),
            stop,
            trigger: options.trigger,
        };
        let (server, mut selector) = context.split(&mut reactor);
        server.start(&mut selector)?;
        while !context.server.is_over() {
            let wait = context.server.next_wait();
            let events = reactor.run(&mut context, wait)?;
            let (server, mut selector) = context.split(&mut reactor);
            server.end_turn(&mut selector, events)?;
        }
        Ok(())
    }
}

type EpollServer = Server<Source<TcpStream>, Source<TcpListener>>;

/// What the handlers work on.
struct Context {
    server: EpollServer,
    stop: Source<Stop>,
    trigger: Trigger,
}

impl Context {
    /// The server, and the reactor as the server wants it.
    fn split<'a>(&'a mut self, reactor: &'a mut Reactor<Self>) -> (&'a mut EpollServer, Watch<'a>) {
        let trigger = self.trigger;
        (&mut self.server, Watch { reactor, trigger })
    }
}

fn on_listener(context: &mut Context, reactor: &mut Reactor<Context>, _: u64, _: Readiness) {
    let (server, mut selector) = context.split(reactor);
    server.accept(&mut selector);
}

fn on_connection(
    context: &mut Context,
    reactor: &mut Reactor<Context>,
    key: u64,
    readiness: Readiness,
) {
    let readiness = readiness::Readiness {
        closed: readiness.is_closed(),
    };
    let (server, mut selector) = context.split(reactor);
    server.ready(&mut selector, Key::from_bits(key), readiness);
}

fn on_stop(context: &mut Context, reactor: &mut Reactor<Context>, _: u64, _: Readiness) {
    // It stays readable for ever, so it has to be seen only once. It is watched, or it would not be here.
    let _ = context.stop.deregister(reactor);
    let (server, mut selector) = context.split(reactor);
    server.stop(&mut selector);
}

/// The reactor as the server's selector.
struct Watch<'a> {
    reactor: &'a mut Reactor<Context>,
    trigger: Trigger,
}

impl Selector for Watch<'_> {
    type Stream = Source<TcpStream>;
    type Listener = Source<TcpListener>;

    fn accept(listener: &mut Self::Listener) -> io::Result<Self::Stream> {
        accept(&listener.socket).map(Source::new)
    }

    fn listen(&mut self, listener: &mut Self::Listener) -> io::Result<()> {
        let interest = self.trigger.of(Interest::ACCEPT);
        listener.register(self.reactor, interest, on_listener, 0)
    }

    fn unlisten(&mut self, listener: &mut Self::Listener) -> io::Result<()> {
        listener.deregister(self.reactor)
    }

    fn register(&mut self, stream: &mut Self::Stream, key: Key) -> io::Result<()> {
        let interest = self.trigger.of(Interest::READ);
        stream.register(self.reactor, interest, on_connection, key.to_bits())
    }

    fn reregister(
        &mut self,
        stream: &mut Self::Stream,
        _: Key,
        interest: readiness::Interest,
    ) -> io::Result<()> {
        let interest = match interest {
            readiness::Interest::Read => Interest::READ,
            readiness::Interest::Write => Interest::WRITE,
        };
        stream.reregister(self.reactor, self.trigger.of(interest))
    }

    fn deregister(&mut self, stream: &mut Self::Stream) -> io::Result<()> {
        stream.deregister(self.reactor)
    }
}
