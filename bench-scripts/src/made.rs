//! The made run of `tests/data/made`, as unit tests begin with it.

use std::path::Path;
use std::sync::LazyLock;

use crate::analyse::analyse;
use crate::findings::Findings;
use crate::record::{Cell, Run};
use crate::report::{self, Record};

pub(crate) fn record() -> Record {
    static MADE: LazyLock<Record> = LazyLock::new(|| {
        report::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/made")).unwrap()
    });
    MADE.clone()
}

pub(crate) fn run_and_cells() -> (Run, Vec<Cell>) {
    let Record { run, cells, .. } = record();
    (run, cells)
}

pub(crate) fn findings() -> Findings {
    let (run, cells) = run_and_cells();
    analyse(&run, &cells)
}
