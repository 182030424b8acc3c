"""The page's server, over real sockets: who may see it, what it serves, and how it ends."""

from __future__ import annotations

import http.client
import json
import socket
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest

from sash.dashboard import Feed, Server, serve, web_app as serving
from sash.dashboard.access import is_loopback
from sash.errors import ArgumentError


@pytest.fixture
def feed() -> Feed:
    return Feed()


@pytest.fixture
def page(feed: Feed) -> Iterator[Server]:
    with serve(feed, port=0) as served:
        yield served


def fetched(
    page: Server, path: str, *, method: str = "GET", body: bytes | None = None, **headers: str
) -> tuple[int, http.client.HTTPResponse, bytes]:
    where = urlsplit(page.url)
    connection = http.client.HTTPConnection(where.hostname or "", where.port, timeout=5)
    try:
        connection.request(
            method, path, body=body, headers={k.replace("_", "-"): v for k, v in headers.items()}
        )
        answer = connection.getresponse()
        return answer.status, answer, answer.read()
    finally:
        connection.close()


class Messages:
    """A stream of server-sent events, as a browser reads it."""

    def __init__(self, page: Server, **headers: str) -> None:
        where = urlsplit(page.url)
        self._connection = http.client.HTTPConnection(where.hostname or "", where.port, timeout=5)
        self._connection.request(
            "GET",
            "/api/messages",
            headers={name.replace("_", "-"): value for name, value in headers.items()},
        )
        self.answer = self._connection.getresponse()

    def next(self) -> dict[str, Any]:
        fields: dict[str, Any] = {}
        while (line := self.answer.readline().decode().rstrip("\n")) or not fields:
            if line and not line.startswith(":"):
                name, _, value = line.partition(": ")
                fields[name] = json.loads(value) if name == "data" else value
        return fields

    def close(self) -> None:
        self._connection.close()


def frame(batch: int) -> dict[str, Any]:
    return {"kind": "frame", "query": "q", "batch": batch, "at": batch}


def test_the_page_and_all_that_it_loads_come_from_this_server(page: Server) -> None:
    status, _, index = fetched(page, "/")
    assert status == 200
    linked = [
        part.split(b'"')[0].decode() for part in index.replace(b"src=", b"href=").split(b'href="')[1:]
    ]
    files = [link for link in linked if link.startswith("/static/")]
    assert {file.rsplit(".")[-1] for file in files} == {"css", "js", "svg"}
    assert all(link.startswith(("/static/", "#")) for link in linked)
    for file in files:
        assert fetched(page, file)[0] == 200


def test_every_answer_forbids_what_did_not_come_from_this_server(page: Server) -> None:
    for path in ("/", "/static/js/page.js", "/api/lab", "/absent"):
        policy = fetched(page, path)[1].headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy


def test_messages_come_at_once_and_then_as_they_are_said(feed: Feed, page: Server) -> None:
    feed.take(frame(0))
    stream = Messages(page)
    assert stream.answer.headers["content-type"].startswith("text/event-stream")
    assert stream.next()["data"] == {"queries": ["q"]}
    assert [message["batch"] for message in stream.next()["data"]] == [0]
    feed.take(frame(1))
    assert [message["batch"] for message in stream.next()["data"]] == [1]
    stream.close()


def test_a_reader_that_comes_back_goes_on_where_it_was(feed: Feed, page: Server) -> None:
    feed.take(frame(0))
    first = Messages(page)
    first.next()
    seen = first.next()["id"]
    first.close()
    feed.take(frame(1))
    again = Messages(page, last_event_id=seen)
    assert [message["batch"] for message in again.next()["data"]] == [1]
    again.close()


def test_a_reader_of_another_server_begins_anew(feed: Feed, page: Server) -> None:
    feed.take(frame(0))
    for strange in ("deadbeef-7", "nonsense", "-"):
        stream = Messages(page, last_event_id=strange)
        assert stream.next()["event"] == "hello"
        stream.close()


def test_a_silent_stream_says_that_it_is_there(page: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "BEAT", 0.1)
    stream = Messages(page)
    stream.next()
    assert stream.answer.readline() == b": still here\n"
    stream.close()


