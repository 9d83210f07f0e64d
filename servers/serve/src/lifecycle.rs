//! The life of a server process, from its flags to its exit status.

use std::io::{self, ErrorKind};
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Resource, getrlimit, setrlimit};
use signal_hook::consts::{SIGINT, SIGTERM, SIGUSR1};
use signal_hook::iterator::Signals;

use crate::counters::Counters;
use crate::flags::{Cli, Flags};
use crate::lines::{Line, Totals};
use crate::listen::{self, ListenError};
use crate::{Limits, Rung, Stop, Worker};

/// What workers are given on top of [`Flags::grace`] before the process ends without them: they watch the same clock and
/// must not lose against it by the time it takes to be scheduled.
const MARGIN: Duration = Duration::from_millis(100);

/// The whole life of the rung `R` as a process. Exit status 2: a wrong flag. 1: anything else went wrong, and one sentence
/// on stderr says what. 0: it served until it was told to stop.
pub fn main<R: Rung>() -> ExitCode {
    let cli = Cli::parse_for::<R>();
    match serve::<R>(&cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            if let Error::Unsupported(reason) = &error {
                // If nobody reads stdout any more, stderr still says it.
                let _ = Line::unsupported(R::NAME, reason).print();
            }
            eprintln!("{}: {error}", R::NAME);
            ExitCode::FAILURE
        }
    }
}

/// Why the process ends with exit status 1.
#[derive(Debug, thiserror::Error)]
enum Error {
    #[error(transparent)]
    Listen(#[from] ListenError),
    #[error(
        "CPU {0} of --pin is not among those this process may run on (taskset -p $$ shows them)"
    )]
    CpuNotAllowed(usize),
    #[error("cannot start: {0}")]
    Start(#[from] io::Error),
    /// It cannot run on this machine, as the rung itself found out before it served anybody.
    #[error("{0}")]
    Unsupported(io::Error),
    #[error("worker {index} failed: {source}")]
    Worker { index: usize, source: io::Error },
    #[error("worker {0} ended although nobody stopped it")]
    Deserted(usize),
    #[error("cannot write to stdout: {0}; keep it open as long as the server runs")]
    Stdout(io::Error),
    #[error("stopped at once by a second signal, with {0} of its threads still serving")]
    SecondSignal(usize),
}

/// What the main thread waits for.
enum Event {
    Signal(i32),
    Ended {
        index: usize,
        result: io::Result<()>,
    },
}

fn serve<R: Rung>(cli: &Cli<R::Options>) -> Result<(), Error> {
    let flags = &cli.flags;
    abort_on_panic();
    raise_descriptor_limit();
    refuse_foreign_cpus(flags)?;
    let (sender, events) = channel();
    // Before there is a line on stdout that invites signals.
    forward_signals(sender.clone())?;

    let (workers, threads) = if R::one_worker(&cli.options) {
        (1, flags.threads.into())
    } else {
        (flags.threads.into(), 1)
    };
    let listeners = listen::open(flags.listen, workers, flags.accept, flags.backlog)?;
    if let Some(somaxconn) = listen::lower_somaxconn(flags.backlog) {
        eprintln!(
            "{}: warning: the kernel cuts the backlog of {} to {somaxconn}; raise it with \
             sysctl -w net.core.somaxconn={}, or give a lower --backlog",
            R::NAME,
            flags.backlog,
            flags.backlog
        );
    }
    let line = Line::listening(R::NAME, listeners[0].local_addr()?, flags.threads, workers);
    let stop = Stop::new()?;
    let (ready, readies) = channel();
    let counters: Vec<_> = (0..workers).map(|_| Counters::new(threads)).collect();
    for (index, (listener, counters)) in listeners.into_iter().zip(&counters).enumerate() {
        let worker = Worker {
            index,
            threads,
            listener,
            ready: ready.clone().into(),
            stop: stop.clone(),
            counters: counters.clone(),
            limits: Limits {
                header_timeout: flags.header_timeout,
                idle_timeout: flags.idle_timeout,
            },
            grace: flags.grace,
        };
        spawn::<R>(cli, worker, sender.clone())?;
    }
    // Should a worker fail first, its end is among the events; with this the wait for it ends too.
    drop(ready);
    if readies.iter().take(workers).count() < workers {
        return Err(failed_start(&events));
    }
    line.print().map_err(Error::Stdout)?;
    supervise(flags, &stop, &counters, &events)
}

/// Starts the thread of `worker`, which reports its end.
fn spawn<R: Rung>(cli: &Cli<R::Options>, worker: Worker, sender: Sender<Event>) -> io::Result<()> {
    let index = worker.index;
    let options = cli.options.clone();
    let pin = cli.flags.pin.clone();
    thread::Builder::new()
        .name(format!("worker-{index}"))
        .spawn(move || {
            let pinned = match &pin {
                None => Ok(()),
                Some(cpus) if worker.threads > 1 => cpus.pin_to_all(),
                Some(cpus) => cpus.pin_to_one(index),
            };
            let result = pinned.and_then(|()| R::run(&options, worker));
            // Nobody listens only once the process is ending anyway.
            let _ = sender.send(Event::Ended { index, result });
        })?;
    Ok(())
}

