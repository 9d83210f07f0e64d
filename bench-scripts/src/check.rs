//! The cross-checks: a cell whose numbers contradict each other, or that was disturbed, is invalid, and says why.

pub mod paced;

use crate::record::{Load, LoadErrors, PlannedCell, Reason, Server, System};

/// Share of the CPUs' time that the hypervisor may take in a window, percent. Every shared virtual machine loses a
/// little. Up to here the ratio to the control of the same block still holds; beyond it a cell says more about the
/// neighbours than about the server.
pub const STEAL_BOUND_PERCENT: f64 = 10.0;

/// Share of a window for which the quota may stop the processes, percent, for the same reason.
pub const THROTTLED_BOUND_PERCENT: u64 = 1;

/// Share of the asked-for time that a load must have run, percent. wrk looks at its clock every 100 ms, and ends late
/// rather than early.
const WINDOW_BOUND_PERCENT: u64 = 98;

/// What is known of a cell whose load run came to its end.
#[derive(Clone, Copy, Debug)]
pub struct Evidence<'a> {
    /// What was planned.
    pub planned: &'a PlannedCell,
    /// Length of the load that was asked for, µs.
    pub wanted_us: u64,
    /// Length of one whole answer, bytes.
    pub response_bytes: u64,
    /// The warm-up; none where there was none.
    pub warmup: Option<&'a Load>,
    /// The measured load.
    pub load: &'a Load,
    /// Requests that the load generator sends at once on each connection.
    pub pipeline: u32,
    /// Requests that `rungs` itself made of this server: the byte check.
    pub own_requests: u64,
    /// The server's side.
    pub server: &'a Server,
    /// The machine's side.
    pub system: &'a System,
}

/// Everything that is wrong with a cell.
#[must_use]
pub fn reasons(evidence: &Evidence<'_>) -> Vec<Reason> {
    let Evidence {
        planned,
        response_bytes,
        warmup,
        load,
        pipeline,
        own_requests,
        server,
        system,
        ..
    } = *evidence;
    let in_flight = u64::from(planned.connections) * u64::from(pipeline);
    let measured = Counted {
        requests: load.requests,
        bytes: load.bytes,
        in_flight,
    };
    let warmed_up = warmup.map_or(0, |warmup| warmup.requests);
    let in_life = Counted {
        // Whatever a broken load generator claims, it must not overflow.
        requests: load.requests.saturating_add(warmed_up),
        in_flight: in_flight * (1 + u64::from(warmup.is_some())),
        ..measured
    };
    let checks = [
        no_requests(evidence),
        error_statuses(evidence),
        socket_errors(evidence),
        fewer_connections(planned.connections, established_throughout(server)),
        size_mismatch(measured, response_bytes),
        count_mismatch(in_life, own_requests, server),
        window_cut(evidence),
        throttled(server, system),
        steal(system),
    ];
    checks.into_iter().flatten().collect()
}

/// What a load generator counted.
#[derive(Clone, Copy)]
struct Counted {
    /// Answers received in full.
    requests: u64,
    /// Bytes received.
    bytes: u64,
    /// Requests that it may have sent without counting an answer.
    in_flight: u64,
}

fn no_requests(evidence: &Evidence<'_>) -> Option<Reason> {
    (evidence.load.requests == 0).then_some(Reason::NoRequests)
}

fn error_statuses(evidence: &Evidence<'_>) -> Option<Reason> {
    let count = evidence.load.errors.status;
    (count > 0).then_some(Reason::ErrorStatuses { count })
}

fn socket_errors(evidence: &Evidence<'_>) -> Option<Reason> {
    let LoadErrors {
        connect,
        read,
        write,
        timeout,
        status: _,
    } = evidence.load.errors;
    ([connect, read, write, timeout] != [0; 4]).then_some(Reason::SocketErrors {
        connect,
        read,
        write,
        timeout,
    })
}

