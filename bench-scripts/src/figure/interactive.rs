//! Curves that a reader can zoom and point at, by plotly.js, offline.

use plotly::common::{
    DashType, ErrorData, ErrorType, Fill, Font, HoverInfo, Line, Marker as PlotlyMarker,
    MarkerSymbol, Mode, TickMode, Title,
};
use plotly::layout::{Axis as PlotlyAxis, AxisRange, AxisType, HoverMode, Margin};
use plotly::{Layout, Plot, Scatter};

use super::palette::{Dash, Marker, Rgb, Style};
use super::scale::Scale;
use super::{Axis, Curves, PlotPoint, Series};
use crate::quantity::Quantity;

/// How much of a line's colour the band around it has, 0 to 1.
const BAND_OPACITY: f64 = 0.16;

/// The `<script>` element with plotly.js itself. Once per page.
///
/// plotly's crate gives it together with MathJax, which no figure of ours uses and which is left out.
#[must_use]
pub fn library() -> String {
    let scripts = Plot::offline_js_sources();
    let end_tag = "</script>";
    let end = scripts
        .find(end_tag)
        .expect("plotly's crate embeds plotly.js in a script element");
    scripts[..end + end_tag.len()].to_owned()
}

/// What plotly.js draws the curves from, as JSON: `data`, a band and a line for each series, and `layout`.
///
/// A trace's `legendgroup` is what a reader toggles it by: the label of the entrant among `looks` that has the series'
/// looks, which are the same in all figures of a run; without one, the series' own label.
///
/// Left to the page are the colours of text, grid and background and of pale points, since it knows whether it is light or dark, the
/// legend, and the title of the vertical axis, which is easier to read above it.
#[must_use]
pub fn chart(curves: &Curves, looks: &[(&str, Style)]) -> String {
    let group = |series: &Series| {
        let known = looks.iter().find(|(_, style)| *style == series.style);
        known.map_or(series.label.clone(), |(label, _)| (*label).to_owned())
    };
    let mut plot = Plot::new();
    for series in &curves.series {
        plot.add_trace(band(series, &group(series)));
    }
    for series in &curves.series {
        plot.add_trace(line(series, &group(series), curves.y.quantity));
        if !series.invalid.is_empty() {
            plot.add_trace(invalid_points(series, &group(series)));
        }
    }
    plot.set_layout(layout(curves));
    plot.to_json()
}

/// The area between the lower and the upper ends of a line's points.
fn band(series: &Series, group: &str) -> Box<Scatter<f64, Option<f64>>> {
    let (mut x, mut y) = (Vec::new(), Vec::new());
    for stretch in series.stretches.iter().filter(|points| points.len() > 1) {
        let ends = stretch.iter().map(|point| (point.x, Some(point.high)));
        let back = stretch.iter().rev().map(|point| (point.x, Some(point.low)));
        let gap = stretch.first().map(|point| (point.x, None));
        for (place, end) in ends.chain(back).chain(gap) {
            x.push(place);
            y.push(end);
        }
    }
    let Rgb(red, green, blue) = series.style.colour;
    Scatter::new(x, y)
        .name(&series.label)
        .legend_group(group)
        .mode(Mode::Lines)
        .line(Line::new().width(0.0))
        .fill(Fill::ToSelf)
        .fill_color(format!("rgba({red},{green},{blue},{BAND_OPACITY})"))
        .hover_info(HoverInfo::Skip)
}

fn line(series: &Series, group: &str, quantity: Quantity) -> Box<Scatter<f64, Option<f64>>> {
    let mut line = LineData::default();
    for stretch in &series.stretches {
        if let (false, Some(first)) = (line.x.is_empty(), stretch.first()) {
            line.push_gap(first.x, series.style.colour);
        }
        for point in stretch {
            line.push(point, series, quantity);
            // A band needs two points: a point alone has whiskers.
            let (above, below) = match stretch.len() {
                1 => (point.high - point.y, point.y - point.low),
                _ => (0.0, 0.0),
            };
            line.above.push(above);
            line.below.push(below);
        }
    }
    let whiskers = ErrorData::new(ErrorType::Data)
        .symmetric(false)
        .array(line.above)
        .array_minus(line.below)
        .thickness(1.0)
        .width(3);
    Scatter::new(line.x, line.y)
        .name(&series.label)
        .legend_group(group)
        .mode(Mode::LinesMarkers)
        .line(
            Line::new()
                .color(series.style.colour.css())
                .width(2.0)
                .dash(dash(series.style.dash)),
        )
        .marker(
            PlotlyMarker::new()
                .size(8)
                .color_array(line.colours)
                .symbol(symbol(series.style.marker)),
        )
        .error_y(whiskers)
        .text_array(line.hover)
        .custom_data(line.values)
        .connect_gaps(false)
        .hover_template("%{text}<extra></extra>")
}

