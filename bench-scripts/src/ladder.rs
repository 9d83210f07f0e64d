//! The rungs that there are, and where their programs are found.

use std::env;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

use crate::matrix::{Entrant, Program};

/// One of our own servers.
#[derive(Clone, Copy, Debug)]
pub struct Rung {
    /// Its name in a matrix; its program is `rung-<name>`.
    pub name: &'static str,
    /// What it is, in a line.
    pub about: &'static str,
}

/// The name of the rung that is the control of each block.
pub const CONTROL: &str = "null";

/// The rungs, from the bottom of the ladder to its top.
pub const RUNGS: &[Rung] = &[
    Rung {
        name: CONTROL,
        about: "the floor: answers without reading HTTP; the control of each sweep, not a contestant",
    },
    Rung {
        name: "epoll",
        about: "a reactor on epoll(7), under 200 lines, and a server on it",
    },
    Rung {
        name: "mio",
        about: "the same server on mio",
    },
    Rung {
        name: "uring",
        about: "a proactor on io_uring(7), and a server on it",
    },
    Rung {
        name: "hyper",
        about: "tokio and hyper",
    },
    Rung {
        name: "axum",
        about: "axum::serve with a Router, as its users write it",
    },
];

/// A program that was looked for and is not there.
#[derive(Debug, thiserror::Error)]
#[error("{problem}: {remedy}")]
pub struct NotFound {
    /// Which program, and where it was looked for.
    pub problem: String,
    /// What to do about it.
    pub remedy: String,
}

/// The rung of that name.
#[must_use]
pub fn rung(name: &str) -> Option<&'static Rung> {
    RUNGS.iter().find(|rung| rung.name == name)
}

/// The names of all rungs, for a message.
#[must_use]
pub fn names() -> String {
    let names: Vec<_> = RUNGS.iter().map(|rung| rung.name).collect();
    names.join(", ")
}

/// The program of the rung `name`: beside the `rungs` command, else on PATH.
///
/// # Errors
///
/// [`NotFound`].
pub fn program_of(name: &str) -> Result<PathBuf, NotFound> {
    let program = format!("rung-{name}");
    let beside = env::current_exe()
        .ok()
        .and_then(|rungs| rungs.parent().map(|folder| folder.join(&program)))
        .filter(|path| is_program(path));
    beside
        .or_else(|| on_path(&program))
        .ok_or_else(|| NotFound {
            problem: format!("there is no {program} beside the rungs command or on PATH"),
            remedy: "build it with `cargo build --release --workspace`".into(),
        })
}

/// The program of an entrant.
///
/// # Errors
///
/// [`NotFound`].
pub fn program_of_entrant(entrant: &Entrant) -> Result<PathBuf, NotFound> {
    match (&entrant.program, entrant.build) {
        (Program::Rung { name, .. }, None) => program_of(name),
        (Program::Rung { name, .. }, Some(build)) => build.program_of(name),
        (Program::Foreign { command, .. }, _) => foreign_program(&command[0]),
    }
}

/// A program that a matrix names: a path, or a name to be found on PATH.
///
/// # Errors
///
/// [`NotFound`].
fn foreign_program(name: &str) -> Result<PathBuf, NotFound> {
    if name.contains('/') {
        let path = PathBuf::from(name);
        return if is_program(&path) {
            Ok(path)
        } else {
            Err(NotFound {
                problem: format!("{name} is not there, or is not executable"),
                remedy:
                    "correct the command in the matrix; relative paths begin in the current folder"
                        .into(),
            })
        };
    }
    on_path(name).ok_or_else(|| NotFound {
        problem: format!("there is no {name} on PATH"),
        remedy: "install it, or give its path in the matrix".into(),
    })
}

/// The first executable file `name` on PATH.
#[must_use]
pub fn on_path(name: &str) -> Option<PathBuf> {
    env::split_paths(&env::var_os("PATH")?)
        .map(|folder| folder.join(name))
        .find(|path| is_program(path))
}

pub(crate) fn is_program(path: &Path) -> bool {
    path.is_file() && access(path, Access::EXEC_OK).is_ok()
}
