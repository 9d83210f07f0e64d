//! wrk, driven through its `done` hook. Its traps are written down in docs/method.md; what each means here stands beside
//! the line that minds it.

use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde::Deserialize;

use super::{Job, LoadError, LoadGenerator, LoadRun, await_end, first_line};
use crate::interrupt::Interrupt;
use crate::ladder;
use crate::memory_file::MemoryFile;
use crate::process::{Process, excerpt, in_words};
use crate::record::{self, Latency, Load, LoadErrors};

/// What the line of `done.lua` begins with.
const MARKER: &str = "rungs-done ";

/// How to get wrk.
pub const INSTALL: &str =
    "install it with `apt-get install wrk` (Debian, Ubuntu) or from github.com/wg/wrk";

/// How much longer than asked a run may take: it ends its threads and joins them, and swapping may slow it.
const SLACK: Duration = Duration::from_secs(15);

/// wrk, found and ready.
#[derive(Debug)]
pub struct Wrk {
    program: PathBuf,
    version: String,
    sha256: String,
    threads: u32,
    timeout_s: u32,
    headers: Vec<String>,
    pipeline: u32,
    cpus: Option<Vec<u32>>,
    /// In memory: a file would stay behind if we were killed.
    script: MemoryFile,
}

/// Why wrk cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum WrkError {
    /// It is not there.
    #[error("wrk is not on PATH: {}", INSTALL)]
    Missing,
    /// Its script could not be written.
    #[error("the script for wrk cannot be kept in memory (memfd_create): {0}")]
    Script(io::Error),
    /// It does not work.
    #[error("{} does not work: {problem}", program.display())]
    Broken {
        /// Where it is.
        program: PathBuf,
        /// What happened.
        problem: String,
    },
}

/// How wrk is to be run.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Its threads.
    pub threads: u32,
    /// Answers later than this are errors, seconds.
    pub timeout_s: u32,
    /// Header lines, `Name: value`. wrk drops one of another form without a word; the matrix admits none.
    pub headers: Vec<String>,
    /// Requests that it sends at once on each connection.
    pub pipeline: u32,
    /// Its CPUs; none where nothing is pinned.
    pub cpus: Option<Vec<u32>>,
}

impl Wrk {
    /// Finds wrk on PATH.
    ///
    /// # Errors
    ///
    /// [`WrkError`].
    pub fn find(settings: Settings) -> Result<Self, WrkError> {
        let program = ladder::on_path("wrk").ok_or(WrkError::Missing)?;
        let broken = |problem: String| WrkError::Broken {
            program: program.clone(),
            problem,
        };
        let version = version(&program).map_err(broken)?;
        let sha256 =
            crate::store::sha256_of_file(&program).map_err(|error| broken(error.to_string()))?;
        let script = match settings.pipeline {
            1 => include_str!("done.lua"),
            _ => concat!(include_str!("pipeline.lua"), include_str!("done.lua")),
        };
        let script = MemoryFile::new("script.lua", script.as_bytes()).map_err(WrkError::Script)?;
        Ok(Self {
            version,
            sha256,
            threads: settings.threads,
            timeout_s: settings.timeout_s,
            headers: settings.headers,
            pipeline: settings.pipeline,
            cpus: settings.cpus,
            script,
            program,
        })
    }

    /// Its version, as it says.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.version
    }

    fn args(&self, connections: u32, duration: Duration, url: &str) -> Vec<String> {
        let mut args = vec![
            "--threads".into(),
            self.threads.to_string(),
            // wrk divides this by its threads and drops the remainder: the plan has rounded it already.
            "--connections".into(),
            connections.to_string(),
            // It takes whole seconds only: see WrkRun::stop_at.
            "--duration".into(),
            format!("{}s", whole_seconds(duration)),
            "--timeout".into(),
            format!("{}s", self.timeout_s),
            "--latency".into(),
            "--script".into(),
            self.script.path(),
        ];
        for header in &self.headers {
            args.extend(["--header".into(), header.clone()]);
        }
        args.push(url.into());
        if self.pipeline > 1 {
            args.push(self.pipeline.to_string());
        }
        args
    }
}

