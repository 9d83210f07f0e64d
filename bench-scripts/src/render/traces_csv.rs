//! `traces.csv`: what the traced pass counted as a flat table, a row per system call or event.

use super::{Exporter, Report};
use crate::record::trace::{CountedBy, EventCount, SystemCall, Trace, TraceWindow, Traced};

pub(super) struct TracesCsv;

const COLUMNS: [&str; 15] = [
    "index",
    "entrant",
    "connections_asked",
    "connections",
    "valid",
    "reasons",
    "tool",
    "window_us",
    "requests",
    "counted_by",
    "name",
    "count",
    "unit",
    "errors",
    "remark",
];

/// What stands in a row behind what is known of its trace: tool to remark.
type Tail = [String; 9];

impl Exporter for TracesCsv {
    fn file_name(&self) -> String {
        "traces.csv".to_owned()
    }

    fn export(&self, report: &Report) -> anyhow::Result<Vec<u8>> {
        let mut writer = csv::Writer::from_writer(Vec::new());
        writer.write_record(COLUMNS)?;
        for trace in report.traces {
            let reasons: Vec<_> = trace.reasons().iter().map(ToString::to_string).collect();
            let head = [
                trace.planned.index.to_string(),
                trace.planned.entrant.clone(),
                trace.planned.connections_asked.to_string(),
                trace.planned.connections.to_string(),
                reasons.is_empty().to_string(),
                reasons.join("; "),
            ];
            let mut tails = tails(trace);
            if tails.is_empty() {
                // An invalid trace that counted nothing is a row all the same.
                tails.push(Tail::default());
            }
            for tail in tails {
                writer.write_record(head.iter().chain(&tail))?;
            }
        }
        Ok(writer.into_inner()?)
    }
}

fn tails(trace: &Trace) -> Vec<Tail> {
    let calls = match &trace.system_calls {
        None => Vec::new(),
        Some(Traced::Absent(absence)) => vec![absent("strace", absence.what.clone())],
        Some(Traced::Counted(calls)) => {
            let rows = calls.by_name.iter();
            rows.map(|row| call(&calls.window, row)).collect()
        }
    };
    let events = match &trace.counters {
        None => Vec::new(),
        Some(Traced::Absent(absence)) => vec![absent("perf", absence.what.clone())],
        Some(Traced::Counted(counters)) => {
            let rows = counters.events.iter();
            rows.map(|row| event(&counters.window, &row.name, &row.count))
                .collect()
        }
    };
    [calls, events].concat()
}

fn absent(tool: &str, why: String) -> Tail {
    let mut tail = Tail::default();
    tail[0] = tool.into();
    tail[8] = why;
    tail
}

fn call(window: &TraceWindow, call: &SystemCall) -> Tail {
    let (count, errors) = (call.calls.to_string(), call.errors.to_string());
    counted(
        "strace",
        window,
        &call.name,
        [count, String::new(), errors, String::new()],
    )
}

fn event(window: &TraceWindow, name: &str, count: &Traced<EventCount>) -> Tail {
    let figures = match count {
        Traced::Counted(count) => {
            let part = if count.user_only {
                ", user space only"
            } else {
                ""
            };
            let remark = format!("counted {:.2}% of the time{part}", count.running_percent);
            [
                count.value.to_string(),
                count.unit.clone(),
                String::new(),
                remark,
            ]
        }
        Traced::Absent(absence) => [
            String::new(),
            String::new(),
            String::new(),
            absence.what.clone(),
        ],
    };
    counted("perf", window, name, figures)
}

/// Count, unit, errors and remark behind whose they are.
fn counted(tool: &str, window: &TraceWindow, name: &str, figures: [String; 4]) -> Tail {
    let [count, unit, errors, remark] = figures;
    let by = match window.counted_by {
        CountedBy::Server => "server",
        CountedBy::Client => "client",
    };
    [
        tool.into(),
        window.usage.window_us.to_string(),
        window.requests.to_string(),
        by.into(),
        name.into(),
        count,
        unit,
        errors,
        remark,
    ]
}
