//! A bar per entrant; the bottom of the ladder is at the bottom.

use super::canvas::{Anchor, Canvas, Frame, Ink, Pixel, Text, text_width};
use crate::figure::palette::{Fill, Rgb};
use crate::figure::{Bar, BarPart, BarValue, Bars};

const LABEL_SIZE: i32 = 13;
const TICK_SIZE: i32 = 12;
/// A row is no higher than this, however few there are.
const ROW_HEIGHT_MAX: i32 = 72;
const TEXT_GAP: i32 = 12;

pub(super) fn draw(canvas: &Canvas, plot: &Bars, frame: Frame) {
    let mut frame = frame;
    if !plot.parts.is_empty() {
        draw_legend(canvas, &plot.parts, frame);
        frame.top += 26;
    }
    let inner = inner_frame(plot, frame);
    draw_axis(canvas, plot, inner);
    let rows = plot.rows.len().max(1) as i32;
    let height = (inner.bottom - inner.top) / rows;
    for (position, row) in plot.rows.iter().enumerate() {
        let middle = inner.bottom - height * position as i32 - height / 2;
        draw_row(canvas, plot, row, inner, middle, height);
    }
    canvas.line(
        &[(inner.left, inner.top), (inner.left, inner.bottom)],
        Ink::Faint.rgb(),
        1,
    );
}

/// Room for the bars: what the labels on the left, the figures on the right and the axis below leave.
fn inner_frame(plot: &Bars, frame: Frame) -> Frame {
    let labels = plot
        .rows
        .iter()
        .map(|row| text_width(&row.label, LABEL_SIZE));
    let figures = plot
        .rows
        .iter()
        .filter_map(|row| row.value.as_ref())
        .map(|value| figures_width(value) + TEXT_GAP);
    let rows = plot.rows.len().max(1) as i32;
    let bottom = frame.bottom - 48;
    let top = frame.top.max(bottom - rows * ROW_HEIGHT_MAX);
    Frame {
        left: frame.left + labels.max().unwrap_or(0) + TEXT_GAP,
        top: i32::midpoint(frame.top, top),
        right: frame.right - figures.max().unwrap_or(0),
        bottom: bottom - (top - frame.top) / 2,
    }
}

fn figures_width(value: &BarValue) -> i32 {
    let remark = value.remark.as_deref();
    text_width(&value.text, LABEL_SIZE)
        + remark.map_or(0, |remark| TEXT_GAP + text_width(remark, LABEL_SIZE))
}

/// Squares filled like a bar's parts.
fn draw_legend(canvas: &Canvas, parts: &[BarPart], frame: Frame) {
    let mut x = frame.left;
    for part in parts {
        let ends = ((x, frame.top), (x + 12, frame.top + 12));
        draw_part(canvas, part.fill, Ink::Faint.rgb(), ends);
        let text = Text::new(TICK_SIZE).ink(Ink::Faint);
        canvas.text(part.name, (x + 18, frame.top + 6), text);
        x += 18 + text_width(part.name, TICK_SIZE) + 20;
    }
}

/// A rectangle filled as a part of a bar of that colour.
fn draw_part(canvas: &Canvas, fill: Fill, of_bar: Rgb, (from, to): (Pixel, Pixel)) {
    match fill {
        Fill::OfBar { white } => canvas.bar(from, to, of_bar.tint(white)),
        Fill::Plain(colour) => canvas.bar(from, to, colour),
        Fill::Striped(colour) => canvas.striped_bar(from, to, colour),
    }
}

fn draw_axis(canvas: &Canvas, plot: &Bars, inner: Frame) {
    let mut free_from = i32::MIN;
    for tick in &plot.axis.ticks {
        let x = inner.x(plot.axis.scale.position(tick.value));
        canvas.line(&[(x, inner.top), (x, inner.bottom)], Ink::Grid.rgb(), 1);
        let half = text_width(&tick.label, TICK_SIZE) / 2;
        if x - half >= free_from {
            let text = Text::new(TICK_SIZE).ink(Ink::Faint).anchor(Anchor::Middle);
            canvas.text(&tick.label, (x, inner.bottom + 14), text);
            free_from = x + half + 10;
        }
    }
    let title = Text::new(TICK_SIZE).ink(Ink::Faint).anchor(Anchor::Middle);
    let middle = i32::midpoint(inner.left, inner.right);
    canvas.text(&plot.axis.title, (middle, inner.bottom + 38), title);
}

fn draw_row(canvas: &Canvas, plot: &Bars, row: &Bar, inner: Frame, middle: i32, height: i32) {
    let label = Text::new(LABEL_SIZE).anchor(Anchor::Right);
    canvas.text(&row.label, (inner.left - TEXT_GAP, middle), label);
    let x = |value: f64| inner.x(plot.axis.scale.position(value));
    if let Some(value) = &row.value {
        draw_value(canvas, plot, row.style.colour, value, x, middle, height);
    } else {
        let end = row.invalid.iter().map(|value| x(*value)).max();
        let after = end.unwrap_or(inner.left) + TEXT_GAP;
        let text = Text::new(LABEL_SIZE).ink(Ink::Faint);
        canvas.text("no valid cell", (after, middle), text);
    }
    for &value in &row.invalid {
        canvas.hollow_marker((x(value), middle), row.style.marker, row.style.colour);
    }
}

fn draw_value(
    canvas: &Canvas,
    plot: &Bars,
    colour: Rgb,
    value: &BarValue,
    x: impl Fn(f64) -> i32,
    middle: i32,
    height: i32,
) {
    let half = (height * 3 / 10).max(3);
    let mut from = 0.0;
    for (position, part) in value.parts.iter().enumerate() {
        let to = from + part;
        let ends = ((x(from), middle - half), (x(to), middle + half));
        draw_part(canvas, plot.fill(position), colour, ends);
        from = to;
    }
    let mut end = x(from);
    if value.high > value.low {
        draw_whisker(canvas, x(value.low), x(value.high), middle);
        end = end.max(x(value.high));
    }
    let text = Text::new(LABEL_SIZE).bold();
    canvas.text(&value.text, (end + TEXT_GAP, middle), text);
    if let Some(remark) = &value.remark {
        let after = end + TEXT_GAP + text_width(&value.text, LABEL_SIZE) + TEXT_GAP;
        canvas.text(
            remark,
            (after, middle),
            Text::new(LABEL_SIZE).ink(Ink::Faint),
        );
    }
}

fn draw_whisker(canvas: &Canvas, low: i32, high: i32, middle: i32) {
    let ink = Ink::Strong.rgb();
    canvas.line(&[(low, middle), (high, middle)], ink, 1);
    for x in [low, high] {
        canvas.line(&[(x, middle - 4), (x, middle + 4)], ink, 1);
    }
}
