//! The black-box table against this rung, in each of its modes.

use rungs_conformance::{Kind, assert_contract};

fn assert_in(mode: &[&str]) {
    assert_contract(env!("CARGO_BIN_EXE_rung-hyper"), Kind::Hyper, mode);
}

#[test]
fn per_core() {
    assert_in(&["--runtime", "per-core"]);
}

#[test]
fn work_stealing() {
    assert_in(&["--runtime", "work-stealing"]);
}

#[test]
fn per_core_on_two_threads() {
    assert_in(&["--runtime", "per-core", "--threads", "2"]);
}

#[test]
fn per_core_on_two_threads_that_share_a_listener() {
    assert_in(&[
        "--runtime",
        "per-core",
        "--threads",
        "2",
        "--accept",
        "shared",
    ]);
}

#[test]
fn work_stealing_on_two_threads() {
    assert_in(&["--runtime", "work-stealing", "--threads", "2"]);
}
