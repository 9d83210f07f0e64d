//! A complete request costs no allocation, and an idle connection owns none.

mod common;

use common::Client;
use common::counting::{self, live};
use rungs_http1::Next;

/// Allocations in 100 calls, after a first one has grown the output buffer.
fn allocations(input: &str) -> u64 {
    let mut client = Client::new();
    client.receive(input.as_bytes());
    let mut before = 0;
    for round in 0..=100 {
        if round == 1 {
            before = counting::allocations();
        }
        client.out.clear();
        client.receive(input.as_bytes());
        assert_eq!(client.next(), Next::Read);
        assert!(client.out.starts_with(b"HTTP/1.1 200 OK\r\n"));
    }
    counting::allocations() - before
}

#[test]
fn whole_requests_allocate_nothing() {
    let accept = "user-agent: x\r\naccept: text/html,*/*;q=0.8\r\nconnection: keep-alive\r\n";
    for path in ["/", "/json", "/bytes/1000", "/ladder.svg", "/?a=b"] {
        let get = format!("GET {path} HTTP/1.1\r\nhost: localhost:18470\r\n{accept}\r\n");
        assert_eq!(allocations(&get), 0, "{path}");
        assert_eq!(allocations(&get.repeat(16)), 0, "{path}, pipelined");
    }
    let post = "POST /echo HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\n\r\nhello";
    assert_eq!(allocations(post), 0);
}

#[test]
fn the_counter_counts() {
    let post =
        "POST /echo HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n";
    assert!(allocations(post) >= 100);
}

#[test]
fn an_idle_connection_owns_nothing() {
    let mut client = Client::new();
    client.out.reserve(1 << 20);
    let idle = live();
    for request in [
        "GET / HTTP/1.1\r\nhost: a\r\n\r\n",
        "GET /bytes/200000 HTTP/1.1\r\nhost: a\r\n\r\nGET / HTTP/1.1\r\nhost: a\r\n\r\n",
        "POST /echo HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\n\r\nhello",
        "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\n\r\nhello",
    ] {
        let (head, rest) = request.split_at(request.len() - 8);
        client.receive(head.as_bytes());
        assert!(live() > idle || request.starts_with("POST / "));
        client.receive(rest.as_bytes());
        client.flush();
        assert_eq!((client.next(), live()), (Next::Read, idle), "{request}");
    }
}
