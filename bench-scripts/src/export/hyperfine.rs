//! JSON in the shape of `hyperfine --export-json`, for the scripts that read that: a result per entrant and connection
//! count, a time per valid cell. A time is the server CPU time of one request, as measured, in seconds.

use serde_json::{Value, json};

use super::benchmark_name;
use crate::record::{Cell, Cost};
use crate::report::Record;

pub(super) fn export(record: &Record) -> Value {
    let matrix = &record.run.matrix;
    let points = matrix.entrants.iter().flat_map(|entrant| {
        let counts = matrix.connections.iter();
        counts.map(move |count| (entrant.label.as_str(), *count))
    });
    let results: Vec<_> = points
        .filter_map(|(label, count)| result(label, count, &costs(record, label, count)))
        .collect();
    json!({ "results": results })
}

fn costs(record: &Record, label: &str, connections_asked: u32) -> Vec<Cost> {
    let cells = record.cells.iter().filter(|cell| {
        let planned = &cell.planned;
        cell.is_valid()
            && planned.entrant == label
            && planned.connections_asked == connections_asked
    });
    cells.filter_map(Cell::cost).collect()
}

/// None of a point without a valid cell: hyperfine has no result without a time.
fn result(label: &str, connections_asked: u32, costs: &[Cost]) -> Option<Value> {
    const SECONDS_PER_US: f64 = 1e-6;
    let seconds = |part: fn(&Cost) -> f64| -> Vec<f64> {
        costs
            .iter()
            .map(|cost| part(cost) * SECONDS_PER_US)
            .collect()
    };
    let times = seconds(|cost| cost.total_us());
    let mut sorted = times.clone();
    sorted.sort_by(f64::total_cmp);
    let (min, max) = (*sorted.first()?, *sorted.last()?);
    let middle = sorted.len() / 2;
    let median = f64::midpoint(sorted[(sorted.len() - 1) / 2], sorted[middle]);
    Some(json!({
        "command": benchmark_name(label, connections_asked),
        "mean": mean(&times),
        "stddev": deviation(&times),
        "median": median,
        "user": mean(&seconds(|cost| cost.user_us)),
        "system": mean(&seconds(|cost| cost.system_us)),
        "min": min,
        "max": max,
        "times": times,
        "exit_codes": vec![0; times.len()],
        "parameters": {
            "entrant": label,
            // Parameters are text in hyperfine's JSON.
            "connections": connections_asked.to_string(),
        },
    }))
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The standard deviation of the values as a sample; none of a single one, as hyperfine has it.
fn deviation(values: &[f64]) -> Option<f64> {
    let mean = mean(values);
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (values.len() > 1).then(|| (squares / (values.len() - 1) as f64).sqrt())
}
