//! fork(2), execv(3), waitpid(2).

use super::{LS, Listing, Program};
use crate::sys::spawn::{self, Arguments};

/// Without a shell; the page tables are copied.
pub(super) const FORK_EXEC: Program = Program {
    name: "fork + execv",
    list: |directory| {
        let [program, options] = LS;
        spawn::fork_exec(&Arguments::new([program, options, directory])?).map(Listing::Printed)
    },
};
