//! How an entrant is started.

use std::io;
use std::net::SocketAddr;

use crate::ladder::{self, NotFound};
use crate::matrix::{Entrant, Program};
use crate::memory_file::MemoryFile;
use crate::process::Process;
use crate::record::Reason;

/// The backlog that rungs have by default.
const DEFAULT_BACKLOG: u32 = 4096;

/// How an entrant is started, resolved as far as it can be before the port is known.
#[derive(Clone, Debug)]
pub struct Launch {
    /// The program's path.
    pub program: String,
    /// Its arguments, `{addr}`, `{port}`, `{threads}` and `{config}` still in place.
    pub args: Vec<String>,
    /// What the file at `{config}` holds, `{addr}`, `{port}` and `{threads}` still in place.
    pub config: Option<String>,
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
        let (args, config, foreign) = match &entrant.program {
            Program::Rung { args: own, .. } => {
                let flags = ["--listen", "{addr}", "--threads", "{threads}"];
                let mut args: Vec<String> = flags.map(String::from).into();
                if connections > DEFAULT_BACKLOG {
                    args.extend(["--backlog".into(), connections.to_string()]);
                }
                args.extend(own.iter().cloned());
                (args, None, false)
            }
            Program::Foreign {
                command, config, ..
            } => (command[1..].to_vec(), config.clone(), true),
        };
        let program = ladder::program_of_entrant(entrant)?;
        Ok(Self {
            program: program.to_string_lossy().into_owned(),
            args,
            config,
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

    /// Starts it, to listen on `addr`. The file, if there is one, is to be kept as long as the process lives.
    ///
    /// # Errors
    ///
    /// [`Reason::ServerNotReady`].
    pub(super) fn start_process(
        &self,
        addr: SocketAddr,
    ) -> Result<(Process, Option<MemoryFile>), Reason> {
        let fill = |text: &str| {
            text.replace("{addr}", &addr.to_string())
                .replace("{port}", &addr.port().to_string())
                .replace("{threads}", &self.threads.to_string())
        };
        let failed = |what: &str, error: io::Error| super::not_ready(format!("{what}: {error}"));
        let config = self
            .config
            .as_ref()
            .map(|text| MemoryFile::new("config", fill(text).as_bytes()))
            .transpose()
            .map_err(|error| failed("its configuration could not be kept in memory", error))?;
        let path = config.as_ref().map(MemoryFile::path).unwrap_or_default();
        let args: Vec<_> = self
            .args
            .iter()
            .map(|arg| fill(arg).replace("{config}", &path))
            .collect();
        let process = Process::start(&self.program, &args, self.cpus.as_deref())
            .map_err(|error| failed(&format!("{} could not be started", self.program), error))?;
        Ok((process, config))
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
                command: vec!["/bin/cat".into(), "{config}".into()],
                config: Some("{addr} {port} {threads}\n".into()),
                status: 200,
                body_bytes: 1,
            },
            ..Entrant::rung("mio")
        };
        let launch = Launch::of(&entrant, None, 3, 1).unwrap();
        let (mut process, _config) = launch
            .start_process("127.0.0.1:81".parse().unwrap())
            .unwrap();
        process.wait(Duration::from_secs(5)).unwrap();
        assert_eq!(process.output(), "127.0.0.1:81 81 3\n");
    }
}
