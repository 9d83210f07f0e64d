//! The load at a fixed rate: `rungs load`, in a process of its own, so that it shares no thread and no CPU time with the
//! telemetry, and can be put on CPUs and watched as wrk is.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use super::{LoadError, LoadRun, await_end, first_line};
use crate::answer::Request;
use crate::interrupt::Interrupt;
use crate::paced::{NOT_AS_ASKED, PacedLoad};
use crate::process::{Process, in_words};

/// How much longer than its load and its time-out a run may take: it opens its connections first.
const SLACK: Duration = Duration::from_secs(15);

/// One load at a fixed rate, as it is asked for.
#[derive(Clone, Debug)]
pub struct PacedJob {
    /// The server's address.
    pub addr: SocketAddr,
    /// What is asked of it, over and over.
    pub request: Request,
    /// Connections that share the requests.
    pub connections: u32,
    /// Requests per second, over all connections.
    pub rate_per_s: u32,
    /// Load at this rate before the window.
    pub warmup: Duration,
    /// The window.
    pub duration: Duration,
}

/// How `rungs load` is run.
#[derive(Clone, Debug)]
pub struct PacedGenerator {
    /// The `rungs` command.
    pub program: PathBuf,
    /// Its CPUs; none where nothing is pinned.
    pub cpus: Option<Vec<u32>>,
    /// Answers later than this are errors.
    pub timeout: Duration,
}

impl PacedGenerator {
    /// Starts a load.
    ///
    /// # Errors
    ///
    /// [`LoadError::Failed`].
    pub fn start(&self, job: &PacedJob) -> Result<Box<dyn LoadRun<PacedLoad>>, LoadError> {
        let program = self.program.to_string_lossy();
        let process = Process::start(&program, &self.args(job), self.cpus.as_deref());
        let process = process.map_err(|error| {
            LoadError::Failed(format!("{program} could not be started: {error}"))
        })?;
        Ok(Box::new(PacedRun {
            process,
            deadline: Instant::now() + job.warmup + job.duration + self.timeout + SLACK,
        }))
    }

    fn args(&self, job: &PacedJob) -> Vec<String> {
        let time = |time| humantime::format_duration(time).to_string();
        let mut args = vec!["load".to_owned()];
        for (flag, value) in [
            ("--rate", job.rate_per_s.to_string()),
            ("--connections", job.connections.to_string()),
            ("--warmup", time(job.warmup)),
            ("--duration", time(job.duration)),
            ("--timeout", time(self.timeout)),
        ] {
            args.extend([flag.to_owned(), value]);
        }
        for header in &job.request.headers {
            args.extend(["--header".to_owned(), header.clone()]);
        }
        args.push(format!("http://{}{}", job.addr, job.request.path));
        args
    }
}

struct PacedRun {
    process: Process,
    deadline: Instant,
}

impl LoadRun<PacedLoad> for PacedRun {
    fn pid(&self) -> u32 {
        self.process.id()
    }

    fn has_ended(&mut self) -> bool {
        self.process.try_wait().is_some()
    }

    fn finish(mut self: Box<Self>, interrupt: &Interrupt) -> Result<PacedLoad, LoadError> {
        let status = await_end(&mut self.process, self.deadline, "rungs load", interrupt)?;
        parse(status, &self.process.output()).map_err(LoadError::Failed)
    }
}

/// What `rungs load` measured: the JSON that its output begins with. A rate that was not held is a result too.
fn parse(status: ExitStatus, output: &str) -> Result<PacedLoad, String> {
    if !status.success() && status.code() != Some(NOT_AS_ASKED.into()) {
        let said = first_line(output);
        return Err(format!("rungs load {}: {said}", in_words(status)));
    }
    // Behind the JSON comes the summary, from stderr.
    let mut values = serde_json::Deserializer::from_str(output).into_iter();
    match values.next() {
        Some(Ok(load)) => Ok(load),
        Some(Err(error)) => {
            let said = first_line(output);
            Err(format!(
                "the result of rungs load is not understood ({error}): {said}"
            ))
        }
        None => Err("rungs load printed no result".into()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;

    use super::*;
    use crate::paced::{Distribution, Errors, Problem, Requests};

    fn exited(code: i32) -> ExitStatus {
        ExitStatus::from_raw(code << 8)
    }

    fn load() -> PacedLoad {
        PacedLoad {
            schema: 1,
            rungs: "0".into(),
            url: "http://127.0.0.1:1/".into(),
            addr: "127.0.0.1:1".into(),
            headers: Vec::new(),
            rate: 10,
            connections: 1,
            warmup_us: 0,
            duration_us: 1,
            timeout_us: 1,
            cpus: vec![0],
            held: false,
            problems: vec![Problem::RateShort {
                due: 10,
                sent_in_window: 1,
            }],
            requests: Requests::default(),
            answered_in_all: 1,
            reconnects: 0,
            bytes: 1,
            errors: Errors::default(),
            latency: Distribution::default(),
            service_time: Distribution::default(),
            lateness: Distribution::default(),
            generator_busy: 0.5,
        }
    }

    #[test]
    fn a_result_is_read_whether_or_not_the_rate_was_held() {
        let json = serde_json::to_string_pretty(&load()).unwrap();
        let output = format!("{json}\n10 requests/s over …\nTHE RATE WAS NOT HELD\n");
        for code in [0, 4] {
            assert_eq!(parse(exited(code), &output).unwrap(), load());
        }
    }

    #[test]
    fn a_failure_rubbish_and_silence_are_errors() {
        let failed = parse(exited(1), "rungs: nothing listens on 127.0.0.1:1\n").unwrap_err();
        assert_eq!(
            failed,
            "rungs load exited with status 1: rungs: nothing listens on 127.0.0.1:1"
        );
        let killed = parse(ExitStatus::from_raw(9), "").unwrap_err();
        assert!(killed.contains("SIGKILL"), "{killed}");
        for rubbish in ["{", "{}", "7", "-nan"] {
            let problem = parse(exited(0), rubbish).unwrap_err();
            assert!(problem.contains("is not understood"), "{problem}");
        }
        assert!(parse(exited(0), "").unwrap_err().contains("no result"));
    }

    #[test]
    fn times_and_headers_are_passed_on() {
        let generator = PacedGenerator {
            program: "rungs".into(),
            cpus: None,
            timeout: Duration::from_secs(8),
        };
        let job = PacedJob {
            addr: "127.0.0.1:80".parse().unwrap(),
            request: Request {
                path: "/json".into(),
                headers: vec!["A: b".into()],
            },
            connections: 7,
            rate_per_s: 900,
            warmup: Duration::from_millis(200),
            duration: Duration::from_millis(1500),
        };
        assert_eq!(
            generator.args(&job).join(" "),
            "load --rate 900 --connections 7 --warmup 200ms --duration 1s 500ms --timeout 8s --header A: b \
             http://127.0.0.1:80/json"
        );
    }
}
