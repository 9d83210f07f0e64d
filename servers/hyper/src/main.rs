//! The hyper rung: tokio and hyper's `http1::Builder`, used as for a small fast server.
//!
//! ```text
//! main.rs     accepts connections, serves each as a task, stops in order
//! service.rs  what hyper calls for each request
//! body.rs     the bodies that it answers with
//! timer.rs    the deadline of a head
//! ```

mod body;
mod service;
mod timer;

use std::future::{Future, poll_fn};
use std::io;
use std::pin::pin;
use std::process::ExitCode;

use hyper::server::conn::http1::{self, Connection};
use hyper_util::rt::TokioIo;
use rungs_serve::runtime::{self, Acceptor, Options, Stopping, Stream};
use rungs_serve::{Limits, Rung, Worker};
use tokio::sync::mpsc;

use service::Answers;
use timer::LazyTimer;

/// The longest request head, in bytes; the same as that of the raw rungs.
const MAX_HEAD: usize = 16 << 10;

struct Hyper;

impl Rung for Hyper {
    const NAME: &'static str = "rung-hyper";
    const ABOUT: &'static str = "The hyper rung: tokio and hyper.

--header-timeout is hyper's header_read_timeout, which also bounds how long a connection may be idle between requests. \
hyper has no deadline for a body or for a client that stops reading, so --idle-timeout has no effect.";
    type Options = Options;

    fn one_worker(options: &Options) -> bool {
        options.one_worker()
    }

    fn run(options: &Options, worker: Worker) -> io::Result<()> {
        let limits = worker.limits;
        runtime::run(options, worker, move |acceptor, stopping| {
            serve(acceptor, stopping, limits)
        })
    }
}

/// Serves until it is time to stop, and then until the last connection has ended.
async fn serve(mut acceptor: Acceptor, stopping: Stopping, limits: Limits) {
    let mut http = http(&limits);
    let answers = Answers::new(acceptor.tally().clone());
    // Each connection has a sender, and nobody sends: the channel closes when the last one has ended.
    let (open, mut ended) = mpsc::channel::<()>(1);
    loop {
        let (stream, _peer) = tokio::select! {
            connection = acceptor.accept() => connection,
            () = stopping.raised() => break,
        };
        http.timer(LazyTimer::default());
        let connection = http.serve_connection(TokioIo::new(stream), answers.clone());
        let (stopping, open) = (stopping.clone(), open.clone());
        tokio::spawn(async move {
            drive(connection, &stopping).await;
            drop(open);
        });
    }
    drop((acceptor, open));
    ended.recv().await;
}

/// Drives a connection to its end, and tells it when the server stops.
///
/// As `hyper_util::server::graceful` does, but for a request it costs a look at a flag: the wish to stop is polled once, which
/// leaves the task's waker behind, and then only when it is there.
async fn drive(connection: Connection<TokioIo<Stream>, Answers>, stopping: &Stopping) {
    let mut connection = pin!(connection);
    let mut raised = pin!(stopping.raised());
    let mut watched = false;
    let mut told = false;
    let ended = poll_fn(|cx| {
        if !told && (!watched || stopping.is_raised()) {
            watched = true;
            if raised.as_mut().poll(cx).is_ready() {
                connection.as_mut().graceful_shutdown();
                told = true;
            }
        }
        connection.as_mut().poll(cx)
    });
    // An error concerns that one client only: a broken request, a vanished peer.
    let _ = ended.await;
}

fn http(limits: &Limits) -> http1::Builder {
    let mut http = http1::Builder::new();
    http.header_read_timeout(limits.header_timeout)
        .half_close(true)
        .max_header_size(MAX_HEAD);
    http
}

fn main() -> ExitCode {
    rungs_serve::main::<Hyper>()
}
