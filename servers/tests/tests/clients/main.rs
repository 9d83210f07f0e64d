//! Clients that people use, and one that is meant to do harm, against every rung that reads HTTP.
//!
//! | test | client |
//! | --- | --- |
//! | `curl_` | curl: keep-alive, HEAD, `Expect: 100-continue`, HTTP/1.0, a chunked upload, 16 MiB |
//! | `python` | Python's http.client, all on one connection |
//! | `ab` | ApacheBench: HTTP/1.0 with keep-alive |
//! | `h2load` | nghttp2's load generator, HTTP/1.1, pipelined |
//! | `browser` | headless Chromium: the page, and the picture in it |
//! | `slow` | slowhttptest: slow heads, slow bodies, slow reads, with others served meanwhile |

mod browser;
mod process;
mod slow;

use std::thread;

use process::{Said, run};
use rungs_conformance::{Kind, RUNGS, Server, program};
use rungs_response::PATTERN;

/// Does the same to each rung, at once.
fn each_rung(flags: &[&str], client: impl Fn(Server, Kind) + Sync) {
    thread::scope(|scope| {
        for (rung, kind) in RUNGS {
            if kind == Kind::Null {
                // It does not read HTTP.
                continue;
            }
            let client = &client;
            let client = move || client(Server::start(program(rung), flags).unwrap(), kind);
            // The name is in the message of a panic.
            let thread = thread::Builder::new().name(rung.into());
            thread.spawn_scoped(scope, client).unwrap();
        }
    });
}

fn url(server: &Server, path: &str) -> String {
    format!("http://{}{path}", server.addr())
}

fn curl(server: &Server, path: &str, args: &[&str]) -> Said {
    let url = url(server, path);
    let args = ["--silent", "--show-error", "--max-time", "30"]
        .iter()
        .chain(args);
    run("curl", "curl", args.copied().chain([url.as_str()]))
}

const JSON: &str = r#"{"message":"Hello, World!"}"#;

#[test]
fn curl_gets_and_keeps_the_connection() {
    each_rung(&[], |server, _| {
        let url = url(&server, "/json");
        let written = "\n%{response_code}, %{num_connects} new connection\n";
        let said = curl(&server, "/json", &["--write-out", written, &url]);
        let first = format!("{JSON}\n200, 1 new connection\n");
        let second = format!("{JSON}\n200, 0 new connection\n");
        assert_eq!(said.text(), first + &second);

        let said = curl(&server, "/bytes/16777216", &["--head"]);
        said.must_have("HTTP/1.1 200 OK\r\n");
        said.must_have("content-length: 16777216\r\n");

        let said = curl(&server, "/json", &["--http1.0", "--include"]);
        said.must_have("HTTP/1.0 200 OK\r\n");
        said.must_have(JSON);

        let said = curl(&server, "/bytes/16777216", &[]);
        let wanted = PATTERN.iter().cycle().take(16 << 20);
        assert!(said.stdout.iter().eq(wanted), "16 MiB of the pattern");
    });
}

#[test]
fn curl_sends_bodies() {
    each_rung(&[], |server, _| {
        let expect = ["--header", "Expect: 100-continue", "--data-binary", "hello"];
        let said = curl(&server, "/echo", &[&expect[..], &["--verbose"]].concat());
        assert_eq!(said.text(), "hello");
        assert!(
            said.stderr.contains("< HTTP/1.1 100 Continue"),
            "{}",
            said.stderr
        );

        let long = "0123456789".repeat(10_000);
        let chunked = [
            "--header",
            "Transfer-Encoding: chunked",
            "--data-binary",
            &long,
        ];
        assert_eq!(curl(&server, "/echo", &chunked).text(), long);
    });
}

#[test]
fn python() {
    const SCRIPT: &str = include_str!("http_client.py");
    each_rung(&[], |server, _| {
        let port = server.addr().port().to_string();
        run("python3", "python3", ["-c", SCRIPT, &port]);
    });
}

#[test]
fn ab() {
    each_rung(&[], |server, _| {
        let args = ["-k", "-q", "-n", "2000", "-c", "20"];
        let url = url(&server, "/");
        let said = run(
            "ab",
            "apache2-utils",
            args.into_iter().chain([url.as_str()]),
        );
        said.must_have("Complete requests:      2000\n");
        said.must_have("Keep-Alive requests:    2000\n");
        said.must_have("Failed requests:        0\n");
        assert!(!said.text().contains("Non-2xx"), "{}", said.text());
    });
}

#[test]
fn h2load() {
    each_rung(&[], |server, _| {
        // 8 requests of each connection are on their way at once.
        let args = ["--h1", "-n", "4000", "-c", "20", "-m", "8"];
        let url = url(&server, "/json");
        let said = run(
            "h2load",
            "nghttp2-client",
            args.into_iter().chain([url.as_str()]),
        );
        said.must_have("4000 succeeded, 0 failed, 0 errored, 0 timeout");
        said.must_have("status codes: 4000 2xx, 0 3xx, 0 4xx, 0 5xx");
    });
}
