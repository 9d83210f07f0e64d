//! Numbers as the page shows them, against findings.json.

use std::collections::BTreeMap;

use rungs::findings::{Findings, Interval, Point, Spread};
use serde_json::json;

use crate::driver::Page;

/// A number as it is written, and half a unit of its last digit.
struct Shown {
    value: f64,
    half_unit: f64,
}

/// Reads `12.3 M`, `8.91 µs`, `1.24 ms`, `10.2 MiB`, `1.05`.
fn read(text: &str) -> Shown {
    let (number, unit) = text.split_once(' ').unwrap_or((text, ""));
    let factor = match unit {
        "" | "µs" | "B" => 1.0,
        "k" | "ms" => 1e3,
        "M" | "s" => 1e6,
        "KiB" => 1024.0,
        "MiB" => 1024.0 * 1024.0,
        _ => panic!("the unit of `{text}`"),
    };
    let decimals = number.split_once('.').map_or(0, |(_, digits)| digits.len());
    Shown {
        value: number.parse::<f64>().unwrap_or_else(|_| panic!("`{text}`")) * factor,
        half_unit: 0.5 * factor / 10_f64.powi(decimals as i32),
    }
}

fn assert_shows(text: &str, value: Option<f64>, what: &str) {
    match value {
        None => assert_eq!(text, "–", "{what}"),
        Some(value) => {
            let shown = read(text);
            let off = (shown.value - value).abs();
            assert!(off <= shown.half_unit * 1.001, "{what}: {text} for {value}");
        }
    }
}

fn assert_shows_interval(text: &str, interval: Option<Interval>, what: &str) {
    match interval {
        None => assert_eq!(text, "–", "{what}"),
        Some(Interval { low, high }) => {
            let (shown_low, shown_high) = text.split_once(" to ").unwrap();
            assert_shows(shown_low, Some(low), what);
            assert_shows(shown_high, Some(high), what);
        }
    }
}

fn median(spread: Option<Spread>) -> Option<f64> {
    spread.map(|spread| spread.median)
}

/// Every figure of the table of cost and rate.
pub async fn compare_tables(page: &Page, findings: &Findings) {
    let script =
        "return [...document.querySelectorAll('#cost-and-rate tbody tr:not(.group)')].map(row =>
        [...row.children].map(cell => cell.textContent))";
    let rows: Vec<Vec<String>> = serde_json::from_value(page.run(script).await).unwrap();
    let mut rows = rows.iter();
    for position in 0..findings.connection_counts().len() {
        for entrant in &findings.entrants {
            let (row, point) = (rows.next().unwrap(), &entrant.points[position]);
            let what = format!("{} at {}", entrant.label, point.connections);
            assert_eq!(row[0], entrant.label);
            let numbers = [
                (1, median(point.cost.map(|c| c.total_us))),
                (3, median(point.cost.map(|c| c.user_us))),
                (4, median(point.cost.map(|c| c.system_us))),
                (5, median(point.cost_to_control)),
                (8, median(point.requests_per_minute)),
                (10, median(point.rate_to_control)),
            ];
            for (column, value) in numbers {
                assert_shows(&row[column], value, &what);
            }
            let intervals = [
                (2, point.intervals.cost_us),
                (6, point.intervals.cost_to_control),
                (9, point.intervals.requests_per_minute),
            ];
            for (column, interval) in intervals {
                assert_shows_interval(&row[column], interval, &what);
            }
        }
    }
    assert!(rows.next().is_none());
}

/// Median, low and high end of what a view shows of a point.
fn drawn(point: &Point, view: &str) -> Option<(f64, f64, f64)> {
    let interval = |median: f64, interval: Option<Interval>| {
        let Interval { low, high } = interval.unwrap_or(Interval {
            low: median,
            high: median,
        });
        (median, low, high)
    };
    let range = |spread: Spread| (spread.median, spread.min, spread.max);
    match view {
        "rate" => Some(interval(
            median(point.requests_per_minute)?,
            point.intervals.requests_per_minute,
        )),
        "cost" => Some(interval(
            point.cost?.total_us.median,
            point.intervals.cost_us,
        )),
        "p50" => Some(range(point.latency?.p50_us)),
        "p99" => Some(range(point.latency?.p99_us)),
        _ => Some(range(point.resources?.rss_bytes)),
    }
}

/// Every line of the hover box at every connection count, in the view that is chosen; and what a screen reader is told.
pub async fn compare_hover(page: &Page, findings: &Findings, view: &str) {
    for (position, count) in findings.connection_counts().into_iter().enumerate() {
        let key = json!({ "key": if position == 0 { "Home" } else { "ArrowRight" } });
        page.run("document.querySelectorAll('.hoverlayer > *').forEach(box => box.remove())")
            .await;
        page.run(&format!("document.querySelector('.plot.main').dispatchEvent(new KeyboardEvent('keydown', {key}))")).await;
        page.until("document.querySelector('.hoverlayer .legendtext')")
            .await;
        let lines = page
            .texts("return [...document.querySelectorAll('.hoverlayer .legendtext')].map(text => text.textContent)")
            .await;
        let title = page
            .text("return document.querySelector('.hoverlayer .legendtitletext').textContent")
            .await;
        let thousands = rungs::quantity::whole(u64::from(count));
        assert_eq!(title, thousands);
        let values: BTreeMap<&str, &str> = lines
            .iter()
            .filter(|line| !line.contains("invalid cell"))
            .map(|line| line.split_once("  ").unwrap())
            .collect();
        let said = page
            .text("return document.querySelector('.plot.main').getAttribute('aria-valuetext')")
            .await;
        for entrant in &findings.entrants {
            let control = if view == "rate" {
                "ceiling (null)"
            } else {
                "floor (null)"
            };
            let label = if entrant.label == "null" {
                control
            } else {
                &entrant.label
            };
            let Some((median, low, high)) = drawn(&entrant.points[position], view) else {
                assert!(!values.contains_key(label));
                continue;
            };
            let what = format!("{view} of {label} at {count}");
            let text = values[label];
            assert!(said.contains(&format!("{label} {text}")), "{what}: {said}");
            let (shown, around) = text.split_once(" (").unwrap_or((text, ""));
            assert_shows(shown, Some(median), &what);
            if high > low {
                let around = around.trim_end_matches(')');
                assert_shows_interval(around, Some(Interval { low, high }), &what);
            }
        }
    }
}
