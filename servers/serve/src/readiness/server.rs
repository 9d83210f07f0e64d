//! A worker's server: sessions in a table, driven by what the selector reports.

use std::io::{self, Read, Write};
use std::mem;
use std::net::TcpListener;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use super::session::{Flow, Session, Workplace};
use super::{Key, Readiness, Selector};
use crate::accept::{PAUSE, Remedy, remedy};
use crate::counters::Counters;
use crate::sessions::{Deadlines, Table};
use crate::{Ready, Worker};

/// Connections that are accepted before others have their turn.
const ACCEPTS: usize = 64;

/// The server of one worker, for connections of the type `S` and a listener of the type `L`.
pub struct Server<S, L> {
    phase: Phase<L>,
    grace: Duration,
    sessions: Table<Session<S>>,
    /// Of the connection accepted last.
    generation: u32,
    deadlines: Deadlines,
    /// Sessions that had their share of a turn and go on in the next.
    queue: Vec<Key>,
    /// The queue's spare, so that it allocates nothing per turn.
    taken: Vec<Key>,
    work: Workplace,
    /// With one slot: a server of readiness runs on one thread.
    counters: Counters,
    failure: Option<io::Error>,
    /// Until the server has started.
    ready: Option<Ready>,
}

/// Where the server is in its life.
enum Phase<L> {
    Serving { listener: L, accepting: Accepting },
    Stopping { until: Instant },
}

/// How the server goes about accepting.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Accepting {
    /// When the selector reports the listener.
    Watched,
    /// Once more in this turn: not all that wait were accepted.
    Again,
    /// Not before this time: descriptors have run out.
    Paused { until: Instant },
}

impl<S: Read + Write + AsFd, L> Server<S, L> {
    /// The server of `worker`, whose listener `adapt` makes the selector's.
    #[must_use]
    pub fn new(worker: Worker, adapt: impl FnOnce(TcpListener) -> L) -> Self {
        let slot = worker.counters.slot(0);
        // From here on they are counted here, be it that nothing happens.
        slot.wakeups.add(0);
        slot.events.add(0);
        let work = Workplace::new(worker.limits);
        Self {
            phase: Phase::Serving {
                listener: adapt(worker.listener),
                accepting: Accepting::Watched,
            },
            grace: worker.grace,
            sessions: Table::new(),
            generation: 0,
            deadlines: Deadlines::new(work.desk.now()),
            queue: Vec::new(),
            taken: Vec::new(),
            work,
            counters: worker.counters,
            failure: None,
            ready: Some(worker.ready),
        }
    }

    /// Starts to watch the listener, and says that it does.
    ///
    /// # Errors
    ///
    /// The selector cannot take it.
    pub fn start<P>(&mut self, selector: &mut P) -> io::Result<()>
    where
        P: Selector<Stream = S, Listener = L>,
    {
        if let Phase::Serving { listener, .. } = &mut self.phase {
            selector.listen(listener)?;
        }
        if let Some(ready) = self.ready.take() {
            ready.announce();
        }
        Ok(())
    }

    /// Whether the server has been stopped and its sessions have ended or their grace has.
    #[must_use]
    pub fn is_over(&self) -> bool {
        match self.phase {
            Phase::Serving { .. } => false,
            Phase::Stopping { until } => self.sessions.is_empty() || self.work.desk.now() >= until,
        }
    }

    /// How long the selector may wait at most, as of this turn's time; none: for ever.
    pub fn next_wait(&mut self) -> Option<Duration> {
        self.work.desk.let_time_pass();
        if !self.queue.is_empty() {
            return Some(Duration::ZERO);
        }
        let own = match self.phase {
            Phase::Stopping { until } => Some(until),
            Phase::Serving { accepting, .. } => match accepting {
                Accepting::Watched => None,
                Accepting::Again => return Some(Duration::ZERO),
                Accepting::Paused { until } => Some(until),
            },
        };
        let sessions = &self.sessions;
        let session = self.deadlines.next(|index| sessions.get(index).is_some());
        let next = match (own, session) {
            (Some(own), Some(session)) => own.min(session),
            (own, session) => own.or(session)?,
        };
        Some(next.saturating_duration_since(self.work.desk.now()))
    }

    /// The selector has reported the listener.
    pub fn accept<P>(&mut self, selector: &mut P)
    where
        P: Selector<Stream = S, Listener = L>,
    {
        self.work.desk.tell_time();
        for _ in 0..ACCEPTS {
            let Phase::Serving {
                listener,
                accepting,
            } = &mut self.phase
            else {
                return;
            };
            let error = match P::accept(listener) {
                Ok(stream) => {
                    self.admit(selector, stream);
                    continue;
                }
                Err(error) => error,
            };
            match remedy(&error) {
                Remedy::Wait => *accepting = Accepting::Watched,
                Remedy::Skip => continue,
                Remedy::Pause => {
                    // Were it not watched, it would not have been reported.
                    let _ = selector.unlisten(listener);
                    *accepting = Accepting::Paused {
                        until: self.work.desk.now() + PAUSE,
                    };
                }
                Remedy::Fail => self.failure = Some(error),
            }
            return;
        }
        if let Phase::Serving { accepting, .. } = &mut self.phase {
            *accepting = Accepting::Again;
        }
    }

