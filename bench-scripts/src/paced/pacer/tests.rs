//! The pacer against servers whose every answer is known, on a clock that the test turns: the figures are exact up to the
//! histogram's 0.1%.

use std::num::NonZeroU32;

use super::*;

const MS: Duration = Duration::from_millis(1);

fn pacer(rate: u32, connections: u32, warmup: Duration, duration: Duration) -> Pacer {
    let schedule = Schedule {
        rate: NonZeroU32::new(rate).unwrap(),
        connections: NonZeroU32::new(connections).unwrap(),
    };
    let mut pacer = Pacer::new(schedule, warmup, duration);
    for lane in 0..connections as usize {
        pacer.connected(lane, Duration::ZERO);
    }
    pacer
}

/// Runs a load to its end. `answer_at` gives, for a request sent at a time, the time of its answer; `wakes_at` gives,
/// for a time at which the generator wants to send, the one at which it comes to it.
fn simulate(
    pacer: &mut Pacer,
    mut answer_at: impl FnMut(Duration) -> Duration,
    wakes_at: impl Fn(Duration) -> Duration,
) {
    // Answers on their way, soonest first.
    let mut answers: Vec<(Duration, usize)> = Vec::new();
    let mut now = Duration::ZERO;
    loop {
        let mut to_send = Vec::new();
        while let Some(&(at, lane)) = answers.first().filter(|(at, _)| *at <= now) {
            answers.remove(0);
            pacer.answered(lane, at);
            if pacer.may_send(lane, at) {
                pacer.sent(lane, at);
                answers.push((answer_at(at), lane));
                answers.sort();
            }
        }
        while let Some(lane) = pacer.next_to_send(now) {
            pacer.sent(lane, now);
            to_send.push(lane);
        }
        for lane in to_send {
            answers.push((answer_at(now), lane));
        }
        answers.sort();
        if pacer.is_finished(now) {
            return;
        }
        let send = pacer.wake_at().map(&wakes_at);
        let answer = answers.first().map(|(at, _)| *at);
        let window_end = (now < pacer.window_end).then_some(pacer.window_end);
        now = [send, answer, window_end]
            .into_iter()
            .flatten()
            .min()
            .expect("it has nothing to wait for, and is not finished")
            .max(now);
    }
}

fn on_time(time: Duration) -> Duration {
    time
}

fn assert_near(got_us: f64, truth: Duration) {
    let truth_us = truth.as_secs_f64() * 1e6;
    assert!(
        (got_us - truth_us).abs() <= truth_us * 0.001 + 0.001,
        "{got_us} µs instead of {truth_us} µs"
    );
}

#[test]
fn a_steady_server_gives_its_own_time_at_every_percentile() {
    let mut pacer = pacer(1000, 10, Duration::from_secs(1), Duration::from_secs(4));
    simulate(&mut pacer, |sent| sent + 2 * MS, on_time);
    let recorded = pacer.recorded(0.1);
    let requests = recorded.requests;
    assert_eq!((requests.due, requests.answered), (4000, 4000));
    assert_eq!((requests.sent_in_window, requests.not_sent), (4000, 0));
    for distribution in [&recorded.latency, &recorded.service_time] {
        assert_eq!(distribution.count, 4000);
        assert_near(distribution.p50_us, 2 * MS);
        assert_near(distribution.max_us, 2 * MS);
        assert_near(distribution.mean_us, 2 * MS);
    }
    assert_near(recorded.lateness.max_us, Duration::ZERO);
    assert_eq!(recorded.problems, []);
}

