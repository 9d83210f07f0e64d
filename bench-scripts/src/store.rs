//! A run's directory while it is measured: run.json first, then cells.jsonl, cell by cell, then rates.jsonl, then traces.jsonl.

use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::Serialize;
use serde::de::IgnoredAny;
use sha2::{Digest, Sha256};

use crate::record::trace::Trace;
use crate::record::{Cell, PacedCell, Run};
use crate::report::{self, CELLS_FILE, RATES_FILE, RUN_FILE, Record, TRACES_FILE};

/// The folder of runs whose place was not given.
const RESULTS: &str = "results";

/// The files that hold a record per line.
const LOGS: [&str; 3] = [CELLS_FILE, RATES_FILE, TRACES_FILE];

/// The directory of one run, open for writing and locked against other sweeps. A new one that holds no cell when it is
/// dropped takes itself back.
#[derive(Debug)]
pub struct Store {
    dir: PathBuf,
    cells: File,
    /// Whether it holds a cell, or has been there before.
    is_kept: bool,
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
    /// Another sweep writes to it.
    #[error("{} is being measured by another rungs: wait for its end", .0.display())]
    Busy(PathBuf),
    /// There is no room, or no more is allowed.
    #[error(
        "{} cannot be written ({error}): make room, and if the sweep has begun, go on with `rungs sweep --resume {}`",
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
            None => new_dir(matrix),
        };
        if dir.join(RUN_FILE).exists() {
            return Err(StoreError::Taken(dir));
        }
        fs::create_dir_all(&dir).map_err(|error| unwritable(&dir, error))?;
        let cells = open_cells(&dir)?;
        // An empty file is what a sweep leaves that was killed before its first cell.
        let holds = |file| fs::metadata(dir.join(file)).is_ok_and(|file| file.len() > 0);
        if LOGS.into_iter().any(holds) {
            return Err(StoreError::Taken(dir));
        }
        Ok(Self {
            dir,
            cells,
            is_kept: false,
            is_latest: out.is_none(),
        })
    }

    /// Opens the directory of a sweep that was cut short. Nothing is changed before [`Store::go_on`].
    ///
    /// # Errors
    ///
    /// [`ReadError`](report::ReadError) if there is no run in it; [`StoreError`].
    pub fn reopen(dir: &Path) -> anyhow::Result<(Self, Record)> {
        // Before the file is opened, which would make one where there is none.
        report::read(dir)?;
        let cells = open_cells(dir)?;
        // Again, now that nobody else writes to it.
        let record = report::read(dir)?;
        let store = Self {
            dir: dir.to_owned(),
            cells,
            is_kept: true,
            is_latest: false,
        };
        Ok((store, record))
    }

    /// Makes a directory that was opened again ready for more cells: the line that a crash cut short is cut off, and
    /// run.json says that the sweep was resumed.
    ///
    /// # Errors
    ///
    /// [`StoreError`].
    pub fn go_on(&mut self, record: &Record) -> Result<(), StoreError> {
        for file in LOGS {
            let path = self.dir.join(file);
            end_last_line(&path).map_err(|error| unwritable(&path, error))?;
        }
        self.write_run(&record.run)
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
    /// [`StoreError`].
    pub fn write_run(&self, run: &Run) -> Result<(), StoreError> {
        let path = self.dir.join(RUN_FILE);
        line(serde_json::to_vec_pretty(run))
            .and_then(|json| write_whole(&path, &json))
            .map_err(|error| unwritable(&path, error))
    }

    /// Appends a cell to cells.jsonl, and has it on disk when it returns: a crash later on does not lose it.
    ///
    /// # Errors
    ///
    /// [`StoreError`].
    pub fn append(&mut self, cell: &Cell) -> Result<(), StoreError> {
        let path = self.dir.join(CELLS_FILE);
        let written = write_line(&mut self.cells, cell).map_err(|error| unwritable(&path, error));
        if !self.is_kept && self.is_latest {
            point_latest_to(&self.dir);
        }
        // Though it could not be written: a sweep that has begun can go on.
        self.is_kept = true;
        written
    }

    /// Appends a paced cell to rates.jsonl, in the same way.
    ///
    /// # Errors
    ///
    /// [`StoreError`].
    pub fn append_paced(&self, cell: &PacedCell) -> Result<(), StoreError> {
        self.append_to(RATES_FILE, cell)
    }

    /// Appends a trace to traces.jsonl, in the same way.
    ///
    /// # Errors
    ///
    /// [`StoreError`].
    pub fn append_trace(&self, trace: &Trace) -> Result<(), StoreError> {
        self.append_to(TRACES_FILE, trace)
    }

    /// Appends a record to one of the files that are made when there is a first one.
    fn append_to(&self, file: &str, record: &impl Serialize) -> Result<(), StoreError> {
        let path = self.dir.join(file);
        let file = File::options().append(true).create(true).open(&path);
        file.and_then(|mut file| write_line(&mut file, record))
            .map_err(|error| unwritable(&path, error))
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        if self.is_kept {
            return;
        }
        for file in [RUN_FILE, CELLS_FILE] {
            let _ = fs::remove_file(self.dir.join(file));
        }
        // Fails if something else is in it, as it should.
        let _ = fs::remove_dir(&self.dir);
    }
}

