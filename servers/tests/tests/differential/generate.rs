//! Generates what a client sends: mostly right, so that what follows a fault is reached, and wrong in every part.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use rungs_conformance::differential::{Dialogue, Request};

pub fn dialogue() -> impl Strategy<Value = Dialogue> {
    let cuts = prop_oneof![3 => Just(Vec::new()), 2 => vec(0_usize..200, 1..4)];
    (vec(request(), 1..=4), prop::bool::weighted(0.7), cuts).prop_map(
        |(requests, sentinel, cuts)| Dialogue {
            requests,
            sentinel,
            cuts,
        },
    )
}

fn request() -> impl Strategy<Value = Request> {
    let line_end = prop_oneof![9 => Just("\r\n"), 1 => Just("\n")];
    // A body is mostly sent to whom it interests.
    let line_and_body = request_line().prop_flat_map(|line| {
        let bodies = if line.starts_with(b"POST /echo ") {
            12
        } else {
            1
        };
        let none = (Just(Vec::new()), Just(Vec::new()));
        (Just(line), prop_oneof![6 => none, bodies => framed()])
    });
    (line_and_body, host(), others(), line_end).prop_flat_map(
        |((line, (framing, body)), host, others, line_end)| {
            let fields = [host, others, framing].concat();
            Just(fields).prop_shuffle().prop_map(move |fields| Request {
                line: line.clone(),
                fields,
                line_end,
                body: body.clone(),
            })
        },
    )
}

/// Mostly `usual`, now and then `odd`.
fn mostly<T: std::fmt::Debug>(
    usual: impl Strategy<Value = T> + 'static,
    odd: impl Strategy<Value = T> + 'static,
) -> impl Strategy<Value = T> {
    prop_oneof![9 => usual, 1 => odd]
}

fn one_of(texts: &'static [&'static str]) -> impl Strategy<Value = Vec<u8>> {
    select(texts).prop_map(|text| text.as_bytes().to_vec())
}

/// A few bytes of any kind but those that end a line.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    vec(any::<u8>(), 0..6).prop_map(|mut bytes| {
        bytes.retain(|byte| *byte != b'\n');
        bytes
    })
}

fn request_line() -> impl Strategy<Value = Vec<u8>> {
    let method = mostly(
        one_of(&["GET", "GET", "HEAD", "POST", "POST"]),
        prop_oneof![
            one_of(&[
                "PUT", "DELETE", "OPTIONS", "CONNECT", "TRACE", "BREW", "get", "G@T", "", "G T"
            ]),
            bytes(),
        ],
    );
    let target = mostly(
        one_of(&[
            "/",
            "/json?x=y",
            "/echo",
            "/echo",
            "/echo",
            "/bytes/3",
            "/none",
        ]),
        prop_oneof![
            one_of(&[
                "*",
                "http://a/json",
                "HTTP://a:1/json?x",
                "http://a",
                "https://u@a/",
                "http://",
                "a:80",
                "//",
                "//json",
                "/./json",
                "/%6Ason",
                "/json#x",
                "/\u{fc}",
                "/a b",
                "",
                "json",
                "?",
                "/bytes/70000",
                "/a\u{7f}",
                "/{a}",
                "/\"",
                "/<",
                "/a|b",
                "/a\\b",
                "/^",
            ]),
            bytes().prop_map(|bytes| [b"/", &bytes[..]].concat()),
        ],
    );
    let version = mostly(
        one_of(&["HTTP/1.1", "HTTP/1.1", "HTTP/1.1", "HTTP/1.0"]),
        one_of(&[
            "HTTP/1.2",
            "HTTP/2.0",
            "HTTP/0.9",
            "HTTP/1",
            "http/1.1",
            "HTTP/1.1 ",
            "HTTP/1.1\r",
            "",
        ]),
    );
    let space = || prop_oneof![40 => Just(" "), 1 => select(vec!["  ", "\t", ""])];
    (method, space(), target, space(), version).prop_map(
        |(method, before, target, after, version)| {
            [
                &method,
                before.as_bytes(),
                &target,
                after.as_bytes(),
                &version,
            ]
            .concat()
        },
    )
}

