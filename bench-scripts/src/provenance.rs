//! What made a record: when, by which build, in which image.

use std::env;
use std::time::SystemTime;

use crate::store;

/// `rustc --version` of the compiler that built `rungs` and its rungs.
pub const TOOLCHAIN: &str = env!("RUNGS_TOOLCHAIN");

/// SHA-256 of the Cargo.lock that `rungs` was built with.
#[must_use]
pub fn cargo_lock_sha256() -> String {
    store::sha256(include_bytes!("../../Cargo.lock"))
}

/// Digest of the container image, where `RUNGS_IMAGE_DIGEST` tells it.
#[must_use]
pub fn image_digest() -> Option<String> {
    let digest = env::var("RUNGS_IMAGE_DIGEST").ok();
    digest.filter(|digest| !digest.is_empty())
}

/// The time, RFC 3339, UTC, to the second.
#[must_use]
pub fn now() -> String {
    humantime::format_rfc3339_seconds(SystemTime::now()).to_string()
}
