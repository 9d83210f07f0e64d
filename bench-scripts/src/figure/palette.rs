//! How entrants look: the same in every figure of a run, and told apart without colour too.
//!
//! The colours are those of Okabe and Ito, "Color Universal Design" (2008), which people with any of the common colour
//! vision deficiencies can tell apart. Left out are their yellow, too pale for a line on white, and their black, which a dark
//! page swallows.

use crate::findings::Part;

/// A colour.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Rgb(pub u8, pub u8, pub u8);

impl Rgb {
    /// As CSS writes it, `#0072b2`.
    #[must_use]
    pub fn css(self) -> String {
        format!("#{:02x}{:02x}{:02x}", self.0, self.1, self.2)
    }

    /// The colour with so much white in it, 0 to 1.
    #[must_use]
    pub fn tint(self, white: f64) -> Self {
        let mix = |channel: u8| (f64::from(channel) * (1.0 - white) + 255.0 * white).round() as u8;
        Self(mix(self.0), mix(self.1), mix(self.2))
    }
}

/// How an entrant looks.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Style {
    /// Colour of line, marker and bar.
    pub colour: Rgb,
    /// Shape of its points.
    pub marker: Marker,
    /// Pattern of its line.
    pub dash: Dash,
}

/// Share of white in what is drawn pale.
pub const PALE: f64 = 0.6;

/// What a part of a bar is filled with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fill {
    /// The bar's own colour.
    OfBar {
        /// Share of white in it, 0 to 1.
        white: f64,
    },
    /// A colour that means the same in every bar.
    Plain(Rgb),
    /// Stripes of such a colour: time in which nothing ran.
    Striped(Rgb),
}

/// Shape of a point.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Marker {
    /// ●
    Circle,
    /// ■
    Square,
    /// ◆
    Diamond,
    /// ▲
    TriangleUp,
    /// ▼
    TriangleDown,
}

/// Pattern of a line.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Dash {
    /// Unbroken.
    Solid,
    /// Long dashes.
    Dashed,
    /// Short dashes.
    Dotted,
}

/// How many colours there are.
pub const HUES: usize = 6;

const COLOURS: [Rgb; HUES] = [
    Rgb(0x00, 0x72, 0xb2),
    Rgb(0xe6, 0x9f, 0x00),
    Rgb(0x00, 0x9e, 0x73),
    Rgb(0xd5, 0x5e, 0x00),
    Rgb(0xcc, 0x79, 0xa7),
    Rgb(0x56, 0xb4, 0xe9),
];

const MARKERS: [Marker; 5] = [
    Marker::Circle,
    Marker::Square,
    Marker::Diamond,
    Marker::TriangleUp,
    Marker::TriangleDown,
];

const CONTROL_COLOUR: Rgb = Rgb(0x76, 0x76, 0x76);

/// Of a part of a request's time: a hue for each side, stripes where it waits.
#[must_use]
pub fn part(part: Part) -> Fill {
    let [blue, orange, .., sky] = COLOURS;
    match part {
        Part::ServerUser => Fill::Plain(blue),
        Part::ServerKernel => Fill::Plain(sky),
        Part::ServerWaiting => Fill::Striped(blue),
        Part::Client => Fill::Plain(orange),
        Part::ClientWaiting => Fill::Striped(orange),
        Part::Others => Fill::Plain(CONTROL_COLOUR),
        Part::Idle => Fill::Striped(CONTROL_COLOUR),
    }
}

/// Of a variant of a contestant, both counted from 0: a rung keeps its colour, its variants differ in line and marker.
/// Colours return after six rungs, with other markers.
#[must_use]
pub fn contestant(rung: usize, variant: usize) -> Style {
    Style {
        colour: COLOURS[rung % COLOURS.len()],
        marker: MARKERS[(rung + 2 * variant) % MARKERS.len()],
        dash: [Dash::Solid, Dash::Dotted, Dash::Dashed][variant % 3],
    }
}

/// Of a variant of the control, from 0: grey, and never a solid line.
#[must_use]
pub fn control(variant: usize) -> Style {
    Style {
        colour: CONTROL_COLOUR,
        marker: MARKERS[variant % MARKERS.len()],
        dash: [Dash::Dashed, Dash::Dotted][variant % 2],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_entrants_look_alike() {
        let mut seen = Vec::new();
        for rung in 0..10 {
            for variant in 0..3 {
                let style = contestant(rung, variant);
                assert!(!seen.contains(&style), "variant {variant} of rung {rung}");
                seen.push(style);
            }
        }
        assert_ne!(control(0), control(1));
    }

    #[test]
    fn tints_go_to_white() {
        assert_eq!(Rgb(0, 100, 255).tint(0.0), Rgb(0, 100, 255));
        assert_eq!(Rgb(0, 100, 255).tint(1.0), Rgb(255, 255, 255));
        assert_eq!(Rgb(0, 114, 178).css(), "#0072b2");
    }
}
