//! The black-box table against this rung, in each of its modes.

use rungs_conformance::{Kind, assert_contract};

fn assert_in(mode: &[&str]) {
    assert_contract(env!("CARGO_BIN_EXE_rung-mio"), Kind::Raw, mode);
}

#[test]
fn by_default() {
    assert_in(&[]);
}

#[test]
fn with_few_events_at_a_time() {
    assert_in(&["--max-events", "1"]);
}

#[test]
fn on_two_threads() {
    assert_in(&["--threads", "2"]);
}

#[test]
fn on_two_threads_that_share_a_listener() {
    assert_in(&["--threads", "2", "--accept", "shared"]);
}
