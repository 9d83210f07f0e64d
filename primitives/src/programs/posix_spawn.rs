//! posix_spawn(3), which glibc makes of clone(2) with CLONE_VM and CLONE_VFORK.

use super::{LS, Listing, Program};
use crate::sys::spawn::{self, Arguments};

/// Without a shell; the page tables are not copied.
pub(super) const POSIX_SPAWN: Program = Program {
    name: "posix_spawn",
    list: |directory| {
        let [program, options] = LS;
        spawn::posix_spawn(&Arguments::new([program, options, directory])?).map(Listing::Printed)
    },
};
