//! Curves that a reader can zoom and point at, by plotly.js, offline.

use plotly::common::{
    DashType, ErrorData, ErrorType, Font, Line, Marker as PlotlyMarker, MarkerSymbol, Mode,
    Orientation, TickMode, Title,
};
use plotly::configuration::DisplayModeBar;
use plotly::layout::{Axis as PlotlyAxis, AxisRange, AxisType, HoverMode, Legend, Margin};
use plotly::{Configuration, Layout, Plot, Scatter};

use super::palette::{Dash, Marker, Rgb};
use super::scale::Scale;
use super::{Axis, Curves, PlotPoint, Series};
use crate::quantity::Quantity;

/// The `<script>` element with plotly.js itself, which every fragment needs before it. Once per page.
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

/// A `<div>` with the given id and the `<script>` that draws the curves into it.
///
/// Left to the page are the colours of text, grid and background, since it knows whether it is light or dark, and the
/// title of the vertical axis, which is easier to read above it.
#[must_use]
pub fn fragment(curves: &Curves, id: &str) -> String {
    let mut plot = Plot::new();
    for series in &curves.series {
        plot.add_trace(line(series, curves.y.quantity));
        if !series.invalid.is_empty() {
            plot.add_trace(invalid_points(series));
        }
    }
    plot.set_layout(layout(curves));
    plot.set_configuration(
        Configuration::new()
            .responsive(true)
            .display_logo(false)
            .display_mode_bar(DisplayModeBar::False),
    );
    plot.to_inline_html(Some(id))
}

fn line(series: &Series, quantity: Quantity) -> Box<Scatter<f64, Option<f64>>> {
    let mut line = LineData::default();
    for stretch in &series.stretches {
        if let (false, Some(first)) = (line.x.is_empty(), stretch.first()) {
            line.push_gap(first.x, series.style.colour);
        }
        for point in stretch {
            line.push(point, quantity, series.style.colour);
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
        .legend_group(&series.label)
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
        .text_array(line.text)
        .connect_gaps(false)
        .hover_template(format!("<b>{}</b>  %{{text}}<extra></extra>", series.label))
}

/// A line's points in the columns that plotly wants; a gap is a point without y.
#[derive(Default)]
struct LineData {
    x: Vec<f64>,
    y: Vec<Option<f64>>,
    above: Vec<f64>,
    below: Vec<f64>,
    text: Vec<String>,
    colours: Vec<String>,
}

impl LineData {
    fn push(&mut self, point: &PlotPoint, quantity: Quantity, colour: Rgb) {
        self.colours.push(point.colour(colour).css());
        self.x.push(point.x);
        self.y.push(Some(point.y));
        self.above.push(point.high - point.y);
        self.below.push(point.y - point.low);
        self.text.push(range_in_words(point, quantity));
    }

    fn push_gap(&mut self, x: f64, colour: Rgb) {
        self.x.push(x);
        self.y.push(None);
        self.above.push(0.0);
        self.below.push(0.0);
        self.text.push(String::new());
        self.colours.push(colour.css());
    }
}

fn invalid_points(series: &Series) -> Box<Scatter<f64, f64>> {
    Scatter::new(
        series.invalid.iter().map(|(x, _)| *x).collect(),
        series.invalid.iter().map(|(_, y)| *y).collect(),
    )
    .name(format!("{}, invalid", series.label))
    .legend_group(&series.label)
    .show_legend(false)
    .mode(Mode::Markers)
    .marker(
        PlotlyMarker::new()
            .size(10)
            .color(series.style.colour.css())
            .symbol(hollow_symbol(series.style.marker)),
    )
    .hover_template(format!(
        "<b>{}</b>  invalid cell, in no median<extra></extra>",
        series.label
    ))
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
        .margin(Margin::new().left(56).right(16).top(8).bottom(48))
        .legend(Legend::new().orientation(Orientation::Horizontal).y(-0.24))
        .x_axis(
            axis(&curves.x)
                .title(Title::with_text(&curves.x.title).font(Font::new().size(13)))
                .show_grid(false),
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
