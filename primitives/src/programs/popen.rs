//! popen(3): as system(3), with a pipe to read from.

use std::ffi::CString;
use std::io;

use super::{LS, Listing, Program};
use crate::sys::spawn;

/// Through the shell.
pub(super) const POPEN: Program = Program {
    name: "popen",
    list: |directory| {
        let [program, options] = LS;
        let command = CString::new(format!("{program} {options} {directory}"))?;
        let (lines, status) = spawn::popen(&command)?;
        if status.success() {
            Ok(Listing::Lines(lines))
        } else {
            Err(io::Error::other(status.to_string()))
        }
    },
};
