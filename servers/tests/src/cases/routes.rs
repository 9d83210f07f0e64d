//! Routes, statuses, HEAD.

use rungs_response::Route;

use super::{get, request};
use crate::Group;
use crate::case::{Case, Ending};
use crate::reply::{echo, not_allowed, not_found, ok, page};

fn case(name: &'static str) -> Case {
    Case::new(Group::Routes, name)
}

pub(super) fn cases() -> Vec<Case> {
    [found(), lengths(), refused()]
        .into_iter()
        .flatten()
        .collect()
}

fn found() -> Vec<Case> {
    let head = |target| request("HEAD", target, "");
    vec![
        case("GET / is the page")
            .quick()
            .null_too()
            .send_text(get("/"))
            .expect(page().open()),
        case("GET /ladder.svg is the picture")
            .quick()
            .send_text(get("/ladder.svg"))
            .expect(ok(Route::Picture).open()),
        case("GET /json is the object")
            .quick()
            .send_text(get("/json"))
            .expect(ok(Route::Json).open()),
        case("POST /echo without a body is an empty answer")
            .send_text(request("POST", "/echo", ""))
            .expect(echo("").open()),
        case("a query is ignored")
            .send_text(get("/json?x=/bytes/1&y=%20"))
            .expect(ok(Route::Json).open()),
        case("HEAD of the page is its head")
            .quick()
            .send_text(head("/"))
            .expect(page().head().open()),
        case("HEAD of the picture is its head")
            .send_text(head("/ladder.svg"))
            .expect(ok(Route::Picture).head().open()),
        case("HEAD of the object is its head")
            .send_text(head("/json"))
            .expect(ok(Route::Json).head().open()),
        case("HEAD of 16 MiB is its head")
            .send_text(head("/bytes/16777216"))
            .expect(ok(Route::Bytes(16_777_216)).head().open()),
    ]
}

fn lengths() -> Vec<Case> {
    let bytes = |n| get(&format!("/bytes/{n}"));
    let is = |n| ok(Route::Bytes(n)).open();
    vec![
        case("no bytes").send_text(bytes(0)).expect(is(0)),
        case("one byte").send_text(bytes(1)).expect(is(1)),
        case("1,000 bytes")
            .quick()
            .send_text(bytes(1_000))
            .expect(is(1_000)),
        case("one block of bytes")
            .send_text(bytes(65_536))
            .expect(is(65_536)),
        case("one block of bytes and one more")
            .send_text(bytes(65_537))
            .expect(is(65_537)),
        case("1,000,000 bytes, twice in one segment")
            .send_text(bytes(1_000_000).repeat(2))
            .expect(vec![ok(Route::Bytes(1_000_000)), ok(Route::Bytes(1_000_000))].open()),
        case("16 MiB")
            .send_text(bytes(16_777_216))
            .expect(is(16_777_216)),
        case("more than 16 MiB is not found")
            .send_text(bytes(16_777_217))
            .expect(not_found().open()),
    ]
}

fn refused() -> Vec<Case> {
    vec![
        case("an unknown path is not found")
            .quick()
            .send_text(get("/nowhere"))
            .expect(not_found().open()),
        case("HEAD of an unknown path is not found")
            .send_text(request("HEAD", "/nowhere", ""))
            .expect(not_found().head().open()),
        case("paths are exact")
            .send_text(
                get("/json/") + &get("//") + &get("/JSON") + &get("/bytes/") + &get("/bytes/1/"),
            )
            .expect(vec![not_found(); 5].open()),
        case("a byte count is decimal digits, nothing else")
            .send_text(
                get("/bytes/abc") + &get("/bytes/+1") + &get("/bytes/-1") + &get("/bytes/%31"),
            )
            .expect(vec![not_found(); 4].open()),
        case("POST to the page is not allowed")
            .quick()
            .send_text(request("POST", "/", ""))
            .expect(not_allowed("GET,HEAD").open()),
        case("PUT of bytes is not allowed")
            .send_text(request("PUT", "/bytes/7", ""))
            .expect(not_allowed("GET,HEAD").open()),
        case("GET of the echo is not allowed")
            .send_text(get("/echo"))
            .expect(not_allowed("POST").open()),
        case("HEAD of the echo is not allowed")
            .send_text(request("HEAD", "/echo", ""))
            .expect(not_allowed("POST").head().open()),
        case("an unknown method on a known path is not allowed")
            .send_text(request("BREW", "/json", ""))
            .expect(not_allowed("GET,HEAD").open()),
        case("an unknown method on an unknown path is not found")
            .send_text(request("BREW", "/nowhere", ""))
            .expect(not_found().open()),
        case("methods are case-sensitive")
            .send_text(request("get", "/", ""))
            .expect(not_allowed("GET,HEAD").open()),
        case("CONNECT is not found")
            .send_text(request("CONNECT", "a:80", ""))
            .expect(not_found().open()),
        case("OPTIONS * is not found")
            .send_text(request("OPTIONS", "*", ""))
            .expect(not_found().open()),
    ]
}
