//! The black-box table against this rung, in each of its modes.

use rungs_conformance::{Kind, assert_contract};

fn assert_in(mode: &[&str]) {
    assert_contract(env!("CARGO_BIN_EXE_rung-null"), Kind::Null, mode);
}

#[test]
fn by_default() {
    assert_in(&[]);
}

#[test]
fn on_two_threads() {
    assert_in(&["--threads", "2"]);
}

#[test]
fn for_clients_that_pipeline() {
    assert_in(&["--pipelined"]);
}
