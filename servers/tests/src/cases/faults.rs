//! Slow, vanishing and hostile clients; deadlines; lack of descriptors.

use std::time::Duration;

use rungs_response::{Route, Status};

use super::{get, post_head, request};
use crate::case::{Case, Ending, ProcessStep, nothing};
use crate::reply::{error, ok, page};
use crate::{Group, Kind};

/// Short enough to wait for, long enough that a loaded machine does not fail a brisk client.
const DEADLINES: &[&str] = &["--header-timeout", "500ms", "--idle-timeout", "1s"];

const LONGEST: u32 = 16 << 20;

/// What a client that does not read may take of the server's memory, in bytes.
const MEMORY: u64 = 256 << 10;

fn case(name: &'static str) -> Case {
    Case::new(Group::Faults, name)
}

fn longest() -> String {
    get(&format!("/bytes/{LONGEST}"))
}

pub(super) fn cases() -> Vec<Case> {
    [
        deadlines(),
        idle(),
        slow_readers(),
        vec![flood()],
        resets(),
        interruptions(),
        descriptors(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn deadlines() -> Vec<Case> {
    const AXUM: &str =
        "axum::serve has no deadlines: a silent client holds its connection for ever";
    const BODY: &str = "hyper has no deadline for a body: the connection stays";
    let timed = |name| case(name).flags(DEADLINES);
    let timed_out = || {
        error(Status::RequestTimeout)
            .closed()
            .or(nothing().closed())
    };
    let longer = Duration::from_millis(1_500);
    vec![
        timed("a head that does not end is given up")
            .send(b"GET / HTTP/1.1\r\nhost: a\r\n")
            .pause(longer)
            .expect(timed_out())
            .unless(Kind::Axum, nothing().silent(), AXUM),
        timed("a head that drips without end is given up all the same")
            .drip(
                request("GET", "/", &"x: y\r\n".repeat(40)).into_bytes(),
                Duration::from_millis(100),
            )
            .expect(timed_out())
            .exempt(Kind::Axum, AXUM),
        timed("empty lines without end are given up")
            .drip(b"\r\n".repeat(50), Duration::from_millis(100))
            .expect(timed_out())
            .exempt(Kind::Axum, AXUM),
        timed("a connection without a request is closed")
            .on(0)
            .pause(longer)
            .expect(nothing().closed())
            .unless(Kind::Axum, nothing().open(), AXUM),
        timed("an idle connection is closed")
            .send_text(get("/"))
            .expect(page().open())
            .pause(longer)
            .expect(nothing().closed())
            .unless(Kind::Axum, nothing().open(), AXUM),
        timed("a body that does not come is given up")
            .send_text(post_head(10) + "abc")
            .pause(longer)
            .expect(timed_out())
            .unless(Kind::Hyper, nothing().silent(), BODY)
            .unless(Kind::Axum, nothing().silent(), AXUM),
        timed("a client that stops reading is given up")
            .send_text(longest())
            .pause(longer)
            .expect(ok(Route::Bytes(LONGEST)).cut_short())
            .unless(
                Kind::Hyper,
                ok(Route::Bytes(LONGEST)).closed(),
                "hyper has no deadline for a write: all of it arrives in the end",
            )
            .unless(Kind::Axum, ok(Route::Bytes(LONGEST)).open(), AXUM),
    ]
}

fn idle() -> Vec<Case> {
    let mut idle = case("a server with idle connections sleeps").null_too();
    for client in 0..20 {
        idle = idle.on(client).send_text(get("/")).expect(page().open());
    }
    vec![
        // First, what follows the last answer has its time: counters, deadlines.
        idle.pause(Duration::from_millis(200))
            .process(ProcessStep::Sleeps(Duration::from_secs(2))),
    ]
}

fn slow_readers() -> Vec<Case> {
    const CLIENTS: u64 = 8;
    let mut crowd = case("unread answers of 16 MiB to 8 clients do not fill the memory");
    for client in 0..CLIENTS as usize {
        crowd = crowd.on(client).send_text(longest());
    }
    vec![
        case("a slow reader gets all, and others are served meanwhile")
            .send_text(longest())
            .pause(Duration::from_millis(50))
            .on(1)
            .send_text(get("/"))
            .expect(page().open())
            .on(0)
            .expect_slowly(ok(Route::Bytes(LONGEST)).open()),
        crowd
            .pause(Duration::from_millis(300))
            .process(ProcessStep::GrowsBelow(CLIENTS * MEMORY))
            .process(ProcessStep::Rests(Duration::from_millis(300)))
            .on(8)
            .send_text(get("/"))
            .expect(page().open())
            .on(0)
            .expect(ok(Route::Bytes(LONGEST)).open()),
    ]
}

/// The requests never end while the script lasts: a server that reads all before it writes never writes. hyper's read
/// buffer grows with them, up to some 400 KB.
fn flood() -> Case {
    let request: &'static [u8] = Box::leak(get("/json").into_bytes().into_boxed_slice());
    let part = || vec![ok(Route::Json); 10_000].and_more();
    case("a client that sends requests without a pause is answered meanwhile, and so are others")
        .send_meanwhile(request, usize::MAX)
        .expect(part())
        .on(1)
        .send_text(get("/"))
        .expect(page().open())
        .on(0)
        .expect(part())
        .process(ProcessStep::GrowsBelow(8 * MEMORY))
}

fn resets() -> Vec<Case> {
    let survives = |case: Case| case.on(1).send_text(get("/")).expect(page().open());
    let mut crowd = case("1,000 clients that come and go leave no connection behind").null_too();
    for _ in 0..5 {
        for client in 0..200 {
            crowd = crowd.on(client).send_text(get("/")).expect(page().open());
        }
        for client in 0..200 {
            crowd = crowd.on(client).hang_up();
        }
    }
    let mut storm = case("a storm of 300 resets leaves no connection behind")
        .null_too()
        .connect_and_reset(100);
    for _ in 0..100 {
        storm = storm.send(b"GET / HT").reset();
        storm = storm.send_text(longest()).reset();
    }
    vec![
        crowd
            .process(ProcessStep::ClosesAll)
            .process(ProcessStep::Counts {
                pages: 2_000,
                open: 0,
            }),
        storm
            .process(ProcessStep::ClosesAll)
            .process(ProcessStep::Open(0)),
        survives(
            case("clients that vanish before they are accepted")
                .null_too()
                .connect_and_reset(50),
        ),
        survives(
            case("a client that vanishes in a head")
                .send(b"GET / HT")
                .reset(),
        ),
        survives(
            case("a client that vanishes in a body")
                .send_text(post_head(10) + "abc")
                .reset(),
        ),
        survives(
            case("a client that vanishes in a long answer")
                .send_text(longest())
                .pause(Duration::from_millis(20))
                .reset(),
        ),
        survives(
            case("a client that hangs up with an answer unread")
                .send_text(longest())
                .hang_up(),
        ),
        survives(
            case("a client that vanishes behind 1,000 requests")
                .send_text(get("/").repeat(1_000))
                .reset(),
        ),
    ]
}

/// What waits in the kernel when the process is stopped and goes on gets EINTR.
fn interruptions() -> Vec<Case> {
    let interrupted = |case: Case| {
        let halt = |case: Case| {
            case.process(ProcessStep::Halt)
                .process(ProcessStep::GoOn)
                .pause(Duration::from_millis(5))
        };
        (0..10).fold(case, |case, _| halt(case))
    };
    // All of it has happened when the server looks again, so it comes in one batch: connections that are gone, others
    // that have a request, and new ones, which get the numbers of those that are gone.
    let mut batch =
        case("connections that end, speak and begin at once are not taken for one another");
    for client in 0..20 {
        batch = batch.on(client).send_text(get("/")).expect(page().open());
    }
    batch = batch.process(ProcessStep::Halt);
    for client in 0..10 {
        batch = batch.on(client).reset();
        batch = batch.on(10 + client).send_text(get("/json"));
        batch = batch.on(20 + client).send_text(get("/bytes/7"));
    }
    batch = batch.process(ProcessStep::GoOn);
    for client in 0..10 {
        batch = batch.on(10 + client).expect(ok(Route::Json).open());
        batch = batch.on(20 + client).expect(ok(Route::Bytes(7)).open());
    }
    vec![
        interrupted(
            case("a server that is interrupted goes on")
                .null_too()
                .send_text(get("/"))
                .expect(page().open()),
        )
        .expect(nothing().open())
        .on(1)
        .send_text(get("/"))
        .expect(page().open()),
        interrupted(case("an answer that is interrupted goes on").send_text(longest()))
            .expect(ok(Route::Bytes(LONGEST)).open()),
        batch.process(ProcessStep::Open(20)),
    ]
}

/// Why uring is not held to a limit that is lowered while it runs.
const LIMIT: &str = "io_uring accepts under the limit of descriptors that was in force when it was told to accept, so one that is lowered later \
    means nothing to it; a test of its own starts it under one";

fn descriptors() -> Vec<Case> {
    let mut crowd = case(
        "no descriptors left: of more clients than descriptors, each is served when its turn comes",
    )
    .send_text(get("/"))
    .expect(page().open())
    .process(ProcessStep::DenyDescriptors);
    for client in 1..=4 {
        let last = request("GET", "/json", "connection: close\r\n");
        crowd = crowd.on(client).send_text(last);
    }
    crowd = crowd.expect(nothing().silent()).on(0).hang_up();
    for client in 1..=4 {
        crowd = crowd.on(client).expect(ok(Route::Json).closing().closed());
        crowd = crowd.hang_up();
    }
    vec![
        crowd.exempt(Kind::Uring, LIMIT),
        case("no descriptors left: no spin, others are served, and then the waiting one")
            .send_text(get("/"))
            .expect(page().open())
            .process(ProcessStep::DenyDescriptors)
            .on(1)
            .send_text(get("/json"))
            .expect(nothing().silent())
            .process(ProcessStep::Rests(Duration::from_millis(400)))
            .on(0)
            .send_text(get("/"))
            .expect(page().open())
            .process(ProcessStep::AllowDescriptors)
            .on(1)
            .expect(ok(Route::Json).open())
            .exempt(Kind::Uring, LIMIT),
        // Of two threads that accept from one listener, the one that gets nothing has reserved a number for a moment, and
        // the connection may have got a higher one. Two more connections fill such a gap: the limit is the lowest free
        // number, and the one that the hanging up sets free must lie below it.
        case("no descriptors left: the waiting client is served when another hangs up")
            .send_text(get("/"))
            .expect(page().open())
            .on(2)
            .send_text(get("/"))
            .expect(page().open())
            .on(3)
            .send_text(get("/"))
            .expect(page().open())
            .process(ProcessStep::DenyDescriptors)
            .on(1)
            .send_text(get("/json"))
            .expect(nothing().silent())
            .on(0)
            .hang_up()
            .on(1)
            .expect(ok(Route::Json).open())
            .exempt(Kind::Uring, LIMIT),
    ]
}