/// A header line.
fn field(
    name: &'static str,
    value: impl Strategy<Value = Vec<u8>> + 'static,
) -> impl Strategy<Value = Vec<u8>> {
    let name = prop_oneof![3 => Just(name.to_owned()), 1 => Just(name.to_ascii_lowercase())];
    let colon = prop_oneof![20 => Just(": "), 4 => Just(":"), 2 => Just(":\t  "), 1 => Just(" :")];
    let space = prop_oneof![9 => Just(""), 1 => Just(" \t")];
    (name, colon, value, space).prop_map(|(name, colon, value, space)| {
        [name.as_bytes(), colon.as_bytes(), &value, space.as_bytes()].concat()
    })
}

fn host() -> impl Strategy<Value = Vec<Vec<u8>>> {
    let right = || {
        field(
            "Host",
            one_of(&["a", "a", "A.example:80", "127.0.0.1", "[::1]:80", "", "a:"]),
        )
    };
    let wrong = field(
        "Host",
        prop_oneof![
            one_of(&["a b", "a/", "u@a", "a:b", "[::1", "a,b", "a:99999"]),
            bytes()
        ],
    );
    prop_oneof![
        24 => Just(vec![b"host: a".to_vec()]),
        6 => vec(right(), 1),
        1 => vec(wrong, 1),
        1 => vec(right(), 0..=2),
    ]
}

/// Lines that decide neither the host nor the framing.
fn others() -> impl Strategy<Value = Vec<Vec<u8>>> {
    let connection = vec(
        select(vec![
            "close",
            "Close",
            "keep-alive",
            "Keep-Alive",
            "te",
            "upgrade",
            "",
            "clos e",
        ]),
        1..3,
    )
    .prop_flat_map(|tokens| {
        select(vec![",", ", ", " ,\t", ";"]).prop_map(move |comma| tokens.join(comma).into_bytes())
    });
    let expect = one_of(&["100-continue", "100-Continue", "100-continue, x", "101", ""]);
    let name = vec(any::<u8>(), 1..4);
    let any_field = (name, bytes()).prop_map(|(mut name, value)| {
        name.retain(|byte| *byte != b'\n');
        [&name, &b": "[..], &value].concat()
    });
    let broken = one_of(&[
        " folded",
        "\tfolded",
        "x",
        ":",
        ": y",
        "x y: z",
        "x\0: y",
        "x: \0",
        "x: \u{1}",
        "x: \u{7f}",
        "x: a\rb",
        "\r",
        "x: \u{fc}",
        "x\u{fc}: y",
        "\"x\": y",
        "x(: y",
        "x: y\r",
    ]);
    let upgrade = one_of(&["upgrade: h2c", "Upgrade: websocket", "HTTP2-Settings: AAA"]);
    let long = (1_usize..17_000).prop_map(|n| [&b"x: "[..], &vec![b'y'; n]].concat());
    let line = prop_oneof![
        300 => one_of(&["accept: */*", "x:", "Accept:\ttext/html ", "te: trailers"]),
        200 => field("Connection", connection),
        100 => field("Expect", expect),
        20 => upgrade,
        20 => any_field,
        20 => broken,
        2 => long,
    ];
    let many = (90_usize..103).prop_map(|n| vec![b"x: y".to_vec(); n]);
    prop_oneof![200 => vec(line, 0..4), 1 => many]
}

