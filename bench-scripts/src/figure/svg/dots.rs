//! Points on a line for each subject, with columns of figures on the right.

use super::canvas::{Anchor, Canvas, Frame, Ink, Pixel, Text, text_width};
use crate::figure::{DotRow, Dots};

const LABEL_SIZE: i32 = 13;
const TICK_SIZE: i32 = 12;
const ROW_HEIGHT: i32 = 25;
const GAP: i32 = 12;
/// Above the lines: the legend, and the heads of the columns.
const HEADER: i32 = 52;
/// Below them: the axis and its title.
const FOOTER: i32 = 48;

/// What it needs to draw each line.
pub(super) fn height(plot: &Dots) -> i32 {
    HEADER + ROW_HEIGHT * plot.rows.len() as i32 + FOOTER
}

pub(super) fn draw(canvas: &Canvas, plot: &Dots, frame: Frame) {
    draw_legend(canvas, plot, frame);
    let widths = column_widths(plot);
    let labels = widest(plot, |row| text_width(&row.label, LABEL_SIZE));
    let details = widest(plot, |row| text_width(&row.detail, TICK_SIZE));
    let inner = Frame {
        left: frame.left + labels + GAP + details + GAP,
        top: frame.top + HEADER,
        right: frame.right - widths.iter().map(|width| width + GAP).sum::<i32>(),
        bottom: frame.top + HEADER + ROW_HEIGHT * plot.rows.len() as i32,
    };
    draw_axis(canvas, plot, inner);
    let ends: Vec<i32> = widths
        .iter()
        .scan(inner.right, |right, width| {
            *right += width + GAP;
            Some(*right)
        })
        .collect();
    for (head, &right) in plot.columns.iter().zip(&ends) {
        let text = Text::new(TICK_SIZE).ink(Ink::Faint).anchor(Anchor::Right);
        canvas.text(head, (right, inner.top - GAP), text);
    }
    for (position, row) in plot.rows.iter().enumerate() {
        let middle = inner.bottom - ROW_HEIGHT * position as i32 - ROW_HEIGHT / 2;
        draw_labels(canvas, row, (frame.left + labels, middle));
        draw_dots(canvas, plot, row, inner, middle);
        for (figure, &right) in row.figures.iter().zip(&ends) {
            let text = Text::new(LABEL_SIZE).anchor(Anchor::Right);
            canvas.text(figure, (right, middle), text);
        }
    }
}

fn widest(plot: &Dots, width: fn(&DotRow) -> i32) -> i32 {
    plot.rows.iter().map(width).max().unwrap_or(0)
}

/// As wide as its widest figure, its head included.
fn column_widths(plot: &Dots) -> Vec<i32> {
    let column = |(position, head): (usize, &String)| {
        let figures = plot.rows.iter().filter_map(|row| row.figures.get(position));
        let figures = figures.map(|figure| text_width(figure, LABEL_SIZE));
        figures.chain([text_width(head, TICK_SIZE)]).max()
    };
    plot.columns.iter().enumerate().filter_map(column).collect()
}

fn draw_legend(canvas: &Canvas, plot: &Dots, frame: Frame) {
    let mut x = frame.left + 6;
    for way in &plot.ways {
        canvas.marker((x, frame.top), way.style.marker, way.style.colour);
        let text = Text::new(TICK_SIZE).ink(Ink::Faint);
        canvas.text(way.name, (x + 12, frame.top), text);
        x += 12 + text_width(way.name, TICK_SIZE) + 28;
    }
}

fn draw_axis(canvas: &Canvas, plot: &Dots, inner: Frame) {
    for tick in &plot.axis.ticks {
        let x = inner.x(plot.axis.scale.position(tick.value));
        canvas.line(&[(x, inner.top), (x, inner.bottom)], Ink::Grid.rgb(), 1);
        let text = Text::new(TICK_SIZE).ink(Ink::Faint).anchor(Anchor::Middle);
        canvas.text(&tick.label, (x, inner.bottom + 14), text);
    }
    let text = Text::new(TICK_SIZE).ink(Ink::Faint).anchor(Anchor::Middle);
    let middle = i32::midpoint(inner.left, inner.right);
    canvas.text(&plot.axis.title, (middle, inner.bottom + 36), text);
}

/// The subject, set to the right, and behind it what was measured.
fn draw_labels(canvas: &Canvas, row: &DotRow, (middle_x, middle): Pixel) {
    let strong = Text::new(LABEL_SIZE).anchor(Anchor::Right);
    canvas.text(&row.label, (middle_x, middle), strong);
    let faint = Text::new(TICK_SIZE).ink(Ink::Faint);
    canvas.text(&row.detail, (middle_x + GAP, middle), faint);
}

fn draw_dots(canvas: &Canvas, plot: &Dots, row: &DotRow, inner: Frame, middle: i32) {
    let x = |value: f64| inner.x(plot.axis.scale.position(value));
    let places = || row.dots.iter().map(|dot| x(dot.value));
    if let (Some(first), Some(last)) = (places().min(), places().max())
        && first < last
    {
        canvas.line(&[(first, middle), (last, middle)], Ink::Line.rgb(), 2);
    }
    for dot in &row.dots {
        let Some(way) = plot.ways.get(dot.way) else {
            continue;
        };
        let ends = [(x(dot.low), middle), (x(dot.high), middle)];
        canvas.line(&ends, way.style.colour, 2);
        canvas.marker((x(dot.value), middle), way.style.marker, way.style.colour);
    }
}
