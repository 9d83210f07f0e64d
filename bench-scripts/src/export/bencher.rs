//! Bencher Metric Format: benchmark → measure → metric, as <https://bencher.dev/docs/reference/bencher-metric-format/>
//! describes it. For `bencher run --adapter json`.

use serde_json::{Map, Value, json};

use super::benchmark_name;
use crate::findings::{Findings, Point, Spread};

/// A benchmark per entrant and connection count. A metric is the median over rounds, its bounds the lowest and the
/// highest round. The units are in the measures' names; thresholds belong on `cost-to-null`, which does not depend on
/// the speed of the day's machine.
pub(super) fn export(findings: &Findings) -> Value {
    let mut benchmarks = Map::new();
    for entrant in &findings.entrants {
        for point in &entrant.points {
            let measures = measures(point);
            if !measures.is_empty() {
                let name = benchmark_name(&entrant.label, point.connections_asked);
                benchmarks.insert(name, measures.into());
            }
        }
    }
    benchmarks.into()
}

fn measures(point: &Point) -> Map<String, Value> {
    let p99 = point.latency.map(|latency| latency.p99_us);
    let measures = [
        ("cost-to-null", point.cost_to_control),
        ("cost-us", point.cost.map(|cost| cost.total_us)),
        ("requests-per-minute", point.requests_per_minute),
        ("latency-p99-us-as-wrk-corrects-it", p99),
        (
            "rss-bytes",
            point.resources.map(|resources| resources.rss_bytes),
        ),
    ];
    measures
        .into_iter()
        .filter_map(|(name, spread)| Some((name.to_owned(), metric(spread?))))
        .collect()
}

fn metric(spread: Spread) -> Value {
    json!({
        "value": spread.median,
        "lower_value": spread.min,
        "upper_value": spread.max,
    })
}
