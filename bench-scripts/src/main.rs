//! The `rungs` command. See the library for what it does.

use std::process::ExitCode;

use clap::Parser;
use rungs::cli::Cli;

fn main() -> ExitCode {
    Cli::parse().run().unwrap_or_else(|error| {
        // With its causes, on one line.
        eprintln!("rungs: {error:#}");
        ExitCode::FAILURE
    })
}
