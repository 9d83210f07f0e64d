//! Accepting connections on tokio.

use std::io;
use std::net::SocketAddr;

use tokio::net::TcpListener;

use super::{Stream, Tally};
use crate::accept::{PAUSE, Remedy, remedy};

/// A listener that survives what accept(2) may say.
#[derive(Debug)]
pub struct Acceptor {
    listener: TcpListener,
    tally: Tally,
}

impl Acceptor {
    pub(super) fn new(listener: std::net::TcpListener, tally: Tally) -> io::Result<Self> {
        Ok(Self {
            listener: TcpListener::from_std(listener)?,
            tally,
        })
    }

    /// Where the connections are counted.
    #[must_use]
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// The address bound.
    ///
    /// # Errors
    ///
    /// Those of getsockname(2).
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// The next connection. It has inherited `TCP_NODELAY` from the listener.
    ///
    /// # Panics
    ///
    /// If the listener itself is unusable, which only a fault of our own can bring about.
    pub async fn accept(&mut self) -> (Stream, SocketAddr) {
        loop {
            match self.listener.accept().await {
                Ok((stream, peer)) => return (Stream::new(stream, self.tally.clone()), peer),
                Err(error) => match remedy(&error) {
                    Remedy::Wait | Remedy::Skip => {}
                    Remedy::Pause => tokio::time::sleep(PAUSE).await,
                    Remedy::Fail => panic!("cannot accept: {error}"),
                },
            }
        }
    }
}