/// A line's points in the columns that plotly wants; a gap is a point without y.
#[derive(Default)]
struct LineData {
    x: Vec<f64>,
    y: Vec<Option<f64>>,
    above: Vec<f64>,
    below: Vec<f64>,
    /// What the point says, for readers who do not see it.
    values: Vec<String>,
    /// The same as a line of the hover box.
    hover: Vec<String>,
    colours: Vec<String>,
}

impl LineData {
    fn push(&mut self, point: &PlotPoint, series: &Series, quantity: Quantity) {
        let value = range_in_words(point, quantity);
        self.colours.push(point.colour(series.style.colour).css());
        self.x.push(point.x);
        self.y.push(Some(point.y));
        self.hover.push(hover_line(&series.label, &value));
        self.values.push(value);
    }

    fn push_gap(&mut self, x: f64, colour: Rgb) {
        self.x.push(x);
        self.y.push(None);
        self.above.push(0.0);
        self.below.push(0.0);
        self.values.push(String::new());
        self.hover.push(String::new());
        self.colours.push(colour.css());
    }
}

fn invalid_points(series: &Series, group: &str) -> Box<Scatter<f64, f64>> {
    let (x, y) = series.invalid.iter().copied().unzip();
    Scatter::new(x, y)
        .name(&series.label)
        .legend_group(group)
        .mode(Mode::Markers)
        .marker(
            PlotlyMarker::new()
                .size(10)
                .color(series.style.colour.css())
                .symbol(hollow_symbol(series.style.marker)),
        )
        .text_array(vec![
            hover_line(&series.label, "invalid cell, in no median");
            series.invalid.len()
        ])
        .hover_template("%{text}<extra></extra>")
}

/// plotly.js reads its texts as HTML; a label is foreign text.
fn hover_line(label: &str, value: &str) -> String {
    let label = label
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;");
    format!("<b>{label}</b>  {value}")
}

fn range_in_words(point: &PlotPoint, quantity: Quantity) -> String {
    let median = quantity.write(point.y);
    if point.high > point.low {
        let (low, high) = (quantity.write(point.low), quantity.write(point.high));
        format!("{median} ({low} to {high})")
    } else {
        median
    }
}

fn layout(curves: &Curves) -> Layout {
    Layout::new()
        .auto_size(true)
        .font(Font::new().family("system-ui, sans-serif").size(13))
        .paper_background_color("rgba(0,0,0,0)")
        .plot_background_color("rgba(0,0,0,0)")
        .hover_mode(HoverMode::XUnified)
        .show_legend(false)
        .margin(Margin::new().left(56).right(16).top(8).bottom(48))
        .x_axis(
            axis(&curves.x)
                .title(Title::with_text(&curves.x.title).font(Font::new().size(13)))
                .show_grid(false)
                .zero_line(false),
        )
        .y_axis(axis(&curves.y).auto_margin(true).zero_line(false))
}

fn axis(axis: &Axis) -> PlotlyAxis {
    let (kind, from, to) = match axis.scale {
        Scale::Linear { min, max } => (AxisType::Linear, min, max),
        // plotly gives the ends of a logarithmic axis as powers of ten.
        Scale::Log { min, max } => (AxisType::Log, min.log10(), max.log10()),
    };
    PlotlyAxis::new()
        .type_(kind)
        .range(AxisRange::new(from, to))
        .tick_mode(TickMode::Array)
        .tick_values(axis.ticks.iter().map(|tick| tick.value).collect())
        .tick_text(axis.ticks.iter().map(|tick| tick.label.clone()).collect())
}

fn dash(dash: Dash) -> DashType {
    match dash {
        Dash::Solid => DashType::Solid,
        Dash::Dashed => DashType::Dash,
        Dash::Dotted => DashType::Dot,
    }
}

fn symbol(marker: Marker) -> MarkerSymbol {
    match marker {
        Marker::Circle => MarkerSymbol::Circle,
        Marker::Square => MarkerSymbol::Square,
        Marker::Diamond => MarkerSymbol::Diamond,
        Marker::TriangleUp => MarkerSymbol::TriangleUp,
        Marker::TriangleDown => MarkerSymbol::TriangleDown,
    }
}

fn hollow_symbol(marker: Marker) -> MarkerSymbol {
    match marker {
        Marker::Circle => MarkerSymbol::CircleOpen,
        Marker::Square => MarkerSymbol::SquareOpen,
        Marker::Diamond => MarkerSymbol::DiamondOpen,
        Marker::TriangleUp => MarkerSymbol::TriangleUpOpen,
        Marker::TriangleDown => MarkerSymbol::TriangleDownOpen,
    }
}