/// A server that answers at once, but for one stall: whatever is sent during it is answered at its end.
///
/// At rate r, the requests due in the last S − x of a stall of S wait less than x no longer, so r·(S − x) of them exceed
/// x, and the percentile q of a window D is S − (1 − q)·D.
#[test]
fn a_stall_gives_the_percentiles_that_arithmetic_gives() {
    let (begin, stall) = (Duration::from_secs(3), 500 * MS);
    let window = Duration::from_secs(10);
    let answer_at = |sent: Duration| {
        if (begin..begin + stall).contains(&sent) {
            begin + stall
        } else {
            sent
        }
    };
    for connections in [1, 7, 50] {
        let mut pacer = pacer(1000, connections, Duration::ZERO, window);
        simulate(&mut pacer, answer_at, on_time);
        let recorded = pacer.recorded(0.1);
        let latency = &recorded.latency;
        assert_near(latency.max_us, stall);
        // From one request to the next it is 1 ms: the rank of a percentile is off by at most that.
        for (got_us, quantile) in [(latency.p99_us, 0.99), (latency.p999_us, 0.999)] {
            let truth = stall.saturating_sub(window.mul_f64(1.0 - quantile));
            assert!(
                (got_us - truth.as_secs_f64() * 1e6).abs() < 1500.0,
                "{got_us} {truth:?}"
            );
        }
        assert!(latency.p90_us < 1.0);
        // Σ over the 500 requests, (500 + 499 + … + 1) ms, over all 10,000.
        assert_near(latency.mean_us, MS * (500 * 501 / 2) / 10_000);
        // Coordinated omission: of the service times, only one for each connection knows of the stall.
        let service = &recorded.service_time;
        assert_near(service.max_us, stall);
        assert!(service.p99_us < 1.0, "{}", service.p99_us);
        let at_most = stall.mul_f64(f64::from(connections) / 10_000.0);
        assert!(service.mean_us <= at_most.as_secs_f64() * 1e6 + 1.0);
        assert_eq!(recorded.problems, [], "it recovers, so the rate was held");
    }
}

/// A server with one worker that takes 2 ms for each answer, at 1,000 requests a second: half of what is asked for.
/// Answer n comes at 2(n+1) ms and was due at n ms, so its latency is n + 2 ms: it grows for as long as the load lasts.
#[test]
fn at_a_server_too_slow_latency_grows_with_time_and_the_rate_is_not_held() {
    let mut pacer = pacer(1000, 10, Duration::ZERO, Duration::from_secs(10));
    let mut free_at = Duration::ZERO;
    let one_worker = |sent: Duration| {
        free_at = free_at.max(sent) + 2 * MS;
        free_at
    };
    simulate(&mut pacer, one_worker, on_time);
    let recorded = pacer.recorded(0.1);
    let requests = recorded.requests;
    // 5,000 were answered when the window ended, the last at that very moment, and ten were in flight.
    assert_eq!(requests.answered, 5010);
    assert_eq!(requests.not_sent, 10_000 - 5010);
    assert_near(recorded.latency.max_us, 5011 * MS);
    assert_near(recorded.latency.p50_us, 2506 * MS);
    // With each of ten connections in turn, 2 ms each.
    assert_near(recorded.service_time.p50_us, 20 * MS);
    let [
        Problem::RateShort {
            due,
            sent_in_window,
        },
    ] = &recorded.problems[..]
    else {
        panic!("{:?}", recorded.problems);
    };
    assert_eq!((*due, *sent_in_window), (10_000, 5009));
}

/// 10 connections × 20 ms carry 500 requests a second; 20 connections carry 1,000.
#[test]
fn too_few_connections_do_not_hold_the_rate() {
    let held = |connections| {
        let mut pacer = pacer(1000, connections, Duration::ZERO, Duration::from_secs(2));
        simulate(&mut pacer, |sent| sent + 20 * MS, on_time);
        pacer.recorded(0.1).problems.is_empty()
    };
    assert!(!held(10));
    assert!(held(20));
}

#[test]
fn what_is_left_of_a_rate_that_was_held_is_sent_after_the_window() {
    // The stall lasts from 15 ms before the end of 2 s to long after it: 15 of 2,000 are held up.
    let begin = Duration::from_millis(1985);
    let end = Duration::from_secs(3);
    let mut pacer = pacer(1000, 1, Duration::ZERO, Duration::from_secs(2));
    let answer_at = |sent: Duration| if sent >= begin { sent.max(end) } else { sent };
    simulate(&mut pacer, answer_at, on_time);
    let recorded = pacer.recorded(0.1);
    assert_eq!(
        (recorded.requests.answered, recorded.requests.not_sent),
        (2000, 0)
    );
    assert_eq!(recorded.requests.sent_in_window, 1986);
    assert_near(recorded.latency.max_us, end - begin);
    assert_eq!(recorded.problems, []);
}

