//! Figures A.1 to A.6 of the appendix, drawn of our rows.

use rungs_primitives::channels;
use rungs_primitives::locks;
use rungs_primitives::row::{Family, Placement, Value};

use super::key::{Key, PLACEMENTS, Rows};
use crate::figure::palette::{self, Style};
use crate::figure::pictures::unbroken;
use crate::figure::scale::Scale;
use crate::figure::{Axis, Curves, Figure, Panel, Plot, PlotPoint, Series, Tick};
use crate::quantity::{Quantity, bytes, micros, significant, without_idle_zeros};

/// What a pair of figures is about, and how it is drawn.
struct Subject {
    family: Family,
    /// File names and titles, by placement.
    figures: [(&'static str, &'static str); 2],
    /// What was done.
    how: &'static str,
    /// What the horizontal axis counts, and how its values are written.
    x: (&'static str, fn(f64) -> String),
    /// What the vertical axis counts, and how its values are written.
    y: (&'static str, fn(f64) -> String),
}

const SUBJECTS: [Subject; 3] = [
    Subject {
        family: Family::Bandwidth,
        figures: [
            (
                "figure-a1",
                "Figure A.1: bandwidth by size of message, on one CPU",
            ),
            (
                "figure-a2",
                "Figure A.2: bandwidth by size of message, across CPUs",
            ),
        ],
        how: "one way between two processes",
        x: ("bytes in a message, logarithmic scale", bytes),
        y: ("MB/s (10⁶ bytes), logarithmic scale", significant),
    },
    Subject {
        family: Family::Threads,
        figures: [
            (
                "figure-a3",
                "Figure A.3: threads that share a counter, on one CPU",
            ),
            (
                "figure-a4",
                "Figure A.4: threads that share a counter, across CPUs",
            ),
        ],
        how: "each thread adds 1 under the lock, 1,000,000 times",
        x: ("threads", |threads| threads.to_string()),
        y: ("time until all have finished, logarithmic scale", |s| {
            micros(s * 1e6)
        }),
    },
    Subject {
        family: Family::Processes,
        figures: [
            (
                "figure-a5",
                "Figure A.5: processes that share a counter, on one CPU",
            ),
            (
                "figure-a6",
                "Figure A.6: processes that share a counter, across CPUs",
            ),
        ],
        how: "each process adds 1 under the lock, 1,000,000 times",
        x: ("processes", |processes| processes.to_string()),
        y: ("time until all have finished, logarithmic scale", |s| {
            micros(s * 1e6)
        }),
    },
];

/// The figures that have a value to show.
pub(super) fn all(rows: Rows) -> Vec<Figure> {
    let of_subject = |subject: &'static Subject| {
        let placed = PLACEMENTS.into_iter().zip(subject.figures);
        placed.filter_map(move |(placement, (name, title))| {
            let curves = subject.curves(rows, placement)?;
            Some(Figure {
                name,
                title: title.to_owned(),
                subtitle: format!("{} · median and range of the repetitions", subject.how),
                panels: vec![Panel {
                    heading: String::new(),
                    plot: Plot::Curves(curves),
                }],
                notes: Vec::new(),
            })
        })
    };
    SUBJECTS.iter().flat_map(of_subject).collect()
}

impl Subject {
    fn curves(&self, rows: Rows, placement: Placement) -> Option<Curves> {
        let mechanisms = rows.mechanisms(self.family).into_iter();
        let series: Vec<Series> = mechanisms
            .map(|mechanism| self.series(rows, mechanism, placement))
            .filter(|series| !series.stretches.is_empty())
            .collect();
        (!series.is_empty()).then(|| Curves {
            x: self.x_axis(rows),
            y: self.y_axis(rows),
            series,
        })
    }

    fn series(&self, rows: Rows, mechanism: &str, placement: Placement) -> Series {
        let parameters = rows.measured_parameters(self.family).into_iter();
        let point = |parameter: usize| {
            let key = Key::new(self.family, mechanism).at(parameter);
            let value = rows.value(key, placement)?;
            let (low, high) = range(value);
            Some(PlotPoint {
                x: parameter as f64,
                y: value.median,
                low,
                high,
                pale: false,
            })
        };
        Series {
            label: mechanism.to_owned(),
            style: style(mechanism),
            stretches: unbroken(parameters.map(point)),
            invalid: Vec::new(),
            knee: None,
        }
    }

    fn x_axis(&self, rows: Rows) -> Axis {
        let parameters = rows.measured_parameters(self.family);
        let values: Vec<f64> = parameters.iter().map(|&value| value as f64).collect();
        let (title, write) = self.x;
        let tick = |&value: &f64| Tick {
            value,
            label: without_idle_zeros(&write(value)),
        };
        Axis {
            title: title.to_owned(),
            quantity: Quantity::Count,
            scale: Scale::for_counts(&values),
            ticks: values.iter().map(tick).collect(),
        }
    }

    /// The same for both placements, so that the two figures can be compared by eye.
    fn y_axis(&self, rows: Rows) -> Axis {
        let keys = rows
            .of(self.family)
            .map(|row| (Key::of(row), row.placement));
        let values = keys.filter_map(|(key, placement)| rows.value(key, placement));
        let scale = Scale::log_around(values.flat_map(|value| {
            let (low, high) = range(value);
            [low, high]
        }));
        let (title, write) = self.y;
        let ticks = scale.round_ticks().into_iter().map(|value| Tick {
            value,
            label: without_idle_zeros(&write(value)),
        });
        Axis {
            title: title.to_owned(),
            quantity: Quantity::Count,
            scale,
            ticks: ticks.collect(),
        }
    }
}

/// The smallest and the largest repetition.
fn range(value: &Value) -> (f64, f64) {
    let largest = value.repetitions.iter().copied().fold(0.0, f64::max);
    (value.min, largest)
}

/// A mechanism looks the same in every figure.
fn style(mechanism: &str) -> Style {
    let channel = channels::ALL
        .iter()
        .position(|entry| entry.channel.name() == mechanism);
    let lock = || locks::ALL.iter().position(|lock| lock.name() == mechanism);
    let position = channel.or_else(lock).unwrap_or(0);
    palette::contestant(position % palette::HUES, position / palette::HUES)
}
