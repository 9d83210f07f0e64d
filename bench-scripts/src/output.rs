//! What `rungs` prints on stdout: results only. All else goes to stderr.

use std::fmt::Display;
use std::io::{self, Write, stderr, stdout};
use std::path::Path;

use crate::{index, report};

/// Prints a line. A reader that has seen enough, such as `head`, is no error.
///
/// # Errors
///
/// Those of write(2), but for EPIPE.
pub fn line(text: impl Display) -> io::Result<()> {
    match writeln!(stdout().lock(), "{text}") {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}

/// Says something to the user on stderr, if it can be: a sweep whose log is full goes on.
pub fn note(text: impl Display) {
    let _ = writeln!(stderr().lock(), "{text}");
}

/// Renders the run in `dir`, and prints its table, what it says, and where its report is.
///
/// # Errors
///
/// When the run cannot be read, or its renderings cannot be written.
pub fn report(dir: &Path) -> anyhow::Result<()> {
    let rendered = report::render(dir)?;
    for warning in &rendered.warnings {
        note(warning);
    }
    line(report::terminal_table(&rendered.findings))?;
    line(format_args!(
        "\n{}\n",
        report::terminal_sentences(&rendered.findings)
    ))?;
    line(format_args!(
        "report: {}",
        dir.join("report.html").display()
    ))?;
    Ok(())
}

/// Writes the page over the runs in `results`, and prints where it is.
///
/// # Errors
///
/// When there is no run, or the page cannot be written.
pub fn index(results: &Path) -> anyhow::Result<()> {
    let written = index::write(results)?;
    for warning in &written.warnings {
        note(warning);
    }
    line(format_args!("index: {}", written.page.display()))?;
    Ok(())
}
