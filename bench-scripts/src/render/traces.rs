//! The traced pass in two tables: a row per system call or event, a column per entrant.

use std::collections::{BTreeMap, BTreeSet};

use super::tables::{Group, Head, NOTHING, Table, hundredths, thousandths};
use crate::findings::trace::{
    CounterFindings, EventRate, SystemCallFindings, TraceFindings, WindowFindings,
};
use crate::quantity;
use crate::record::Run;
use crate::record::trace::{Absence, CountedBy, Traced};

/// Calls that no entrant makes as often as this per request are one row: they are not the answering of requests.
const RARE: f64 = 0.005;

/// A counter that counted for less of its time shared its register, percent.
const ALL_THE_TIME_PERCENT: f64 = 99.95;

const SYSTEM_CALLS: &str = "System calls per request (traced apart)";
const SYSTEM_CALLS_CAPTION: &str = "One more load of each entrant, when all else is measured, with strace attached. strace stops the server at \
    each of its calls and slows it several-fold: so more connections are ready whenever it wakes up, and calls that are made once per wakeup, \
    as epoll_wait is, are fewer per request here than in the cells. \
    Calls that failed returned an error: of reads that found nothing it is EAGAIN.";

const COUNTERS: &str = "Counters per request (traced apart)";
const COUNTERS_CAPTION: &str = "One more load of each entrant, when all else is measured, with perf stat attached, which slows the server little. \
    Waits and preemptions are the kernel's count of context switches, voluntary and involuntary.";

/// How it was done; none without a traced pass.
pub(super) fn method(run: &Run) -> Option<String> {
    let settings = run.matrix.trace.as_ref()?;
    let counts = settings.connections.iter();
    let counts: Vec<_> = counts.map(|c| quantity::whole(u64::from(*c))).collect();
    Some(format!(
        "Last of all come the traced loads: at {} connections every entrant, a fresh server each time, is loaded for {} s under strace \
         and once more under perf stat. The tool attaches when all connections are established, and is gone before the load ends; \
         requests are counted between the same two moments. No traced load enters a rate, a cost or a latency. A tool or a counter \
         that this machine lacks is named as absent, and never taken for zero.",
        counts.join(", "),
        settings.duration_s
    ))
}

/// Both tables; none without a traced pass.
pub(super) fn tables(traces: &[TraceFindings]) -> Vec<Table> {
    if traces.is_empty() {
        return Vec::new();
    }
    vec![
        table(
            traces,
            SYSTEM_CALLS,
            SYSTEM_CALLS_CAPTION,
            "system call",
            &CallView::new(traces),
        ),
        table(traces, COUNTERS, COUNTERS_CAPTION, "event", &CounterView),
    ]
}

/// One of the two sides of a trace, as rows.
trait View {
    /// What one tool found.
    type Findings;

    /// What it found in this trace; none of an invalid one.
    fn of<'a>(&self, trace: &'a TraceFindings) -> Option<&'a Traced<Self::Findings>>;

    fn window<'a>(&self, findings: &'a Self::Findings) -> &'a WindowFindings;

    /// What to know of these figures beside the table.
    fn remarks(&self, findings: &[&Self::Findings]) -> Vec<String>;

    /// The rows of the traces at one connection count, a figure per trace; none where the trace has none.
    fn rows(&self, traces: &[Option<&Self::Findings>]) -> Vec<Vec<String>>;
}

fn table<V: View>(
    traces: &[TraceFindings],
    title: &'static str,
    caption: &str,
    first: &'static str,
    view: &V,
) -> Table {
    let mut entrants: Vec<&str> = Vec::new();
    for trace in traces {
        if !entrants.contains(&trace.entrant.as_str()) {
            entrants.push(&trace.entrant);
        }
    }
    let head = |head: &str, text| Head {
        head: head.to_owned().into(),
        text,
    };
    let numbers = entrants.iter().map(|entrant| head(entrant, false));
    let sentences = [caption.to_owned()]
        .into_iter()
        .chain(remarks(traces, view));
    let of_count = traces.chunk_by(|a, b| a.connections_asked == b.connections_asked);
    let groups = of_count.map(|traces| {
        let of_entrant =
            |entrant: &&str| counted(view, traces.iter().find(|t| t.entrant == *entrant)?);
        let columns: Vec<_> = entrants.iter().map(of_entrant).collect();
        let rows = if columns.iter().any(Option::is_some) {
            view.rows(&columns)
                .into_iter()
                .filter(|row| says_something(row))
                .collect()
        } else {
            Vec::new()
        };
        Group::of_count(u64::from(traces[0].connections), rows)
    });
    Table {
        title,
        caption: sentences.collect::<Vec<_>>().join(" ").into(),
        columns: [head(first, true)].into_iter().chain(numbers).collect(),
        grouped_by: Head::number("connections"),
        groups: groups.filter(|group| !group.rows.is_empty()).collect(),
    }
}

