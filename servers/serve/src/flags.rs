//! The command line that all rungs have in common.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use clap::{CommandFactory, FromArgMatches, Parser, ValueEnum};
use rungs_response::DEFAULT_PORT;

use crate::Rung;
use crate::cpus::CpuList;

/// Longer than any run; it keeps sums of time from overflowing.
const LONGEST: Duration = Duration::from_secs(366 * 24 * 60 * 60);

/// The shared flags and the rung's own.
#[derive(Parser)]
#[command(version, max_term_width = 100)]
pub(crate) struct Cli<O: clap::Args> {
    #[command(flatten)]
    pub(crate) flags: Flags,
    #[command(flatten, next_help_heading = "Options of this rung")]
    pub(crate) options: O,
}

/// The flags of contract 1, the same for every rung.
#[derive(Debug, clap::Args)]
pub(crate) struct Flags {
    /// Address to listen on; port 0 takes any free one and the first line on stdout names it
    #[arg(long, value_name = "ADDR", default_value_t = SocketAddr::from((Ipv4Addr::LOCALHOST, DEFAULT_PORT)))]
    pub(crate) listen: SocketAddr,

    /// Threads that serve
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: u16,

    /// Connections that may wait to be accepted, on each listener; the kernel cuts it at somaxconn
    #[arg(long, value_name = "N", default_value_t = 4096, value_parser = clap::value_parser!(i32).range(1..))]
    pub(crate) backlog: i32,

    /// How several threads accept
    #[arg(long, value_enum, value_name = "HOW", default_value_t)]
    pub(crate) accept: Accept,

    /// CPUs to run on, such as 0,2-3: the i-th thread on the i-th, round robin. A runtime that moves tasks between its
    /// threads has all of them share the whole list [default: not pinned]
    #[arg(long, value_name = "CPULIST")]
    pub(crate) pin: Option<CpuList>,

    /// Stop by itself after this time, such as 1m [default: run until a signal]
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub(crate) run_for: Option<Duration>,

    /// How long requests in flight may still take once the server stops
    #[arg(long, value_name = "DURATION", default_value = "5s", value_parser = duration)]
    pub(crate) grace: Duration,

    /// How long a client may take over one request head, from its first byte (30s is hyper's default)
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = duration)]
    pub(crate) header_timeout: Duration,

    /// How long a connection may stay open with nothing happening on it (75s is nginx's default)
    #[arg(long, value_name = "DURATION", default_value = "75s", value_parser = duration)]
    pub(crate) idle_timeout: Duration,
}

/// How several threads accept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Accept {
    /// Each thread has a listener of its own (`SO_REUSEPORT`) and the kernel spreads clients over them by hash
    #[default]
    PerThread,
    /// All threads accept from one listener
    Shared,
}

impl<O: clap::Args> Cli<O> {
    /// Parses the process's arguments. Wrong ones end the process with exit status 2, `--help` with 0.
    pub(crate) fn parse_for<R: Rung<Options = O>>() -> Self {
        let matches = Self::command_for::<R>().get_matches();
        Self::from_arg_matches(&matches).unwrap_or_else(|error| error.exit())
    }

    fn command_for<R: Rung<Options = O>>() -> clap::Command {
        Self::command()
            .name(R::NAME)
            .about(R::ABOUT)
            .after_help(examples(R::NAME))
    }
}

fn examples(name: &str) -> String {
    format!(
        "Examples:
  {name}                             serve http://127.0.0.1:{DEFAULT_PORT} on one thread
  {name} --threads 4 --pin 0-3       one thread on each of four CPUs
  {name} --listen 127.0.0.1:0        take a free port and print it
  {name} --run-for 1m                stop after a minute

One line of JSON on stdout says when connections are accepted, and one more at the end what was counted.
SIGUSR1 prints the counters so far; SIGTERM and SIGINT stop the server, a second one at once."
    )
}

fn duration(text: &str) -> Result<Duration, String> {
    let duration = humantime::parse_duration(text)
        .map_err(|error| format!("{error}; write for example 5s, 250ms or 1m"))?;
    if duration > LONGEST {
        return Err("longer than a year".to_owned());
    }
    Ok(duration)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Worker;

    struct Test;

    #[derive(Clone, clap::Args)]
    struct Own {
        /// A knob of its own.
        #[arg(long, default_value_t = 7)]
        knob: u32,
    }

    impl Rung for Test {
        const NAME: &'static str = "rung-test";
        const ABOUT: &'static str = "A rung for tests.";
        type Options = Own;

        fn run(_: &Own, _: Worker) -> std::io::Result<()> {
            Ok(())
        }
    }

    fn parse(args: &[&str]) -> Result<Cli<Own>, clap::Error> {
        let args = std::iter::once(&Test::NAME).chain(args);
        let matches = Cli::command_for::<Test>().try_get_matches_from(args)?;
        Cli::from_arg_matches(&matches)
    }

    #[test]
    fn the_defaults_are_those_of_the_contract() {
        Cli::command_for::<Test>().debug_assert();
        let Cli { flags, options } = parse(&[]).unwrap();
        assert_eq!(flags.listen.to_string(), "127.0.0.1:18470");
        assert_eq!((flags.threads, flags.backlog), (1, 4096));
        assert_eq!(flags.accept, Accept::PerThread);
        assert_eq!((flags.pin, flags.run_for), (None, None));
        assert_eq!(flags.grace, Duration::from_secs(5));
        assert_eq!(flags.header_timeout, Duration::from_secs(30));
        assert_eq!(flags.idle_timeout, Duration::from_secs(75));
        assert_eq!(options.knob, 7);
    }

    #[test]
    fn flags_of_both_kinds_are_taken() {
        let args = "--listen [::1]:0 --threads 2 --accept shared --pin 1,0 --run-for 1m --grace 250ms --knob 8";
        let Cli { flags, options } = parse(&args.split(' ').collect::<Vec<_>>()).unwrap();
        assert_eq!(flags.listen.to_string(), "[::1]:0");
        assert_eq!(flags.accept, Accept::Shared);
        assert_eq!(flags.pin, Some("1,0".parse().unwrap()));
        assert_eq!(flags.run_for, Some(Duration::from_secs(60)));
        assert_eq!(flags.grace, Duration::from_millis(250));
        assert_eq!(options.knob, 8);
    }

    #[test]
    fn wrong_flags_exit_with_2() {
        for wrong in [
            ["--threads", "0"],
            ["--threads", "x"],
            ["--listen", "localhost"],
            ["--backlog", "0"],
            ["--accept", "none"],
            ["--pin", "3-1"],
            ["--grace", "5"],
            ["--run-for", "100years"],
            ["--nonsense", "1"],
        ] {
            let error = parse(&wrong).err().expect(wrong[0]);
            assert_eq!(error.exit_code(), 2, "{wrong:?}");
        }
    }

    #[test]
    fn help_has_the_examples_and_the_rungs_own_flags() {
        let help = Cli::command_for::<Test>().render_long_help().to_string();
        for expected in ["A rung for tests.", "rung-test --run-for 1m", "--knob"] {
            assert!(help.contains(expected), "{help}");
        }
    }
}