def test_the_windows_of_a_key_are_asked_for_by_name(feed: Feed, page: Server) -> None:
    row = {"key": "a&b", "id": 3, "start": 1, "end": 2, "values": {"n": 5}}
    feed.take({"kind": "reports", "query": "q", "rows": [row]})
    assert json.loads(fetched(page, "/api/windows?query=q&key=a%26b")[2]) == [row]
    assert json.loads(fetched(page, "/api/windows?query=none&key=a")[2]) == []
    assert json.loads(fetched(page, "/api/windows")[2]) == []


def test_the_lab_answers_an_experiment(page: Server) -> None:
    body = json.dumps({"kind": "tumbling", "events": [{"time": 3}, {"time": 12}]}).encode()
    status, _, answer = fetched(page, "/api/lab", method="POST", body=body, content_type="application/json")
    assert status == 200
    assert [extent["holds"] for extent in json.loads(answer)["extents"]] == [[0], [1]]


@pytest.mark.parametrize(
    ("body", "kind", "status", "words"),
    [
        (b'{"kind": "tumblin"}', "application/json", 422, "kind must be one of"),
        (b"{", "application/json", 422, "Expecting property name"),
        (b"\xff", "application/json", 422, "decode"),
        (b"[" * 20_000, "application/json", 422, "recursion"),
        (b" " * 70_000, "application/json", 413, "at most 64 kB"),
        (b"kind=tumbling", "application/x-www-form-urlencoded", 415, "application/json"),
    ],
)
def test_what_the_lab_cannot_read_is_refused_with_a_sentence(
    page: Server, body: bytes, kind: str, status: int, words: str
) -> None:
    got, _, answer = fetched(page, "/api/lab", method="POST", body=body, content_type=kind)
    assert got == status
    assert words in json.loads(answer)["error"]


def test_a_foreign_name_for_this_machine_is_refused(page: Server) -> None:
    port = urlsplit(page.url).port
    assert fetched(page, "/", host=f"localhost:{port}")[0] == 200
    for name in ("evil.example", f"evil.example:{port}", "127.0.0.1.evil.example", ""):
        assert fetched(page, "/api/lab", host=name)[0] == 403


def test_beyond_loopback_the_page_asks_for_its_token() -> None:
    with serve(Feed(), host="0.0.0.0", port=0) as page:
        where = urlsplit(page.url)
        assert where.query.startswith("token=")
        assert fetched(page, "/")[0] == 403
        assert fetched(page, "/?token=wrong")[0] == 403
        assert fetched(page, "/api/lab", cookie="sash=wrong")[0] == 403
        status, answer, _ = fetched(page, f"/?{where.query}")
        assert status == 200
        cookie = answer.headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=Strict" in cookie
        assert fetched(page, "/api/lab", cookie=cookie.split(";")[0])[0] == 200
        stream = Messages(page, cookie=cookie.split(";")[0])
        assert stream.next()["event"] == "hello"
        stream.close()


@pytest.mark.parametrize(
    ("host", "loopback"),
    [
        ("127.0.0.1", True),
        ("127.8.8.8", True),
        ("[::1]", True),
        ("10.0.0.1", False),
        ("::", False),
        ("", False),
    ],
)
def test_only_addresses_of_this_machine_are_loopback(host: str, loopback: bool) -> None:
    assert is_loopback(host) is loopback


def test_a_port_in_use_is_told_in_one_sentence(page: Server) -> None:
    port = urlsplit(page.url).port
    with pytest.raises(
        ArgumentError, match=f"port must be one that is free; got {port}. 127.0.0.1:{port} is in use"
    ):
        serve(Feed(), port=port or 0)


@pytest.mark.parametrize(
    ("host", "port", "words"),
    [("127.0.0.1", 70_000, "port must"), ("203.0.113.9", 0, "host must"), ("no such host", 0, "host must")],
)
def test_an_address_that_is_not_ours_is_told_in_one_sentence(host: str, port: int, words: str) -> None:
    with pytest.raises(ArgumentError, match=words):
        serve(Feed(), host=host, port=port)


def test_stopping_ends_open_streams_and_gives_the_port_back() -> None:
    page = serve(Feed(), port=0)
    port = urlsplit(page.url).port
    stream = Messages(page)
    stream.next()
    begun = time.monotonic()
    page.stop()
    assert time.monotonic() - begun < 2
    assert stream.answer.read() == b""
    stream.close()
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        other.bind(("127.0.0.1", port))
