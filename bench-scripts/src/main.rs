//! The `rungs` command. See the library for what it does.

use std::process::ExitCode;

use clap::Parser;
use rungs::cli::Cli;
use rungs::output;

fn main() -> ExitCode {
    Cli::parse().run().unwrap_or_else(|error| {
        // With its causes, on one line.
        output::note(format_args!("rungs: {error:#}"));
        ExitCode::FAILURE
    })
}
