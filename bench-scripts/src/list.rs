//! `rungs list`: what can be entered, and in which matrices.

use comfy_table::Table;

use crate::ladder;
use crate::matrix::Matrix;
use crate::plan;
use crate::progress::in_words;
use crate::table;

/// The entrants and the built-in matrices, as text.
#[must_use]
pub fn text() -> String {
    format!(
        "Entrants, from the bottom of the ladder to its top:\n{}\n\n\
         Matrices (rungs sweep --matrix NAME, or a TOML file of yours: see docs/matrices.md):\n{}",
        entrants().trim_fmt(),
        matrices().trim_fmt()
    )
}

fn entrants() -> Table {
    let mut table = table::plain(&["entrant", "what it is"]);
    for rung in ladder::RUNGS {
        table.add_row([rung.name, rung.about]);
    }
    table
}

fn matrices() -> Table {
    let mut table = table::plain(&[
        "matrix",
        "cells",
        "time, about",
        "connections",
        "what it is for",
    ]);
    for matrix in Matrix::builtin() {
        table.add_row([
            matrix.name.clone(),
            plan::cells(&matrix).to_string(),
            in_words(plan::sweep_time(&matrix)),
            connections(&matrix),
            matrix.about.clone(),
        ]);
    }
    table
}

fn connections(matrix: &Matrix) -> String {
    match matrix.connections[..] {
        [only] => only.to_string(),
        [first, .., last] => format!("{first} to {last}"),
        [] => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_rungs_and_matrices_are_listed() {
        let text = text();
        for name in [
            "rungs sweep",
            "null",
            "epoll",
            "axum",
            "smoke",
            "quick",
            "article",
            "c10k",
        ] {
            assert!(text.contains(name), "{name} is missing:\n{text}");
        }
    }
}
