"""All state has the number of its layout: another one is refused in a sentence, none is the first."""

from __future__ import annotations

import json
import struct
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sash.aggregation.stores import lmdb
from sash.aggregation.stores.files import Files
from sash.aggregation.stores.redis import Redis
from sash.aggregation.stores.values import VERSION, seal
from sash.errors import CorruptValue, StoreError
from sash.runtimes.spark.epochs import epoch_journal, operator_in_store
from sash.runtimes.spark.sinks import manifest_runs, manifests
from sash.runtimes.spark.state import operators_in_state, queries_of_checkpoint
from sash.runtimes.spark.state.token_layout import with_layout
from tests.aggregation.conftest import RedisServer

MANIFEST = {"batch": 3, "rows": 1, "writer": "w", "execution": "e", "files": {"f": 9}}
QUERIES = {"layout": {"state": "a query may have this name", "query": None}}


def as_json(name: bytes, content: Any) -> bytes:
    return seal(name, json.dumps(content).encode())


def in_layout(layout: int | None, rest: bytes) -> bytes:
    return rest if layout is None else with_layout(rest, layout)


def token_in_store(layout: int | None) -> Any:
    token = operator_in_store._TOKEN.pack(b"n" * 16, b"w" * 16, 5) + b"header"
    return operator_in_store._opened(in_layout(layout, token))


def token_in_state(layout: int | None) -> Any:
    token = operators_in_state._TOKEN.pack(b"f" * 32, b"n" * 16, b"w" * 16, 5) + b"header"
    return operators_in_state._opened(3, seal(b"state of bucket 3", in_layout(layout, token)))


def manifest(layout: int | None) -> Any:
    content = MANIFEST if layout is None else {"layout": layout, **MANIFEST}
    return manifests.opened(3, as_json(b"batch 3 of a folder", content))


def run_of_manifests(layout: int | None) -> Any:
    content: Any = [MANIFEST] if layout is None else {"layout": layout, "manifests": [MANIFEST]}
    return manifest_runs.manifests_in("1-0", as_json(b"1-0", content))


def queries(layout: int | None) -> Any:
    content: Any = QUERIES if layout is None else {"layout": layout, "queries": QUERIES}
    return queries_of_checkpoint.queries_in(as_json(b"queries of a stream", content))


def lmdb_meta(layout: int | None) -> Any:
    number = b"" if layout is None else lmdb._LAYOUT.pack(layout)
    return lmdb.read_meta(b"n", seal(b"n", lmdb._META.pack(3, 2, bytes(16)) + number))


def manifest_of_files(layout: int | None) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        content = {"epoch": 0, "places": {}} | ({} if layout is None else {"layout": layout})
        (Path(folder) / "default").mkdir()
        (Path(folder) / "default" / "0.state").write_bytes(as_json(b"state at epoch 0", content))
        return Files(folder).committed


READERS: dict[str, Callable[[int | None], Any]] = {
    "manifest": manifest,
    "run of manifests": run_of_manifests,
    "register": queries,
    "LMDB": lmdb_meta,
    "files": manifest_of_files,
    "token": token_in_store,
    "token in Spark's state store": token_in_state,
    "journal": lambda layout: epoch_journal.require_journal_layout(
        None if layout is None else b"%d" % layout
    ),
}


@pytest.mark.parametrize("name", READERS)
def test_no_number_is_the_first_layout(name: str) -> None:
    assert READERS[name](None) == READERS[name](1)


@pytest.mark.parametrize("name", READERS)
def test_another_layout_is_refused_in_one_sentence_and_is_not_damage(name: str) -> None:
    with pytest.raises(StoreError, match="has layout 7, and this version of Sash reads layout 1") as error:
        READERS[name](7)
    assert not isinstance(error.value, CorruptValue)


def test_a_journal_has_its_layout_and_goes_on_without(tmp_path: Path) -> None:
    def begun(epoch: int) -> epoch_journal.EpochJournal:
        return epoch_journal.EpochJournal(Files(tmp_path), {"kind": "a query"}, epoch=epoch)

    begun(0).commit([5])
    with Files(tmp_path) as store:
        assert store.get_many([epoch_journal.LAYOUT_KEY]) == [b"1"]
        store.fence()
        store.delete_many([epoch_journal.LAYOUT_KEY])
        store.commit(1)
    assert begun(2).newest == [5]
    with Files(tmp_path) as store:
        store.fence()
        store.put_many({epoch_journal.LAYOUT_KEY: b"3"})
        store.commit(2)
    with pytest.raises(StoreError, match="the journal of epochs has layout 3"):
        begun(3)


def test_an_empty_token_is_refused() -> None:
    with pytest.raises(CorruptValue):
        operator_in_store.header_in(b"short")
    for short in (b"", b"short", with_layout(b"short"), b"sash-token\0\0"):
        with pytest.raises(CorruptValue):
            operators_in_state.header_in(3, seal(b"state of bucket 3", short))


@pytest.mark.redis
def test_another_layout_on_a_redis_server_is_refused(tmp_path: Path) -> None:
    server = RedisServer(tmp_path)
    try:
        with Redis(server.url) as store:
            store.commit(0)
        for layout in (1, 7):
            server.client().set("sash:{default}:layout", layout)
            if layout == 1:
                assert Redis(server.url).epoch == 0
        with pytest.raises(StoreError, match="Redis store 'default' has layout 7, and this version"):
            Redis(server.url)
    finally:
        server.kill()


def test_a_manifest_of_a_later_version_was_not_cut_short(tmp_path: Path) -> None:
    """It would be taken for an epoch that was not committed, and replaced."""
    with Files(tmp_path) as store:
        for epoch in range(2):
            store.put_many({b"k": b"%d" % epoch})
            store.commit(epoch)
    manifest = tmp_path / "default" / "1.state"
    later = bytearray(manifest.read_bytes())
    struct.pack_into("<H", later, 4, VERSION + 1)
    manifest.write_bytes(later)
    with pytest.raises(StoreError, match=r"the manifest of epoch 1 in .* has layout 2, and this") as error:
        Files(tmp_path)
    assert not isinstance(error.value, CorruptValue)
