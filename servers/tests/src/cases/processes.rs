//! The contract of the process: flags, signals, counters.

use std::time::Duration;

use rungs_response::Route;
use rustix::process::Signal;

use super::{get, post_head};
use crate::Group;
use crate::case::{Case, Ending, ProcessStep, nothing};
use crate::reply::{echo, ok, page, pattern};

const SHORT_GRACE: &[&str] = &["--grace", "500ms"];
const LONG_GRACE: &[&str] = &["--grace", "30s"];

/// An exit in time with [`SHORT_GRACE`], also on a loaded machine; with [`LONG_GRACE`] it is an exit before that time.
const SOON: Duration = Duration::from_secs(5);

const TERM: ProcessStep = ProcessStep::Signal(Signal::TERM);
const EXITS: ProcessStep = ProcessStep::Exits(SOON);

fn case(name: &'static str) -> Case {
    Case::new(Group::Process, name)
}

pub(super) fn cases() -> Vec<Case> {
    [stops(), finishes(), starts()]
        .into_iter()
        .flatten()
        .collect()
}

fn stops() -> Vec<Case> {
    let stop = |name| case(name).flags(SHORT_GRACE);
    vec![
        stop("SIGTERM without connections")
            .null_too()
            .process(TERM)
            .process(EXITS),
        stop("SIGINT is as good as SIGTERM")
            .null_too()
            .process(ProcessStep::Signal(Signal::INT))
            .process(EXITS),
        stop("SIGTERM with a client that has sent nothing")
            .null_too()
            .on(0)
            .pause(Duration::from_millis(50))
            .process(TERM)
            .process(EXITS),
        stop("SIGTERM in a head")
            .send(b"GET / HT")
            .expect(nothing().silent())
            .process(TERM)
            .process(EXITS),
        stop("SIGTERM in a body that never comes")
            .send_text(post_head(10) + "abc")
            .expect(nothing().silent())
            .process(TERM)
            .process(EXITS),
        stop("SIGTERM with a client that never reads")
            .send_text(get("/bytes/16777216"))
            .expect(ok(Route::Bytes(16 << 20)).head().and_more())
            .process(TERM)
            .process(EXITS),
    ]
}

fn finishes() -> Vec<Case> {
    let finish = |name| case(name).flags(LONG_GRACE);
    vec![
        finish("SIGTERM closes idle connections at once")
            .null_too()
            .send_text(get("/"))
            .expect(page().open())
            .process(TERM)
            .expect(nothing().closed())
            .process(EXITS),
        finish("SIGTERM lets a long answer be finished, but serves nobody new")
            .send_text(get("/bytes/16777216"))
            .expect(ok(Route::Bytes(16 << 20)).head().and_more())
            .process(TERM)
            .process(ProcessStep::Refuses)
            .expect(pattern(16 << 20).closed())
            .process(EXITS),
        // That the server has begun to stop shows in that it closes an idle connection, and refuses new ones.
        finish("SIGTERM lets a request be finished, and says that the connection closes")
            .send_text(post_head(5) + "he")
            .expect(nothing().silent())
            .on(1)
            .send_text(get("/"))
            .expect(page().open())
            .process(TERM)
            .expect(nothing().closed())
            .process(ProcessStep::Refuses)
            .pause(Duration::from_millis(100))
            .on(0)
            .send(b"llo")
            .expect(echo("hello").closing().closed())
            .process(EXITS),
    ]
}

fn starts() -> Vec<Case> {
    let launch = |flags, code, stderr| ProcessStep::Launch {
        flags,
        code,
        stderr,
    };
    vec![
        case("a flag that does not exist: exit 2, and stderr names it")
            .null_too()
            .process(launch(&["--no-such-flag"], 2, "--no-such-flag")),
        case("a value that is wrong: exit 2, and stderr names the flag")
            .null_too()
            .process(launch(&["--threads", "none"], 2, "--threads")),
        case("a port in use: exit 1, and stderr says so")
            .null_too()
            .process(launch(&["--listen", "{addr}"], 1, "in use")),
        case("a port in use, wanted by two threads: exit 1, and stderr says so")
            .null_too()
            .process(launch(
                &["--listen", "{addr}", "--threads", "2"],
                1,
                "in use",
            )),
        case("SIGUSR1 tells how many requests were answered, in how many bytes, and how many connections are open")
            .null_too()
            .process(ProcessStep::Counts { pages: 0,
                open: 0,
            })
            .send_text(get("/"))
            .expect(page().open())
            .on(1)
            .send_text(get("/"))
            .expect(page().open())
            .process(ProcessStep::Counts { pages: 4,
                open: 2,
            })
            .hang_up()
            .process(ProcessStep::Counts { pages: 4,
                open: 1,
            }),
        case("--run-for ends the server")
            .null_too()
            .flags(&["--run-for", "300ms"])
            .process(EXITS),
    ]
}
