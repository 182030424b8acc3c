"""`sash serve`: features as JSON over real sockets, and as a process of its own."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import sash
from sash.dashboard.feature_app import application
from sash.dashboard.server import Server, serve_app
from sash.serving.publisher import Publisher


@pytest.fixture
def store(tmp_path: Path) -> str:
    table = pa.table(
        {
            "ts": pa.array([0, 1_000_000, 61_000_000]).cast(pa.timestamp("us", "UTC")),
            "card": [1, 2, 1],
            "x": [1.0, float("nan"), 3.0],
        }
    )
    query = sash.stream(table, time="ts", key="card").rolling("1 minute", "1 hour")
    publisher = Publisher.of(query.agg(n=sash.count(), s=sash.sum("x")).bound, tmp_path)
    publisher.begin(0)
    publisher.publish(table, 0)
    return str(tmp_path)


@pytest.fixture
def server(store: str) -> Iterator[Server]:
    with sash.online(store) as features, served(features, "127.0.0.1") as one:
        yield one


def served(features: sash.OnlineFeatures, host: str) -> Server:
    return serve_app(
        lambda token, _: application(features, token=token),
        host=host, port=0, what="sash serve",
    )  # fmt: skip


def fetched(url: str, body: Any = None, **headers: str) -> tuple[int, Any]:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"content-type": "application/json"} | headers)
    try:
        with urllib.request.urlopen(request, timeout=5) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        text = error.read().decode()
        return error.code, json.loads(text) if text.startswith("{") else text


def test_one_key_by_its_address_and_many_as_json(server: Server) -> None:
    columns = ["card", "ts", "n_1_minute", "s_1_minute", "n_1_hour", "s_1_hour"]
    assert fetched(server.url) == (200, {"keys": ["card"], "columns": columns})
    row = {
        "card": 1, "ts": "1970-01-01T00:01:01+00:00",
        "n_1_minute": 1, "s_1_minute": 3.0, "n_1_hour": 2, "s_1_hour": 4.0,
    }  # fmt: skip
    assert fetched(f"{server.url}features?key=1&at=1970-01-01T00:01:01") == (200, row)
    assert fetched(f"{server.url}features?key=1&at=61000000") == (200, row)
    status, answer = fetched(f"{server.url}features", {"keys": [1, 2, 3], "at": 61_000_000})
    assert status == 200
    assert answer["rows"][0] == row
    assert [one["n_1_hour"] for one in answer["rows"]] == [2, 1, 0]
    assert [one["s_1_hour"] for one in answer["rows"]] == [4.0, "NaN", None]
    assert fetched(f"{server.url}features?key=9")[1]["s_1_hour"] is None  # now


@pytest.mark.parametrize(
    ("path", "body", "words"),
    [
        ("features", None, r"key must be given: /features\?key=…"),
        ("features?key=x", None, "key must be a value of card: int64"),
        ("features?key=1&at=soon", None, "at must be a time such as"),
        ("features", {"keys": 3}, "keys must be a list of keys"),
        ("features", [1], "request must be an object"),
        ("features", {"key": [1]}, "request must be an object"),
        ("features", 5, "request must be an object"),
        ("features", [1, "a"], "request must be an object"),
        ("features", {"keys": [10**30]}, "keys must be values of card: int64"),
        ("features", {"keys": [1] * 10_001}, "keys must be at most 10,000 in a request"),
        ("features?key=1&at=--3", None, ""),
    ],
)
def test_what_cannot_be_answered_is_one_sentence(server: Server, path: str, body: Any, words: str) -> None:
    status, answer = fetched(server.url + path, body)
    assert status == 422
    assert re.match(words, answer["error"])


def test_a_form_of_another_page_is_refused(server: Server) -> None:
    form = {"content-type": "application/x-www-form-urlencoded"}
    assert fetched(f"{server.url}features", {"keys": [1]}, **form)[0] == 415
    status, words = fetched(f"{server.url}features?key=1", host="elsewhere.example")
    assert (status, "under a name of this machine only" in words, "token" in words) == (403, True, False)


def test_beyond_loopback_a_token_is_needed(store: str) -> None:
    with sash.online(store) as features, served(features, "0.0.0.0") as one:
        address, _, token = one.url.partition("?token=")
        assert len(token) >= 32
        status, refusal = fetched(f"{address}features?key=1&at=0")
        assert status == 403
        assert "Authorization: Bearer" in refusal
        assert fetched(f"{address}features?key=1&at=0", authorization="Bearer wrong")[0] == 403
        assert fetched(f"{address}features?key=1&at=0", authorization=f"Bearer {token}")[0] == 200
        assert fetched(f"{address}features", {"keys": [1]}, authorization=f"Bearer {token}")[0] == 200


def test_the_command_serves_until_it_is_interrupted(store: str) -> None:
    running = subprocess.Popen(
        [sys.executable, "-m", "sash", "serve", store, "--port", "0"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert running.stdout is not None
    printed = running.stdout.readline()
    url = re.search(r"http://127\.0\.0\.1:\d+/", printed)
    assert url, printed
    assert fetched(f"{url[0]}features?key=2&at=1000000")[1]["n_1_minute"] == 1
    running.send_signal(signal.SIGINT)
    _, errors = running.communicate(timeout=20)
    assert (running.returncode, errors) == (0, "")


OWN = """
import pyarrow as pa
import sash

@sash.monoid(commutative=True)
class Product:
    def identity(): return 1.0
    def lift(x): return x
    def combine(a, b): return a * b

table = pa.table({"t": [1, 2, 3], "card": [1, 1, 1], "x": [2.0, 3.0, 4.0]})
query = sash.stream(table, time="t", key="card").rolling(2).agg(p=Product("x"))

def built():
    return query
"""


@pytest.fixture
def own(tmp_path: Path) -> str:
    """A store of an aggregate whose code is in a module beside it."""
    (tmp_path / "own.py").write_text(OWN)
    publish = "import own; own.query.publish('store')"
    subprocess.run([sys.executable, "-c", publish], cwd=tmp_path, check=True)
    return str(tmp_path)


@pytest.mark.parametrize("name", ["own:query", "own:built"])
def test_aggregates_of_ones_own_are_served_with_their_query(own: str, name: str) -> None:
    running = subprocess.Popen(
        [sys.executable, "-m", "sash", "serve", "store", "--port", "0", "--query", name],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=own,
    )  # fmt: skip
    assert running.stdout is not None
    url = re.search(r"http://127\.0\.0\.1:\d+/", running.stdout.readline())
    answer = fetched(f"{url[0]}features?key=1&at=3") if url else None
    running.send_signal(signal.SIGINT)
    _, errors = running.communicate(timeout=20)
    assert (answer, errors) == ((200, {"card": 1, "t": 3, "p_2": 12.0}), "")


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ([], "the code of p"),
        (["--query", "own"], "--query must be module:name"),
        (["--query", "other:query"], "No module named 'other'"),
        (["--query", "own:missing"], "no attribute 'missing'"),
        (
            ["--query", "own:table"],
            "a function that returns one; got 'own:table'. It is a Table",
        ),
    ],
)
def test_a_query_that_is_none_is_one_sentence(own: str, query: list[str], words: str) -> None:
    command = [sys.executable, "-m", "sash", "serve", "store", *query]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, cwd=own)
    assert ran.returncode == 2
    assert words in ran.stderr
    assert len(ran.stderr.splitlines()) == 1


def test_a_store_without_features_is_one_sentence_and_exit_code_two(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "sash", "serve", str(tmp_path / "none")]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 2
    assert ran.stderr.startswith("error: there are no features at")
