//! What holds for every input, however it is cut.

mod common;

use common::Client;
use common::script::{CUT, check};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use rungs_http1::Next;

/// Cuts `input` at each of `cuts`.
fn pieces<'a>(input: &'a [u8], cuts: &[Index]) -> Vec<&'a [u8]> {
    let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(input.len() + 1)).collect();
    cuts.sort_unstable();
    let mut pieces = Vec::new();
    let mut from = 0;
    for cut in cuts.into_iter().chain([input.len()]) {
        pieces.push(&input[from..cut]);
        from = cut;
    }
    pieces
}

fn request_line() -> impl Strategy<Value = String> {
    let method = select(vec![
        "GET", "GET", "HEAD", "POST", "POST", "BREW", "G T", "",
    ]);
    let target = select(vec![
        "/",
        "/json?q",
        "/echo",
        "/echo",
        "/echo",
        "/bytes/3",
        "/bytes/70000",
        "/none",
        "*",
        "http://a/json",
        "/\u{fc}",
        "//",
        "a b",
    ]);
    let version = select(vec![
        "HTTP/1.1", "HTTP/1.1", "HTTP/1.1", "HTTP/1.0", "HTTP/1.2", "",
    ]);
    (method, target, version)
        .prop_map(|(method, target, version)| format!("{method} {target} {version}"))
}

fn header_line() -> impl Strategy<Value = &'static str> {
    select(vec![
        "connection: keep-alive",
        "Connection: close",
        "expect: 100-continue",
        "accept: */*",
        "content-length: 5",
        "content-length: 5, 5",
        "content-length: 70000",
        "content-length: 9999999",
        "transfer-encoding: chunked",
        "transfer-encoding: gzip",
        "host: b",
        " folded",
        "x: \0",
    ])
}

/// What may follow a head: bodies in both framings, whole and broken.
fn body() -> impl Strategy<Value = &'static str> {
    select(vec![
        "",
        "",
        "hello",
        "5\r\nhello\r\n0\r\n\r\n",
        "2;a=b\r\nab\r\nA\r\n0123456789\r\n0\r\nB: c\r\n\r\n",
        "2\r\nabc\r\n0\r\n\r\n",
        "2\nab\r\n",
        "fffffffffffffffff\r\n",
        "\r\n\n",
        "\r",
    ])
}

/// A request of which usually most is right.
fn request() -> impl Strategy<Value = Vec<u8>> {
    let end = select(vec!["\r\n", "\r\n", "\r\n", "\n"]);
    let lines = vec(
        prop_oneof![4 => Just("accept: */*"), 3 => header_line()],
        0..4,
    );
    (request_line(), lines, end, body()).prop_map(|(request_line, lines, end, body)| {
        let mut text = format!("{request_line}{end}host: a{end}");
        for line in lines {
            text += line;
            text += end;
        }
        (text + end + body).into_bytes()
    })
}

/// A request that is answered with 200, so that pipelines reach behind it.
fn good_request() -> impl Strategy<Value = Vec<u8>> {
    select(vec![
        "GET / HTTP/1.1\r\nhost: a\r\n\r\n",
        "GET /bytes/70000 HTTP/1.1\r\nhost: a\r\n\r\n",
        "POST /echo HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\n\r\nhello",
        "POST /echo HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\nexpect: 100-continue\r\n\r\n2\r\nab\r\n0\r\n\r\n",
        "GET /json HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\n\r\nhello",
        "GET /bytes/66000 HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n",
    ])
    .prop_map(|text| text.as_bytes().to_vec())
}

fn input() -> impl Strategy<Value = Vec<u8>> {
    let segment = prop_oneof![
        4 => good_request(),
        4 => request(),
        1 => vec(any::<u8>(), 0..20),
        1 => (1_usize..20_000).prop_map(|n| vec![b'a'; n]),
    ];
    vec(segment, 1..6).prop_map(|segments| segments.concat())
}

proptest! {
    #[test]
    fn any_split_gives_the_same_answers(input in input(), cuts in vec(any::<Index>(), 0..12)) {
        check(&pieces(&input, &cuts).join(&CUT));
    }

    #[test]
    fn any_script_is_survived(script in vec(any::<u8>(), 0..500)) {
        check(&script);
    }

    #[test]
    fn every_body_comes_back(
        body in vec(any::<u8>(), 0..3000),
        chunk_cuts in vec(any::<Index>(), 0..6),
        cuts in vec(any::<Index>(), 0..6),
        chunked in any::<bool>(),
    ) {
        let request = if chunked {
            chunked_post(pieces(&body, &chunk_cuts))
        } else {
            let head = format!("POST /echo HTTP/1.1\r\nhost: a\r\ncontent-length: {}\r\n\r\n", body.len());
            [head.as_bytes(), &body].concat()
        };
        let mut client = Client::new();
        for piece in pieces(&request, &cuts) {
            client.receive(piece);
        }
        prop_assert!(client.out.starts_with(b"HTTP/1.1 200 OK\r\n"));
        prop_assert!(client.out.ends_with(&[b"\r\n\r\n", &body[..]].concat()));
        prop_assert_eq!((client.requests, client.next()), (1, Next::Read));
    }
}

fn chunked_post(chunks: Vec<&[u8]>) -> Vec<u8> {
    let mut request =
        b"POST /echo HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n".to_vec();
    for chunk in chunks.into_iter().filter(|chunk| !chunk.is_empty()) {
        request.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
        request.extend_from_slice(chunk);
        request.extend_from_slice(b"\r\n");
    }
    request.extend_from_slice(b"0\r\n\r\n");
    request
}
