//! slowhttptest, which opens connections and lets each last as long as it can.

use std::thread;
use std::time::Duration;

use rungs_conformance::{Case, Kind, Server, cases, check, total};

use crate::process::{Said, run};
use crate::{each_rung, url};

/// Connections that one attack opens, and how many it opens in a second.
const CONNECTIONS: &str = "60";

/// Runs one attack, which lasts so many seconds, or until the server has closed all its connections.
fn attack(mode: &[&str], seconds: &str, url: &str) -> Said {
    let load = ["-c", CONNECTIONS, "-r", CONNECTIONS];
    let rest = ["-i", "1", "-l", seconds, "-u", url];
    run(
        "slowhttptest",
        "slowhttptest",
        [mode, &load, &rest].concat(),
    )
}

/// Serves others while `attack` lasts, and has closed all its connections some time after.
fn serves_meanwhile(mut server: Server, kind: Kind, attack: impl FnOnce() -> Said + Send) -> Said {
    let (page, mut probes) = (page(), 0);
    let said = thread::scope(|scope| {
        let attack = scope.spawn(attack);
        while !attack.is_finished() {
            check(server.addr(), kind, &page).unwrap();
            probes += 1;
            thread::sleep(Duration::from_millis(20));
        }
        attack.join().unwrap()
    });
    let counters = server.counters().unwrap();
    let opened = total(&counters, "connections") - probes;
    assert!(opened >= CONNECTIONS.parse().unwrap(), "{counters}");
    server.stop(Duration::from_secs(10)).unwrap();
    said
}

fn page() -> Case {
    let mut cases = cases().into_iter();
    cases.find(|case| case.name == "GET / is the page").unwrap()
}

/// Long enough for a probe that waits for its turn on a busy machine, between two requests of its connection.
const TIMEOUTS: &[&str] = &["--header-timeout", "2s", "--idle-timeout", "2s"];

#[test]
fn slow_heads() {
    each_rung(TIMEOUTS, |server, kind| {
        // axum::serve has no deadline, so the attack lasts as long as its author wishes.
        let (seconds, wanted) = match kind {
            Kind::Axum => ("2", "Hit test time limit"),
            _ => ("30", "No open connections left"),
        };
        let url = url(&server, "/");
        let said = serves_meanwhile(server, kind, || attack(&["-H"], seconds, &url));
        said.must_have(wanted);
    });
}

#[test]
fn slow_bodies() {
    each_rung(TIMEOUTS, |server, kind| {
        let url = url(&server, "/echo");
        serves_meanwhile(server, kind, || attack(&["-B"], "2", &url));
    });
}

#[test]
fn slow_reads() {
    each_rung(TIMEOUTS, |server, kind| {
        let url = url(&server, "/bytes/16777216");
        let mode = ["-X", "-w", "1", "-y", "10", "-n", "1"];
        serves_meanwhile(server, kind, || attack(&mode, "2", &url));
    });
}