/// Why a worker ended before it served: its end is among the events, or will be in a moment.
fn failed_start(events: &Receiver<Event>) -> Error {
    // A system call that fails with ENOSYS or EOPNOTSUPP is of this kind as well. Only what the rung put into words of its
    // own says that it cannot run here: anything else may be a fault of the rung.
    let is_rungs_own =
        |error: &io::Error| error.kind() == ErrorKind::Unsupported && error.get_ref().is_some();
    let end = |event| match event {
        Event::Signal(_) => None,
        Event::Ended { index, result } => Some(match result {
            Ok(()) => Error::Deserted(index),
            Err(reason) if is_rungs_own(&reason) => Error::Unsupported(reason),
            Err(source) => Error::Worker { index, source },
        }),
    };
    let mut ends = events.iter().filter_map(end);
    ends.next().expect("the signal thread never ends")
}

/// Where the process is in its life.
enum Phase {
    Serving { until: Option<Instant> },
    Stopping { until: Instant, left: usize },
}

impl Phase {
    fn until(&self) -> Option<Instant> {
        match *self {
            Self::Serving { until } => until,
            Self::Stopping { until, .. } => Some(until),
        }
    }
}

/// Waits for what happens to the process, and ends with the last line once it is to end.
fn supervise(
    flags: &Flags,
    stop: &Stop,
    counters: &[Counters],
    events: &Receiver<Event>,
) -> Result<(), Error> {
    let begin_to_stop = || {
        stop.raise();
        Phase::Stopping {
            until: Instant::now() + flags.grace + MARGIN,
            left: counters.len(),
        }
    };
    let mut phase = Phase::Serving {
        until: flags.run_for.map(|duration| Instant::now() + duration),
    };
    let outcome = loop {
        phase = match (next(events, phase.until()), phase) {
            (Some(Event::Signal(SIGUSR1)), phase) => {
                let line = Line::Counters(Totals::now(counters));
                line.print().map_err(Error::Stdout)?;
                phase
            }
            (Some(Event::Signal(_)) | None, Phase::Serving { .. }) => begin_to_stop(),
            (Some(Event::Signal(_)), Phase::Stopping { left, .. }) => {
                break Err(Error::SecondSignal(left));
            }
            (None, Phase::Stopping { .. }) => break Ok(()),
            (Some(Event::Ended { index, result }), phase) => {
                result.map_err(|source| Error::Worker { index, source })?;
                match phase {
                    Phase::Serving { .. } => return Err(Error::Deserted(index)),
                    Phase::Stopping { left: 1, .. } => break Ok(()),
                    Phase::Stopping { until, left } => Phase::Stopping {
                        until,
                        left: left - 1,
                    },
                }
            }
        };
    };
    let line = Line::Stopped(Totals::now(counters));
    line.print().map_err(Error::Stdout)?;
    outcome
}

/// The next event, or none once it is `until`.
fn next(events: &Receiver<Event>, until: Option<Instant>) -> Option<Event> {
    let Some(until) = until else {
        return Some(events.recv().expect("the signal thread never ends"));
    };
    match events.recv_timeout(until.saturating_duration_since(Instant::now())) {
        Ok(event) => Some(event),
        Err(RecvTimeoutError::Timeout) => None,
        Err(RecvTimeoutError::Disconnected) => unreachable!("the signal thread never ends"),
    }
}

fn forward_signals(sender: Sender<Event>) -> io::Result<()> {
    let mut signals = Signals::new([SIGTERM, SIGINT, SIGUSR1])?;
    thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || {
            for signal in signals.forever() {
                // Nobody listens only once the process is ending anyway.
                let _ = sender.send(Event::Signal(signal));
            }
        })?;
    Ok(())
}

/// Makes a debug build end on a panic as a release build does, instead of serving on with a worker missing.
fn abort_on_panic() {
    let print = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        print(panic);
        std::process::abort();
    }));
}

/// Takes all the descriptors that the hard limit allows: a connection is a descriptor.
fn raise_descriptor_limit() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // If it is refused, the server serves as many connections as it may.
    let _ = setrlimit(Resource::Nofile, limit);
}

fn refuse_foreign_cpus(flags: &Flags) -> Result<(), Error> {
    let Some(cpus) = &flags.pin else {
        return Ok(());
    };
    match cpus.not_allowed()? {
        Some(cpu) => Err(Error::CpuNotAllowed(cpu)),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is said of a worker that ended so before it served.
    fn after(result: io::Result<()>) -> Error {
        let (sender, events) = channel();
        sender.send(Event::Signal(SIGUSR1)).unwrap();
        sender.send(Event::Ended { index: 1, result }).unwrap();
        failed_start(&events)
    }

    #[test]
    fn only_a_rung_itself_says_that_it_is_unsupported() {
        let sentence = "this kernel has no io_uring: boot one that has";
        let error = after(Err(io::Error::new(ErrorKind::Unsupported, sentence)));
        assert!(matches!(&error, Error::Unsupported(_)) && error.to_string() == sentence);
        let of_kernel = io::Error::from(rustix::io::Errno::NOSYS);
        assert_eq!(of_kernel.kind(), ErrorKind::Unsupported);
        assert!(matches!(
            after(Err(of_kernel)),
            Error::Worker { index: 1, .. }
        ));
        assert!(matches!(after(Ok(())), Error::Deserted(1)));
    }
}