fn counted<'a, V: View>(view: &V, trace: &'a TraceFindings) -> Option<&'a V::Findings> {
    match view.of(trace)? {
        Traced::Counted(findings) => Some(findings),
        Traced::Absent(_) => None,
    }
}

/// What is not in a table, and why; and what to know of the figures that are.
fn remarks<V: View>(traces: &[TraceFindings], view: &V) -> Vec<String> {
    let mut remarks = Vec::new();
    let mut without_tool: BTreeMap<&Absence, Vec<String>> = BTreeMap::new();
    let mut foreign = BTreeSet::new();
    let mut counted = Vec::new();
    for trace in traces {
        let of = format!(
            "{} at {} connections",
            trace.entrant,
            quantity::whole(trace.connections.into())
        );
        match view.of(trace) {
            None => {
                let reasons: Vec<_> = trace.invalid.iter().map(ToString::to_string).collect();
                remarks.push(format!("Not traced: {of} ({}).", reasons.join("; ")));
            }
            Some(Traced::Absent(absence)) => without_tool.entry(absence).or_default().push(of),
            Some(Traced::Counted(findings)) => {
                if view.window(findings).counted_by == CountedBy::Client {
                    foreign.insert(trace.entrant.as_str());
                }
                counted.push(findings);
            }
        }
    }
    remarks.extend(without_tool.into_iter().map(|(absence, of)| {
        let everywhere = of.len() == traces.len();
        absent(if everywhere { &[] } else { &of }, absence)
    }));
    if !foreign.is_empty() {
        let names: Vec<_> = foreign.into_iter().collect();
        remarks.push(format!(
            "The requests of {} are counted by the load generator.",
            names.join(", ")
        ));
    }
    remarks.extend(view.remarks(&counted));
    remarks
}

/// `cycles, branches: not supported here; …`
pub(super) fn absent(of: &[String], Absence { what, remedy }: &Absence) -> String {
    let of = match of {
        [] => String::new(),
        of => format!("{}: ", of.join(", ")),
    };
    format!("{of}{what}; {remedy}.")
}

/// The system calls, of which some are frequent: at one connection count at least, so that all counts have the same rows.
struct CallView<'a> {
    frequent: BTreeSet<&'a str>,
}

impl<'a> CallView<'a> {
    fn new(traces: &'a [TraceFindings]) -> Self {
        let counted = traces.iter().filter_map(|trace| match &trace.system_calls {
            Some(Traced::Counted(findings)) => Some(findings),
            _ => None,
        });
        let calls = counted.flat_map(|findings| &findings.by_name);
        Self {
            frequent: calls
                .filter(|call| call.per_request >= RARE)
                .map(|call| call.name.as_str())
                .collect(),
        }
    }
}

impl View for CallView<'_> {
    type Findings = SystemCallFindings;

    fn of<'a>(&self, trace: &'a TraceFindings) -> Option<&'a Traced<SystemCallFindings>> {
        trace.system_calls.as_ref()
    }

    fn window<'a>(&self, findings: &'a SystemCallFindings) -> &'a WindowFindings {
        &findings.window
    }

    fn remarks(&self, _: &[&SystemCallFindings]) -> Vec<String> {
        Vec::new()
    }

    fn rows(&self, traces: &[Option<&SystemCallFindings>]) -> Vec<Vec<String>> {
        let rate = |findings: &SystemCallFindings, name: &str| {
            let call = findings.by_name.iter().find(|call| call.name == name);
            call.map_or(0.0, |call| call.per_request)
        };
        let most = |name: &str| {
            let rates = traces.iter().flatten().map(|findings| rate(findings, name));
            rates.fold(0.0, f64::max)
        };
        let calls = traces.iter().flatten().flat_map(|f| &f.by_name);
        let names: BTreeSet<&str> = calls.map(|call| call.name.as_str()).collect();
        let (mut frequent, rare): (Vec<&str>, Vec<&str>) = names
            .into_iter()
            .partition(|name| self.frequent.contains(name));
        frequent.sort_by(|a, b| most(b).total_cmp(&most(a)));
        let mut rows: Vec<_> = frequent
            .into_iter()
            .map(|name| row(name, traces, |f| Some(per_request(rate(f, name)))))
            .collect();
        if !rare.is_empty() {
            rows.push(row("others", traces, |f| {
                Some(per_request(rare.iter().map(|name| rate(f, name)).sum()))
            }));
        }
        rows.push(row("all", traces, |f| Some(per_request(f.per_request))));
        rows.push(row("calls that failed", traces, |f| {
            Some(quantity::fine_percent(f.failed_share?))
        }));
        rows.push(events_per_wakeup(traces, |f| &f.window));
        rows.push(row("requests/s under strace", traces, |f| {
            Some(quantity::large(f.window.requests_per_second))
        }));
        rows
    }
}