    fn admit<P>(&mut self, selector: &mut P, mut stream: S)
    where
        P: Selector<Stream = S, Listener = L>,
    {
        self.generation = self.generation.wrapping_add(1);
        let key = Key {
            index: self.sessions.next_index(),
            generation: self.generation,
        };
        self.counters.slot(0).accepted.add(1);
        if selector.register(&mut stream, key).is_err() {
            self.counters.slot(0).closed.add(1);
            return;
        }
        let session = Session::new(stream, key.generation, self.work.desk.now());
        let deadline = session.deadline(self.work.desk.limits());
        self.sessions.insert(session);
        self.deadlines.arm(key.index, deadline);
    }

    /// The selector has reported the connection of `key`. A key whose connection has ended is passed over.
    #[inline]
    pub fn ready<P>(&mut self, selector: &mut P, key: Key, readiness: Readiness)
    where
        P: Selector<Stream = S, Listener = L>,
    {
        self.work.desk.tell_time();
        self.drive(selector, key, |session, work| {
            session.note_closed(readiness.closed);
            if session.queued {
                // It goes on at the end of this turn anyway, and has no more than its share.
                return Flow::Yield;
            }
            session.go_on(work)
        });
    }

    /// Lets `act` go on with the session of `key`, and sees to what the session then waits for.
    #[inline]
    fn drive<P>(
        &mut self,
        selector: &mut P,
        key: Key,
        act: impl FnOnce(&mut Session<S>, &mut Workplace) -> Flow,
    ) where
        P: Selector<Stream = S, Listener = L>,
    {
        let session = match self.sessions.get_mut(key.index) {
            Some(session) if session.generation == key.generation => session,
            _ => return,
        };
        match act(session, &mut self.work) {
            Flow::Wait(interest) => {
                if session.interest != interest {
                    session.interest = interest;
                    if selector
                        .reregister(&mut session.stream, key, interest)
                        .is_err()
                    {
                        return self.close(selector, key);
                    }
                }
            }
            Flow::Yield => {
                if !mem::replace(&mut session.queued, true) {
                    self.queue.push(key);
                }
            }
            Flow::Close => return self.close(selector, key),
        }
        let deadline = session.deadline(self.work.desk.limits());
        self.deadlines.arm(key.index, deadline);
    }

    fn close<P>(&mut self, selector: &mut P, key: Key)
    where
        P: Selector<Stream = S, Listener = L>,
    {
        let Some(mut session) = self.sessions.remove(key.index) else {
            return;
        };
        // It was registered when it was admitted; and if the selector disagrees, closing it makes it forget.
        let _ = selector.deregister(&mut session.stream);
        self.counters.slot(0).closed.add(1);
    }

    /// It is time to stop: accepts no more, ends idle sessions, and lets the others finish while the grace lasts.
    pub fn stop<P>(&mut self, selector: &mut P)
    where
        P: Selector<Stream = S, Listener = L>,
    {
        self.work.desk.tell_time();
        let Phase::Serving { listener, .. } = &mut self.phase else {
            return;
        };
        // It fails if the listener is paused, and is closed next either way.
        let _ = selector.unlisten(listener);
        self.phase = Phase::Stopping {
            until: self.work.desk.now() + self.grace,
        };
        for key in self.keys() {
            self.drive(selector, key, Session::shut_down);
        }
    }

    fn keys(&self) -> Vec<Key> {
        let keys = self.sessions.iter().map(|(index, session)| Key {
            index,
            generation: session.generation,
        });
        keys.collect()
    }

    /// Ends a turn, in which the selector reported `events`: does what is due, and publishes the counts.
    ///
    /// # Errors
    ///
    /// The listener or the selector fails for good.
    pub fn end_turn<P>(&mut self, selector: &mut P, events: usize) -> io::Result<()>
    where
        P: Selector<Stream = S, Listener = L>,
    {
        self.work.desk.tell_time();
        self.go_on_with_queue(selector);
        self.go_on_accepting(selector)?;
        self.expire_due(selector);
        self.work.desk.publish(events as u64, self.counters.slot(0));
        self.failure.take().map_or(Ok(()), Err)
    }

    fn go_on_with_queue<P>(&mut self, selector: &mut P)
    where
        P: Selector<Stream = S, Listener = L>,
    {
        mem::swap(&mut self.queue, &mut self.taken);
        while let Some(key) = self.taken.pop() {
            self.drive(selector, key, |session, work| {
                session.queued = false;
                session.go_on(work)
            });
        }
    }

    fn go_on_accepting<P>(&mut self, selector: &mut P) -> io::Result<()>
    where
        P: Selector<Stream = S, Listener = L>,
    {
        let Phase::Serving {
            listener,
            accepting,
        } = &mut self.phase
        else {
            return Ok(());
        };
        match *accepting {
            Accepting::Again => self.accept(selector),
            Accepting::Paused { until } if until <= self.work.desk.now() => {
                *accepting = Accepting::Watched;
                selector.listen(listener)?;
            }
            Accepting::Paused { .. } | Accepting::Watched => {}
        }
        Ok(())
    }

    fn expire_due<P>(&mut self, selector: &mut P)
    where
        P: Selector<Stream = S, Listener = L>,
    {
        while let Some(index) = self.deadlines.pop(self.work.desk.now()) {
            let Some(session) = self.sessions.get(index) else {
                continue;
            };
            let key = Key {
                index,
                generation: session.generation,
            };
            let deadline = session.deadline(self.work.desk.limits());
            if deadline <= self.work.desk.now() {
                self.drive(selector, key, Session::expire);
            } else {
                self.deadlines.arm(index, deadline);
            }
        }
    }
}