/// The lines that frame a body, and what goes over the wire as one.
fn framed() -> impl Strategy<Value = (Vec<Vec<u8>>, Vec<u8>)> {
    let sized = vec(any::<u8>(), 0..20).prop_flat_map(|body| {
        let right = body.len().to_string();
        let value = prop_oneof![
            6 => Just(right.clone()),
            1 => Just(format!("00{right}")),
            1 => Just((body.len() + 3).to_string()),
            1 => select(vec!["", "-1", "+1", "abc", "5, 5", "5,5", "0x5", "1e1", "5 5", "18446744073709551616"])
                .prop_map(str::to_owned),
        ];
        let lines = vec(field("Content-Length", value.prop_map(String::into_bytes)), 1);
        let repeated = Just(vec![format!("content-length: {right}").into_bytes(); 2]);
        (prop_oneof![9 => lines, 1 => repeated], Just(body))
    });
    let coding = mostly(
        one_of(&["chunked", "Chunked", "chunked", "gzip, chunked"]),
        one_of(&[
            "",
            "gzip",
            "identity",
            "chunked, gzip",
            "chunked,",
            ",chunked",
            "chunked, chunked",
            "xchunked",
            "chunked;q=1",
            "\"chunked\"",
            "chunked\u{b}",
        ]),
    );
    let coding = field("Transfer-Encoding", coding);
    let both = prop_oneof![
        8 => vec(coding, 1..=1),
        1 => vec(one_of(&["transfer-encoding: chunked", "transfer-encoding: gzip"]), 2),
        1 => Just(vec![b"content-length: 5".to_vec(), b"transfer-encoding: chunked".to_vec()]),
    ];
    let stray = (
        Just(Vec::new()),
        one_of(&["hel lo", "\r\n", "\r\n\r\n", "\n", "\r", "\0"]),
    );
    prop_oneof![
        6 => sized,
        5 => (both, chunks()),
        1 => stray,
    ]
}

/// A body in the chunked coding.
fn chunks() -> impl Strategy<Value = Vec<u8>> {
    let end = mostly(
        one_of(&[
            "0\r\n\r\n",
            "0\r\n\r\n",
            "000\r\n\r\n",
            "0;a\r\n\r\n",
            "0\r\nA: b\r\n\r\n",
            "0\r\nA: b\r\nC:\td\r\n\r\n",
        ]),
        one_of(&[
            "",
            "0\r\n",
            "0\n\n",
            "0\r\n\n",
            "0\r\nA: b\n\r\n",
            "0\r\n\r",
            "\r\n",
            "0\r\nA\r\n\r\n",
            "0\r\n b\r\n\r\n",
            "0\r\nA: \0\r\n\r\n",
        ]),
    );
    (vec(chunk(), 0..4), end).prop_map(|(chunks, end)| [chunks.concat(), end].concat())
}

fn chunk() -> impl Strategy<Value = Vec<u8>> {
    // Text, so that a control character is one of the framing.
    let data = vec(b' '..=b'~', 1..20);
    let rare = |usual: &'static str, odd: Vec<&'static str>| prop_oneof![25 => Just(usual), 1 => select(odd)];
    let size = prop_oneof![
        20 => Just(0_usize),
        // Off by so much.
        1 => 1_usize..3,
    ];
    let before = rare(
        "",
        vec![
            "0",
            "00",
            "0x",
            "-",
            "+",
            " ",
            "g",
            ";",
            "fffffffffffffffff",
        ],
    );
    let extension = mostly(
        Just(""),
        select(vec![
            ";a",
            ";a=b",
            " ;a",
            " ",
            "\t",
            "; a=\"b\"",
            ";",
            ";;",
            ";\0",
            ";a\rb",
            " 1",
            "_",
            ";\u{fc}",
            ";\u{7f}",
        ]),
    );
    let after_size = rare("\r\n", vec!["\n", "\r", "", "\r\r\n", "\n\r"]);
    let after_data = rare("\r\n", vec!["\n", "\r", "", "x\r\n", "\r\n\r\n"]);
    (data, size, before, extension, after_size, after_data).prop_map(
        |(data, off, before, extension, after_size, after_data)| {
            let head = format!("{before}{:x}{extension}{after_size}", data.len() + off);
            [head.as_bytes(), &data, after_data.as_bytes()].concat()
        },
    )
}
