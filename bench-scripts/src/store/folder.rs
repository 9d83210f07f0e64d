//! The directory of a run while it is written to: taken once, locked against others, and given back if nothing came of it.

use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::Serialize;

use crate::primitives::record::ROWS_FILE;
use crate::report::{CELLS_FILE, RATES_FILE, RUN_FILE, TRACES_FILE};

/// The folder of runs whose place was not given.
pub(crate) const RESULTS: &str = "results";

/// The files that hold a record per line.
pub(super) const LOGS: [&str; 4] = [CELLS_FILE, RATES_FILE, TRACES_FILE, ROWS_FILE];

/// Why a directory cannot hold a new run.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// It holds one already.
    #[error(
        "{} holds a run already: give another directory with --out, or render that run with `rungs report {}`",
        .0.display(), .0.display()
    )]
    Taken(PathBuf),
    /// Another `rungs` writes to it.
    #[error("{} is being measured by another rungs: wait for its end", .0.display())]
    Busy(PathBuf),
    /// There is no room, or no more is allowed.
    #[error(
        "{} cannot be written ({error}): make room; a sweep that has begun can then go on: `rungs sweep --resume {}`",
        path.display(), path.parent().unwrap_or(path).display()
    )]
    Full {
        /// What could not be written.
        path: PathBuf,
        /// Why. The message holds it, so it is not told again as the cause.
        error: io::Error,
    },
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

/// The directory of one run, open for writing and locked against other runs. A new one that holds no record when it is
/// dropped takes itself back.
#[derive(Debug)]
pub(crate) struct Folder {
    dir: PathBuf,
    /// Name of the file of records that makes it a run of its kind.
    log_file: &'static str,
    pub(super) log: File,
    /// Whether it holds a record, or has been there before.
    is_kept: bool,
    /// Name of the link beside it that is to point to it.
    latest: Option<&'static str>,
}

impl Folder {
    /// Makes the directory `out`, or a new one for `name` under [`RESULTS`], and makes sure that it can be written and holds
    /// no run. The link `latest` will point to the new one as soon as it holds a record.
    ///
    /// # Errors
    ///
    /// [`StoreError`].
    pub(crate) fn create(
        out: Option<&Path>,
        name: &str,
        log_file: &'static str,
        latest: &'static str,
    ) -> Result<Self, StoreError> {
        let dir = out.map_or_else(|| new_dir(name), Path::to_owned);
        if dir.join(RUN_FILE).exists() {
            return Err(StoreError::Taken(dir));
        }
        fs::create_dir_all(&dir).map_err(|error| unwritable(&dir, error))?;
        let log = open_log(&dir, log_file)?;
        // An empty file is what a run leaves that was killed before its first record.
        let holds = |file| fs::metadata(dir.join(file)).is_ok_and(|file| file.len() > 0);
        if LOGS.into_iter().any(holds) {
            return Err(StoreError::Taken(dir));
        }
        Ok(Self {
            dir,
            log_file,
            log,
            is_kept: false,
            latest: out.is_none().then_some(latest),
        })
    }

    /// Opens one that holds a run already.
    ///
    /// # Errors
    ///
    /// [`StoreError`].
    pub(crate) fn reopen(dir: &Path, log_file: &'static str) -> Result<Self, StoreError> {
        Ok(Self {
            dir: dir.to_owned(),
            log_file,
            log: open_log(dir, log_file)?,
            is_kept: true,
            latest: None,
        })
    }

    /// Whether it holds a record.
    pub(crate) fn is_kept(&self) -> bool {
        self.is_kept
    }

    /// Where it is.
    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Writes a file of its own, as JSON.
    ///
    /// # Errors
    ///
    /// [`StoreError`].
    pub(crate) fn write(&self, file: &str, value: &impl Serialize) -> Result<(), StoreError> {
        write_json(&self.dir.join(file), value)
    }

