//! `rungs build`: makes the build variants that a matrix asks for.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};

use super::{Build, Place, Stamp, pgo, wanted};
use crate::interrupt::Interrupt;
use crate::matrix::Matrix;
use crate::output::note;
use crate::store;

/// Builds what `matrix` asks for, and first the plain programs of the same sources.
///
/// # Errors
///
/// When the sources are not there, or something does not build.
pub fn run(matrix: &Matrix, interrupt: &Interrupt) -> anyhow::Result<()> {
    let wanted = wanted(matrix);
    if wanted.is_empty() {
        note(format_args!(
            "the matrix {} asks for no build variant",
            matrix.name
        ));
        return Ok(());
    }
    let cargo = Cargo::new()?;
    cargo.build(&cargo.place.target, &["--workspace", "--bins"], "")?;
    for (build, rungs) in wanted {
        interrupt.check()?;
        let flags = make(build, &rungs, &cargo, interrupt)?;
        for rung in rungs {
            stamp(build, rung, &flags, &cargo.place)?;
            note(format_args!("built {}", build.place_of(rung).display()));
        }
    }
    Ok(())
}

/// Builds one variant of some rungs. Gives the flags.
fn make(
    build: Build,
    rungs: &[&str],
    cargo: &Cargo,
    interrupt: &Interrupt,
) -> anyhow::Result<Vec<String>> {
    let (args, rustflags): (&[&str], String) = match build {
        Build::Native => (&[], "-C target-cpu=native".into()),
        Build::Pgo => (&[], pgo::profile(rungs, cargo, interrupt)?),
        Build::SystemAllocator => (&["--no-default-features"], String::new()),
    };
    cargo.build_rungs(build.name(), rungs, args, &rustflags)?;
    let rustflags = Some(format!("RUSTFLAGS={rustflags}")).filter(|_| !rustflags.is_empty());
    let args = args.iter().map(ToString::to_string);
    Ok(args.chain(rustflags).collect())
}

/// Says beside a program how it was built.
fn stamp(build: Build, rung: &str, flags: &[String], place: &Place) -> anyhow::Result<()> {
    let program = build.place_of(rung);
    let plain = place
        .target
        .join(&place.profile)
        .join(format!("rung-{rung}"));
    let stamp = Stamp {
        flags: flags.to_vec(),
        plain_sha256: store::sha256_of_file(&plain)
            .with_context(|| format!("{} cannot be read", plain.display()))?,
    };
    let path = program.with_extension("json");
    store::write_whole(&path, &serde_json::to_vec_pretty(&stamp)?)
        .with_context(|| format!("{} cannot be written", path.display()))
}

/// cargo, in the sources that `rungs` itself was built from.
pub(super) struct Cargo {
    pub(super) place: Place,
    sources: PathBuf,
}

impl Cargo {
    fn new() -> anyhow::Result<Self> {
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        if !sources.join("Cargo.lock").exists() {
            bail!(
                "the sources of rungs are not at {} any more: build rungs where they are, and call that one",
                sources.display()
            );
        }
        Ok(Self {
            place: Place::find(),
            sources,
        })
    }

    /// Builds some rungs as a variant of that name.
    pub(super) fn build_rungs(
        &self,
        variant: &str,
        rungs: &[&str],
        args: &[&str],
        rustflags: &str,
    ) -> anyhow::Result<()> {
        let packages: Vec<_> = rungs.iter().map(|rung| format!("-prungs-{rung}")).collect();
        let packages = packages.iter().map(String::as_str);
        let args: Vec<_> = packages.chain(args.iter().copied()).collect();
        self.build(&self.place.target_of(variant), &args, rustflags)
    }

    /// Says what it does, and does it.
    fn build(&self, target: &Path, args: &[&str], rustflags: &str) -> anyhow::Result<()> {
        let mut cargo = Command::new("cargo");
        cargo.args(["build", "--locked"]).args(args);
        if self.place.profile == "release" {
            cargo.arg("--release");
        }
        cargo.arg("--target-dir").arg(target);
        if !rustflags.is_empty() {
            cargo.env("RUSTFLAGS", rustflags);
        }
        let words = cargo.get_args().map(OsStr::to_string_lossy);
        let line = words.collect::<Vec<_>>().join(" ");
        note(format_args!("RUSTFLAGS={rustflags:?} cargo {line}"));
        let status = cargo
            .current_dir(&self.sources)
            .status()
            .context("cargo cannot be run: install Rust from https://rustup.rs")?;
        if !status.success() {
            bail!("cargo {line} failed: what it said stands above");
        }
        Ok(())
    }
}
