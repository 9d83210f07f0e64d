//! From traces to what one request takes.

use std::cmp::Reverse;

use crate::findings::trace::{
    CallFindings, CounterFindings, EventFindings, EventRate, SystemCallFindings, TraceFindings,
    WindowFindings,
};
use crate::record::trace::{Counters, Event, EventCount, SystemCalls, Trace, TraceWindow, Traced};

/// What the traces of a run say, in their order. An invalid one keeps nothing but its reasons.
#[must_use]
pub fn findings(traces: &[Trace]) -> Vec<TraceFindings> {
    traces.iter().map(trace).collect()
}

fn trace(trace: &Trace) -> TraceFindings {
    let invalid = trace.reasons().to_vec();
    let valid = invalid.is_empty().then_some(trace);
    TraceFindings {
        entrant: trace.planned.entrant.clone(),
        connections_asked: trace.planned.connections_asked,
        connections: trace.planned.connections,
        system_calls: valid.and_then(|t| Some(t.system_calls.as_ref()?.as_ref().map(calls))),
        counters: valid.and_then(|t| Some(t.counters.as_ref()?.as_ref().map(counters))),
        invalid,
    }
}

fn calls(calls: &SystemCalls) -> SystemCallFindings {
    let requests = calls.window.requests as f64;
    let mut by_name: Vec<_> = calls.by_name.iter().collect();
    by_name.sort_by_key(|call| (Reverse(call.calls), &call.name));
    let sum: u64 = by_name.iter().map(|call| call.calls).sum();
    let failed: u64 = by_name.iter().map(|call| call.errors).sum();
    SystemCallFindings {
        window: window(&calls.window),
        per_request: sum as f64 / requests,
        failed_share: (sum > 0).then(|| failed as f64 / sum as f64),
        by_name: by_name
            .into_iter()
            .map(|call| CallFindings {
                name: call.name.clone(),
                per_request: call.calls as f64 / requests,
                failed_per_request: call.errors as f64 / requests,
            })
            .collect(),
    }
}

fn counters(counters: &Counters) -> CounterFindings {
    let events = &counters.events;
    let requests = counters.window.requests as f64;
    let rate = |count: &EventCount| EventRate {
        per_request: count.value / requests,
        unit: count.unit.clone(),
        running_percent: count.running_percent,
        user_only: count.user_only,
    };
    CounterFindings {
        window: window(&counters.window),
        events: events
            .iter()
            .map(|event| EventFindings {
                name: event.name.clone(),
                count: event.count.as_ref().map(rate),
            })
            .collect(),
        instructions_per_cycle: ratio(events, "instructions", "cycles"),
        branch_miss_share: ratio(events, "branch-misses", "branches"),
    }
}

/// One event over another; none where either is not counted.
fn ratio(events: &[Event], of: &str, to: &str) -> Option<f64> {
    let count = |name: &str| match &events.iter().find(|event| event.name == name)?.count {
        Traced::Counted(count) => Some(count.value),
        Traced::Absent(_) => None,
    };
    let (of, to) = (count(of)?, count(to)?);
    (to > 0.0).then(|| of / to)
}

fn window(window: &TraceWindow) -> WindowFindings {
    let requests = window.requests as f64;
    let usage = &window.usage;
    let per_wakeup =
        |(events, wakeups): (u64, u64)| (wakeups > 0).then(|| events as f64 / wakeups as f64);
    WindowFindings {
        requests: window.requests,
        counted_by: window.counted_by,
        requests_per_second: requests / (usage.window_us as f64 / 1e6),
        wakeups_per_request: window.wakeups.map(|wakeups| wakeups as f64 / requests),
        events_per_wakeup: window.events.zip(window.wakeups).and_then(per_wakeup),
        voluntary_switches_per_request: usage.voluntary_switches as f64 / requests,
        involuntary_switches_per_request: usage.involuntary_switches as f64 / requests,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::trace::{Absence, CountedBy, SystemCall};
    use crate::record::{PlannedCell, Reason, Usage, Validity};

    fn made(validity: Validity) -> Trace {
        let window = TraceWindow {
            usage: Usage {
                window_us: 500_000,
                voluntary_switches: 10,
                involuntary_switches: 5,
                ..Usage::default()
            },
            requests: 100,
            counted_by: CountedBy::Server,
            wakeups: Some(20),
            events: Some(110),
        };
        let call = |name: &str, calls, errors| SystemCall {
            name: name.into(),
            calls,
            errors,
        };
        let count = |value| {
            Traced::Counted(EventCount {
                value,
                unit: String::new(),
                running_percent: 100.0,
                user_only: false,
            })
        };
        let absent = Traced::Absent(Absence {
            what: "not supported here".into(),
            remedy: "none".into(),
        });
        let event = |name: &str, count| Event {
            name: name.into(),
            count,
        };
        Trace {
            planned: PlannedCell {
                index: 7,
                block: 1,
                entrant: "mio".into(),
                connections_asked: 100,
                connections: 96,
            },
            started_at: String::new(),
            validity,
            system_calls: Some(Traced::Counted(SystemCalls {
                window,
                by_name: vec![
                    call("epoll_wait", 20, 0),
                    call("read", 150, 50),
                    call("write", 100, 0),
                ],
            })),
            counters: Some(Traced::Counted(Counters {
                window,
                events: vec![
                    event("cycles", count(4000.0)),
                    event("instructions", count(6000.0)),
                    event("branches", absent),
                    event("branch-misses", count(9.0)),
                ],
            })),
        }
    }

    #[test]
    fn counts_are_divided_by_requests_and_sorted() {
        let findings = findings(&[made(Validity::Valid)]).remove(0);
        let Some(Traced::Counted(calls)) = findings.system_calls else {
            panic!("{findings:?}");
        };
        let by_name: Vec<_> = calls
            .by_name
            .iter()
            .map(|call| {
                (
                    call.name.as_str(),
                    call.per_request,
                    call.failed_per_request,
                )
            })
            .collect();
        assert_eq!(
            by_name,
            [
                ("read", 1.5, 0.5),
                ("write", 1.0, 0.0),
                ("epoll_wait", 0.2, 0.0)
            ]
        );
        assert_eq!(calls.per_request, 2.7);
        assert_eq!(calls.failed_share, Some(50.0 / 270.0));
        assert_eq!(calls.window.events_per_wakeup, Some(5.5));
        assert_eq!(calls.window.wakeups_per_request, Some(0.2));
        assert_eq!(calls.window.requests_per_second, 200.0);
        assert_eq!(calls.window.voluntary_switches_per_request, 0.1);
        assert_eq!(calls.window.involuntary_switches_per_request, 0.05);
    }

    #[test]
    fn a_ratio_needs_both_counters() {
        let findings = findings(&[made(Validity::Valid)]).remove(0);
        let Some(Traced::Counted(counters)) = findings.counters else {
            panic!("{findings:?}");
        };
        assert_eq!(counters.instructions_per_cycle, Some(1.5));
        assert_eq!(counters.branch_miss_share, None);
        assert!(matches!(counters.events[2].count, Traced::Absent(_)));
    }

    #[test]
    fn an_invalid_trace_keeps_its_reasons_alone() {
        let reasons = vec![Reason::NoRequests];
        let findings = findings(&[made(Validity::Invalid {
            reasons: reasons.clone(),
        })]);
        assert_eq!(findings[0].invalid, reasons);
        assert!(findings[0].system_calls.is_none() && findings[0].counters.is_none());
    }
}
