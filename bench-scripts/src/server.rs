//! One server process: started, awaited, asked for its counts, stopped.

mod launch;
mod lines;

use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::memory_file::MemoryFile;
use crate::observe::threads::ProcessGroup;
use crate::process::{NoLine, Process, Stopped, excerpt, in_words};
use crate::record::Reason;
use lines::Line;

pub use launch::Launch;
pub use lines::{Counters, Hello, WorkerTotals};

/// How long a server may take until it listens.
const START_TIMEOUT: Duration = Duration::from_secs(10);

/// How long a rung may take to print a line that it was asked for.
const LINE_TIMEOUT: Duration = Duration::from_secs(2);

/// How long a server may take to end: a rung's `--grace` of 5 s, and a little.
const STOP_TIMEOUT: Duration = Duration::from_secs(6);

/// How often one looks whether a foreign server accepts connections yet.
const CONNECT_POLL: Duration = Duration::from_millis(2);

/// A server that listens.
#[derive(Debug)]
pub struct Server {
    process: Process,
    /// The file that it may read at any time.
    _config: Option<MemoryFile>,
    /// Where it listens.
    pub addr: SocketAddr,
    /// What it said of itself; none of a foreign server.
    pub hello: Option<Hello>,
}

impl Server {
    /// Starts it and waits until it listens.
    ///
    /// # Errors
    ///
    /// [`Reason::ServerNotReady`]; [`Reason::Unsupported`] of a rung that says so and exits with 1.
    pub fn start(launch: &Launch) -> Result<Self, Reason> {
        if launch.foreign {
            Self::start_foreign(launch)
        } else {
            Self::start_rung(launch)
        }
    }

    /// A rung takes a free port itself and says which.
    fn start_rung(launch: &Launch) -> Result<Self, Reason> {
        let (mut process, config) = launch.start_process((Ipv4Addr::LOCALHOST, 0).into())?;
        match next_line(&process, START_TIMEOUT) {
            // We load what it names: let that be this machine, whatever it says.
            Ok(Line::Listening(hello)) if !hello.addr.ip().is_loopback() => {
                Err(not_ready(format!(
                    "it says that it listens on {}, which is not this machine",
                    hello.addr
                )))
            }
            Ok(Line::Listening(hello)) => Ok(Self {
                process,
                _config: config,
                addr: hello.addr,
                hello: Some(hello),
            }),
            Ok(Line::Unsupported { reason }) => Err(unsupported(&mut process, &reason)),
            Ok(line) => Err(not_ready(format!(
                "its first line was not the expected one: {line:?}"
            ))),
            Err(problem) => Err(not_ready(match process.wait(Duration::from_millis(100)) {
                Some(status) => format!("it {}: {}", in_words(status), process.last_words()),
                None => problem,
            })),
        }
    }

    /// A foreign server is given a port that was free a moment ago, and is ready when it accepts a connection.
    fn start_foreign(launch: &Launch) -> Result<Self, Reason> {
        let addr = free_port().map_err(|error| not_ready(format!("no port is free: {error}")))?;
        let (mut process, config) = launch.start_process(addr)?;
        let deadline = Instant::now() + START_TIMEOUT;
        loop {
            if let Some(status) = process.try_wait() {
                let detail = format!("it {}: {}", in_words(status), process.last_words());
                return Err(not_ready(detail));
            }
            if TcpStream::connect_timeout(&addr, CONNECT_POLL.max(Duration::from_millis(100)))
                .is_ok()
            {
                return Ok(Self {
                    process,
                    _config: config,
                    addr,
                    hello: None,
                });
            }
            if Instant::now() > deadline {
                return Err(not_ready(format!(
                    "it did not accept a connection on {addr} within {} s: {}",
                    START_TIMEOUT.as_secs(),
                    process.last_words()
                )));
            }
            thread::sleep(CONNECT_POLL);
        }
    }

    /// Its processes, to be watched.
    #[must_use]
    pub fn processes(&self) -> ProcessGroup {
        let pid = self.process.id();
        if self.hello.is_some() {
            return ProcessGroup::single(pid);
        }
        ProcessGroup::led_by(pid).unwrap_or_else(|_| ProcessGroup::single(pid))
    }

    /// Its counts now; none of a foreign server. The server's main thread answers, so no worker is disturbed.
    ///
    /// # Errors
    ///
    /// What happened instead of an answer.
    pub fn counters(&self) -> Result<Option<Counters>, String> {
        if self.hello.is_none() {
            return Ok(None);
        }
        self.process.signal(Signal::USR1);
        match next_line(&self.process, LINE_TIMEOUT)? {
            Line::Counters(counters) => Ok(Some(counters)),
            line => Err(format!("it was asked for its counts and said {line:?}")),
        }
    }

    /// Fails if the server has ended by itself.
    ///
    /// # Errors
    ///
    /// [`Reason::ServerDied`].
    pub fn check_alive(&mut self) -> Result<(), Reason> {
        match self.process.try_wait() {
            None => Ok(()),
            Some(status) => Err(Reason::ServerDied {
                detail: format!("it {}: {}", in_words(status), self.process.last_words()),
            }),
        }
    }