    /// Appends a record to the log, and has it on disk when it returns: a crash later on does not lose it.
    ///
    /// # Errors
    ///
    /// [`StoreError`].
    pub(crate) fn append(&mut self, record: &impl Serialize) -> Result<(), StoreError> {
        let path = self.dir.join(self.log_file);
        let written = write_line(&mut self.log, record).map_err(|error| unwritable(&path, error));
        if !self.is_kept
            && let Some(latest) = self.latest
        {
            point_to(&self.dir, latest);
        }
        // Though it could not be written: what has begun is kept.
        self.is_kept = true;
        written
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if self.is_kept {
            return;
        }
        for file in [RUN_FILE, self.log_file] {
            let _ = fs::remove_file(self.dir.join(file));
        }
        // Fails if something else is in it, as it should.
        let _ = fs::remove_dir(&self.dir);
    }
}

/// Why `path` could not be written: for want of room, which the user can make, or for another reason.
pub(super) fn unwritable(path: &Path, error: io::Error) -> StoreError {
    let path = path.to_owned();
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => {
            StoreError::Full { path, error }
        }
        _ => StoreError::Unwritable { path, error },
    }
}

/// Opens a file of records for appending, and locks it as long as it is open.
fn open_log(dir: &Path, log: &str) -> Result<File, StoreError> {
    let path = dir.join(log);
    let mut options = File::options();
    let file = options.read(true).append(true).create(true).open(&path);
    let file = file.map_err(|error| unwritable(&path, error))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(StoreError::Busy(dir.to_owned())),
        Err(TryLockError::Error(error)) => Err(unwritable(&path, error)),
    }
}

/// Appends a record as a line, and has it on disk when it returns.
pub(super) fn write_line(file: &mut File, record: &impl Serialize) -> io::Result<()> {
    // One write, so that a crash tears the last line at most.
    file.write_all(&line(serde_json::to_vec(record))?)?;
    file.sync_data()
}

/// Writes a file as a whole or not at all: whatever happens, `path` holds its old content or all of the new one.
///
/// # Errors
///
/// Those of open(2), write(2), fsync(2) and rename(2).
pub fn write_whole(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".part");
    let part = path.with_file_name(name);
    let write = || {
        let mut file = File::create(&part)?;
        file.write_all(content)?;
        file.sync_data()?;
        fs::rename(&part, path)
    };
    write().inspect_err(|_| {
        let _ = fs::remove_file(&part);
    })
}

/// Writes a file that is one JSON value.
///
/// # Errors
///
/// [`StoreError`].
pub fn write_json(path: &Path, value: &impl Serialize) -> Result<(), StoreError> {
    line(serde_json::to_vec_pretty(value))
        .and_then(|json| write_whole(path, &json))
        .map_err(|error| unwritable(path, error))
}

/// JSON as the content of a file, or of a line of one.
fn line(json: serde_json::Result<Vec<u8>>) -> io::Result<Vec<u8>> {
    let mut bytes = json?;
    bytes.push(b'\n');
    Ok(bytes)
}

/// A new directory under `results/` for a run of this name, such as its matrix's; it is not made yet.
#[must_use]
pub fn new_dir(name: &str) -> PathBuf {
    Path::new(RESULTS).join(dir_name(SystemTime::now(), name))
}

/// `20261130T192158Z-quick`: sorts by time, and needs no quoting anywhere.
fn dir_name(now: SystemTime, name: &str) -> String {
    let time = humantime::format_rfc3339_seconds(now).to_string();
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    let name: String = name.chars().map(plain).collect();
    format!("{}-{name}", time.replace(['-', ':'], ""))
}

/// Lets the link `latest` beside `dir` point to it. A convenience: where it cannot be made, the run goes on.
fn point_to(dir: &Path, latest: &str) {
    let (Some(results), Some(name)) = (dir.parent(), dir.file_name()) else {
        return;
    };
    let latest = results.join(latest);
    if latest.is_symlink() {
        let _ = fs::remove_file(&latest);
    }
    let _ = symlink(name, latest);
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn names_of_directories_sort_by_time() {
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777);
        assert_eq!(dir_name(time, "my matrix"), "19941106T084937Z-my-matrix");
    }

    #[test]
    fn what_cannot_be_written_whole_leaves_the_old_content() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        write_whole(&path, b"old").unwrap();
        fs::create_dir(dir.path().join("file.part")).unwrap();
        write_whole(&path, b"new").unwrap_err();
        assert_eq!(fs::read(&path).unwrap(), b"old");
    }
}
