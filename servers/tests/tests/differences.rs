//! docs/differences.md is the table's own list of declared differences.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use rungs_conformance::differential::DECLARED;
use rungs_conformance::{cases, differences};

const INTRODUCTION: &str = "\
# Where rungs differ

One table of cases (`servers/tests/src/cases`) holds every rung to the same bytes. Where one may differ, the table says so at that case, with
the reason; a rung that does not show its declared difference fails as well. This is the table's own list. `rungs verify` plays the
table on your machine and prints the same.

`null` is not in it: it answers reads, not requests, and is held to `GET /` and to the contract of the process alone.

Wishes of an RFC beyond hyper's reach are here too: RFC 9112, section 3.2, wants a request without a valid `Host` refused (MUST). The raw
rungs do, hyper leaves it to its users.
";

const GENERATED: &str = "
## Generated requests

Requests that nobody wrote by hand (`servers/tests/tests/differential`) go to the raw rungs, which agree to the byte, and to hyper, which does so
too but for this:

";

/// The page: for each kind of rung, each reason, and the cases that it explains.
fn page() -> String {
    let mut kinds: BTreeMap<String, BTreeMap<&str, Vec<&str>>> = BTreeMap::new();
    for difference in differences() {
        let reasons = kinds.entry(difference.kind.to_string()).or_default();
        reasons
            .entry(difference.why)
            .or_default()
            .push(difference.case);
    }
    let mut page = INTRODUCTION.to_owned();
    let _ = writeln!(page, "\n{} cases in all.", cases().len());
    for (kind, reasons) in kinds {
        let _ = writeln!(page, "\n## {kind}\n");
        for (why, cases) in reasons {
            let _ = writeln!(page, "- {why}");
            for case in cases {
                let _ = writeln!(page, "  - {case}");
            }
        }
    }
    page += GENERATED;
    for difference in DECLARED {
        let _ = writeln!(page, "- {}", difference.why);
    }
    page
}

#[test]
fn the_documented_differences_are_those_of_the_table() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/differences.md");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, page()).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == page(),
        "docs/differences.md is not what the table says: run \
         UPDATE_DOCS=1 cargo test -p rungs-conformance --test differences"
    );
}
