//! What a run shows, in sentences that its numbers make.

use rungs_primitives::cell::INCREMENTS;
use rungs_primitives::row::{Family, Placement, Value};

use super::key::{Key, PLACEMENTS, Rows};
use super::ladder::{Ladder, Step};
use crate::quantity::{nanos, significant, whole};

/// Each is left out where a row that it needs has no value.
pub(super) fn sentences(rows: Rows, ladder: &Ladder) -> Vec<String> {
    [
        request(ladder),
        other_cpu(rows),
        runtimes(rows),
        contention(rows),
        latency(rows),
        bandwidth(rows),
        messages(rows),
        programs(rows),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// What a request of a server would buy below it.
fn request(ladder: &Ladder) -> Option<String> {
    let label = ladder.request_of.as_deref()?;
    let server = ladder.servers.iter().find(|server| server.label == label)?;
    let step = |label: &str| ladder.steps.iter().find(|step| step.label == label);
    let bought = |step: Option<&Step>| step?.same_cpu?.bought();
    let mutexes = bought(step("std Mutex, alone"))?;
    let calls = bought(step("futex wake of nobody"))?;
    let trips = bought(step("Unix stream, two processes"))?;
    Some(format!(
        "A request of {label} costs {:.2} µs of its server's CPU time: as much as {mutexes} additions under a mutex that nobody else \
         wants, {calls} system calls that find nothing to do, or {trips} round trips between two processes over a Unix stream on one CPU.",
        server.cost_us
    ))
}

/// A thread on another CPU against one on the same, asleep and awake.
fn other_cpu(rows: Rows) -> Option<String> {
    let handed = |name, placement| {
        let key = Key::new(Family::Wakeups, name);
        rows.value(key, placement).map(|value| value.median)
    };
    let same = handed("futex", Placement::SameCpu)?;
    let across = handed("futex", Placement::AcrossCpus)?;
    let spinning = handed("SPSC ring, spinning", Placement::AcrossCpus)?;
    Some(format!(
        "A hand-off to a sleeping thread on another CPU costs {} one on the same CPU: by futex a word goes there and back in {}, and in {} \
         on one CPU. It is the sleep that costs: two threads that spin do it in {} across CPUs.",
        times(across, same),
        time(across),
        time(same),
        time(spinning)
    ))
}

/// What a hand-off between the threads of a runtime adds to one inside a thread.
fn runtimes(rows: Rows) -> Option<String> {
    let median = |name| {
        let key = Key::new(Family::Wakeups, name);
        rows.value(key, Placement::AcrossCpus)
            .map(|value| value.median)
    };
    let one = median("tokio channel, one runtime")?;
    let two = median("tokio channel, two runtimes")?;
    Some(format!(
        "Through tokio's channel a word goes there and back in {} between two tasks of one thread, and in {} between two runtimes on two CPUs, \
         {} as much: this is what work-stealing pays for a hand-off and thread-per-core saves.",
        time(one),
        time(two),
        times(two, one)
    ))
}

/// A lock that nobody else wants against one that another CPU wants too.
fn contention(rows: Rows) -> Option<String> {
    let addition_ns = |lock, threads: usize, placement| {
        let value = rows.value(Key::new(Family::Threads, lock).at(threads), placement)?;
        Some(value.median * 1e9 / (INCREMENTS as f64 * threads as f64))
    };
    let atomic = addition_ns("AtomicU64", 1, Placement::SameCpu)?;
    let alone = addition_ns("std Mutex", 1, Placement::SameCpu)?;
    let contended = addition_ns("std Mutex", 2, Placement::AcrossCpus)?;
    let semaphore = addition_ns("System V semaphore", 1, Placement::SameCpu)?;
    Some(format!(
        "To add 1 to a counter takes {} as an atomic, {} under a std Mutex that nobody else wants, {} if a thread on another CPU wants it \
         too, and {} under a System V semaphore.",
        nanos(atomic),
        nanos(alone),
        nanos(contended),
        nanos(semaphore)
    ))
}

/// The fastest and the slowest channel, at each placement.
fn latency(rows: Rows) -> Option<String> {
    let ends = |placement| {
        let (fastest, slowest) = extremes(rows, Family::Latency, placement)?;
        Some(format!(
            "{} ({}) to {} ({}) {}",
            time(fastest.1.median),
            fastest.0.mechanism,
            time(slowest.1.median),
            slowest.0.mechanism,
            where_words(placement)
        ))
    };
    let [same, across] = PLACEMENTS.map(ends);
    Some(format!(
        "A byte there and back between two processes takes {}, and {}.",
        same?, across?
    ))
}

/// The most that goes through any channel, at each placement.
fn bandwidth(rows: Rows) -> Option<String> {
    let most = |placement| {
        let (_, (key, value)) = extremes(rows, Family::Bandwidth, placement)?;
        Some(format!(
            "{} MB/s {}, through {} in messages of {} bytes",
            significant(value.median),
            where_words(placement),
            key.mechanism,
            whole(key.parameter? as u64)
        ))
    };
    let [same, across] = PLACEMENTS.map(most);
    Some(format!(
        "The most that goes one way is {}, and {}.",
        same?, across?
    ))
}

fn where_words(placement: Placement) -> &'static str {
    match placement {
        Placement::SameCpu => "on one CPU",
        Placement::AcrossCpus => "across CPUs",
    }
}

/// ZeroMQ against what the kernel has.
fn messages(rows: Rows) -> Option<String> {
    let placement = Placement::AcrossCpus;
    let median = |name| {
        let key = Key::new(Family::Messages, name);
        rows.value(key, placement).map(|value| value.median)
    };
    let (fastest, slowest) = extremes(rows, Family::Messages, placement)?;
    let by_zmq = median("ZeroMQ ipc").map_or(String::new(), |seconds| {
        format!(" ZeroMQ over ipc takes {} s.", significant(seconds))
    });
    Some(format!(
        "2,000,000 messages of 1,032 bytes to a process on another CPU take from {} s ({}) to {} s ({}).{by_zmq}",
        significant(fastest.1.median),
        fastest.0.mechanism,
        significant(slowest.1.median),
        slowest.0.mechanism
    ))
}

/// What the parent's size adds to starting a program.
fn programs(rows: Rows) -> Option<String> {
    let sizes = rows.parameters(Family::Spawn);
    let (small, large) = (*sizes.first()?, *sizes.last()?);
    let pair = |program| {
        let at = |mb: usize| {
            let key = Key::new(Family::Spawn, program).at(mb);
            rows.value(key, Placement::SameCpu)
                .map(|value| time(value.median))
        };
        Some((at(small)?, at(large)?))
    };
    let (spawned, forked) = (pair("posix_spawn")?, pair("fork + execv")?);
    Some(format!(
        "A process of {small} MB has a program run in {} by posix_spawn and in {} by fork; one of {} MB in {} and in {}.",
        spawned.0,
        forked.0,
        whole(large as u64),
        spawned.1,
        forked.1
    ))
}

type Found<'a> = (Key<'a>, &'a Value);

/// The rows of a family with the smallest and the largest value.
fn extremes(
    rows: Rows<'_>,
    family: Family,
    placement: Placement,
) -> Option<(Found<'_>, Found<'_>)> {
    let keys = rows.of(family).map(Key::of);
    let mut found: Vec<Found> = keys
        .filter_map(|key| Some((key, rows.value(key, placement)?)))
        .collect();
    found.sort_by(|a, b| a.1.median.total_cmp(&b.1.median));
    Some((*found.first()?, *found.last()?))
}

/// A time given in µs.
fn time(us: f64) -> String {
    nanos(us * 1e3)
}

/// `2.4 ×`.
fn times(more: f64, less: f64) -> String {
    format!("{} ×", significant(more / less))
}
