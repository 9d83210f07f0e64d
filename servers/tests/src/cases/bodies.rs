//! Request bodies that are as they should be, wanted or not.

use std::time::Duration;

use rungs_response::Status;

use super::{chunked, get, post, post_head, request};
use crate::case::{Case, Ending, nothing};
use crate::reply::{echo, error, not_allowed, not_found, page, proceed};
use crate::{Group, Kind};

/// The longest body that the echo takes, in bytes.
const MAX_ECHO: usize = 1 << 20;

/// 10 bytes that, repeated, show a lost or displaced piece.
const TEN: &[u8] = b"abcdefghi\n";

fn case(name: &'static str) -> Case {
    Case::new(Group::Bodies, name)
}

pub(super) fn cases() -> Vec<Case> {
    [echoes(), chunks(), limits(), continues(), unwanted()]
        .into_iter()
        .flatten()
        .collect()
}

/// `MAX_ECHO` bytes.
fn longest() -> Vec<u8> {
    TEN.iter().copied().cycle().take(MAX_ECHO).collect()
}

fn echoes() -> Vec<Case> {
    let every_byte: Vec<u8> = (0..=255).collect();
    let read_at_once = (64 << 10) - post_head(65_000).len();
    vec![
        case("a body with content-length is echoed")
            .quick()
            .send_text(post("hello"))
            .expect(echo("hello").open()),
        case("a body of no bytes is echoed")
            .send_text(post(""))
            .expect(echo("").open()),
        case("a body of every byte is echoed")
            .send_text(post_head(256))
            .send(every_byte.clone())
            .expect(echo(every_byte).open()),
        case("a body that looks like requests is not read as such")
            .send_text(post(&get("/").repeat(3)))
            .expect(echo(get("/").repeat(3)).open()),
        case("a body that comes after its head")
            .send_text(post_head(5))
            .expect(nothing().silent())
            .send(b"hel")
            .pause(Duration::from_millis(20))
            .send(b"lo")
            .expect(echo("hello").open()),
        case("a body of 1 MiB is echoed")
            .send_text(post_head(MAX_ECHO))
            .send(longest())
            .expect(echo(longest()).open()),
        case("a request as long as the raw rungs read at once, then silence, then another")
            .send_text(post_head(read_at_once))
            .send(vec![b'x'; read_at_once])
            .expect(echo(vec![b'x'; read_at_once]).silent())
            .send_text(get("/"))
            .expect(page().open()),
        case("content-length said twice alike is accepted")
            .send_text(
                request(
                    "POST",
                    "/echo",
                    "content-length: 5\r\ncontent-length: 5\r\n",
                ) + "hello",
            )
            .expect(echo("hello").open()),
    ]
}

fn chunks() -> Vec<Case> {
    let big_chunk = format!("{MAX_ECHO:x}\r\n");
    let pieces = "1\r\na\r\n".repeat(5_000);
    let long = "x".repeat(16_000);
    vec![
        case("a chunked body is echoed")
            .quick()
            .send_text(chunked("5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n"))
            .expect(echo("hello world").open()),
        case("a chunked body of no bytes is echoed")
            .send_text(chunked("0\r\n\r\n"))
            .expect(echo("").open()),
        case("chunk sizes are hexadecimal in any case, with leading zeros")
            .send_text(chunked(
                "000A\r\n0123456789\r\nb\r\nhello world\r\n000\r\n\r\n",
            ))
            .expect(echo("0123456789hello world").open()),
        case("5,000 chunks of one byte are echoed")
            .send_text(chunked(&format!("{pieces}0\r\n\r\n")))
            .expect(echo("a".repeat(5_000)).open()),
        case("a chunk of 1 MiB is echoed")
            .send_text(chunked(&big_chunk))
            .send(longest())
            .send(b"\r\n0\r\n\r\n")
            .expect(echo(longest()).open()),
        case("a chunked body split at every byte is echoed")
            .drip(
                chunked("5\r\nhello\r\n0\r\n\r\n").into_bytes(),
                Duration::from_micros(300),
            )
            .expect(echo("hello").open()),
        case("chunk extensions are ignored")
            .send_text(chunked("5;a=b;c=\"d\"\r\nhello\r\n0;x\r\n\r\n"))
            .expect(echo("hello").open()),
        case("chunk extensions of 16,000 bytes are ignored")
            .send_text(chunked(&format!("5;{long}\r\nhello\r\n0\r\n\r\n")))
            .expect(echo("hello").open()),
        case("trailers of 16,000 bytes are ignored")
            .send_text(chunked(&format!("5\r\nhello\r\n0\r\nx: {long}\r\n\r\n")))
            .expect(echo("hello").open()),
        case("trailers are ignored")
            .send_text(chunked(
                "5\r\nhello\r\n0\r\nx: y\r\ncontent-length: 9\r\n\r\n",
            ))
            .expect(echo("hello").open()),
        case("a chunked body and the next request in one segment")
            .send_text(chunked("5\r\nhello\r\n0\r\n\r\n") + &get("/"))
            .expect(vec![echo("hello"), page()].open()),
        case("transfer-encoding in any case, chunked last")
            .send_text(
                request("POST", "/echo", "Transfer-Encoding: gzip, CHUNKED\r\n")
                    + "1\r\na\r\n0\r\n\r\n",
            )
            .expect(echo("a").open()),
    ]
}

