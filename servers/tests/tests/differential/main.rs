//! Generated requests, valid and broken, to each raw rung and to hyper: see [`rungs_conformance::differential`].
//!
//! The requests are the same each time. For others, and more of them:
//!
//! ```sh
//! PROPTEST_RNG_SEED=7 PROPTEST_CASES=20000 cargo test -p rungs-conformance --test differential
//! ```

mod generate;

use std::env;
use std::net::SocketAddr;

use generate::dialogue;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed, TestRunner};
use rungs_conformance::differential::{DECLARED, Dialogue, Request, Seen};
use rungs_conformance::{Server, program};

/// The rungs on `rungs-http1`. The others are compared with the first.
const RAW: &[&str] = &["epoll", "mio", "uring"];

fn start(rung: &str) -> Server {
    Server::start(program(rung), [] as [&str; 0]).unwrap()
}

fn play(dialogue: &Dialogue, addr: SocketAddr) -> Result<Seen, TestCaseError> {
    Ok(dialogue.play(addr)?)
}

/// The dialogue without the first request at which hyper may differ, and what follows it.
fn up_to_difference(mut dialogue: Dialogue) -> Dialogue {
    let may_differ =
        |request: &Request| DECLARED.iter().any(|declared| (declared.applies)(request));
    let alike = dialogue
        .requests
        .iter()
        .take_while(|request| !may_differ(request))
        .count();
    dialogue.requests.truncate(alike);
    dialogue
}

#[test]
fn the_rungs_agree_but_for_what_is_declared() {
    let raw: Vec<_> = RAW.iter().map(|rung| start(rung)).collect();
    let hyper = start("hyper");
    let mut config = Config {
        failure_persistence: None,
        ..Config::default()
    };
    if env::var_os("PROPTEST_CASES").is_none() {
        config.cases = 2_000;
    }
    if matches!(config.rng_seed, RngSeed::Random) {
        config.rng_seed = RngSeed::Fixed(4);
    }
    let compare = |dialogue: Dialogue| {
        let first = play(&dialogue, raw[0].addr())?;
        for (rung, server) in RAW.iter().zip(&raw).skip(1) {
            let seen = play(&dialogue, server.addr())?;
            prop_assert_eq!(&seen, &first, "{} differs from {}", rung, RAW[0]);
        }
        let alike = up_to_difference(dialogue);
        let first = play(&alike, raw[0].addr())?;
        let seen = play(&alike, hyper.addr())?;
        prop_assert_eq!(seen, first, "hyper differs from {}, undeclared", RAW[0]);
        Ok(())
    };
    TestRunner::new(config)
        .run(&dialogue(), compare)
        .unwrap_or_else(|e| panic!("{e}"));
}

#[test]
fn each_declared_difference_shows() {
    let (epoll, hyper) = (start(RAW[0]), start("hyper"));
    for difference in DECLARED {
        let (head, body) = difference.witness;
        let request = Request::new(head, body);
        assert!(
            (difference.applies)(&request),
            "{request:?} is not meant: {}",
            difference.why
        );
        let dialogue = Dialogue::of(request);
        let raw = dialogue.play(epoll.addr()).unwrap();
        let seen = dialogue.play(hyper.addr()).unwrap();
        assert!(
            raw != seen,
            "at {dialogue:?} this does not show any more: {}",
            difference.why
        );
    }
}
