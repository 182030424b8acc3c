"""`sash state` of published features and of plain stores: what they hold, and what is wrong with them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from typer.testing import CliRunner, Result

import sash
from sash.cli.main import app
from sash.serving.feature_stores import place_of
from sash.serving.publisher import Publisher
from sash.serving.store_names import due_entry

EVENTS, KEYS = 3000, 3


@sash.monoid(commutative=True)
class Total:
    @staticmethod
    def identity() -> float:
        return 0.0

    @staticmethod
    def combine(one: float, other: float) -> float:
        return one + other


def run_state(place: str | Path, *options: str) -> Result:
    return CliRunner().invoke(app, ["state", str(place), *options])


def publish(store: str, **aggregates: Any) -> None:
    table = pa.table(
        {
            "t": pa.array(np.arange(EVENTS), pa.int64()),
            "card": pa.array(np.arange(EVENTS) % KEYS, pa.int32()),
            "amount": pa.array(np.arange(EVENTS) % 7, pa.float64()),
        }
    )
    query = sash.stream(table, time="t", key="card").rolling(50, EVENTS).agg(**aggregates)
    publisher = Publisher.of(query.bound, store)
    for batch in range(3):
        publisher.begin(batch)
        publisher.done(batch, publisher.publish(table.slice(batch * 1000, 1000), batch))


@pytest.fixture
def published(store: str) -> str:
    publish(store, n=sash.count(), kinds=sash.count_distinct("amount"))
    return store


def names(store: str, first: bytes) -> list[bytes]:
    """Of the heads (k) or pages (p) in a store."""
    from sash.aggregation.stores.lmdb_view import looking

    if "://" in store:
        found = [name for name, _ in place_of(store).items()]  # type: ignore[attr-defined]
    else:
        with looking(store) as look:
            found = [name for name, _ in look.raw_items()]
    return [name for name in found if name.startswith(first) and name != b"progress"]


def test_published_features_are_shown_and_whole(published: str) -> None:
    shown, verified = run_state(published), run_state(published, "--verify")
    assert shown.exit_code == verified.exit_code == 0, shown.output + verified.output
    assert f"{KEYS} keys" in shown.output
    assert "n, kinds" in shown.output
    assert "batch       2" in shown.output
    pages = len(names(published, b"p"))
    assert pages > 10
    assert f"nothing is wrong with {KEYS} published keys, {pages} published pages" in verified.output
    data = json.loads(run_state(published, "--json").output)
    assert data["published"][0]["keys"] == KEYS


def test_what_is_wrong_with_published_features_is_named(published: str) -> None:
    missing, other = names(published, b"p")[:2]
    head = names(published, b"k")[0]
    place = place_of(published)
    with place.reading() as read:
        page = bytearray(bytes(read([other])[0]))
        cut = bytes(read([head])[0])[:-30]
    page[24:32] = (2**62).to_bytes(8, "little")
    changed = {other: bytes(page), head: cut, b"p" + b"nobody" + bytes(8): bytes(page), b"zero": b""}
    place.write(changed, [missing], due=[due_entry(5, b"nobody")])
    place.close()
    answer = run_state(published, "--verify")
    assert answer.exit_code == 1
    for words in (
        "1 pages are missing",
        "belong to no key",
        "not in the order of time",
        "b'zero' is nothing that a publisher writes",
        "1 due entries are of keys that are not there",
        "checked 3 published keys",
    ):
        assert words in answer.output, words
    assert repr(head) in answer.output
    assert "things: sash state --verify names them" in run_state(published).output


def test_records_of_a_users_aggregate_are_not_claimed_to_be_checked(store: str) -> None:
    publish(store, total=Total("amount"))
    answer = run_state(store, "--verify")
    assert answer.exit_code == 0, answer.output
    assert "elements were not checked" in answer.output


@pytest.mark.redis
def test_a_server_is_shown_with_all_that_sash_has_there(redis_server: Any) -> None:
    redis_server.client().flushall()
    empty = run_state(redis_server.url, "--verify")
    assert empty.exit_code == 2
    assert "there is nothing of Sash at" in empty.output
    publish(f"{redis_server.url}#one", n=sash.count())
    publish(f"{redis_server.url}#two", n=sash.count())
    with sash.stores.Redis(redis_server.url, namespace="prices") as prices:
        prices.put_many({b"a": b"1", b"b": b"2"})
        prices.commit(0)
    shown, verified = run_state(redis_server.url), run_state(redis_server.url, "--verify")
    assert shown.exit_code == verified.exit_code == 0, shown.output + verified.output
    for words in ("features one in Redis", "features two in Redis", "prices"):
        assert words in shown.output
    assert "2 values, 1 namespaces, 6 published keys" in verified.output
    assert "features two" not in run_state(f"{redis_server.url}#one").output


def test_a_folder_of_files_is_shown_and_checked(tmp_path: Path) -> None:
    with sash.stores.Files(tmp_path, namespace="prices") as store:
        store.put_many({b"a": b"123", b"b": b"45"})
        store.commit(0)
    before = sorted(tmp_path.rglob("*"))
    shown, verified = run_state(tmp_path), run_state(tmp_path, "--verify")
    assert shown.exit_code == verified.exit_code == 0, shown.output + verified.output
    assert "prices" in shown.output
    assert "nothing is wrong with 2 values, 1 namespaces" in verified.output
    assert sorted(tmp_path.rglob("*")) == before
    (data,) = tmp_path.rglob("*.data")
    data.write_bytes(data.read_bytes()[:-1] + b"x")
    assert run_state(tmp_path, "--verify").exit_code == 2