fn limits() -> Vec<Case> {
    const AXUM: &str = "axum's DefaultBodyLimit does not look at content-length: it reads until the limit is passed";
    let too_large = || error(Status::PayloadTooLarge);
    let piece = format!("{:x}\r\n", TEN.len() * 1_000);
    let piece: &'static [u8] = Box::leak(
        [piece.as_bytes(), &TEN.repeat(1_000), b"\r\n"]
            .concat()
            .into_boxed_slice(),
    );
    vec![
        case("a body announced to be over 1 MiB is refused before it is sent")
            .quick()
            .send_text(post_head(MAX_ECHO + 1))
            .expect(too_large().closed())
            .unless(Kind::Axum, nothing().silent(), AXUM),
        case("HTTP/1.0 is told of a body over 1 MiB in its own version")
            .send_text(format!(
                "POST /echo HTTP/1.0\r\ncontent-length: {}\r\n\r\n",
                MAX_ECHO + 1
            ))
            .send_repeated(TEN, MAX_ECHO / TEN.len() + 1)
            .expect(too_large().http10().closed()),
        case("the refusal of 20 MB can be read though all of it is sent")
            .send_text(post_head(20_000_000))
            .send_repeated(TEN, 2_000_000)
            .expect(too_large().closed_in_order()),
        case("the refusal of 20 MB in chunks can be read though all of it is sent")
            .send_text(chunked(""))
            .send_repeated(piece, 2_000)
            .send(b"0\r\n\r\n")
            .expect(too_large().closed_in_order()),
    ]
}

fn continues() -> Vec<Case> {
    let expecting = |lines| request("POST", "/echo", &format!("expect: 100-continue\r\n{lines}"));
    vec![
        case("100 is sent before a body that waits for it")
            .send_text(expecting("content-length: 5\r\n"))
            .expect(proceed().silent())
            .send(b"hello")
            .expect(echo("hello").open()),
        case("100 is sent before chunks that wait for it")
            .send_text(expecting("transfer-encoding: chunked\r\n"))
            .expect(proceed().silent())
            .send(b"5\r\nhello\r\n0\r\n\r\n")
            .expect(echo("hello").open()),
        // It could be left out (RFC 9110, section 10.1.1), but then an answer would depend on how the request was split.
        case("100 is sent even if the body has come already")
            .send_text(expecting("content-length: 5\r\n") + "hello")
            .expect(vec![proceed(), echo("hello")].open()),
        case("100 is not sent to HTTP/1.0")
            .send(b"POST /echo HTTP/1.0\r\nexpect: 100-continue\r\ncontent-length: 5\r\n\r\n")
            .expect(nothing().silent())
            .send(b"hello")
            .expect(echo("hello").http10().closed()),
        case("100 is not sent if there is no body")
            .send_text(request("GET", "/", "expect: 100-continue\r\n"))
            .expect(page().open()),
        case("100 is not sent for a body that nobody wants")
            .send_text(request("POST", "/nowhere", "expect: 100-continue\r\ncontent-length: 5\r\n"))
            .expect(not_found().closing().closed())
            .unless(Kind::Axum, not_found().closed(), UNSAID),
        case("100 is not sent for a body that is too large")
            .send_text(expecting("content-length: 9999999\r\n"))
            .expect(error(Status::PayloadTooLarge).closed())
            .unless(
                Kind::Axum,
                proceed().silent(),
                "axum's DefaultBodyLimit does not look at content-length: it reads until the limit is passed",
            ),
    ]
}

/// Why axum closes without saying so.
const UNSAID: &str = "axum drops an unread body only after its answer, so hyper closes the connection without having said so";

fn unwanted() -> Vec<Case> {
    const CLOSES: &str = "hyper skips only what it has already read of an unwanted body, one chunk at most; it closes instead";
    vec![
        case("a body that nobody wants is skipped")
            .quick()
            .send_text(request("GET", "/", "content-length: 5\r\n") + "hello" + &get("/"))
            .expect(vec![page(), page()].open()),
        case("the body of a refused request is skipped")
            .send_text(request("POST", "/json", "content-length: 5\r\n") + "hello" + &get("/"))
            .expect(vec![not_allowed("GET,HEAD"), page()].open()),
        case("an unwanted body that comes later is skipped")
            .send_text(request("GET", "/", "content-length: 20000\r\n"))
            .expect(page().silent())
            .unless(Kind::Hyper, page().closing().closed(), CLOSES)
            .unless(Kind::Axum, page().closed(), CLOSES)
            .send(vec![b'x'; 20_000])
            .expect(nothing().open())
            .unless(Kind::Hyper, nothing().closed(), CLOSES)
            .unless(Kind::Axum, nothing().closed(), CLOSES),
        case("an unwanted chunked body is skipped")
            .send_text(
                request("GET", "/", "transfer-encoding: chunked\r\n") + "5\r\nhello\r\n0\r\n\r\n",
            )
            .expect(page().open())
            .unless(Kind::Hyper, page().closing().closed(), CLOSES),
        case("an unwanted body too long to skip ends the connection, which is said")
            .send_text(request("GET", "/", "content-length: 20000000\r\n"))
            .send_repeated(TEN, 2_000_000)
            .expect(page().closing().closed_in_order())
            .unless(Kind::Axum, page().closed_in_order(), UNSAID),
        case("an unwanted chunked body without end ends the connection")
            .send_text(request("GET", "/", "transfer-encoding: chunked\r\n"))
            .send_repeated(b"5\r\nhello\r\n", 200_000)
            .expect(page().closed_in_order())
            .unless(Kind::Hyper, page().closing().closed_in_order(), CLOSES),
    ]
}
