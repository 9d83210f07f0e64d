//! A file without a name, for programs that take their settings from one. A killed `rungs` leaves nothing behind.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsRawFd;

use rustix::fs::{MemfdFlags, memfd_create};

/// A file in memory, which children can open by its [path](MemoryFile::path) as long as this lives.
#[derive(Debug)]
pub struct MemoryFile(File);

impl MemoryFile {
    /// A file with this content; `name` only shows in listings of descriptors.
    ///
    /// # Errors
    ///
    /// Those of memfd_create(2) and write(2).
    pub fn new(name: &str, content: &[u8]) -> io::Result<Self> {
        let mut file = File::from(memfd_create(name, MemfdFlags::CLOEXEC)?);
        file.write_all(content)?;
        Ok(Self(file))
    }

    /// Where any process of the same user can open it.
    #[must_use]
    pub fn path(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.0.as_raw_fd())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_read_from_its_start_each_time() {
        let file = MemoryFile::new("test", b"content").unwrap();
        for _ in 0..2 {
            assert_eq!(std::fs::read(file.path()).unwrap(), b"content");
        }
    }
}
