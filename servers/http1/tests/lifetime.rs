//! Deadlines, half-closed connections, and a server that stops.

mod common;

use common::{Client, LIMITS, echo, error, statuses};
use rungs_http1::{Connection, LINGER_TIMEOUT, Next};

const GET: &str = "GET / HTTP/1.1\r\nhost: a\r\n\r\n";
const LONG: &str = "GET /bytes/100000 HTTP/1.1\r\nhost: a\r\n\r\n";
const POST: &str = "POST /echo HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\n\r\nhel";

#[test]
fn a_connection_is_small() {
    assert!(size_of::<Connection>() <= 96, "{}", size_of::<Connection>());
}

#[test]
fn an_idle_connection_is_closed_silently() {
    let mut client = Client::new();
    assert_eq!(client.patience(), LIMITS.idle_timeout);
    client.wait(30);
    client.exchange(GET);
    assert_eq!(client.patience(), LIMITS.idle_timeout);
    client.wait(59);
    client.expire();
    assert_eq!(client.next(), Next::Read, "it is too early");
    client.wait(1);
    client.expire();
    assert_eq!((client.take().as_str(), client.next()), ("", Next::Close));
}

#[test]
fn a_dripping_head_gets_no_more_time() {
    let mut client = Client::new();
    client.wait(50);
    for byte in b"GET / HTTP" {
        client.receive(&[*byte]);
        client.wait(1);
    }
    assert!(client.patience().is_zero());
    client.expire();
    assert_eq!(client.take(), error("408 Request Timeout"));
    assert_eq!(
        (client.next(), client.patience()),
        (Next::Linger, LINGER_TIMEOUT)
    );
    client.wait(2);
    client.expire();
    assert_eq!((client.take().as_str(), client.next()), ("", Next::Close));
}

#[test]
fn empty_lines_keep_nothing_alive() {
    let mut client = Client::new();
    for _ in 0..5 {
        client.receive(b"\r\n");
        client.wait(2);
    }
    client.expire();
    assert_eq!((client.take().as_str(), client.next()), ("", Next::Close));
}

#[test]
fn a_head_behind_a_request_has_its_own_time() {
    let mut client = Client::new();
    client.receive(&GET.as_bytes()[..9]);
    client.wait(9);
    client.exchange(&GET[9..]);
    assert_eq!(client.patience(), LIMITS.idle_timeout);
    client.receive(&GET.as_bytes()[..9]);
    assert_eq!(client.patience(), LIMITS.header_timeout);
}

#[test]
fn a_stalled_body_is_told() {
    let mut client = Client::new();
    client.receive(POST.as_bytes());
    client.wait(59);
    client.receive(b"l");
    assert_eq!(client.patience(), LIMITS.idle_timeout);
    client.wait(60);
    client.expire();
    assert_eq!(client.take(), error("408 Request Timeout"));
    assert_eq!(client.next(), Next::Linger);
}

#[test]
fn slow_readers_live_and_stalled_ones_do_not() {
    let mut client = Client::new();
    client.receive(LONG.as_bytes());
    for _ in 0..5 {
        client.wait(59);
        client.connection.progressed(client.now);
    }
    assert_eq!(client.next(), Next::Resume);
    client.wait(60);
    client.take();
    client.expire();
    assert_eq!((client.take().as_str(), client.next()), ("", Next::Close));
}

#[test]
fn what_was_sent_before_the_fin_is_answered() {
    let mut client = Client::new();
    client.receive(GET.as_bytes());
    client.fin();
    assert_eq!(
        (statuses(&client.take()).len(), client.next()),
        (1, Next::Close)
    );

    let mut client = Client::new();
    client.receive(format!("{LONG}{GET}{LONG}{GET}{}", &GET[..9]).as_bytes());
    client.fin();
    client.flush();
    assert_eq!(
        (statuses(&client.take()).len(), client.next()),
        (4, Next::Close)
    );
}

#[test]
fn a_fin_in_the_middle_closes() {
    for (request, answers) in [
        ("GET / HT", 0),
        (POST, 0),
        (
            "GET / HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\n\r\nabc",
            1,
        ),
        ("nonsense\r\n", 1),
        ("\r\n", 0),
        ("", 0),
    ] {
        let mut client = Client::new();
        client.receive(request.as_bytes());
        client.fin();
        assert_eq!(client.next(), Next::Close, "{request:?}");
        assert_eq!(statuses(&client.take()).len(), answers, "{request:?}");
    }
}

#[test]
fn a_stop_closes_what_is_not_in_flight() {
    for request in ["", "\r\n", "GET / HT", GET] {
        let mut client = Client::new();
        client.exchange(request);
        client.shut_down();
        assert_eq!(
            (client.take().as_str(), client.next()),
            ("", Next::Close),
            "{request:?}"
        );
    }
}

#[test]
fn a_stop_waits_for_a_body_and_says_that_it_closes() {
    let mut client = Client::new();
    client.receive(POST.as_bytes());
    client.shut_down();
    assert_eq!(client.next(), Next::Read);
    let closing = echo("hello").replace("\r\n\r\n", "\r\nconnection: close\r\n\r\n");
    assert_eq!(client.exchange(&format!("lo{GET}")), closing);
    assert_eq!(client.next(), Next::Linger);
}

#[test]
fn a_stop_finishes_a_long_answer_and_one_request_behind_it() {
    let mut client = Client::new();
    client.receive(LONG.as_bytes());
    client.shut_down();
    client.flush();
    assert_eq!(
        (client.take().len() > 100_000, client.next()),
        (true, Next::Close)
    );

    let mut client = Client::new();
    client.receive(format!("{LONG}{GET}{GET}").as_bytes());
    client.shut_down();
    client.flush();
    let answers = client.take();
    assert_eq!(statuses(&answers), ["200", "200"]);
    assert_eq!(answers.matches("connection: close").count(), 1);
    assert_eq!(client.next(), Next::Linger);
}

#[test]
fn a_stop_finishes_an_unwanted_body() {
    let mut client = Client::new();
    client.exchange("GET / HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\n\r\nabc");
    client.shut_down();
    assert_eq!(client.next(), Next::Read);
    // Whether a request comes along with the last of it or a moment later makes no difference.
    assert_eq!(client.exchange(&format!("defghi{GET}")), "");
    assert_eq!(client.next(), Next::Close);
}

#[test]
fn a_stop_after_the_fin_changes_nothing() {
    let mut client = Client::new();
    client.receive(format!("{LONG}{GET}{GET}").as_bytes());
    client.fin();
    client.shut_down();
    client.flush();
    assert_eq!(statuses(&client.take()), ["200", "200", "200"]);
    assert_eq!(client.next(), Next::Close);
}

#[test]
fn an_unwanted_body_that_comes_keeps_the_connection() {
    let mut client = Client::new();
    client.exchange("GET / HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\n\r\nabc");
    client.wait(59);
    client.receive(b"def");
    assert_eq!(client.patience(), LIMITS.idle_timeout);
    client.wait(60);
    client.expire();
    assert_eq!(client.next(), Next::Close);
}
