//! Profile-guided optimisation, as rustc's book has it: built with counters, run under load, the counts merged and given to
//! the compiler (<https://doc.rust-lang.org/rustc/profile-guided-optimization.html>).

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, bail};

use super::make::Cargo;
use crate::answer::Request;
use crate::interrupt::Interrupt;
use crate::ladder;
use crate::load::wrk::{Settings, Wrk};
use crate::load::{Job, LoadGenerator};
use crate::output::note;
use crate::server::{Launch, Server};
use crate::store;

/// The target directory of the programs with counters.
const TRAINING: &str = "pgo-training";

/// The load that is trained for: the one that matrices measure.
const CONNECTIONS: u32 = 100;
const DURATION: Duration = Duration::from_secs(3);

/// Trains these rungs. Gives the compiler's flags that use what came out.
pub(super) fn profile(
    rungs: &[&str],
    cargo: &Cargo,
    interrupt: &Interrupt,
) -> anyhow::Result<String> {
    let merge = llvm_profdata()?;
    let folder = cargo.place.target_of(TRAINING);
    let raw = folder.join("profiles");
    let generate = format!("-C profile-generate={}", raw.display());
    cargo.build_rungs(TRAINING, rungs, &[], &generate)?;
    // Counts of other builds do not fit.
    let _ = fs::remove_dir_all(&raw);
    for rung in rungs {
        note(format_args!("training rung-{rung}"));
        let program = cargo.place.of(TRAINING).join(format!("rung-{rung}"));
        train(&program, interrupt).with_context(|| format!("rung-{rung} cannot be trained"))?;
    }
    let merged = folder.join("merged.profdata");
    let output = Command::new(&merge)
        .args(["merge", "-o"])
        .args([&merged, &raw])
        .output()
        .with_context(|| format!("{} cannot be run", merge.display()))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("{} merge failed: {}", merge.display(), said.trim());
    }
    // cargo looks at flags, not at files that they name: a new profile needs a new name.
    let profile = folder.join(format!("{:.12}.profdata", store::sha256_of_file(&merged)?));
    fs::rename(&merged, &profile)?;
    Ok(format!("-C profile-use={}", profile.display()))
}

/// Loads a program with counters, which it writes when it ends.
fn train(program: &Path, interrupt: &Interrupt) -> anyhow::Result<()> {
    let launch = Launch {
        program: program.to_string_lossy().into_owned(),
        args: vec!["--listen".into(), "{addr}".into()],
        config: None,
        threads: 1,
        cpus: None,
        foreign: false,
    };
    let wrk = Wrk::find(Settings {
        threads: 1,
        timeout_s: 8,
        headers: Vec::new(),
        pipeline: 1,
        cpus: None,
    })?;
    let server = Server::start(&launch).map_err(|reason| anyhow::Error::msg(reason.to_string()))?;
    let load = wrk.start(&Job {
        addr: server.addr,
        request: Request {
            path: "/".into(),
            headers: Vec::new(),
        },
        connections: CONNECTIONS,
        duration: DURATION,
    })?;
    load.finish(interrupt)?;
    server
        .stop()
        .map_err(|reason| anyhow::Error::msg(reason.to_string()))?;
    Ok(())
}

/// The llvm-profdata of the compiler's LLVM: rustup's component, or Debian's package. Older ones do not read its counts.
fn llvm_profdata() -> anyhow::Result<PathBuf> {
    let rustc = |args: &[&str]| -> anyhow::Result<String> {
        let output = Command::new("rustc").args(args).output();
        let output = output.context("rustc cannot be run: install Rust from https://rustup.rs")?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let version = rustc(&["-vV"])?;
    let field = |name: &str| version.lines().find_map(|line| line.strip_prefix(name));
    let host = field("host: ").unwrap_or_default();
    let major = field("LLVM version: ").and_then(|version| version.split('.').next());
    let major = major.unwrap_or_default();
    let component = Path::new(rustc(&["--print", "sysroot"])?.trim())
        .join("lib/rustlib")
        .join(host)
        .join("bin/llvm-profdata");
    if component.exists() {
        return Ok(component);
    }
    ladder::on_path(&format!("llvm-profdata-{major}")).with_context(|| {
        format!(
            "there is no llvm-profdata of LLVM {major}, the compiler's: `rustup component add llvm-tools`, or `apt-get install llvm-{major}` where the distribution has it"
        )
    })
}
