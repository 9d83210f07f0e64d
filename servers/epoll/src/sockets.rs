//! A listener and connections as sources of the [`Reactor`].

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};

use rungs_serve::socket;
use rustix::net::{SocketFlags, accept_with};

use crate::{Handler, Interest, Reactor, Token};

/// Accepts one connection, non-blocking: accept4(2) spares the calls that would make it so.
///
/// # Errors
///
/// Those of accept4(2).
pub fn accept(listener: &TcpListener) -> io::Result<TcpStream> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    Ok(accept_with(listener, flags)?.into())
}

/// A socket, and its registration while it has one.
#[derive(Debug)]
pub struct Source<T> {
    /// The socket.
    pub socket: T,
    token: Option<Token>,
}

impl<T: AsFd> Source<T> {
    /// A socket that is not watched.
    #[must_use]
    pub const fn new(socket: T) -> Self {
        Self {
            socket,
            token: None,
        }
    }

    /// As [`Reactor::register`].
    ///
    /// # Errors
    ///
    /// Those of epoll_ctl(2).
    pub fn register<C>(
        &mut self,
        reactor: &mut Reactor<C>,
        interest: Interest,
        handler: Handler<C>,
        about: u64,
    ) -> io::Result<()> {
        self.token = Some(reactor.register(&self.socket, interest, handler, about)?);
        Ok(())
    }

    /// As [`Reactor::reregister`].
    ///
    /// # Errors
    ///
    /// Those of epoll_ctl(2), and [`io::ErrorKind::NotFound`] if it is not watched.
    pub fn reregister<C>(&self, reactor: &Reactor<C>, interest: Interest) -> io::Result<()> {
        let token = self.token.ok_or(io::ErrorKind::NotFound)?;
        reactor.reregister(token, &self.socket, interest)
    }

    /// As [`Reactor::deregister`].
    ///
    /// # Errors
    ///
    /// Those of epoll_ctl(2), and [`io::ErrorKind::NotFound`] if it is not watched.
    pub fn deregister<C>(&mut self, reactor: &mut Reactor<C>) -> io::Result<()> {
        let token = self.token.take().ok_or(io::ErrorKind::NotFound)?;
        reactor.deregister(token, &self.socket)
    }
}

impl<T: AsFd> AsFd for Source<T> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Read for Source<TcpStream> {
    fn read(&mut self, input: &mut [u8]) -> io::Result<usize> {
        socket::read(&self.socket, input)
    }
}

impl Write for Source<TcpStream> {
    fn write(&mut self, output: &[u8]) -> io::Result<usize> {
        socket::write(&self.socket, output)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
