//! How an entrant is started.

use std::net::SocketAddr;

use crate::ladder::{self, NotFound};
use crate::matrix::{Entrant, Program};
use crate::process::Process;
use crate::record::Reason;

/// The backlog that rungs have by default.
const DEFAULT_BACKLOG: u32 = 4096;

/// How an entrant is started, resolved as far as it can be before the port is known.
#[derive(Clone, Debug)]
pub struct Launch {
    /// The program's path.
    pub program: String,
    /// Its arguments, `{addr}`, `{port}` and `{threads}` still in place.
    pub args: Vec<String>,
    /// Server threads.
    pub threads: u32,
    /// Its CPUs; none where nothing is pinned.
    pub cpus: Option<Vec<u32>>,
    /// True for a program that is no rung of ours.
    pub foreign: bool,
}

impl Launch {
    /// How `entrant` is started on a server of `cpus` for at most `connections`.
    ///
    /// # Errors
    ///
    /// If its program is not there.
    pub fn of(
        entrant: &Entrant,
        cpus: Option<Vec<u32>>,
        threads: u32,
        connections: u32,
    ) -> Result<Self, NotFound> {
        let (program, args, foreign) = match &entrant.program {
            Program::Rung { name, args: own } => {
                let flags = ["--listen", "{addr}", "--threads", "{threads}"];
                let mut args: Vec<String> = flags.map(String::from).into();
                if connections > DEFAULT_BACKLOG {
                    args.extend(["--backlog".into(), connections.to_string()]);
                }
                args.extend(own.iter().cloned());
                (ladder::program_of(name)?, args, false)
            }
            Program::Foreign { command, .. } => (
                ladder::foreign_program(&command[0])?,
                command[1..].to_vec(),
                true,
            ),
        };
        Ok(Self {
            program: program.to_string_lossy().into_owned(),
            args,
            threads,
            cpus,
            foreign,
        })
    }

    /// Program and arguments, as a list.
    #[must_use]
    pub fn command(&self) -> Vec<String> {
        let mut command = vec![self.program.clone()];
        command.extend(self.args.iter().cloned());
        command
    }

    /// Starts it, to listen on `addr`.
    ///
    /// # Errors
    ///
    /// [`Reason::ServerNotReady`].
    pub(super) fn start_process(&self, addr: SocketAddr) -> Result<Process, Reason> {
        let fill = |arg: &String| {
            arg.replace("{addr}", &addr.to_string())
                .replace("{port}", &addr.port().to_string())
                .replace("{threads}", &self.threads.to_string())
        };
        let args: Vec<_> = self.args.iter().map(fill).collect();
        Process::start(&self.program, &args, self.cpus.as_deref()).map_err(|error| {
            super::not_ready(format!("{} could not be started: {error}", self.program))
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn placeholders_are_filled_in() {
        let entrant = Entrant {
            program: Program::Foreign {
                command: vec!["/bin/echo".into(), "{addr} {port} {threads}".into()],
                status: 200,
                body_bytes: 1,
            },
            ..Entrant::rung("mio")
        };
        let launch = Launch::of(&entrant, None, 3, 1).unwrap();
        let mut process = launch
            .start_process("127.0.0.1:81".parse().unwrap())
            .unwrap();
        process.wait(Duration::from_secs(5)).unwrap();
        assert_eq!(process.output(), "127.0.0.1:81 81 3\n");
    }
}
