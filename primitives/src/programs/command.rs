//! `std::process::Command`: posix_spawn(3) where that can do what is asked.

use std::process::Command;

use super::{LS, Listing, Program};

/// Without a shell.
pub(super) const COMMAND: Program = Program {
    name: "std Command",
    list: |directory| {
        let [program, options] = LS;
        Command::new(program)
            .args([options, directory])
            .status()
            .map(Listing::Printed)
    },
};
