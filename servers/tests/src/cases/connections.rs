//! Keep-alive, close, versions, pipelining, half-close.

use std::time::Duration;

use rungs_response::Route;

use super::{get, post, request};
use crate::case::{Case, Ending, nothing};
use crate::reply::{echo, not_allowed, not_found, ok, page};
use crate::{Group, Kind};

fn case(name: &'static str) -> Case {
    Case::new(Group::Connections, name)
}

pub(super) fn cases() -> Vec<Case> {
    [pipelines(), closes(), old_versions(), half_closes()]
        .into_iter()
        .flatten()
        .collect()
}

fn pipelines() -> Vec<Case> {
    let whole = get("/");
    let (last, most) = (whole.len() - 1, Duration::from_micros(300));
    let (first, second) = get("/json").split_at_checked(20).map_or_else(
        || unreachable!("the request is longer"),
        |(first, second)| (first.to_owned(), second.to_owned()),
    );
    let mixed = get("/") + &post("hello") + &get("/nowhere") + &get("/json");
    vec![
        case("three requests, one after the other")
            .null_too()
            .send_text(get("/"))
            .expect(page().open())
            .send_text(get("/"))
            .expect(page().open()),
        case("100 requests in one segment are answered in order")
            .quick()
            .send_text(get("/").repeat(100))
            .expect(vec![page(); 100].open()),
        case("different requests in one segment are answered in order")
            .send_text(mixed)
            .expect(vec![page(), echo("hello"), not_found(), ok(Route::Json)].open()),
        case("2,000 requests before the first answer is read")
            .send_text(get("/json").repeat(2_000))
            .expect(vec![ok(Route::Json); 2_000].open()),
        case("a request split at every byte is answered after its last byte")
            .quick()
            .drip(whole.as_bytes()[..last].to_vec(), most)
            .expect(nothing().silent())
            .send_text(&whole[last..])
            .expect(page().open()),
        case("a body split at every byte is answered after its last byte")
            .drip(post("hello").into_bytes(), most)
            .expect(echo("hello").open()),
        case("a request is answered at once though half of the next has come")
            .send_text(get("/") + &first)
            .expect(page().silent())
            .send_text(second)
            .expect(ok(Route::Json).open()),
    ]
}

fn closes() -> Vec<Case> {
    let asking = |lines| request("GET", "/", lines);
    let closed = || page().closing().closed();
    vec![
        case("connection: close is said and done")
            .quick()
            .send_text(asking("connection: close\r\n"))
            .expect(closed()),
        case("connection: close in any case, among others")
            .send_text(asking("Connection: foo ,  CLOSE, bar\r\n"))
            .expect(closed()),
        case("close in any of several connection lines wins")
            .send_text(asking(
                "connection: keep-alive\r\nconnection: close\r\nconnection: keep-alive\r\n",
            ))
            .expect(closed()),
        case("nothing is answered after a close")
            .send_text(asking("connection: close\r\n") + &get("/json"))
            .expect(closed()),
        case("connection: close with answers that have no body")
            .send_text(request("GET", "/nowhere", "connection: close\r\n"))
            .expect(not_found().closing().closed()),
        case("connection: close with a body of no bytes")
            .send_text(request("GET", "/bytes/0", "connection: close\r\n"))
            .expect(ok(Route::Bytes(0)).closing().closed()),
        case("connection: close with HEAD of what has no body")
            .send_text(request("HEAD", "/nowhere", "connection: close\r\n"))
            .expect(not_found().head().closing().closed()),
        case("connection: keep-alive is the default and not said")
            .send_text(asking("connection: keep-alive\r\n"))
            .expect(page().open()),
    ]
}

fn old_versions() -> Vec<Case> {
    vec![
        case("HTTP/1.0 is closed")
            .quick()
            .send(b"GET / HTTP/1.0\r\n\r\n")
            .expect(page().http10().closed()),
        case("HTTP/1.0 is kept if that is asked, and told so")
            .send(b"GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n")
            .expect(page().http10().keeping().open()),
        case("HTTP/1.0 is kept after an answer without a body")
            .send(b"POST / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n")
            .expect(not_allowed("GET,HEAD").http10().keeping().open()),
        case("HTTP/1.0 that asks for both is closed")
            .send(b"GET / HTTP/1.0\r\nconnection: keep-alive, close\r\n\r\n")
            .expect(page().http10().closed()),
        case("HTTP/1.0 has bodies")
            .send(b"POST /echo HTTP/1.0\r\ncontent-length: 5\r\n\r\nhello")
            .expect(echo("hello").http10().closed()),
        case("HEAD of HTTP/1.0")
            .send(b"HEAD /json HTTP/1.0\r\n\r\n")
            .expect(ok(Route::Json).http10().head().closed()),
    ]
}

fn half_closes() -> Vec<Case> {
    const AXUM: &str = "axum::serve cannot allow half-closed connections: whether the answer precedes the end is a race";
    vec![
        case("a request and FIN: the answer arrives")
            .send_text(get("/json"))
            .half_close()
            .expect(ok(Route::Json).closed())
            .unless(
                Kind::Axum,
                ok(Route::Json).closed().or(nothing().closed()),
                AXUM,
            ),
        case("two requests and FIN: both answers arrive")
            .send_text(get("/json") + &get("/"))
            .half_close()
            .expect(vec![ok(Route::Json), page()].closed())
            .exempt(Kind::Axum, AXUM),
        case("a long answer and FIN: all of it arrives")
            .send_text(get("/bytes/4000000"))
            .half_close()
            .expect(ok(Route::Bytes(4_000_000)).closed())
            .exempt(Kind::Axum, AXUM),
        case("a body and FIN: the answer arrives")
            .send_text(post("hello"))
            .half_close()
            .expect(echo("hello").closed())
            .unless(
                Kind::Axum,
                echo("hello").closed().or(nothing().closed()),
                AXUM,
            ),
        case("FIN without a request is a close")
            .null_too()
            .half_close()
            .expect(nothing().closed()),
    ]
}
