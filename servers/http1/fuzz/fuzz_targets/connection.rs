//! One connection and whatever may happen to it. ../Cargo.toml says how to run this.

#![no_main]

#[path = "../../tests/common/mod.rs"]
mod common;

libfuzzer_sys::fuzz_target!(|script: &[u8]| common::script::check(script));
