//! The rungs, and where a test finds their programs.

use std::env;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Once;

use crate::Kind;

/// Every rung by the name of its program, which is `rung-<name>`.
pub const RUNGS: [(&str, Kind); 6] = [
    ("null", Kind::Null),
    ("epoll", Kind::Raw),
    ("mio", Kind::Raw),
    ("uring", Kind::Uring),
    ("hyper", Kind::Hyper),
    ("axum", Kind::Axum),
];

/// The program of a rung, for a test of another crate: beside the test, where a build of the workspace puts both. If one
/// is missing because a single crate was built, all are built first.
///
/// # Panics
///
/// If they do not build.
#[must_use]
pub fn program(rung: &str) -> PathBuf {
    static BUILT: Once = Once::new();
    let test = env::current_exe().expect("a test knows its own path");
    let folder = test.ancestors().nth(2).expect("tests lie in deps/");
    let path = |rung: &str| folder.join(format!("rung-{rung}"));
    BUILT.call_once(|| {
        if RUNGS.iter().any(|(rung, _)| !path(rung).exists()) {
            build();
        }
    });
    path(rung)
}

fn build() {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--quiet"]);
    if !cfg!(debug_assertions) {
        cargo.arg("--release");
    }
    for (rung, _) in RUNGS {
        cargo.args(["-p", &format!("rungs-{rung}")]);
    }
    let built = cargo.status().expect("cargo can be run");
    assert!(built.success(), "the rungs do not build");
}
