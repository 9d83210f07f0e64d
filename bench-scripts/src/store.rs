//! A sweep's directory while it is measured: run.json first, then cells.jsonl, cell by cell, then rates.jsonl, then traces.jsonl.

mod folder;

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::Path;

use serde::Serialize;
use serde::de::IgnoredAny;
use sha2::{Digest, Sha256};

use crate::record::trace::Trace;
use crate::record::{Cell, PacedCell, Run};
use crate::report::{self, CELLS_FILE, RATES_FILE, RUN_FILE, Record, TRACES_FILE};
use folder::{LOGS, unwritable, write_line};

pub(crate) use folder::{Folder, RESULTS};
pub use folder::{StoreError, new_dir, write_json, write_whole};

/// Name of the link to the sweep that began last.
pub(crate) const LATEST: &str = "latest";

/// The directory of one sweep, open for writing and locked against others. A new one that holds no cell when it is
/// dropped takes itself back.
#[derive(Debug)]
pub struct Store {
    folder: Folder,
}

impl Store {
    /// Makes the directory `out`, or a new one under `results/`, and makes sure that it can be written and holds no run.
    /// `results/latest` will point to the new one as soon as it holds a cell.
    ///
    /// # Errors
    ///
    /// [`StoreError`].
    pub fn create(out: Option<&Path>, matrix: &str) -> Result<Self, StoreError> {
        let folder = Folder::create(out, matrix, CELLS_FILE, LATEST)?;
        Ok(Self { folder })
    }

    /// Opens the directory of a sweep that was cut short. Nothing is changed before [`Store::go_on`].
    ///
    /// # Errors
    ///
    /// [`ReadError`](report::ReadError) if there is no run in it; [`StoreError`].
    pub fn reopen(dir: &Path) -> anyhow::Result<(Self, Record)> {
        // Before the file is opened, which would make one where there is none.
        report::read(dir)?;
        let folder = Folder::reopen(dir, CELLS_FILE)?;
        // Again, now that nobody else writes to it.
        let record = report::read(dir)?;
        Ok((Self { folder }, record))
    }

    /// Makes a directory that was opened again ready for more cells: the line that a crash cut short is cut off, and
    /// run.json says that the sweep was resumed.
    ///
    /// # Errors
    ///
    /// [`StoreError`].
    pub fn go_on(&mut self, record: &Record) -> Result<(), StoreError> {
        for file in LOGS {
            let path = self.dir().join(file);
            end_last_line(&path).map_err(|error| unwritable(&path, error))?;
        }
        self.write_run(&record.run)
    }

    /// The directory.
    #[must_use]
    pub fn dir(&self) -> &Path {
        self.folder.dir()
    }

    /// Writes run.json.
    ///
    /// # Errors
    ///
    /// [`StoreError`].
    pub fn write_run(&self, run: &Run) -> Result<(), StoreError> {
        self.folder.write(RUN_FILE, run)
    }

    /// Appends a cell to cells.jsonl, and has it on disk when it returns: a crash later on does not lose it.
    ///
    /// # Errors
    ///
    /// [`StoreError`].
    pub fn append(&mut self, cell: &Cell) -> Result<(), StoreError> {
        self.folder.append(cell)
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
        let path = self.dir().join(file);
        let file = File::options().append(true).create(true).open(&path);
        file.and_then(|mut file| write_line(&mut file, record))
            .map_err(|error| unwritable(&path, error))
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
        store.folder.log = File::options().write(true).open("/dev/full").unwrap();
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
    fn hashes_are_hexadecimal() {
        assert!(sha256(b"").starts_with("e3b0c44298fc1c14"));
        assert_eq!(sha256(b"").len(), 64);
    }
}
