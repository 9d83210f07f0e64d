//! One model of a figure, and its backends.
//!
//! [`pictures`] makes figures from findings; [`svg`] draws them, [`png`] makes pixels of the drawing, and
//! [`interactive`] makes curves of them that a reader can zoom and point at. What a figure says is decided once, here.

mod decline;
mod fixed_rates;
pub mod interactive;
mod knees;
mod measure;
pub mod palette;
pub mod pictures;
pub mod png;
pub mod scale;
pub mod svg;

use palette::{Fill, PALE, Rgb, Style};
use scale::Scale;

use crate::quantity::Quantity;

/// A figure: a title and one or two panels side by side.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Name of its files, without the ending.
    pub name: &'static str,
    /// What is shown.
    pub title: String,
    /// Under which circumstances, and how to read it.
    pub subtitle: String,
    /// The panels, left to right.
    pub panels: Vec<Panel>,
    /// Remarks below, a line each: which points are hollow, and why.
    pub notes: Vec<String>,
}

/// One plot of a figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Panel {
    /// What this panel shows of the figure's subject.
    pub heading: String,
    /// Its content.
    pub plot: Plot,
}

/// The content of a panel.
#[derive(Clone, Debug, PartialEq)]
pub enum Plot {
    /// Lines.
    Curves(Curves),
    /// A bar per entrant.
    Bars(Bars),
    /// Points on a line of their own.
    Dots(Dots),
}

/// Lines over a common x axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Curves {
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// The lines, from the bottom of the ladder to its top.
    pub series: Vec<Series>,
}

/// One axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// What it counts, with the unit.
    pub title: String,
    /// How its values are written.
    pub quantity: Quantity,
    /// How values become positions.
    pub scale: Scale,
    /// What is written on it.
    pub ticks: Vec<Tick>,
}

/// A value that is written on an axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Tick {
    /// Where.
    pub value: f64,
    /// What.
    pub label: String,
}

/// One line.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Its name.
    pub label: String,
    /// How it looks.
    pub style: Style,
    /// Medians over rounds, by ascending x, in unbroken stretches: where an entrant has no valid cell the line ends.
    pub stretches: Vec<Vec<PlotPoint>>,
    /// Invalid cells that show a value all the same: drawn hollow, off the line.
    pub invalid: Vec<(f64, f64)>,
    /// Where on the horizontal axis it is proven to turn for the worse.
    pub knee: Option<f64>,
}

/// A median over rounds, with its 95% interval or its range, as the figure's subtitle says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlotPoint {
    /// Where on the horizontal axis.
    pub x: f64,
    /// The median.
    pub y: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Drawn pale: the load generator's value, not the server's.
    pub pale: bool,
}

/// A bar per entrant along a common, zero-based axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Bars {
    /// The axis along the bars.
    pub axis: Axis,
    /// The parts that are stacked, from the axis outwards; empty where a bar is one piece.
    pub parts: Vec<BarPart>,
    /// The bars, from the bottom of the ladder to its top.
    pub rows: Vec<Bar>,
}

/// A part of every bar.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BarPart {
    /// What it is.
    pub name: &'static str,
    /// How it looks.
    pub fill: Fill,
}

/// One bar.
#[derive(Clone, Debug, PartialEq)]
pub struct Bar {
    /// Whose.
    pub label: String,
    /// How it looks.
    pub style: Style,
    /// Its length; none where no cell was valid.
    pub value: Option<BarValue>,
    /// Invalid cells that show a value all the same: drawn hollow.
    pub invalid: Vec<f64>,
}

/// The length of a bar.
#[derive(Clone, Debug, PartialEq)]
pub struct BarValue {
    /// Lengths of its parts, from the axis outwards. They add up to the median.
    pub parts: Vec<f64>,
    /// Lower end of its interval or range, as the figure's subtitle says.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// What is written at its end.
    pub text: String,
    /// A second remark, such as the ratio to the control.
    pub remark: Option<String>,
}

/// A line per subject with a point for each way in which it was measured, along a common axis; figures beside them.
#[derive(Clone, Debug, PartialEq)]
pub struct Dots {
    /// The axis along the lines.
    pub axis: Axis,
    /// The ways, for the legend.
    pub ways: Vec<Way>,
    /// What the columns of figures are.
    pub columns: Vec<String>,
    /// The lines, from the bottom upwards.
    pub rows: Vec<DotRow>,
}

/// A way in which subjects were measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Way {
    /// What the legend says.
    pub name: &'static str,
    /// How its points look.
    pub style: Style,
}

/// One line of points; without anything it is a gap between two groups of lines.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DotRow {
    /// The subject.
    pub label: String,
    /// What was measured of it; set faint.
    pub detail: String,
    /// Its points.
    pub dots: Vec<Dot>,
    /// A figure for each of [`Dots::columns`].
    pub figures: Vec<String>,
}

/// One point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dot {
    /// Which of [`Dots::ways`].
    pub way: usize,
    /// Where it is.
    pub value: f64,
    /// Lower end of what is drawn around it.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl PlotPoint {
    /// Its marker's colour in a series of that colour.
    #[must_use]
    pub fn colour(&self, of_series: Rgb) -> Rgb {
        of_series.tint(if self.pale { PALE } else { 0.0 })
    }
}

impl Series {
    /// Its points, whichever stretch they are in.
    pub fn points(&self) -> impl Iterator<Item = &PlotPoint> {
        self.stretches.iter().flatten()
    }
}

impl Bars {
    /// How a part looks, by its position.
    #[must_use]
    pub fn fill(&self, part: usize) -> Fill {
        self.parts
            .get(part)
            .map_or(Fill::OfBar { white: 0.0 }, |part| part.fill)
    }
}

impl BarValue {
    /// Length of the whole bar.
    #[must_use]
    pub fn total(&self) -> f64 {
        self.parts.iter().sum()
    }
}
