//! system(3): a shell that starts the program.

use std::ffi::CString;

use super::{LS, Listing, Program};
use crate::sys::spawn;

/// Through the shell.
pub(super) const SYSTEM: Program = Program {
    name: "system",
    list: |directory| {
        let [program, options] = LS;
        let command = CString::new(format!("{program} {options} {directory}"))?;
        spawn::system(&command).map(Listing::Printed)
    },
};
