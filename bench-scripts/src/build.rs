//! Build variants: a rung built otherwise than by the release profile that all rungs share.
//!
//! `rungs build` makes them, each in a target directory of its own: `target/variants/native/release/rung-epoll`. Beside each
//! program lies a stamp that says how it was built, and from the same sources as which plain program: a sweep refuses a variant
//! of other sources, since it would compare two things at once.

mod make;
mod pgo;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{env, fs};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ladder::{self, NotFound};
use crate::matrix::{Matrix, Program};
use crate::store;

pub use make::run;

/// How a rung is built otherwise.
#[derive(
    Clone, Copy, Debug, Deserialize, Eq, JsonSchema, Ord, PartialEq, PartialOrd, Serialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Build {
    /// With all instructions of this machine's processor.
    Native,
    /// Optimised by a profile of itself under load.
    Pgo,
    /// On the C library's allocator instead of jemalloc.
    SystemAllocator,
}

/// How a program was built.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Stamp {
    /// What was given to cargo and to the compiler.
    pub flags: Vec<String>,
    /// SHA-256 of the plain program of the same sources.
    pub plain_sha256: String,
}

impl Build {
    const ALL: [Self; 3] = [Self::Native, Self::Pgo, Self::SystemAllocator];

    /// Its name in a matrix.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Pgo => "pgo",
            Self::SystemAllocator => "system-allocator",
        }
    }

    /// The variant of that name.
    ///
    /// # Errors
    ///
    /// In a sentence, which names those that there are.
    pub fn of_name(name: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|build| build.name() == name);
        found.ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            format!("there is no build variant `{name}`: they are {names}")
        })
    }

    /// The program of a rung, built so.
    ///
    /// # Errors
    ///
    /// [`NotFound`] where it is not built, or of other sources than the plain program.
    pub fn program_of(self, rung: &str) -> Result<PathBuf, NotFound> {
        let program = self.place_of(rung);
        let wrong = |problem: &str| {
            NotFound {
            problem: format!("the build variant {} of rung-{rung} {problem}", self.name()),
            remedy: "build it with `rungs build --matrix` and the matrix, or leave its entrants out with --entrants".into(),
        }
        };
        let stamp = stamp_of(&program).ok_or_else(|| wrong("is not built"))?;
        let plain = store::sha256_of_file(&ladder::program_of(rung)?).unwrap_or_default();
        if stamp.plain_sha256 != plain {
            return Err(wrong("is of other sources than the plain one"));
        }
        Ok(program)
    }

    /// Where its program of a rung is kept.
    fn place_of(self, rung: &str) -> PathBuf {
        Place::find().of(self.name()).join(format!("rung-{rung}"))
    }
}

/// The stamp of a program; none where there is no program, or it is no build variant.
#[must_use]
pub fn stamp_of(program: &Path) -> Option<Stamp> {
    let stamp = fs::read(program.with_extension("json")).ok()?;
    ladder::is_program(program).then_some(())?;
    serde_json::from_slice(&stamp).ok()
}

/// The rungs of which a matrix wants each variant.
fn wanted(matrix: &Matrix) -> BTreeMap<Build, Vec<&str>> {
    let mut wanted: BTreeMap<Build, Vec<&str>> = BTreeMap::new();
    for entrant in &matrix.entrants {
        if let (Program::Rung { name, .. }, Some(build)) = (&entrant.program, entrant.build) {
            let rungs = wanted.entry(build).or_default();
            if !rungs.contains(&name.as_str()) {
                rungs.push(name);
            }
        }
    }
    wanted
}

/// Where cargo keeps what it builds.
struct Place {
    /// `target`.
    target: PathBuf,
    /// `release` or `debug`, as the running `rungs`.
    profile: String,
}

impl Place {
    /// From where the running `rungs` is kept: `target/release/rungs`.
    fn find() -> Self {
        let program = env::current_exe().unwrap_or_default();
        let folder = program.parent().unwrap_or(Path::new(""));
        let name = folder.file_name().unwrap_or_default();
        Self {
            target: folder.parent().unwrap_or(Path::new("")).to_owned(),
            profile: name.to_string_lossy().into_owned(),
        }
    }

    /// The target directory of a variant.
    fn target_of(&self, variant: &str) -> PathBuf {
        self.target.join("variants").join(variant)
    }

    /// The folder with its programs.
    fn of(&self, variant: &str) -> PathBuf {
        self.target_of(variant).join(&self.profile)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_matrix() {
        for build in Build::ALL {
            assert_eq!(Build::of_name(build.name()), Ok(build));
            assert_eq!(serde_json::to_value(build).unwrap(), build.name());
        }
        let problem = Build::of_name("fast").unwrap_err();
        assert!(
            problem.ends_with("they are native, pgo, system-allocator"),
            "{problem}"
        );
    }
}
