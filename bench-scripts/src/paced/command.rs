//! `rungs load`: the command line, and the summary for people.

use std::num::NonZeroU32;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use clap::Args;

use super::{Distribution, NOT_AS_ASKED, PacedError, PacedLoad, Settings, Target};
use crate::interrupt::{self, Interrupt};
use crate::quantity::{micros, percent, whole};
use crate::{machine, matrix, output, process, table};

/// What `rungs load` takes.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  rungs load --rate 10000 http://127.0.0.1:18470/
  rungs load --rate 500 --connections 10 --duration 30s --warmup 5s --cpus 1 http://localhost:8080/json

The result is JSON on stdout, a summary goes to stderr. Exit status: 0 if the rate was held and no request failed,
4 if not (the result is printed all the same, and says why), 1 if there could be no load, 2 if the command line is
wrong, 130 after Ctrl-C.")]
pub struct LoadArgs {
    /// What to load: http:// only, and only this machine unless --allow-remote says otherwise
    url: String,
    /// Requests per second, over all connections
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    rate: NonZeroU32,
    /// Connections; each carries one request at a time
    #[arg(long, value_name = "N", default_value = "50", value_parser = at_least_one)]
    connections: NonZeroU32,
    /// How long is measured, such as 10s or 1m
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = time)]
    duration: Duration,
    /// Load before that, which is not measured
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = time)]
    warmup: Duration,
    /// Answers later than this after their request was sent are errors
    #[arg(long, value_name = "TIME", default_value = "8s", value_parser = time)]
    timeout: Duration,
    /// A header line that each request carries; may be given several times
    #[arg(long = "header", value_name = "NAME: VALUE", value_parser = header)]
    headers: Vec<String>,
    /// CPUs to run on, such as 0,2-3: others than the server's
    #[arg(long, value_name = "LIST", value_parser = cpus)]
    cpus: Option<CpuList>,
    /// A host other than this machine that may be loaded
    #[arg(long, value_name = "HOST")]
    allow_remote: Option<String>,
}

/// CPUs, as one argument.
#[derive(Clone, Debug)]
struct CpuList(Vec<u32>);

impl LoadArgs {
    /// Makes the load and prints what came of it.
    ///
    /// # Errors
    ///
    /// Why there could be no load.
    pub fn run(self) -> anyhow::Result<ExitCode> {
        if let Some(CpuList(cpus)) = &self.cpus {
            process::run_on(cpus).context("--cpus cannot be had")?;
        }
        let settings = Settings {
            target: self.url.parse::<Target>()?,
            allow_remote: self.allow_remote,
            rate: self.rate,
            connections: self.connections,
            warmup: self.warmup,
            duration: self.duration,
            timeout: self.timeout,
            headers: self.headers,
        };
        let load = match super::run(&settings, &Interrupt::catch()?) {
            Err(PacedError::Interrupted(_)) => {
                return Ok(ExitCode::from(interrupt::EXIT_STATUS));
            }
            result => result?,
        };
        eprintln!("{}", summary(&load));
        output::line(serde_json::to_string_pretty(&load)?)?;
        Ok(if load.problems.is_empty() {
            ExitCode::SUCCESS
        } else {
            ExitCode::from(NOT_AS_ASKED)
        })
    }
}

fn at_least_one(text: &str) -> Result<NonZeroU32, String> {
    text.parse()
        .map_err(|_| format!("write a whole number from 1 to {}", u32::MAX))
}

fn time(text: &str) -> Result<Duration, String> {
    const LONGEST: Duration = Duration::from_secs(86_400);
    let time = humantime::parse_duration(text)
        .map_err(|_| "write it such as 10s, 500ms or 1m".to_owned())?;
    if time > LONGEST {
        return Err("at most 1day is allowed".into());
    }
    Ok(time)
}

fn header(text: &str) -> Result<String, String> {
    matrix::check::header(text).map(|()| text.to_owned())
}

fn cpus(text: &str) -> Result<CpuList, String> {
    let cpus = machine::cpu_list(text).ok_or("write CPU numbers and ranges, such as 0,2-3")?;
    let allowed = machine::cpus_allowed();
    match cpus.iter().find(|cpu| !allowed.contains(cpu)) {
        Some(cpu) => Err(format!(
            "CPU {cpu} is none of those that this process may use: {allowed:?}"
        )),
        None => Ok(CpuList(cpus)),
    }
}

/// What people want to know of it.
fn summary(load: &PacedLoad) -> String {
    let requests = &load.requests;
    let mut lines = vec![
        format!(
            "{} requests/s over {} connections to {}: {} due, {} answered, {} failed, {} not sent",
            whole(load.rate.into()),
            whole(load.connections.into()),
            load.url,
            whole(requests.due),
            whole(requests.answered),
            whole(requests.failed),
            whole(requests.not_sent)
        ),
        distributions(load),
        format!(
            "generator busy {} of the time; connections opened again: {}",
            percent(load.generator_busy),
            whole(load.reconnects)
        ),
    ];
    let verdict = if load.held {
        "the rate was held"
    } else {
        "THE RATE WAS NOT HELD: these are no latencies at that rate"
    };
    lines.push(verdict.into());
    lines.extend(load.problems.iter().map(|problem| match problem.advice() {
        Some(advice) => format!("- {problem}; {advice}"),
        None => format!("- {problem}"),
    }));
    lines.join("\n")
}

fn distributions(load: &PacedLoad) -> String {
    let mut table = table::plain(&[
        "",
        "mean",
        "p50",
        "p90",
        "p99",
        "p99.9",
        "max",
        "counts from",
    ]);
    let mut row = |name: &str, times: &Distribution, from: &str| {
        let figures = [
            times.mean_us,
            times.p50_us,
            times.p90_us,
            times.p99_us,
            times.p999_us,
            times.max_us,
        ];
        let mut cells = vec![name.to_owned()];
        cells.extend(figures.map(micros));
        cells.push(from.into());
        table.add_row(cells);
    };
    row("latency", &load.latency, "when it was due");
    row("service time", &load.service_time, "when it was sent");
    row("lateness", &load.lateness, "when it could be sent");
    table.trim_fmt()
}
