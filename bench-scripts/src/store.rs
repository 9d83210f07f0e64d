//! A run's directory while it is measured: run.json first, then cells.jsonl, cell by cell.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use sha2::{Digest, Sha256};

use crate::record::{Cell, Run};
use crate::report::{CELLS_FILE, RUN_FILE};

/// The folder of runs whose place was not given.
const RESULTS: &str = "results";

/// The directory of one run, open for writing. One that holds no cell when it is dropped takes itself back.
#[derive(Debug)]
pub struct Store {
    dir: PathBuf,
    cells: File,
    /// Cells that it holds.
    kept: usize,
    /// Whether `results/latest` is to point to it.
    is_latest: bool,
}

/// Why a directory cannot hold a new run.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// It holds one already.
    #[error(
        "{} holds a run already: give another directory with --out, or render that run with `rungs report {}`",
        .0.display(), .0.display()
    )]
    Taken(PathBuf),
    /// It cannot be written to.
    #[error(
        "{} cannot be written ({error}): give a directory of yours with --out; in a container, mount one that its user may write: mkdir -p results && docker run --user \"$(id -u):$(id -g)\" -v \"$PWD/results:/results\" …",
        path.display()
    )]
    Unwritable {
        /// What could not be written.
        path: PathBuf,
        /// Why. The message holds it, so it is not told again as the cause.
        error: io::Error,
    },
}

impl Store {
    /// Makes the directory `out`, or a new one under `results/`, and makes sure that it can be written and holds no run.
    /// `results/latest` will point to the new one as soon as it holds a cell.
    ///
    /// # Errors
    ///
    /// [`StoreError`].
    pub fn create(out: Option<&Path>, matrix: &str) -> Result<Self, StoreError> {
        let dir = match out {
            Some(dir) => dir.to_owned(),
            None => Path::new(RESULTS).join(dir_name(SystemTime::now(), matrix)),
        };
        for file in [RUN_FILE, CELLS_FILE] {
            if dir.join(file).exists() {
                return Err(StoreError::Taken(dir));
            }
        }
        let unwritable = |path: &Path| {
            let path = path.to_owned();
            move |error| StoreError::Unwritable { path, error }
        };
        fs::create_dir_all(&dir).map_err(unwritable(&dir))?;
        let path = dir.join(CELLS_FILE);
        let cells = File::create_new(&path).map_err(unwritable(&path))?;
        Ok(Self {
            dir,
            cells,
            kept: 0,
            is_latest: out.is_none(),
        })
    }

    /// The directory.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Writes run.json.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unwritable`].
    pub fn write_run(&self, run: &Run) -> Result<(), StoreError> {
        let path = self.dir.join(RUN_FILE);
        let write = || {
            let mut file = File::create(&path)?;
            file.write_all(&line(serde_json::to_vec_pretty(run))?)?;
            file.sync_data()
        };
        write().map_err(|error| StoreError::Unwritable {
            path: path.clone(),
            error,
        })
    }

    /// Appends a cell to cells.jsonl, and has it on disk when it returns: a crash later on does not lose it.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unwritable`].
    pub fn append(&mut self, cell: &Cell) -> Result<(), StoreError> {
        let mut write = || {
            // One write, so that a crash tears the last line at most.
            self.cells.write_all(&line(serde_json::to_vec(cell))?)?;
            self.cells.sync_data()
        };
        write().map_err(|error| StoreError::Unwritable {
            path: self.dir.join(CELLS_FILE),
            error,
        })?;
        self.kept += 1;
        if self.kept == 1 && self.is_latest {
            point_latest_to(&self.dir);
        }
        Ok(())
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        if self.kept > 0 {
            return;
        }
        for file in [RUN_FILE, CELLS_FILE] {
            let _ = fs::remove_file(self.dir.join(file));
        }
        // Fails if something else is in it, as it should.
        let _ = fs::remove_dir(&self.dir);
    }
}

/// JSON as the content of a file, or of a line of one.
fn line(json: serde_json::Result<Vec<u8>>) -> io::Result<Vec<u8>> {
    let mut bytes = json?;
    bytes.push(b'\n');
    Ok(bytes)
}

/// `20261130T192158Z-quick`: sorts by time, and needs no quoting anywhere.
fn dir_name(now: SystemTime, matrix: &str) -> String {
    let time = humantime::format_rfc3339_seconds(now).to_string();
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    let matrix: String = matrix.chars().map(plain).collect();
    format!("{}-{matrix}", time.replace(['-', ':'], ""))
}

/// Lets `results/latest` point to `dir`. A convenience: where it cannot be made, the sweep goes on.
fn point_latest_to(dir: &Path) {
    let (Some(results), Some(name)) = (dir.parent(), dir.file_name()) else {
        return;
    };
    let latest = results.join("latest");
    if latest.is_symlink() {
        let _ = fs::remove_file(&latest);
    }
    let _ = symlink(name, latest);
}

/// SHA-256 of a file's content, in hexadecimal.
///
/// # Errors
///
/// If it cannot be read.
pub fn sha256_of_file(path: &Path) -> io::Result<String> {
    Ok(sha256(&fs::read(path)?))
}

/// SHA-256 of `bytes`, in hexadecimal.
#[must_use]
pub fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_run_is_not_written_over() {
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().join("run");
        let _first = Store::create(Some(&out), "quick").unwrap();
        let message = Store::create(Some(&out), "quick").unwrap_err().to_string();
        assert!(message.contains("holds a run already"), "{message}");
    }

    #[test]
    fn what_cannot_be_written_is_one_sentence() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let out = file.path().join("run");
        let message = Store::create(Some(&out), "quick").unwrap_err().to_string();
        assert!(
            message.contains("cannot be written") && message.contains("--out"),
            "{message}"
        );
    }

    #[test]
    fn an_empty_run_leaves_nothing_but_what_was_there() {
        let dir = tempfile::tempdir().unwrap();
        let (empty, full) = (dir.path().join("a"), dir.path().join("b"));
        fs::create_dir(&full).unwrap();
        fs::write(full.join("note"), "").unwrap();
        drop(Store::create(Some(&empty), "quick").unwrap());
        drop(Store::create(Some(&full), "quick").unwrap());
        assert!(!empty.exists());
        assert_eq!(fs::read_dir(full).unwrap().count(), 1);
    }

    #[test]
    fn names_of_directories_sort_by_time() {
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777);
        assert_eq!(dir_name(time, "my matrix"), "19941106T084937Z-my-matrix");
    }

    #[test]
    fn hashes_are_hexadecimal() {
        assert!(sha256(b"").starts_with("e3b0c44298fc1c14"));
        assert_eq!(sha256(b"").len(), 64);
    }
}
