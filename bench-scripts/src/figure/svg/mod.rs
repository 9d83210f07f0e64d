//! Draws a figure as SVG, on white, 1200 pixels wide.
//!
//! The layout is ours, to the pixel; plotters writes the elements. No font is measured, so the same figure gives the
//! same bytes on every machine.

mod bars;
mod canvas;
mod curves;
mod dots;
mod labels;

use canvas::{Canvas, Frame, Ink, Text};

use super::{Figure, Panel, Plot};

const WIDTH: i32 = 1200;
const HEIGHT: i32 = 640;
const MARGIN: i32 = 36;
const PANEL_GAP: i32 = 44;
const TITLE_BASELINE: i32 = 40;
const SUBTITLE_BASELINE: i32 = 68;
const PANELS_TOP: i32 = 98;
const NOTE_LINE: i32 = 20;

/// The figure as an SVG document with a title and a description for screen readers.
#[must_use]
pub fn draw(figure: &Figure) -> String {
    let notes_height = NOTE_LINE * figure.notes.len() as i32;
    let panels_bottom = panels_bottom(figure);
    let height = panels_bottom + MARGIN + notes_height;
    let mut body = String::new();
    {
        let canvas = Canvas::new(&mut body, WIDTH, height);
        let title = Text::new(22).bold();
        canvas.text(&figure.title, (MARGIN, TITLE_BASELINE), title);
        let small = Text::new(14).ink(Ink::Faint);
        let line = canvas::fit(&figure.subtitle, 14, WIDTH - 2 * MARGIN);
        canvas.text(&line, (MARGIN, SUBTITLE_BASELINE), small);

        for (panel, frame) in figure
            .panels
            .iter()
            .zip(panel_frames(figure.panels.len(), panels_bottom))
        {
            draw_panel(&canvas, panel, frame);
        }
        for (line, note) in figure.notes.iter().enumerate() {
            let y = panels_bottom + MARGIN / 2 + NOTE_LINE * line as i32 + 4;
            let note = canvas::fit(note, 12, WIDTH - 2 * MARGIN);
            canvas.text(&note, (MARGIN, y), Text::new(12).ink(Ink::Faint));
        }
    }
    with_description(&body, figure)
}

/// Lines of points need room for each; all other plots fit what room there is.
fn panels_bottom(figure: &Figure) -> i32 {
    let needed = figure.panels.iter().map(|panel| match &panel.plot {
        Plot::Dots(plot) => PANELS_TOP + dots::height(plot),
        Plot::Curves(_) | Plot::Bars(_) => 0,
    });
    needed.max().unwrap_or(0).max(HEIGHT - MARGIN)
}

/// The panels' places: side by side, equally wide.
fn panel_frames(panels: usize, bottom: i32) -> impl Iterator<Item = Frame> {
    let panels = panels as i32;
    let width = (WIDTH - 2 * MARGIN - PANEL_GAP * (panels - 1)) / panels;
    (0..panels).map(move |position| {
        let left = MARGIN + position * (width + PANEL_GAP);
        Frame {
            left,
            top: PANELS_TOP,
            right: left + width,
            bottom,
        }
    })
}

fn draw_panel(canvas: &Canvas, panel: &Panel, frame: Frame) {
    let mut frame = frame;
    if !panel.heading.is_empty() {
        let heading = Text::new(15).bold();
        canvas.text(&panel.heading, (frame.left, frame.top + 12), heading);
        frame.top += 36;
    }
    match &panel.plot {
        Plot::Curves(plot) => curves::draw(canvas, plot, frame),
        Plot::Bars(plot) => bars::draw(canvas, plot, frame),
        Plot::Dots(plot) => dots::draw(canvas, plot, frame),
    }
}

/// Puts what screen readers read behind the opening tag.
fn with_description(body: &str, figure: &Figure) -> String {
    let (open, rest) = body
        .split_once(">\n")
        .expect("an SVG document begins with its opening tag");
    let title = escape(&figure.title);
    let description = escape(&format!("{}. {}", figure.subtitle, figure.notes.join(". ")));
    format!(
        "{open} role=\"img\" aria-label=\"{title}\">\n<title>{title}</title>\n<desc>{description}</desc>\n{rest}"
    )
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}
