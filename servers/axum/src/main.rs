//! The axum rung: `axum::serve` with a `Router`, as its users run it.
//!
//! ```text
//! main.rs    axum::serve on our listener, stopped in order
//! routes.rs  the Router and its handlers
//! ```

mod routes;

use std::io;
use std::net::SocketAddr;
use std::process::ExitCode;

use axum::ServiceExt as _;
use axum::extract::Request;
use axum::serve::Listener;
use rungs_serve::runtime::{self, Acceptor, Options, Stopping, Stream};
use rungs_serve::{Rung, Worker};
use tower::ServiceExt as _;

struct Axum;

impl Rung for Axum {
    const NAME: &'static str = "rung-axum";
    const ABOUT: &'static str = "The axum rung: axum::serve, as its users run it.

axum::serve has no deadlines, so --header-timeout and --idle-timeout have no effect.";
    type Options = Options;

    fn one_worker(options: &Options) -> bool {
        options.one_worker()
    }

    fn run(options: &Options, worker: Worker) -> io::Result<()> {
        runtime::run(options, worker, serve)
    }
}

async fn serve(acceptor: Acceptor, stopping: Stopping) {
    let tally = acceptor.tally().clone();
    let service = routes::router().map_request(move |request: Request| {
        tally.slot().requests.add(1);
        request
    });
    axum::serve(Counted(acceptor), service.into_make_service())
        .with_graceful_shutdown(async move { stopping.raised().await })
        .await
        .expect("axum::serve never returns an error");
}

/// The listener that all rungs on tokio share: what differs from tokio's own is that it counts, that its connections
/// linger when they close, and that it pauses more briefly when descriptors run out.
struct Counted(Acceptor);

impl Listener for Counted {
    type Io = Stream;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Stream, SocketAddr) {
        self.0.accept().await
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }
}

fn main() -> ExitCode {
    rungs_serve::main::<Axum>()
}
