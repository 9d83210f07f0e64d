//! `rungs serve`: one rung in the foreground, to be looked at with a browser.

use std::net::Ipv4Addr;
use std::os::unix::process::CommandExt;
use std::process::Command;

use anyhow::Context;
use rungs_response::DEFAULT_PORT;

use crate::ladder;

/// Becomes the rung `name`, with `flags`. Returns only if that fails.
///
/// # Errors
///
/// When there is no such rung, or its program cannot be run.
pub fn run(name: &str, flags: &[String]) -> anyhow::Result<()> {
    if ladder::rung(name).is_none() {
        anyhow::bail!(
            "there is no rung `{name}`: the rungs are {}",
            ladder::names()
        );
    }
    let program = ladder::program_of(name)?;
    eprintln!(
        "open http://{}/ in a browser; end with Ctrl-C",
        listen_addr(flags).map_or_else(default_addr, str::to_owned)
    );
    // The rung takes our place, so that signals, outputs and exit status are its own.
    Err(Command::new(&program).args(flags).exec())
        .with_context(|| format!("{} cannot be run", program.display()))
}

/// Where a rung listens by default.
fn default_addr() -> String {
    format!("{}:{DEFAULT_PORT}", Ipv4Addr::LOCALHOST)
}

/// The address of `--listen`, in either of its two forms.
fn listen_addr(flags: &[String]) -> Option<&str> {
    let mut flags = flags.iter();
    while let Some(flag) = flags.next() {
        if flag == "--listen" {
            return flags.next().map(String::as_str);
        }
        if let Some(addr) = flag.strip_prefix("--listen=") {
            return Some(addr);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_is_that_of_the_flag() {
        let addr = |flags: &[&str]| {
            let flags: Vec<_> = flags.iter().map(ToString::to_string).collect();
            listen_addr(&flags).map(str::to_owned)
        };
        assert_eq!(addr(&["--threads", "2"]), None);
        assert_eq!(addr(&["--listen", "[::1]:80"]).unwrap(), "[::1]:80");
        assert_eq!(addr(&["--listen=a:1"]).unwrap(), "a:1");
    }
}
