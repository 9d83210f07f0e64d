//! No other program at all: readdir(3), by way of std.

use std::os::unix::ffi::OsStrExt;

use super::{Listing, Program};

/// In this process.
pub(super) const READDIR: Program = Program {
    name: "readdir",
    list: |directory| {
        let mut lines = Vec::new();
        for entry in std::fs::read_dir(directory)? {
            let entry = entry?;
            if entry.file_type()?.is_file() {
                lines.extend_from_slice(entry.file_name().as_bytes());
                lines.push(b'\n');
            }
        }
        Ok(Listing::Lines(lines))
    },
};
