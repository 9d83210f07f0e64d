//! A worker's server: sessions, driven by what the proactor has done.

use std::io;
use std::mem;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use rungs_serve::Worker;
use rungs_serve::accept::{PAUSE, Remedy, remedy};
use rungs_serve::counters::Counters;
use rungs_serve::sessions::{Deadlines, Desk};
use rungs_uring::{Completion, Proactor, Standing, Token};

use crate::session::{Flow, Session};

/// The server of one worker.
pub(crate) struct Server {
    proactor: Proactor<Role>,
    phase: Phase,
    grace: Duration,
    /// Sessions that are not closed.
    open: usize,
    deadlines: Deadlines,
    desk: Desk,
    /// With one slot: a proactor is for one thread.
    counters: Counters,
    failure: Option<io::Error>,
}

/// What a source is to the server.
pub(crate) enum Role {
    Listener,
    Stop,
    Connection(Session),
}

/// Where the server is in its life.
enum Phase {
    Serving {
        listener: Token,
        /// Descriptors have run out: accept nothing before this time.
        paused: Option<Instant>,
    },
    Stopping {
        until: Instant,
    },
}

impl Server {
    /// The server of `worker`, which accepts from now on, as soon as it [runs](Server::run).
    ///
    /// # Errors
    ///
    /// No descriptor is left.
    pub(crate) fn new(worker: Worker, mut proactor: Proactor<Role>) -> io::Result<Self> {
        let slot = worker.counters.slot(0);
        // From here on they are counted here, be it that nothing happens.
        slot.wakeups.add(0);
        slot.events.add(0);
        worker.listener.set_nonblocking(false)?;
        let listener = proactor.add(worker.listener.into(), Standing::Accept, Role::Listener);
        let stop = worker.stop.as_fd().try_clone_to_owned()?;
        proactor.add(stop, Standing::Poll, Role::Stop);
        worker.ready.announce();
        let desk = Desk::new(worker.limits);
        Ok(Self {
            proactor,
            phase: Phase::Serving {
                listener,
                paused: None,
            },
            grace: worker.grace,
            open: 0,
            deadlines: Deadlines::new(desk.now()),
            desk,
            counters: worker.counters,
            failure: None,
        })
    }

    /// Serves until it is stopped and its sessions have ended or their grace has.
    ///
    /// # Errors
    ///
    /// The listener or the proactor fails for good.
    pub(crate) fn run(mut self) -> io::Result<()> {
        while !self.is_over() {
            let wait = self.next_wait();
            self.desk.let_time_pass();
            self.proactor.turn(wait)?;
            self.desk.tell_time();
            let mut events = 0;
            while let Some((token, completion)) = self.proactor.next_completion() {
                events += 1;
                self.complete(token, completion);
            }
            self.end_turn(events)?;
        }
        Ok(())
    }

    fn is_over(&self) -> bool {
        match self.phase {
            Phase::Serving { .. } => false,
            Phase::Stopping { until } => self.open == 0 || self.desk.now() >= until,
        }
    }

    /// How long the proactor may wait at most, as of this turn's time; none: for ever.
    fn next_wait(&mut self) -> Option<Duration> {
        let own = match self.phase {
            Phase::Serving { paused, .. } => paused,
            Phase::Stopping { until } => Some(until),
        };
        let proactor = &self.proactor;
        let session = self.deadlines.next(|index| proactor.is_open(Token(index)));
        let next = match (own, session) {
            (Some(own), Some(session)) => own.min(session),
            (own, session) => own.or(session)?,
        };
        Some(next.saturating_duration_since(self.desk.now()))
    }

    fn complete(&mut self, token: Token, completion: Completion) {
        match completion {
            Completion::Accepted(socket) => self.admit(socket),
            Completion::Readable => self.stop(),
            Completion::Received => {
                if let Some((Role::Connection(session), input, sending)) =
                    self.proactor.input(token)
                {
                    let flow = session.receive(input, sending, &mut self.desk);
                    let deadline = session.deadline(self.desk.limits());
                    self.follow(token, flow, deadline);
                }
            }
            Completion::EndOfInput => self.drive(token, Session::end_of_input),
            Completion::Sent { bytes, left } => {
                self.drive(token, |session, _, desk| session.sent(bytes, left, desk));
            }
            Completion::Failed(error) => match self.proactor.about(token) {
                Some(Role::Connection(_)) => self.close(token),
                Some(Role::Listener) => self.accept_failed(token, error),
                _ => self.failure = Some(error),
            },
        }
    }

