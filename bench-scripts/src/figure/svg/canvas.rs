//! Lines, shapes and text in pixels: the only place that calls plotters.

use plotters::backend::SVGBackend;
use plotters::coord::Shift;
use plotters::drawing::{DrawingArea, DrawingAreaErrorKind, IntoDrawingArea};
use plotters::element::{Circle, DashedPathElement, PathElement, Polygon, Rectangle};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, FontStyle, IntoFont, RGBAColor, RGBColor, ShapeStyle};

use crate::figure::palette::{Dash, Marker, Rgb};

/// The first one that the machine has is used; DejaVu Sans is the one that widths are estimated for.
const FONTS: &str = "DejaVu Sans, Verdana, Helvetica, Arial, sans-serif";

/// plotters writes a font's size divided by this.
const FONT_SIZE_FACTOR: f64 = 1.24;

const MARKER_RADIUS: i32 = 5;

/// From one stripe to the next, pixels along either axis.
const STRIPE_STEP: usize = 8;

/// A point, pixels from the left and from the top.
pub(super) type Pixel = (i32, i32);

/// A rectangle in pixels.
#[derive(Clone, Copy)]
pub(super) struct Frame {
    pub(super) left: i32,
    pub(super) top: i32,
    pub(super) right: i32,
    pub(super) bottom: i32,
}

impl Frame {
    /// The pixel at a share of its width, from the left.
    pub(super) fn x(&self, share: f64) -> i32 {
        self.left + (f64::from(self.right - self.left) * share).round() as i32
    }

    /// The pixel at a share of its height, from the bottom.
    pub(super) fn y(&self, share: f64) -> i32 {
        self.bottom - (f64::from(self.bottom - self.top) * share).round() as i32
    }
}

/// Colour of what is not data.
#[derive(Clone, Copy)]
pub(super) enum Ink {
    /// Titles and labels.
    Strong,
    /// Units and remarks.
    Faint,
    /// Grid lines.
    Grid,
    /// Lines that join points of one subject.
    Line,
}

impl Ink {
    pub(super) fn rgb(self) -> Rgb {
        match self {
            Self::Strong => Rgb(0x1f, 0x23, 0x28),
            Self::Faint => Rgb(0x59, 0x63, 0x6e),
            Self::Grid => Rgb(0xe3, 0xe6, 0xea),
            Self::Line => Rgb(0xb4, 0xbb, 0xc4),
        }
    }
}

/// How a text is set.
#[derive(Clone, Copy)]
pub(super) struct Text {
    size: i32,
    bold: bool,
    ink: Ink,
    anchor: Anchor,
}

/// Which point of a text its position gives; always the vertical middle.
#[derive(Clone, Copy)]
pub(super) enum Anchor {
    Left,
    Middle,
    Right,
}

impl Text {
    pub(super) fn new(size: i32) -> Self {
        Self {
            size,
            bold: false,
            ink: Ink::Strong,
            anchor: Anchor::Left,
        }
    }

    pub(super) fn bold(self) -> Self {
        Self { bold: true, ..self }
    }

    pub(super) fn ink(self, ink: Ink) -> Self {
        Self { ink, ..self }
    }

    pub(super) fn anchor(self, anchor: Anchor) -> Self {
        Self { anchor, ..self }
    }
}

/// What is drawn on.
pub(super) struct Canvas<'a> {
    area: DrawingArea<SVGBackend<'a>, Shift>,
}

impl<'a> Canvas<'a> {
    /// A white one, written to `target`.
    pub(super) fn new(target: &'a mut String, width: i32, height: i32) -> Self {
        let size = (width.unsigned_abs(), height.unsigned_abs());
        let area = SVGBackend::with_string(target, size).into_drawing_area();
        written(area.fill(&RGBColor(255, 255, 255)));
        Self { area }
    }

    pub(super) fn text(&self, text: &str, at: Pixel, look: Text) {
        let size = f64::from(look.size) * FONT_SIZE_FACTOR;
        let weight = if look.bold {
            FontStyle::Bold
        } else {
            FontStyle::Normal
        };
        let horizontal = match look.anchor {
            Anchor::Left => HPos::Left,
            Anchor::Middle => HPos::Center,
            Anchor::Right => HPos::Right,
        };
        let colour = plain(look.ink.rgb());
        let style = (FONTS, size)
            .into_font()
            .style(weight)
            .color(&colour)
            .pos(Pos::new(horizontal, VPos::Center));
        written(self.area.draw_text(text, &style, at));
    }

    pub(super) fn line(&self, points: &[Pixel], colour: Rgb, width: u32) {
        let path = PathElement::new(points.to_vec(), plain(colour).stroke_width(width));
        written(self.area.draw(&path));
    }