struct CounterView;

impl View for CounterView {
    type Findings = CounterFindings;

    fn of<'a>(&self, trace: &'a TraceFindings) -> Option<&'a Traced<CounterFindings>> {
        trace.counters.as_ref()
    }

    fn window<'a>(&self, findings: &'a CounterFindings) -> &'a WindowFindings {
        &findings.window
    }

    fn remarks(&self, findings: &[&CounterFindings]) -> Vec<String> {
        let mut absences: BTreeMap<&Absence, Vec<String>> = BTreeMap::new();
        let (mut shared, mut user_only) = (Vec::new(), Vec::new());
        let mut least_percent: f64 = 100.0;
        for event in findings.iter().flat_map(|findings| &findings.events) {
            match &event.count {
                Traced::Absent(absence) => note(absences.entry(absence).or_default(), &event.name),
                Traced::Counted(rate) => {
                    if rate.running_percent < ALL_THE_TIME_PERCENT {
                        note(&mut shared, &event.name);
                        least_percent = least_percent.min(rate.running_percent);
                    }
                    if rate.user_only {
                        note(&mut user_only, &event.name);
                    }
                }
            }
        }
        let mut remarks: Vec<_> = absences
            .iter()
            .map(|(why, names)| absent(names, why))
            .collect();
        if !shared.is_empty() {
            remarks.push(format!(
                "{}: shared the processor's registers, so each counted for a part of the time ({least_percent:.0}% at least) and perf estimates the rest.",
                shared.join(", ")
            ));
        }
        if !user_only.is_empty() {
            remarks.push(format!(
                "{}: in user space only, for the kernel shows this user no more.",
                user_only.join(", ")
            ));
        }
        remarks
    }

    fn rows(&self, traces: &[Option<&CounterFindings>]) -> Vec<Vec<String>> {
        let mut names: Vec<&str> = Vec::new();
        for event in traces.iter().flatten().flat_map(|f| &f.events) {
            if !names.contains(&event.name.as_str()) {
                names.push(&event.name);
            }
        }
        let mut rows: Vec<_> = names
            .into_iter()
            .map(|name| {
                row(name, traces, |f| {
                    let event = f.events.iter().find(|event| event.name == name)?;
                    Some(match &event.count {
                        Traced::Counted(rate) => event_rate(rate),
                        Traced::Absent(absence) => absence.what.clone(),
                    })
                })
            })
            .collect();
        rows.push(row("instructions per cycle", traces, |f| {
            f.instructions_per_cycle.map(hundredths)
        }));
        rows.push(row("branches predicted wrongly", traces, |f| {
            f.branch_miss_share.map(quantity::fine_percent)
        }));
        rows.push(row("waits", traces, |f| {
            Some(per_request(f.window.voluntary_switches_per_request))
        }));
        rows.push(row("preemptions", traces, |f| {
            Some(per_request(f.window.involuntary_switches_per_request))
        }));
        rows.push(row("wakeups", traces, |f| {
            f.window.wakeups_per_request.map(per_request)
        }));
        rows.push(events_per_wakeup(traces, |f| &f.window));
        rows
    }
}

/// A count per request; none at all is a plain zero.
fn per_request(count: f64) -> String {
    if count == 0.0 {
        "0".to_owned()
    } else {
        thousandths(count)
    }
}

/// True where at least one trace has a figure.
fn says_something(row: &[String]) -> bool {
    row[1..].iter().any(|figure| figure != NOTHING)
}

/// A row: its name, and a figure of each trace.
fn row<F>(name: &str, traces: &[Option<&F>], write: impl Fn(&F) -> Option<String>) -> Vec<String> {
    let figures = traces.iter().map(|findings| {
        let figure = findings.and_then(&write);
        figure.unwrap_or_else(|| NOTHING.to_owned())
    });
    [name.to_owned()].into_iter().chain(figures).collect()
}

fn events_per_wakeup<F>(
    traces: &[Option<&F>],
    window: impl Fn(&F) -> &WindowFindings,
) -> Vec<String> {
    row("events per wakeup", traces, |findings| {
        window(findings).events_per_wakeup.map(hundredths)
    })
}

/// A time in µs, or a count: what may be less than one to the thousandth.
fn event_rate(rate: &EventRate) -> String {
    match rate.unit.as_str() {
        "msec" => quantity::micros(rate.per_request * 1000.0),
        _ if rate.per_request < 10.0 => per_request(rate.per_request),
        _ => quantity::large(rate.per_request),
    }
}

/// Adds a name that is not there yet.
fn note(names: &mut Vec<String>, name: &str) {
    if !names.iter().any(|known| known == name) {
        names.push(name.to_owned());
    }
}