#[test]
fn a_generator_that_wakes_late_says_so_and_does_not_blame_the_server() {
    let mut pacer = pacer(1000, 10, Duration::ZERO, Duration::from_secs(2));
    // It wakes only every 8 ms; the server answers at once.
    let every_8_ms = |time: Duration| {
        let nanos = time.as_nanos().div_ceil(8_000_000) * 8_000_000;
        Duration::from_nanos(nanos as u64)
    };
    simulate(&mut pacer, |sent| sent, every_8_ms);
    let recorded = pacer.recorded(0.1);
    assert_near(recorded.lateness.max_us, 7 * MS);
    assert_near(recorded.lateness.mean_us, Duration::from_micros(3500));
    let [Problem::GeneratorLate { p99_us, bound_us }] = recorded.problems[..] else {
        panic!("{:?}", recorded.problems);
    };
    assert_near(p99_us, 7 * MS);
    assert_eq!(bound_us, 1000.0);
}

#[test]
fn what_lateness_may_be_depends_on_the_latency_it_is_part_of() {
    let problems = |service: Duration, late: Duration| {
        let mut pacer = pacer(100, 10, Duration::ZERO, Duration::from_secs(2));
        simulate(&mut pacer, |sent| sent + service, |time| time + late);
        pacer.recorded(0.1).problems.len()
    };
    let micros = Duration::from_micros;
    assert_eq!(problems(micros(50), micros(90)), 0);
    assert_eq!(problems(micros(50), micros(110)), 1);
    assert_eq!(problems(micros(2000), micros(400)), 0);
    assert_eq!(problems(micros(50_000), micros(990)), 0);
    assert_eq!(problems(micros(50_000), micros(1010)), 1);
}

#[test]
fn a_generator_without_time_left_says_so() {
    let mut pacer = pacer(1000, 10, Duration::ZERO, Duration::from_secs(1));
    simulate(&mut pacer, |sent| sent + MS, on_time);
    let problems = pacer.recorded(0.97).problems;
    assert!(
        matches!(problems[..], [Problem::GeneratorBusy { .. }]),
        "{problems:?}"
    );
    assert!(problems[0].breaks_rate());
}

#[test]
fn failures_are_counted_by_kind_and_only_in_the_window() {
    let mut pacer = pacer(10, 1, Duration::from_secs(1), Duration::from_secs(1));
    for number in 0..20_u32 {
        let now = MS * 100 * number;
        assert_eq!(pacer.next_to_send(now), Some(0));
        pacer.sent(0, now);
        match number % 5 {
            0 => pacer.failed(0, now + MS, Failure::Status),
            1 => {
                pacer.failed(0, now + MS, Failure::Short);
                pacer.disconnected(0);
                pacer.connect_failed(now + 2 * MS);
                pacer.connected(0, now + 3 * MS);
            }
            _ => pacer.answered(0, now + MS),
        }
    }
    assert!(pacer.is_finished(Duration::from_secs(2)));
    let recorded = pacer.recorded(0.1);
    let errors = Errors {
        connect: 2,
        short: 2,
        status: 2,
        ..Errors::default()
    };
    assert_eq!(recorded.errors, errors);
    let requests = recorded.requests;
    assert_eq!(
        (requests.due, requests.answered, requests.failed),
        (10, 6, 4)
    );
    assert_eq!(recorded.latency.count, 6);
    assert_eq!(recorded.problems, [Problem::Errors { errors }]);
    assert!(!recorded.problems[0].breaks_rate());
    assert_eq!(
        recorded.problems[0].to_string(),
        "there were errors: 2 connect, 2 short, 2 status"
    );
}

#[test]
fn waiting_for_a_connection_is_latency_and_not_lateness() {
    let mut pacer = pacer(10, 1, Duration::ZERO, Duration::from_millis(100));
    pacer.disconnected(0);
    assert_eq!(pacer.next_to_send(Duration::ZERO), None);
    pacer.connected(0, 30 * MS);
    assert!(pacer.may_send(0, 30 * MS));
    pacer.sent(0, 30 * MS);
    pacer.answered(0, 31 * MS);
    let recorded = pacer.recorded(0.1);
    assert_near(recorded.latency.max_us, 31 * MS);
    assert_near(recorded.service_time.max_us, MS);
    assert_near(recorded.lateness.max_us, Duration::ZERO);
}

#[test]
fn the_connections_that_wait_too_long_are_found() {
    let mut pacer = pacer(1000, 3, Duration::ZERO, Duration::from_secs(1));
    for lane in 0..3 {
        let now = MS * lane;
        let lane = pacer.next_to_send(now).unwrap();
        pacer.sent(lane, now);
    }
    assert_eq!(pacer.in_flight_since(MS), [0, 1]);
    pacer.answered(0, 3 * MS);
    assert_eq!(pacer.in_flight_since(MS), [1]);
}
