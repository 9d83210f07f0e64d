//! The made run of `tests/data/made`, in a directory of a test's own.

use std::fs;
use std::path::Path;

use rungs::report::{CELLS_FILE, RATES_FILE, RUN_FILE, TRACES_FILE};
use tempfile::TempDir;

/// A copy of the made run, without its traces.
pub fn copy() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    for name in [RUN_FILE, CELLS_FILE, RATES_FILE] {
        copy_file(&dir, name);
    }
    dir
}

/// A copy of the made run with its traces.
pub fn copy_with_traces() -> TempDir {
    let dir = copy();
    copy_file(&dir, TRACES_FILE);
    dir
}

fn copy_file(dir: &TempDir, name: &str) {
    let made = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/made");
    fs::copy(made.join(name), dir.path().join(name)).unwrap();
}

/// The text of a file of the run.
pub fn rendered(dir: &TempDir, name: &str) -> String {
    fs::read_to_string(dir.path().join(name)).unwrap()
}

/// Rewrites a file of the run.
pub fn edit(dir: &TempDir, name: &str, change: impl FnOnce(String) -> String) {
    let text = rendered(dir, name);
    fs::write(dir.path().join(name), change(text)).unwrap();
}

/// Gives the entrant hyper a label that would do harm, were it taken for HTML.
pub fn name_hostile(dir: &TempDir, label: &str) {
    let names = [RUN_FILE, CELLS_FILE, RATES_FILE, TRACES_FILE];
    for name in names.iter().filter(|name| dir.path().join(name).exists()) {
        edit(dir, name, |text| {
            text.replace("\"hyper\"", &serde_json::to_string(label).unwrap())
        });
    }
}