    /// Stops it. Gives the counts of its life; none of a foreign server.
    ///
    /// # Errors
    ///
    /// [`Reason::ServerDied`] if it had ended before, [`Reason::ServerStuck`] if it does not end cleanly.
    pub fn stop(mut self) -> Result<Option<Counters>, Reason> {
        self.check_alive()?;
        let stuck = |detail| Err(Reason::ServerStuck { detail });
        let status = match self.process.stop(STOP_TIMEOUT) {
            Stopped::InTime(status) => status,
            Stopped::Killed => {
                return stuck(format!(
                    "it was still running {} s after SIGTERM and was killed: {}",
                    STOP_TIMEOUT.as_secs(),
                    self.process.last_words()
                ));
            }
        };
        if self.hello.is_none() {
            // Others may end as they like.
            return Ok(None);
        }
        if !status.success() {
            return stuck(format!(
                "it {}: {}",
                in_words(status),
                self.process.last_words()
            ));
        }
        match next_line(&self.process, LINE_TIMEOUT) {
            Ok(Line::Stopped(counters)) => Ok(Some(counters)),
            Ok(line) => stuck(format!("its last line was not its counts: {line:?}")),
            Err(problem) => stuck(problem),
        }
    }
}

fn next_line(process: &Process, timeout: Duration) -> Result<Line, String> {
    match process.next_line(timeout) {
        Ok(line) => serde_json::from_str(&line).map_err(|error| {
            let line = excerpt(&line);
            format!("it printed a line that is not understood ({error}): {line}")
        }),
        Err(NoLine::TimedOut) => Err(format!("it printed nothing for {} s", timeout.as_secs())),
        Err(NoLine::Closed) => Err("it closed its stdout".into()),
    }
}

/// What it means that a rung said that it cannot run here: nothing, unless it ends as such a rung must.
fn unsupported(process: &mut Process, reason: &str) -> Reason {
    match process.wait(LINE_TIMEOUT) {
        Some(status) if status.code() == Some(1) => Reason::Unsupported {
            sentence: excerpt(reason),
        },
        end => not_ready(format!(
            "it said that it cannot run on this machine ({}), but {} instead of exiting with status 1",
            excerpt(reason),
            end.map_or_else(|| "ran on".to_owned(), in_words)
        )),
    }
}

fn not_ready(detail: String) -> Reason {
    Reason::ServerNotReady { detail }
}

fn free_port() -> std::io::Result<SocketAddr> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn launch(script: &str, foreign: bool) -> Launch {
        Launch {
            program: "/bin/sh".into(),
            args: vec!["-c".into(), script.into()],
            config: None,
            threads: 1,
            cpus: None,
            foreign,
        }
    }

    fn start_problem(script: &str, foreign: bool) -> String {
        Server::start(&launch(script, foreign))
            .unwrap_err()
            .to_string()
    }

    /// A script that behaves like a rung, as far as its lines go.
    const RUNG: &str = r#"
        trap 'echo "{\"event\":\"counters\",\"at_us\":5,\"workers\":[{\"open\":2,\"requests\":7,\"bytes\":9,\"wakeups\":null,\"events\":1}]}"' USR1
        trap 'echo "{\"event\":\"stopped\",\"at_us\":6,\"workers\":[]}"; exit 0' TERM
        echo '{"event":"listening","addr":"127.0.0.1:9","threads":1,"pid":1,"build":"debug","allocator":"system"}'
        while :; do sleep 0.01; done"#;

    #[test]
    fn a_rungs_lines_are_read_through_its_life() {
        let server = Server::start(&launch(RUNG, false)).unwrap();
        assert_eq!(server.addr.port(), 9);
        assert_eq!(server.hello.as_ref().unwrap().build, "debug");
        let counters = server.counters().unwrap().unwrap();
        assert_eq!(
            (counters.open(), counters.requests(), counters.at_us),
            (2, 7, 5)
        );
        let since = counters.since(&counters);
        assert_eq!(
            (since[0].requests, since[0].wakeups, since[0].events),
            (0, None, Some(0))
        );
        assert_eq!(server.stop().unwrap().unwrap().at_us, 6);
    }

    #[test]
    fn a_server_that_does_not_get_ready_says_why() {
        let message = start_problem("echo no such luck >&2; exit 1", false);
        assert!(
            message.contains("exited with status 1: no such luck"),
            "{message}"
        );
        let message = start_problem("echo hello; sleep 5", false);
        assert!(
            message.contains("not understood") && message.contains("hello"),
            "{message}"
        );
        let abroad = RUNG.replace("127.0.0.1", "192.0.2.1");
        let message = start_problem(&abroad, false);
        assert!(message.contains("192.0.2.1:9, which is not"), "{message}");
        let message = start_problem("echo port taken >&2; exit 3 # {port}", true);
        assert!(
            message.contains("exited with status 3: port taken"),
            "{message}"
        );
    }

    #[test]
    fn only_a_rung_that_says_so_and_exits_with_1_is_unsupported() {
        let line =
            r#"echo '{"event":"unsupported","rung":"rung-x","reason":"no ring here: allow it"}'; "#;
        assert_eq!(
            Server::start(&launch(&format!("{line} exit 1"), false)).unwrap_err(),
            Reason::Unsupported {
                sentence: "no ring here: allow it".into()
            }
        );
        for end in ["exit 0", "kill -9 $$"] {
            let message = start_problem(&format!("{line} {end}"), false);
            assert!(
                message.contains("(no ring here: allow it), but"),
                "{message}"
            );
        }
    }

    #[test]
    fn a_server_that_died_or_ends_uncleanly_is_told_from_a_stopped_one() {
        let dying = RUNG.replace("while :; do sleep 0.01; done", "kill -9 $$");
        let mut server = Server::start(&launch(&dying, false)).unwrap();
        assert!(server.process.wait(Duration::from_secs(5)).is_some());
        let reason = server.check_alive().unwrap_err().to_string();
        assert!(
            reason.contains("died") && reason.contains("SIGKILL"),
            "{reason}"
        );

        let unclean = RUNG.replace("exit 0", "exit 4");
        let reason = Server::start(&launch(&unclean, false))
            .unwrap()
            .stop()
            .unwrap_err();
        assert!(
            reason.to_string().contains("exited with status 4"),
            "{reason}"
        );
    }
}