    /// Lets `act` go on with the session of `token`, if that is an open connection, told whether it is sending.
    fn drive(&mut self, token: Token, act: impl FnOnce(&mut Session, bool, &mut Desk) -> Flow) {
        let sending = self.proactor.is_sending(token);
        if let Some(session) = session(&mut self.proactor, token) {
            let flow = act(session, sending, &mut self.desk);
            let deadline = session.deadline(self.desk.limits());
            if flow == Flow::Send {
                // It may have been paused while input was held.
                self.proactor.resume(token);
            }
            self.follow(token, flow, deadline);
        }
    }

    fn admit(&mut self, socket: OwnedFd) {
        if matches!(self.phase, Phase::Stopping { .. }) {
            return;
        }
        let session = Session::new(self.desk.now());
        let deadline = session.deadline(self.desk.limits());
        let token = self
            .proactor
            .add(socket, Standing::Receive, Role::Connection(session));
        self.deadlines.arm(token.0, deadline);
        self.open += 1;
        self.counters.slot(0).accepted.add(1);
    }

    fn accept_failed(&mut self, listener: Token, error: io::Error) {
        match remedy(&error) {
            Remedy::Wait | Remedy::Skip => self.proactor.resume(listener),
            Remedy::Pause => {
                if let Phase::Serving { paused, .. } = &mut self.phase {
                    *paused = Some(self.desk.now() + PAUSE);
                }
            }
            Remedy::Fail => self.failure = Some(error),
        }
    }

    /// Lets a session go on as it wants to, until its deadline.
    #[inline]
    fn follow(&mut self, token: Token, flow: Flow, deadline: Instant) {
        match flow {
            Flow::Wait => {}
            Flow::Receive => self.proactor.resume(token),
            Flow::Hurry => self.proactor.hurry(token),
            Flow::Pause => {
                self.proactor.hurry(token);
                self.proactor.pause(token);
            }
            Flow::Send => self.send(token),
            Flow::SendAndHurry => {
                self.send(token);
                self.proactor.hurry(token);
            }
            Flow::ShutDown => {
                self.proactor.shut_down(token);
                self.proactor.resume(token);
            }
            Flow::Close => return self.close(token),
        }
        self.deadlines.arm(token.0, deadline);
    }

    fn send(&mut self, token: Token) {
        let spare = self.proactor.spare();
        let out = mem::replace(&mut self.desk.out, spare);
        // With that they are handed to the kernel, though their completion is seen later.
        self.desk.bytes += out.len() as u64;
        self.proactor.send(token, out);
    }

    fn close(&mut self, token: Token) {
        self.desk.out.clear();
        self.proactor.close(token);
        self.open -= 1;
        self.counters.slot(0).closed.add(1);
    }

    /// It is time to stop: accepts no more, ends idle sessions, and lets the others finish while the grace lasts.
    fn stop(&mut self) {
        let Phase::Serving { listener, .. } = self.phase else {
            return;
        };
        self.proactor.close(listener);
        self.phase = Phase::Stopping {
            until: self.desk.now() + self.grace,
        };
        for token in self.proactor.tokens() {
            self.drive(token, Session::shut_down);
        }
    }

    /// Ends a turn of so many `events`: does what is due, and publishes the counts.
    fn end_turn(&mut self, events: u64) -> io::Result<()> {
        self.go_on_accepting();
        self.expire_due();
        self.desk.publish(events, self.counters.slot(0));
        self.failure.take().map_or(Ok(()), Err)
    }

    fn go_on_accepting(&mut self) {
        if let Phase::Serving { listener, paused } = &mut self.phase
            && paused.is_some_and(|until| until <= self.desk.now())
        {
            *paused = None;
            self.proactor.resume(*listener);
        }
    }

    fn expire_due(&mut self) {
        while let Some(index) = self.deadlines.pop(self.desk.now()) {
            let token = Token(index);
            let Some(session) = session(&mut self.proactor, token) else {
                continue;
            };
            let deadline = session.deadline(self.desk.limits());
            if deadline <= self.desk.now() {
                self.drive(token, Session::expire);
            } else {
                self.deadlines.arm(index, deadline);
            }
        }
    }
}

/// The session of `token`, if that is an open connection.
fn session(proactor: &mut Proactor<Role>, token: Token) -> Option<&mut Session> {
    match proactor.about(token) {
        Some(Role::Connection(session)) => Some(session),
        _ => None,
    }
}