    pub(super) fn dashed(&self, points: &[Pixel], colour: Rgb, width: u32, dash: Dash) {
        let (size, gap) = match dash {
            Dash::Solid => return self.line(points, colour, width),
            Dash::Dashed => (9, 6),
            Dash::Dotted => (3, 4),
        };
        let style = plain(colour).stroke_width(width);
        let path = DashedPathElement::new(points.to_vec(), size, gap, style);
        written(self.area.draw(&path));
    }

    pub(super) fn bar(&self, from: Pixel, to: Pixel, colour: Rgb) {
        written(
            self.area
                .draw(&Rectangle::new([from, to], plain(colour).filled())),
        );
    }

    /// A white bar with an outline and slanted stripes.
    pub(super) fn striped_bar(&self, from: Pixel, to: Pixel, colour: Rgb) {
        let ((left, top), (right, bottom)) = (from, to);
        self.bar(from, to, Rgb(255, 255, 255));
        // On a stripe x + y is the same everywhere.
        let first = left + top;
        for sum in (first..right + bottom).step_by(STRIPE_STEP).skip(1) {
            let lower = (sum - bottom).max(left);
            let upper = (sum - top).min(right);
            self.line(&[(lower, sum - lower), (upper, sum - upper)], colour, 2);
        }
        let corners = [from, (right, top), to, (left, bottom), from];
        self.line(&corners, colour, 1);
    }

    /// A filled point with a white rim, so that it stands out from the line below it.
    pub(super) fn marker(&self, at: Pixel, marker: Marker, colour: Rgb) {
        self.shape(at, marker, MARKER_RADIUS + 1, Rgb(255, 255, 255));
        self.shape(at, marker, MARKER_RADIUS, colour);
    }

    /// The outline of a point.
    pub(super) fn hollow_marker(&self, at: Pixel, marker: Marker, colour: Rgb) {
        self.shape(at, marker, MARKER_RADIUS + 1, colour);
        self.shape(at, marker, MARKER_RADIUS - 1, Rgb(255, 255, 255));
    }

    fn shape(&self, at: Pixel, marker: Marker, radius: i32, colour: Rgb) {
        let style: ShapeStyle = plain(colour).filled();
        let corners = match marker {
            Marker::Circle => return written(self.area.draw(&Circle::new(at, radius, style))),
            Marker::Square => vec![(-1, -1), (1, -1), (1, 1), (-1, 1)],
            Marker::Diamond => vec![(0, -1), (1, 0), (0, 1), (-1, 0)],
            Marker::TriangleUp => vec![(0, -1), (1, 1), (-1, 1)],
            Marker::TriangleDown => vec![(0, 1), (1, -1), (-1, -1)],
        };
        // A square of the same radius looks larger than a circle, a diamond smaller.
        let radius = match marker {
            Marker::Square => radius - 1,
            Marker::Diamond => radius + 1,
            Marker::Circle | Marker::TriangleUp | Marker::TriangleDown => radius,
        };
        let corners: Vec<Pixel> = corners
            .into_iter()
            .map(|(x, y)| (at.0 + x * radius, at.1 + y * radius))
            .collect();
        written(self.area.draw(&Polygon::new(corners, style)));
    }
}

fn plain(colour: Rgb) -> RGBAColor {
    RGBColor(colour.0, colour.1, colour.2).to_rgba()
}

/// The backend writes into a string, and its only error is that of writing a file.
fn written<E: std::error::Error + Send + Sync>(result: Result<(), DrawingAreaErrorKind<E>>) {
    result.expect("drawing into a string cannot fail");
}

/// An estimate of a text's width in DejaVu Sans, pixels.
pub(super) fn text_width(text: &str, size: i32) -> i32 {
    let ems: f64 = text
        .chars()
        .map(|c| match c {
            'i' | 'j' | 'l' | ' ' | '.' | ',' | '\'' | '|' | ':' | ';' => 0.32,
            'f' | 't' | 'r' | '(' | ')' | '-' | '/' => 0.40,
            'm' | 'w' | 'M' | 'W' | '%' | '@' => 0.95,
            'A'..='Z' => 0.70,
            _ => 0.62,
        })
        .sum();
    (ems * f64::from(size)).ceil() as i32
}

/// A text, cut short where it is wider than it may be.
pub(super) fn fit(text: &str, size: i32, width: i32) -> String {
    if text_width(text, size) <= width {
        return text.to_owned();
    }
    let mut kept = String::new();
    for c in text.chars() {
        kept.push(c);
        if text_width(&kept, size) > width - size {
            break;
        }
    }
    kept.pop();
    format!("{}…", kept.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_cut_to_fit() {
        assert_eq!(fit("short", 12, 100), "short");
        let cut = fit(&"word ".repeat(100), 12, 100);
        assert!(cut.ends_with('…'));
        assert!(text_width(&cut, 12) <= 100, "{cut}");
    }
}
