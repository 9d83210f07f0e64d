//! The black-box table against this rung, in each of its modes.

use rungs_conformance::{Kind, assert_contract};

fn assert_in(mode: &[&str]) {
    assert_contract(env!("CARGO_BIN_EXE_rung-uring"), Kind::Uring, mode);
}

#[test]
fn by_default() {
    assert_in(&[]);
}

/// Submissions wait for room, completions overflow, and there is no buffer left for whoever comes second.
#[test]
fn with_the_smallest_rings() {
    assert_in(&["--ring-entries", "1", "--receive-buffers", "1"]);
}

#[test]
fn on_two_threads() {
    assert_in(&["--threads", "2"]);
}

#[test]
fn on_two_threads_that_share_a_listener() {
    assert_in(&["--threads", "2", "--accept", "shared"]);
}
