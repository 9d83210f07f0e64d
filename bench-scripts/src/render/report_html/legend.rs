//! The buttons that show and hide an entrant's lines, with the symbol of each line.

use crate::figure::palette::{Dash, Marker, Style};
use crate::figure::pictures;
use crate::findings::{Findings, Role};

/// One button.
pub(in crate::render) struct Entry {
    pub(in crate::render) label: String,
    /// What the entrant is, where it is no contestant.
    pub(in crate::render) note: &'static str,
    pub(in crate::render) colour: String,
    /// The line's pattern, as SVG's `stroke-dasharray`.
    pub(in crate::render) dash: &'static str,
    /// The marker's outline, as an SVG path on a field of 28 × 12.
    pub(in crate::render) marker: &'static str,
}

/// One for each entrant, from the bottom of the ladder to its top.
pub(in crate::render) fn entries(findings: &Findings) -> Vec<Entry> {
    pictures::looks(findings)
        .into_iter()
        .zip(&findings.entrants)
        .map(|((label, style), entrant)| Entry {
            note: match entrant.role {
                Role::Control => "control",
                Role::Rung | Role::Foreign | Role::Again => "",
            },
            ..entry(label, style)
        })
        .collect()
}

/// Of a contestant.
pub(in crate::render) fn entry(label: &str, style: Style) -> Entry {
    Entry {
        label: label.to_owned(),
        note: "",
        colour: style.colour.css(),
        dash: match style.dash {
            Dash::Solid => "none",
            Dash::Dashed => "7 4",
            Dash::Dotted => "2 3",
        },
        marker: match style.marker {
            Marker::Circle => "M10 6a4 4 0 1 0 8 0a4 4 0 1 0-8 0z",
            Marker::Square => "M10.3 2.3h7.4v7.4h-7.4z",
            Marker::Diamond => "M14 .8L19.2 6L14 11.2L8.8 6z",
            Marker::TriangleUp => "M14 1.2L18.8 9.6H9.2z",
            Marker::TriangleDown => "M14 10.8L18.8 2.4H9.2z",
        },
    }
}