/// The kernel's count at the first edge and the server's own at the last: a connection that opened and was lost, or
/// that nobody accepted, is missing too.
fn established_throughout(server: &Server) -> u32 {
    let open = server.workers.as_ref().map(|workers| {
        let open: i64 = workers.iter().map(|worker| worker.open).sum();
        u32::try_from(open.max(0)).unwrap_or(u32::MAX)
    });
    server.established.min(open.unwrap_or(u32::MAX))
}

fn fewer_connections(wanted: u32, established: u32) -> Option<Reason> {
    (established < wanted).then_some(Reason::FewerConnections {
        wanted,
        established,
    })
}

/// Every answer has the same length, and of each request in flight the answer, or a part of it, may have been received.
fn size_mismatch(counted: Counted, response_bytes: u64) -> Option<Reason> {
    let Counted {
        requests,
        bytes,
        in_flight,
    } = counted;
    let least = requests.saturating_mul(response_bytes);
    let most = least.saturating_add(response_bytes.saturating_mul(in_flight));
    (!(least..=most).contains(&bytes)).then_some(Reason::SizeMismatch {
        response_bytes,
        requests,
        bytes,
    })
}

/// The server answered what the clients counted over its life, and at most what else was in flight.
fn count_mismatch(counted: Counted, own_requests: u64, server: &Server) -> Option<Reason> {
    let server = server.requests_in_life?;
    let client = counted.requests.saturating_add(own_requests);
    let in_flight = counted.in_flight;
    (!(client..=client.saturating_add(in_flight)).contains(&server)).then_some(
        Reason::CountMismatch {
            server,
            client,
            in_flight,
        },
    )
}

fn window_cut(evidence: &Evidence<'_>) -> Option<Reason> {
    let (got_us, wanted_us) = (evidence.load.duration_us, evidence.wanted_us);
    (got_us < wanted_us / 100 * WINDOW_BOUND_PERCENT)
        .then_some(Reason::WindowCut { wanted_us, got_us })
}

fn throttled(server: &Server, system: &System) -> Option<Reason> {
    let throttled_us = system.throttled_us;
    let bound = server.usage.window_us / 100 * THROTTLED_BOUND_PERCENT;
    (throttled_us > bound).then_some(Reason::Throttled { throttled_us })
}