impl LoadGenerator for Wrk {
    fn describe(&self) -> record::LoadGenerator {
        let mut command = vec![self.program.to_string_lossy().into_owned()];
        command.extend(self.args(100.max(self.threads), Duration::from_secs(2), "URL"));
        if let Some(script) = command.iter().position(|arg| arg == "--script") {
            // A path into our memory would say nothing to a reader.
            command[script + 1] = match self.pipeline {
                1 => "done.lua".into(),
                _ => "pipeline.lua".into(),
            };
        }
        record::LoadGenerator {
            name: "wrk".into(),
            version: self.version.clone(),
            sha256: self.sha256.clone(),
            threads: self.threads,
            command,
        }
    }

    fn pipeline(&self) -> u32 {
        self.pipeline
    }

    fn start(&self, job: &Job) -> Result<Box<dyn LoadRun>, LoadError> {
        let url = format!("http://{}{}", job.addr, job.request.path);
        let args = self.args(job.connections, job.duration, &url);
        let program = self.program.to_string_lossy();
        let process = Process::start(&program, &args, self.cpus.as_deref()).map_err(|error| {
            LoadError::Failed(format!("{program} could not be started: {error}"))
        })?;
        let ends = Instant::now() + job.duration;
        Ok(Box::new(WrkRun {
            process,
            stop_at: (job.duration.subsec_nanos() != 0).then_some(ends),
            deadline: ends + SLACK,
        }))
    }
}

/// The whole seconds that hold a time.
fn whole_seconds(time: Duration) -> u64 {
    time.as_secs() + u64::from(time.subsec_nanos() != 0)
}

struct WrkRun {
    process: Process,
    /// When it is to end, where that is within a second: SIGINT lets it end as it does when its time is over, and
    /// it looks every 100 ms.
    stop_at: Option<Instant>,
    deadline: Instant,
}

impl LoadRun for WrkRun {
    fn pid(&self) -> u32 {
        self.process.id()
    }

    fn has_ended(&mut self) -> bool {
        self.process.try_wait().is_some()
    }

    fn finish(mut self: Box<Self>, interrupt: &Interrupt) -> Result<Load, LoadError> {
        if let Some(end) = self.stop_at {
            interrupt.sleep_until(end)?;
            self.process.signal(Signal::INT);
        }
        let status = await_end(&mut self.process, self.deadline, "wrk", interrupt)?;
        parse(status, &self.process.output()).map_err(LoadError::Failed)
    }
}

/// wrk prints its version with `--version`, and exits with 1 as it does so.
fn version(program: &std::path::Path) -> Result<String, String> {
    let program = program.to_string_lossy();
    let mut process =
        Process::start(&program, &["--version".into()], None).map_err(|error| error.to_string())?;
    if process.wait(Duration::from_secs(5)).is_none() {
        return Err("it did not answer to --version within 5 s".into());
    }
    let output = process.output();
    let first = output.lines().next().unwrap_or_default();
    match first
        .strip_prefix("wrk ")
        .and_then(|rest| rest.split_whitespace().next())
    {
        Some(version) => Ok(version.to_owned()),
        None => Err(format!("to --version it answered {first:?}")),
    }
}

/// The line of `done.lua`. A percentile that is not a number is none.
#[derive(Deserialize)]
struct Done {
    duration_us: u64,
    requests: u64,
    bytes: u64,
    connect: u64,
    read: u64,
    write: u64,
    timeout: u64,
    status: u64,
    p50_us: Option<f64>,
    p75_us: Option<f64>,
    p90_us: Option<f64>,
    p99_us: Option<f64>,
    p999_us: Option<f64>,
    max_us: Option<f64>,
}

/// What wrk measured, from how it ended and all that it printed.
///
/// An exit status of 0 says nothing: wrk exits so even if every request failed. The counts decide.
///
/// # Errors
///
/// What is wrong with it, in a sentence.
pub fn parse(status: ExitStatus, output: &str) -> Result<Load, String> {
    if !status.success() {
        return Err(format!("wrk {}: {}", in_words(status), first_line(output)));
    }
    let line = output
        .lines()
        .rev()
        .find_map(|line| line.strip_prefix(MARKER))
        .ok_or_else(|| format!("wrk printed no result: {}", first_line(output)))?;
    let done: Done = serde_json::from_str(line).map_err(|error| {
        format!(
            "wrk's result is not understood ({error}): {}",
            excerpt(line)
        )
    })?;
    Ok(Load {
        duration_us: done.duration_us,
        requests: done.requests,
        bytes: done.bytes,
        errors: LoadErrors {
            connect: done.connect,
            read: done.read,
            write: done.write,
            timeout: done.timeout,
            status: done.status,
        },
        latency: latency(&done),
        raw: output.to_owned(),
    })
}

