//! Starts a server binary, and stops it.

use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::Value;

use crate::process;
use crate::wire::PATIENCE;

/// A server binary that runs on a port of the kernel's choice, and is killed when dropped.
#[derive(Debug)]
pub struct Server {
    program: PathBuf,
    child: Child,
    addr: SocketAddr,
    lines: Receiver<String>,
    stderr: Option<JoinHandle<String>>,
    /// Bytes of memory when it began to listen.
    resident: u64,
}

impl Server {
    /// Starts `program` with these flags and waits for its `listening` line.
    ///
    /// # Errors
    ///
    /// It cannot be started, or ends or stays silent instead; the error holds what it wrote to stderr. Of
    /// [`ErrorKind::Unsupported`](io::ErrorKind::Unsupported) if it says that it cannot run on this machine: with its sentence.
    pub fn start(
        program: impl AsRef<Path>,
        flags: impl IntoIterator<Item = impl Into<OsString>>,
    ) -> io::Result<Self> {
        let program = program.as_ref().to_owned();
        let flags: Vec<OsString> = flags.into_iter().map(Into::into).collect();
        let mut command = Command::new(&program);
        command.args(["--listen", "127.0.0.1:0"]).args(&flags);
        if !flags.iter().any(|flag| flag == "--run-for") {
            // Were this process killed, the server would not outlive it for long.
            command.args(["--run-for", "5m"]);
        }
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|e| io::Error::new(e.kind(), format!("{}: {e}", program.display())))?;
        let lines = read_lines(child.stdout.take().expect("stdout is piped"));
        let stderr = read_all(child.stderr.take().expect("stderr is piped"));
        let mut server = Self {
            program,
            child,
            addr: SocketAddr::from(([127, 0, 0, 1], 0)),
            lines,
            stderr: Some(stderr),
            resident: 0,
        };
        let listening = server.line("listening")?;
        server.addr = listening["addr"]
            .as_str()
            .and_then(|addr| addr.parse().ok())
            .ok_or_else(|| io::Error::other(format!("no address in {listening}")))?;
        server.resident = process::resident(server.pid())?;
        Ok(server)
    }

    /// Where it listens.
    #[must_use]
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Its process.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Its counters now, asked for with SIGUSR1.
    ///
    /// # Errors
    ///
    /// It has ended, or does not answer.
    pub fn counters(&mut self) -> io::Result<Value> {
        self.signal(Signal::USR1)?;
        self.line("counters")
    }

    /// Stops it with SIGTERM, and returns its last line.
    ///
    /// # Errors
    ///
    /// It does not exit with 0 within `within`, or says nothing.
    pub fn stop(mut self, within: Duration) -> io::Result<Value> {
        self.signal(Signal::TERM)?;
        self.await_exit(within)
    }

    pub(crate) fn signal(&mut self, signal: Signal) -> io::Result<()> {
        // A process that has been waited for may have lost its id to another one.
        match self.child.try_wait()? {
            None => process::signal(self.child.id(), signal),
            Some(status) => Err(self.ended(status)),
        }
    }

    /// Fails if it holds `bytes` of memory more than when it began to listen, or even more.
    pub(crate) fn grows_below(&self, bytes: u64) -> io::Result<()> {
        let grown = process::resident(self.pid())?.saturating_sub(self.resident);
        if grown < bytes {
            return Ok(());
        }
        Err(io::Error::other(format!(
            "it has grown by {} KiB, {} KiB allowed",
            grown / 1024,
            bytes / 1024
        )))
    }

    /// Waits until it exits with 0, and returns its last line.
    pub(crate) fn await_exit(&mut self, within: Duration) -> io::Result<Value> {
        let status = wait(&mut self.child, within)?;
        if status.success() {
            self.line("stopped")
        } else {
            Err(self.ended(status))
        }
    }

    /// How it ended, if it has ended otherwise than with exit status 0.
    pub(crate) fn unexpected_end(&mut self) -> Option<String> {
        let status = wait(&mut self.child, Duration::from_millis(100)).ok()?;
        (!status.success()).then(|| self.ended(status).to_string())
    }

    /// Starts the same program again, which must end with this code and say this on stderr.
    pub(crate) fn launch_another(&self, flags: &[&str], code: i32, stderr: &str) -> io::Result<()> {
        let addr = self.addr.to_string();
        let mut child = Command::new(&self.program)
            .args(flags.iter().map(|flag| flag.replace("{addr}", &addr)))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()?;
        let said = read_all(child.stderr.take().expect("stderr is piped"));
        let status = wait(&mut child, PATIENCE)?;
        let said = said.join().unwrap_or_default();
        if status.code() == Some(code) && said.contains(stderr) {
            return Ok(());
        }
        Err(io::Error::other(format!(
            "{status} instead of {code}, and on stderr, where {stderr:?} belongs: {said:?}"
        )))
    }

    /// The next line on stdout that tells of `event`.
    fn line(&mut self, event: &str) -> io::Result<Value> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let Ok(line) = self.lines.recv_timeout(left) else {
                return Err(self.silent(event));
            };
            let value: Value = serde_json::from_str(&line)
                .map_err(|e| io::Error::other(format!("stdout is not JSON: {line:?}: {e}")))?;
            if value["event"] == event {
                return Ok(value);
            }
            if value["event"] == "unsupported" {
                let reason = value["reason"].as_str().unwrap_or("it does not say why");
                return Err(io::Error::new(io::ErrorKind::Unsupported, reason));
            }
        }
    }

    fn silent(&mut self, event: &str) -> io::Error {
        match wait(&mut self.child, Duration::from_millis(100)) {
            Ok(status) => self.ended(status),
            Err(_) => io::Error::other(format!("no {event:?} line on stdout")),
        }
    }

    fn ended(&mut self, status: ExitStatus) -> io::Error {
        let said = self.stderr.take().and_then(|reader| reader.join().ok());
        io::Error::other(format!(
            "{}: {status}: {}",
            self.program.display(),
            said.unwrap_or_default().trim_end()
        ))
    }
}

/// The sum of a counter over all workers; that of one may be negative where connections move between threads.
#[must_use]
pub fn total(counters: &Value, name: &str) -> i64 {
    let workers = counters["workers"].as_array().into_iter().flatten();
    workers.filter_map(|worker| worker[name].as_i64()).sum()
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Waits for the exit; kills the process if it takes too long.
fn wait(child: &mut Child, within: Duration) -> io::Result<ExitStatus> {
    let deadline = Instant::now() + within;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if Instant::now() >= deadline {
            child.kill()?;
            child.wait()?;
            return Err(io::Error::new(
                io::ErrorKind::TimedOut,
                format!("still running after {within:?}"),
            ));
        }
        thread::sleep(Duration::from_millis(5));
    }
}

fn read_lines(pipe: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(pipe).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    receiver
}

fn read_all(mut pipe: impl Read + Send + 'static) -> JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = pipe.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    })
}
