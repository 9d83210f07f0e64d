//! Lines over connections, with a label at the end of each.

use super::canvas::{Anchor, Canvas, Frame, Ink, Pixel, Text, text_width};
use super::labels::spread_apart;
use crate::figure::{Axis, Curves, Series};

const LABEL_SIZE: i32 = 13;
const LABEL_GAP: i32 = 19;
/// From the end of a line to its label: a leader and the label's own marker.
const LEADER: i32 = 26;
const MARKER_ROOM: i32 = 12;
const TICK_SIZE: i32 = 12;
const WHISKER_HALF_WIDTH: i32 = 4;
const KNEE_HALF_HEIGHT: i32 = 13;
const KNEE_WIDTH: u32 = 3;

pub(super) fn draw(canvas: &Canvas, plot: &Curves, frame: Frame) {
    let inner = inner_frame(plot, frame);
    draw_y_axis(canvas, &plot.y, frame, inner);
    draw_x_axis(canvas, &plot.x, inner);
    let place = |x: f64, y: f64| -> Pixel {
        (
            inner.x(plot.x.scale.position(x)),
            inner.y(plot.y.scale.position(y)),
        )
    };
    for series in &plot.series {
        draw_whiskers(canvas, series, place);
    }
    for series in &plot.series {
        draw_line(canvas, series, place);
        if let Some(at) = series.knee.and_then(|x| on_line(series, x, place)) {
            draw_knee(canvas, series, at);
        }
    }
    for series in &plot.series {
        for &(x, y) in &series.invalid {
            canvas.hollow_marker(place(x, y), series.style.marker, series.style.colour);
        }
    }
    draw_labels(canvas, plot, inner, place);
}

/// Room for the lines: what the labels on both sides and the axis titles leave.
fn inner_frame(plot: &Curves, frame: Frame) -> Frame {
    let widest_tick = widest(plot.y.ticks.iter().map(|t| t.label.as_str()), TICK_SIZE);
    let widest_label = widest(plot.series.iter().map(|s| s.label.as_str()), LABEL_SIZE);
    Frame {
        left: frame.left + widest_tick + 12,
        top: frame.top + 30,
        right: frame.right - widest_label - LEADER - MARKER_ROOM,
        bottom: frame.bottom - 48,
    }
}

fn widest<'a>(texts: impl Iterator<Item = &'a str>, size: i32) -> i32 {
    texts.map(|text| text_width(text, size)).max().unwrap_or(0)
}

fn draw_y_axis(canvas: &Canvas, axis: &Axis, frame: Frame, inner: Frame) {
    let title = Text::new(TICK_SIZE).ink(Ink::Faint);
    canvas.text(&axis.title, (frame.left, frame.top + 6), title);
    for tick in &axis.ticks {
        let y = inner.y(axis.scale.position(tick.value));
        canvas.line(&[(inner.left, y), (inner.right, y)], Ink::Grid.rgb(), 1);
        let text = Text::new(TICK_SIZE).ink(Ink::Faint).anchor(Anchor::Right);
        canvas.text(&tick.label, (inner.left - 8, y), text);
    }
}

/// A mark at every count; its number only where it does not touch the one before.
fn draw_x_axis(canvas: &Canvas, axis: &Axis, inner: Frame) {
    let ink = Ink::Faint.rgb();
    canvas.line(
        &[(inner.left, inner.bottom), (inner.right, inner.bottom)],
        ink,
        1,
    );
    let mut free_from = i32::MIN;
    for tick in &axis.ticks {
        let x = inner.x(axis.scale.position(tick.value));
        canvas.line(&[(x, inner.bottom), (x, inner.bottom + 5)], ink, 1);
        let half = text_width(&tick.label, TICK_SIZE) / 2;
        if x - half >= free_from {
            let text = Text::new(TICK_SIZE).ink(Ink::Faint).anchor(Anchor::Middle);
            canvas.text(&tick.label, (x, inner.bottom + 16), text);
            free_from = x + half + 6;
        }
    }
    let title = Text::new(TICK_SIZE).ink(Ink::Faint).anchor(Anchor::Middle);
    let middle = i32::midpoint(inner.left, inner.right);
    canvas.text(&axis.title, (middle, inner.bottom + 38), title);
}

fn draw_whiskers(canvas: &Canvas, series: &Series, place: impl Fn(f64, f64) -> Pixel) {
    let colour = series.style.colour.tint(0.45);
    for point in series.points().filter(|p| p.high > p.low) {
        let (x, low) = place(point.x, point.low);
        let (_, high) = place(point.x, point.high);
        canvas.line(&[(x, low), (x, high)], colour, 1);
        for y in [low, high] {
            let ends = [(x - WHISKER_HALF_WIDTH, y), (x + WHISKER_HALF_WIDTH, y)];
            canvas.line(&ends, colour, 1);
        }
    }
}

fn draw_line(canvas: &Canvas, series: &Series, place: impl Fn(f64, f64) -> Pixel) {
    let style = series.style;
    for stretch in &series.stretches {
        let points: Vec<Pixel> = stretch.iter().map(|p| place(p.x, p.y)).collect();
        canvas.dashed(&points, style.colour, 2, style.dash);
        for (place, point) in points.into_iter().zip(stretch) {
            canvas.marker(place, style.marker, point.colour(style.colour));
        }
    }
}

/// Where the line passes a place between two of its points.
fn on_line(series: &Series, x: f64, place: impl Fn(f64, f64) -> Pixel) -> Option<Pixel> {
    let pairs = series.stretches.iter().flat_map(|points| points.windows(2));
    let around = pairs.map(|pair| [pair[0], pair[1]]);
    let [from, to] = around.into_iter().find(|[a, b]| (a.x..=b.x).contains(&x))?;
    let ((left, start), (right, end)) = (place(from.x, from.y), place(to.x, to.y));
    let (at, _) = place(x, from.y);
    let share = f64::from(at - left) / f64::from((right - left).max(1));
    Some((at, start + (share * f64::from(end - start)).round() as i32))
}

/// A stroke across the line.
fn draw_knee(canvas: &Canvas, series: &Series, (x, y): Pixel) {
    let stroke = [(x, y - KNEE_HALF_HEIGHT), (x, y + KNEE_HALF_HEIGHT)];
    canvas.line(&stroke, series.style.colour, KNEE_WIDTH);
}

fn draw_labels(canvas: &Canvas, plot: &Curves, inner: Frame, place: impl Fn(f64, f64) -> Pixel) {
    let mut ends: Vec<(Pixel, &Series)> = plot
        .series
        .iter()
        .filter_map(|series| {
            let end = series.points().last()?;
            Some((place(end.x, end.y), series))
        })
        .collect();
    ends.sort_by_key(|((_, y), _)| *y);
    let wanted: Vec<i32> = ends.iter().map(|((_, y), _)| *y).collect();
    let places = spread_apart(&wanted, LABEL_GAP, inner.top, inner.bottom);
    let x = inner.right + LEADER;
    for ((end, series), y) in ends.into_iter().zip(places) {
        let leader = [(end.0 + 8, end.1), (x - 16, y), (x - 9, y)];
        canvas.line(&leader, series.style.colour.tint(0.55), 1);
        canvas.marker((x - 2, y), series.style.marker, series.style.colour);
        canvas.text(
            &series.label,
            (x + MARKER_ROOM - 4, y),
            Text::new(LABEL_SIZE),
        );
    }
}