fn steal(system: &System) -> Option<Reason> {
    let percent = system.steal_percent;
    (percent > STEAL_BOUND_PERCENT).then_some(Reason::Steal {
        percent,
        bound_percent: STEAL_BOUND_PERCENT,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Latency, Usage, WorkerCounts};

    struct Case {
        planned: PlannedCell,
        warmup: Option<Load>,
        load: Load,
        pipeline: u32,
        server: Server,
        system: System,
    }

    fn load(requests: u64) -> Load {
        Load {
            duration_us: 2_000_000,
            requests,
            bytes: requests * 200,
            errors: LoadErrors::default(),
            latency: Latency::default(),
            raw: String::new(),
        }
    }

    /// A cell in which all is well: 10 connections, and 3 requests in flight at the end.
    fn good() -> Case {
        Case {
            planned: PlannedCell {
                index: 0,
                block: 0,
                entrant: "mio".into(),
                connections_asked: 10,
                connections: 10,
            },
            warmup: Some(load(500)),
            load: load(1000),
            pipeline: 1,
            server: Server {
                usage: Usage {
                    window_us: 1_900_000,
                    ..Usage::default()
                },
                rss_before_bytes: 0,
                established: 10,
                workers: Some(vec![
                    WorkerCounts {
                        open: 4,
                        ..WorkerCounts::default()
                    },
                    WorkerCounts {
                        open: 6,
                        ..WorkerCounts::default()
                    },
                ]),
                requests_in_life: Some(1504),
            },
            system: System::default(),
        }
    }

    fn reasons_of(case: &Case) -> Vec<Reason> {
        reasons(&Evidence {
            planned: &case.planned,
            wanted_us: 2_000_000,
            response_bytes: 200,
            warmup: case.warmup.as_ref(),
            load: &case.load,
            pipeline: case.pipeline,
            own_requests: 1,
            server: &case.server,
            system: &case.system,
        })
    }

    /// The only reason of a good cell in which `spoil` spoils something.
    fn spoilt(spoil: impl FnOnce(&mut Case)) -> Reason {
        let mut case = good();
        spoil(&mut case);
        let mut reasons = reasons_of(&case);
        assert_eq!(reasons.len(), 1, "{reasons:?}");
        reasons.remove(0)
    }

    #[test]
    fn a_good_cell_has_none() {
        assert_eq!(reasons_of(&good()), []);
    }

    #[test]
    fn a_foreign_server_has_no_counts_to_compare() {
        let mut case = good();
        (case.server.workers, case.server.requests_in_life) = (None, None);
        assert_eq!(reasons_of(&case), []);
    }

    #[test]
    fn errors_and_statuses() {
        assert_eq!(
            spoilt(|case| case.load.errors.status = 7),
            Reason::ErrorStatuses { count: 7 }
        );
        assert!(matches!(
            spoilt(|case| case.load.errors.timeout = 7),
            Reason::SocketErrors { timeout: 7, .. }
        ));
    }

    #[test]
    fn no_requests_at_all() {
        let mut case = good();
        case.load = load(0);
        case.server.requests_in_life = Some(501);
        assert_eq!(reasons_of(&case), [Reason::NoRequests]);
    }

    #[test]
    fn connections_missing_on_either_side() {
        let missing = Reason::FewerConnections {
            wanted: 10,
            established: 9,
        };
        assert_eq!(spoilt(|case| case.server.established = 9), missing);
        let lost = |case: &mut Case| case.server.workers.as_mut().unwrap()[1].open = 5;
        assert_eq!(spoilt(lost), missing);
    }

    #[test]
    fn bytes_fit_within_one_answer_per_connection() {
        let mut case = good();
        case.load.bytes = 1010 * 200;
        assert_eq!(reasons_of(&case), []);
        case.load.bytes += 1;
        assert!(matches!(
            reasons_of(&case)[..],
            [Reason::SizeMismatch { .. }]
        ));
        assert!(matches!(
            spoilt(|case| case.load.bytes = 1000 * 200 - 1),
            Reason::SizeMismatch { .. }
        ));
    }

    #[test]
    fn counts_fit_within_one_request_per_connection_of_each_load() {
        let server = |count| {
            let mut case = good();
            case.server.requests_in_life = Some(count);
            reasons_of(&case)
        };
        assert_eq!(server(1501), []);
        assert_eq!(server(1521), []);
        for count in [1500, 1522] {
            let expected = Reason::CountMismatch {
                server: count,
                client: 1501,
                in_flight: 20,
            };
            assert_eq!(server(count), [expected]);
        }
    }

    #[test]
    fn pipelined_requests_may_all_be_in_flight() {
        let mut case = good();
        case.pipeline = 16;
        case.load.bytes = (1000 + 160) * 200;
        case.server.requests_in_life = Some(1501 + 320);
        assert_eq!(reasons_of(&case), []);
        case.load.bytes += 1;
        case.server.requests_in_life = Some(1501 + 321);
        assert_eq!(reasons_of(&case).len(), 2);
    }

    #[test]
    fn disturbances_above_their_bounds() {
        assert!(matches!(
            spoilt(|case| case.load.duration_us = 1_900_000),
            Reason::WindowCut { .. }
        ));
        assert!(matches!(
            spoilt(|case| case.system.throttled_us = 19_001),
            Reason::Throttled { .. }
        ));
        assert!(matches!(
            spoilt(|case| case.system.steal_percent = 10.1),
            Reason::Steal { .. }
        ));
        let mut case = good();
        case.system.throttled_us = 19_000;
        case.system.steal_percent = 10.0;
        assert_eq!(reasons_of(&case), []);
    }
}