fn latency(done: &Done) -> Latency {
    if done.requests == 0 {
        // wrk's percentiles of nothing are 0, and its minimum is the largest integer.
        return Latency::default();
    }
    let number = |value: Option<f64>| value.unwrap_or(0.0);
    Latency {
        p50_us: number(done.p50_us),
        p75_us: number(done.p75_us),
        p90_us: number(done.p90_us),
        p99_us: number(done.p99_us),
        p999_us: number(done.p999_us),
        max_us: number(done.max_us),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;

    use super::*;

    const TEXT: &str = "Running 1s test @ http://127.0.0.1:1/\n  1 threads and 4 connections\n";

    fn exited(code: i32) -> ExitStatus {
        ExitStatus::from_raw(code << 8)
    }

    fn output(json: &str) -> String {
        format!("{TEXT}Requests/sec:   1836.03\n{MARKER}{json}\n")
    }

    fn done(requests: u64, errors: [u64; 5], p50: &str) -> String {
        let [connect, read, write, timeout, status] = errors;
        output(&format!(
            "{{\"duration_us\":1000529,\"requests\":{requests},\"bytes\":343703,\"connect\":{connect},\
             \"read\":{read},\"write\":{write},\"timeout\":{timeout},\"status\":{status},\
             \"p50_us\":{p50},\"p75_us\":2,\"p90_us\":3,\"p99_us\":4,\"p999_us\":5,\"max_us\":15637}}"
        ))
    }

    #[test]
    fn a_normal_run() {
        let text = done(1837, [0; 5], "1773");
        let load = parse(exited(0), &text).unwrap();
        assert_eq!(
            (load.duration_us, load.requests, load.bytes),
            (1_000_529, 1837, 343_703)
        );
        assert_eq!(load.errors, LoadErrors::default());
        assert_eq!(
            (load.latency.p50_us, load.latency.max_us),
            (1773.0, 15637.0)
        );
        assert_eq!(load.raw, text);
    }

    #[test]
    fn every_kind_of_error_is_counted_although_wrk_exits_with_0() {
        let load = parse(exited(0), &done(9, [1, 2, 3, 4, 5], "1")).unwrap();
        let expected = LoadErrors {
            connect: 1,
            read: 2,
            write: 3,
            timeout: 4,
            status: 5,
        };
        assert_eq!(load.errors, expected);
    }

    #[test]
    fn no_request_at_all_has_no_latency() {
        let load = parse(exited(0), &done(0, [0; 5], "18446744073709551615")).unwrap();
        assert_eq!(
            (load.requests, load.latency.p50_us, load.latency.max_us),
            (0, 0.0, 0.0)
        );
    }

    #[test]
    fn what_is_not_a_number_is_none() {
        let load = parse(exited(0), &done(3, [0; 5], "null")).unwrap();
        assert_eq!(load.latency.p50_us, 0.0);
    }

    #[test]
    fn a_refused_connection_says_so() {
        let text = "unable to connect to 127.0.0.1:18998 Connection refused\n";
        let problem = parse(exited(1), text).unwrap_err();
        assert_eq!(
            problem,
            "wrk exited with status 1: unable to connect to 127.0.0.1:18998 Connection refused"
        );
    }

    #[test]
    fn a_crash_a_missing_line_and_rubbish_are_errors() {
        let crashed = parse(ExitStatus::from_raw(11), "").unwrap_err();
        assert!(
            crashed.contains("SIGSEGV") && crashed.contains("printed nothing"),
            "{crashed}"
        );
        let missing = parse(exited(0), TEXT).unwrap_err();
        assert!(
            missing.starts_with("wrk printed no result: Running 1s test"),
            "{missing}"
        );
        for rubbish in ["{", "{}", "-nan", "{\"duration_us\":-1}"] {
            let problem = parse(exited(0), &output(rubbish)).unwrap_err();
            assert!(problem.contains("is not understood"), "{problem}");
        }
    }

    #[test]
    fn the_script_defines_only_done() {
        let script = include_str!("done.lua");
        let global = |line: &&str| line.starts_with("function ");
        assert_eq!(script.lines().filter(global).count(), 1);
        assert!(script.contains("\nfunction done("));
    }
}
