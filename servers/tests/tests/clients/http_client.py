"""Python's http.client against the rung at the port given: one connection for all."""

import http.client
import sys

connection = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]), timeout=30)
connection.connect()
socket = connection.sock


def ask(method, path, body=None, headers={}, chunked=False):
    connection.request(method, path, body, headers, encode_chunked=chunked)
    response = connection.getresponse()
    answer = response.read()
    assert connection.sock is socket, f"{method} {path}: the connection was not kept"
    return response.status, answer, response.headers


status, page, headers = ask("GET", "/")
assert (status, len(page), headers["content-type"]) == (200, 83, "text/html")

status, nothing, headers = ask("HEAD", "/")
assert (status, nothing, headers["content-length"]) == (200, b"", "83")

pieces = [b"a" * 10, b"b" * 70_000, b"c"]
chunked = {"transfer-encoding": "chunked"}
status, echo, _ = ask("POST", "/echo", iter(pieces), chunked, chunked=True)
assert (status, echo) == (200, b"".join(pieces))

status, echo, _ = ask("POST", "/echo", b"hello")
assert (status, echo) == (200, b"hello")

status, many, _ = ask("GET", "/bytes/1000000")
assert (status, len(many)) == (200, 1_000_000)

status, _, headers = ask("DELETE", "/json")
assert (status, headers["allow"]) == (405, "GET,HEAD")