/// Why `path` could not be written: for want of room, which the user can make, or for another reason.
fn unwritable(path: &Path, error: io::Error) -> StoreError {
    let path = path.to_owned();
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => {
            StoreError::Full { path, error }
        }
        _ => StoreError::Unwritable { path, error },
    }
}

/// Opens cells.jsonl for appending, and locks it as long as it is open.
fn open_cells(dir: &Path) -> Result<File, StoreError> {
    let path = dir.join(CELLS_FILE);
    let mut options = File::options();
    let cells = options.read(true).append(true).create(true).open(&path);
    let cells = cells.map_err(|error| unwritable(&path, error))?;
    match cells.try_lock() {
        Ok(()) => Ok(cells),
        Err(TryLockError::WouldBlock) => Err(StoreError::Busy(dir.to_owned())),
        Err(TryLockError::Error(error)) => Err(unwritable(&path, error)),
    }
}

/// Lets a file of records end with the end of a line: cuts off a torn one, and ends a whole one. No file is no line.
fn end_last_line(path: &Path) -> io::Result<()> {
    let bytes = match fs::read(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        bytes => bytes?,
    };
    let begin = bytes.iter().rposition(|byte| *byte == b'\n');
    let begin = begin.map_or(0, |end| end + 1);
    if begin == bytes.len() {
        return Ok(());
    }
    let mut file = File::options().append(true).open(path)?;
    if serde_json::from_slice::<IgnoredAny>(&bytes[begin..]).is_ok() {
        file.write_all(b"\n")?;
    } else {
        file.set_len(begin as u64)?;
    }
    file.sync_data()
}

/// Appends a record as a line, and has it on disk when it returns.
fn write_line(file: &mut File, record: &impl Serialize) -> io::Result<()> {
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

/// JSON as the content of a file, or of a line of one.
fn line(json: serde_json::Result<Vec<u8>>) -> io::Result<Vec<u8>> {
    let mut bytes = json?;
    bytes.push(b'\n');
    Ok(bytes)
}

/// A new directory under `results/` for a run of this matrix; it is not made yet.
#[must_use]
pub fn new_dir(matrix: &str) -> PathBuf {
    Path::new(RESULTS).join(dir_name(SystemTime::now(), matrix))
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
        fs::create_dir(&out).unwrap();
        fs::write(out.join(CELLS_FILE), "{}\n").unwrap();
        let message = Store::create(Some(&out), "quick").unwrap_err().to_string();
        assert!(message.contains("holds a run already"), "{message}");
    }

    fn cell(line: &str) -> Cell {
        serde_json::from_str(line).unwrap()
    }

    /// The made run, its cells cut to the first `bytes`.
    fn cut_short(dir: &Path, bytes: usize) -> String {
        let made = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/made");
        fs::copy(made.join(RUN_FILE), dir.join(RUN_FILE)).unwrap();
        let text = fs::read_to_string(made.join(CELLS_FILE)).unwrap();
        fs::write(dir.join(CELLS_FILE), &text[..bytes]).unwrap();
        text
    }

    #[test]
    fn wherever_a_crash_cuts_a_run_only_the_torn_line_is_lost() {
        let dir = tempfile::tempdir().unwrap();
        let text = cut_short(dir.path(), 0);
        let first = text.find('\n').unwrap() + 1;
        let second = first + text[first..].find('\n').unwrap() + 1;
        for cut in (0..=second)
            .step_by(7)
            .chain([first - 1, first, second - 1])
        {
            cut_short(dir.path(), cut);
            let (mut store, record) = Store::reopen(dir.path()).unwrap();
            store.go_on(&record).unwrap();
            // A record that lacks nothing but the end of its line is whole.
            let whole = usize::from(cut >= first - 1) + usize::from(cut >= second - 1);
            assert_eq!(record.cells.len(), whole, "cut at {cut}");
            let next = text.lines().nth(whole).unwrap();
            store.append(&cell(next)).unwrap();
            drop(store);
            let record = report::read(dir.path()).unwrap();
            assert_eq!((record.cells.len(), record.torn.len()), (whole + 1, 0));
        }
    }

    #[test]
    fn two_sweeps_do_not_write_to_one_directory() {
        let dir = tempfile::tempdir().unwrap();
        cut_short(dir.path(), 0);
        let _first = Store::reopen(dir.path()).unwrap();
        let message = Store::reopen(dir.path()).unwrap_err().to_string();
        assert!(message.contains("by another rungs"), "{message}");
    }

    #[test]
    fn what_a_sweep_leaves_that_was_killed_before_it_began_is_no_run() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join(CELLS_FILE), "").unwrap();
        Store::create(Some(dir.path()), "quick").unwrap();
    }

    #[test]
    fn a_full_disk_says_so_and_how_to_go_on() {
        let dir = tempfile::tempdir().unwrap();
        let text = cut_short(dir.path(), 0);
        let (mut store, _) = Store::reopen(dir.path()).unwrap();
        store.cells = File::options().write(true).open("/dev/full").unwrap();
        let error = store
            .append(&cell(text.lines().next().unwrap()))
            .unwrap_err();
        let message = error.to_string();
        assert!(
            message.contains("No space left") && message.contains("--resume"),
            "{message}"
        );
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
