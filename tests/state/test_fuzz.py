"""Bytes and texts from anybody: typed errors only, and no more memory than the bytes themselves need.

Sealed bytes are damaged as they are, which their checksum finds; and their content is replaced under a good
seal, as somebody could who writes to a store.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
import zlib
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from urllib.parse import quote

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import sash
from sash.aggregation import built_in
from sash.aggregation.stores import lmdb
from sash.aggregation.stores.files import Files
from sash.aggregation.stores.values import pack, seal, unpack, unseal
from sash.dashboard import Feed, feature_app, web_app
from sash.dashboard.message_folder import FolderReader
from sash.errors import CorruptValue, PipelineError, SashError, StoreError
from sash.operators.arena.head import ArenaHead
from sash.operators.bound_query import BoundQuery
from sash.operators.columns.table_bytes import batch_of, bytes_of, table_of
from sash.operators.engine.saving import journal_entries as entries, operator_journal as journal
from sash.operators.joins.state import row_bits
from sash.operators.saved_operator_contents import inventory
from sash.pipeline import read
from sash.runtimes.spark.epochs import operator_in_store
from sash.runtimes.spark.packing.blocks import ORDINAL, block_of, rows_of
from sash.runtimes.spark.packing.pane_blocks import SharedPanes
from sash.runtimes.spark.packing.time_of_batch import Stamps
from sash.runtimes.spark.sinks import manifest_runs, manifests
from sash.runtimes.spark.state import operators_in_state, queries_of_checkpoint
from sash.runtimes.spark.state.checkpoint_compatibility import change_of
from sash.runtimes.spark.state.checkpoint_label import CheckpointLabel
from sash.runtimes.spark.state.token_layout import with_layout
from sash.runtimes.spark.together.epochs import KeptQueries
from sash.semantics import windows
from sash.semantics.query import Query
from sash.serving import query_description
from sash.serving.publisher import Publisher
from sash.serving.record_pages import Page, packed, unpacked
from sash.serving.records import RecordForm
from tests.pipeline.pipeline_files import PIPELINE, SEVERAL
from tests.state.damage import damaged, json_values
from tests.state.memory_taken import little_memory

TABLE = pa.table({"t": [1, 2, 3], "k": ["a", None, "b"], "x": [0.5, None, 2.5]})
ROWS = TABLE.append_column(ORDINAL, pa.array([0, 1, 2]))
fuzzing = settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])


def as_line(value: Any) -> bytes:
    return json.dumps(value).encode()


def reads(function: Callable[[], Any], *, only: type[SashError] = CorruptValue) -> None:
    """The bytes are read, or refused with this error."""
    with little_memory(), suppress(only):
        function()


# Sealed values and what is in them

RUNS = (journal.EntryRun(2, 3, 1),)
HEAD = journal.JournalHead("v", parts=2, runs=RUNS, next=4, watermark=5, keys=3).sealed()
MANIFEST = {"batch": 3, "rows": 1, "writer": "w", "execution": "e", "files": {"f": 9}}
PANED = BoundQuery(Query((windows.tumbling(4),), {"n": built_in.count()}), TABLE.schema, "t", ("k",))
PANES = cast(SharedPanes, SharedPanes.of([PANED], []))
NO_PANES = PANES.schema.empty_table()
LABEL = bytes(CheckpointLabel("/a/checkpoint", parent=5, query="a query"))
FORMATS: dict[str, tuple[bytes, Callable[[bytes], Any]]] = {
    "sealed value": (seal(b"k", b"payload"), lambda data: unseal(b"k", data)),
    "arrays": (
        pack(b"demo", [np.arange(3), np.array([0.5])]), lambda data: unpack(b"k", b"demo", data)
    ),
    "journal head": (
        bytes(unseal(journal.HEADER, HEAD)), lambda data: journal.JournalHead.of(seal(journal.HEADER, data))
    ),
    "sealed journal head": (HEAD, journal.JournalHead.of),
    "Arrow stream": (bytes_of(TABLE), table_of),
    "compressed stream": (bytes_of(TABLE, compressed=True), table_of),
    "parts": (entries.with_lengths([b"one", bytes(40)]), entries.split_by_lengths),
    "inventory": (HEAD, lambda data: inventory(data, [])),
    "block": (
        bytes(unseal(b"bucket 3", block_of(3, ROWS))),
        lambda data: rows_of(3, [seal(b"bucket 3", data)], ROWS.schema),
    ),
    "manifest": (
        json.dumps({"batch": 3, "rows": 1, "writer": "w", "execution": "e", "files": {"f": 9}}).encode(),
        lambda data: manifests.opened(3, seal(b"batch 3 of a folder", data)),
    ),
    "register": (
        json.dumps({"q": "state", "r": {"state": "s", "query": None}}).encode(),
        lambda data: queries_of_checkpoint.queries_in(seal(b"queries of a stream", data)),
    ),
    "run of manifests": (
        json.dumps({"layout": 1, "manifests": [MANIFEST]}).encode(),
        lambda data: manifest_runs.manifests_in("1-0", seal(b"1-0", data)),
    ),
    "token": (
        with_layout(operator_in_store._TOKEN.pack(bytes(16), bytes(16), 5)),
        operator_in_store.header_in,
    ),
    "token in Spark's state store": (
        with_layout(operators_in_state._TOKEN.pack(bytes(32), bytes(16), bytes(16), 5)),
        lambda data: operators_in_state.header_in(3, seal(b"state of bucket 3", data)),
    ),
    "panes": (
        PANES.block(3, NO_PANES, milliseconds=0, events=0),
        lambda data: PANES.arrived(3, [data], milliseconds=0),
    ),
    "stamp": (bytes(8), lambda data: Stamps([0]).take(pa.py_buffer(data), 0, 0)),
    "epoch of a namespace": (
        bytes(32), lambda data: lmdb.read_meta(b"n", seal(b"n", data))
    ),
    "label of a checkpoint": (LABEL, lambda data: CheckpointLabel.of(data).judged("a query")),
    "sealed block": (block_of(3, ROWS), lambda data: rows_of(3, [data], ROWS.schema)),
}  # fmt: skip


@pytest.mark.parametrize("name", FORMATS)
@fuzzing
@given(data=st.data())
def test_a_damaged_value_is_read_or_refused(name: str, data: st.DataObject) -> None:
    good, opened = FORMATS[name]
    opened(good)
    # Panes of another watermark are a DataError, as they are without damage.
    typed = SashError if name == "panes" else StoreError
    reads(lambda: opened(data.draw(damaged(good) | st.binary(max_size=200))), only=typed)


@pytest.mark.parametrize("how", ["alone", "together"])
@fuzzing
@given(data=st.data(), value=json_values)
def test_a_damaged_journal_of_epochs_is_refused(how: str, data: st.DataObject, value: Any) -> None:
    own = {"kind": "BoundQuery", "windows": {}, "aggregates": {}, "columns": {}}
    good = {"alone": own, "together": {"queries": {"q": {"state": "s", "query": own}}}}[how]
    bytes_ = damaged(json.dumps(good).encode()) | st.just(json.dumps(value).encode())
    given = data.draw(bytes_ | st.just(json.dumps({**good, "windows": value}).encode()))
    if how == "alone":
        reads(lambda: change_of(given, own), only=StoreError)
    else:
        reads(lambda: KeptQueries.of(given), only=StoreError)


@fuzzing
@given(data=st.data())
def test_a_damaged_description_of_published_features_is_refused(data: st.DataObject) -> None:
    stream = sash.stream(TABLE, time="t", key="k").rolling(5)
    good = query_description.described(stream.agg(n=sash.count(), s=sash.sum("x", where="x > 1")).bound)
    query_description.restored(good, query=None)
    given = data.draw(damaged(good))
    reads(lambda: query_description.restored(given, query=None), only=SashError)


@fuzzing
@given(
    lines=st.lists(st.binary(max_size=40) | json_values.map(lambda v: json.dumps(v).encode()), max_size=5)
)
def test_lines_of_anybody_do_not_stop_the_reader_of_a_folder(lines: list[bytes]) -> None:
    good = {"kind": "frame", "query": "q"}
    with tempfile.TemporaryDirectory() as folder:
        taken: list[Any] = []
        feed = SimpleNamespace(take=lambda message: taken.append(message["query"]))
        nested = b"[" * 100_000
        content = [*lines, nested, json.dumps(good).encode(), b""]
        (Path(folder) / "q.jsonl").write_bytes(b"\n".join(content))
        reader = FolderReader(folder, feed)
        reader.stop()
        assert "q" in taken


@fuzzing
@given(value=json_values)
def test_any_json_as_the_head_of_a_journal_is_refused(value: Any) -> None:
    given = value | {"layout": journal.LAYOUT} if isinstance(value, dict) else value
    with pytest.raises(CorruptValue):
        journal.JournalHead.of(seal(journal.HEADER, json.dumps(given).encode()))


@pytest.mark.parametrize("other", [{"parts": 2**40}, {"next": 2**40}, {"runs": [[2, 2**40, 1]]}])
def test_a_header_that_names_chunks_without_end_allocates_nothing(other: dict[str, Any]) -> None:
    header = journal.JournalHead.of(HEAD)
    assert journal.chunks_of(header.sealed()) == {0, 1, 2, 3}
    facts = json.loads(bytes(unseal(journal.HEADER, HEAD))) | other
    with little_memory(), pytest.raises(CorruptValue, match="more chunks than there can be"):
        journal.chunks_of(seal(journal.HEADER, json.dumps(facts).encode()))


@fuzzing
@given(
    value=json_values, texts=st.dictionaries(st.sampled_from(["checkpoint", "host", "query"]), st.text())
)
def test_any_json_as_the_label_of_a_checkpoint_is_judged_or_refused(
    value: Any, texts: dict[str, str]
) -> None:
    for facts in (value, texts, texts | {"parent": value}, texts | {"checkpoint": value}):
        reads(lambda facts=facts: CheckpointLabel.of(as_line(facts)).judged("a query"))


@fuzzing
@given(data=st.data())
def test_a_damaged_arena_is_none(data: st.DataObject) -> None:
    good = ArenaHead(bytes(32), bytes(16), b"v" * 16, bytes(256 * 8), {"t": 3}, {}, "me", False).pack()
    with little_memory():
        found = ArenaHead.unpack(data.draw(damaged(good)))
    assert found is None or found.tables == {"t": 3}


@fuzzing
@given(data=st.data())
def test_a_damaged_page_of_features_is_read_or_refused(data: st.DataObject) -> None:
    query = sash.stream(TABLE, time="t", key="k").rolling(2).agg(n=sash.count(), all=sash.collect("x"))
    form = RecordForm(query.bound)
    run = form.lifted(TABLE, np.array([1, 2, 3]))
    (good,) = packed(run, np.array([3]), form, batches=3, newest_pages=1)

    def whole(page: bytes) -> None:
        one = Page.of(page, form)
        one.objects(form, 0, one.size)
        unpacked([page], form)

    whole(good)
    reads(lambda: whole(data.draw(damaged(good))))


@fuzzing
@given(data=st.data())
def test_a_damaged_store_of_files_is_read_or_refused(tmp_path: Path, data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory(dir=tmp_path) as folder:
        with Files(folder, namespace="n") as store:
            store.put_many({b"a": b"one", b"b": bytes(50)})
            store.commit(0)
        file = data.draw(
            st.sampled_from(sorted(path for path in Path(folder).rglob("*") if path.is_file()))
        )
        content = file.read_bytes()
        file.write_bytes(data.draw(damaged(content) | _resealed(content)))

        def everything() -> None:
            with Files(folder, namespace="n") as store:
                store.get_many(list(store.keys()))

        reads(everything, only=SashError)


def _resealed(content: bytes) -> st.SearchStrategy[bytes]:
    """A manifest that announces something else, under a good seal."""
    name = b"state at epoch 0"
    try:
        facts = json.loads(bytes(unseal(name, content)))
    except CorruptValue:
        return damaged(content)
    places = st.dictionaries(
        st.sampled_from(list(facts["places"])),
        st.tuples(st.sampled_from(["0-x.data", "../../etc/passwd", "gone"]), st.integers(), st.integers()),
    )
    changed = st.builds(lambda one: facts | {"places": one}, places) | json_values
    return changed.map(lambda one: seal(name, json.dumps(one).encode()))


@pytest.mark.parametrize("length", [2**33, 2**62, -2])
@pytest.mark.parametrize("dictionary", [False, True])
@pytest.mark.parametrize("form", ["stream", "batch"])
def test_a_length_in_compressed_arrow_data_allocates_nothing(
    form: str, dictionary: bool, length: int
) -> None:
    texts = pa.array([f"{n} of many" for n in range(1_000)])
    table = pa.table({"x": texts.dictionary_encode() if dictionary else texts})
    good = bytearray(bytes_of(table, compressed=True))
    if form == "batch":
        message = [each for each in pa.ipc.MessageReader.open_stream(bytes(good)) if each.body.size][-1]
        good = bytearray(message.serialize())
    own = 4 * (len(texts) + (not dictionary))
    assert own.to_bytes(8, "little") in good
    changed = bytes(good).replace(own.to_bytes(8, "little"), length.to_bytes(8, "little", signed=True))
    with little_memory(), pytest.raises(CorruptValue):
        table_of(changed) if form == "stream" else batch_of(changed, pa.schema([("x", pa.string())]))


def test_what_can_be_compressed_by_far_is_read() -> None:
    zeros = pa.table({"x": np.zeros(10**6, np.int64), "s": pa.array(["same"] * 10**6).dictionary_encode()})
    assert table_of(bytes_of(zeros, compressed=True)).equals(zeros)


@pytest.mark.parametrize("count", [0, 1, 8, 9, 4_500_000_000])
def test_a_set_of_rows_that_announces_more_than_it_holds_allocates_nothing(count: int) -> None:
    good = row_bits.to_text(np.ones(17, np.bool_))
    longer = b64encode(zlib.compress(bytes(1 << 27))).decode()
    for text in (good, longer) if count < 10 else (good,):
        with little_memory(), pytest.raises(CorruptValue):
            row_bits.chosen_at(text, count, np.zeros(1, np.int64))
        with little_memory(), pytest.raises(CorruptValue):
            row_bits.from_text(text, count)


def test_a_length_in_a_store_of_files_allocates_nothing(tmp_path: Path) -> None:
    with Files(tmp_path, namespace="n") as store:
        store.put_many({b"a": b"one"})
        store.commit(0)
    (manifest,) = tmp_path.rglob("0*state*")
    facts = json.loads(bytes(unseal(b"state at epoch 0", manifest.read_bytes())))
    facts["places"] = {key: [name, 0, 2**40] for key, (name, _, _) in facts["places"].items()}
    manifest.write_bytes(seal(b"state at epoch 0", json.dumps(facts).encode()))
    with little_memory(), Files(tmp_path, namespace="n") as store, pytest.raises(CorruptValue):
        store.get_many(list(store.keys()))


# Texts


@fuzzing
@given(data=st.data())
def test_any_pipeline_file_is_understood_or_refused_with_one_sentence(
    tmp_path: Path, data: st.DataObject
) -> None:
    text = data.draw(st.sampled_from([PIPELINE, SEVERAL]))
    pieces = st.sampled_from(
        ["[", "]", "=", '"', "'", "[[query]]", "\n", "(", ")", ".", "{", "}", "\0", "é"]
    )
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(text)))
        until = data.draw(st.integers(at, min(len(text), at + 20)))
        text = text[:at] + data.draw(pieces | st.text(max_size=6)) + text[until:]
    file = tmp_path / "p.toml"
    file.write_bytes(text.encode(errors="surrogatepass"))
    reads(lambda: read(file), only=PipelineError)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('"count()"', '"' + "f(" * 5_000 + ")" * 5_000 + '"'),
        ('"count()"', "\"sum(x, where='" + "(" * 5_000 + "x" + ")" * 5_000 + " > 1')\""),
        ('"count()"', "\"sum(x, where='" + "-" * 5_000 + "x > 1')\""),
        ('"count()"', "\"sum(x, where='" + "+".join(["x"] * 5_000) + " > 1')\""),
        ('"count()"', '"top_k(x, ' + "9" * 5_000 + ')"'),
        ('"count()"', "\"sum(x, where='x > 1\\u0000')\""),
        ('"5 seconds"', '"' + "9" * 5_000 + ' seconds"'),
        ('"5 seconds"', "9" * 5_000),
        ('"5 seconds"', "[" * 5_000 + "]" * 5_000),
        ('"5 seconds"', "{a=" * 5_000 + "1" + "}" * 5_000),
        ('"rows 3 as three"', '"rows ' + "9" * 30 + '"'),
    ],
    ids=[
        "calls",
        "parentheses",
        "signs",
        "sums",
        "k",
        "null",
        "digits",
        "number",
        "lists",
        "tables",
        "rows",
    ],
)
def test_what_is_too_deep_or_too_long_is_refused_with_one_sentence(
    tmp_path: Path, before: str, after: str
) -> None:
    file = tmp_path / "p.toml"
    file.write_text(PIPELINE.replace(before, after))
    reads(lambda: read(file), only=PipelineError)


# Requests


def answered(app: Any, method: str, path: str, query: str, body: bytes) -> int:
    """The status of a request, as a server would make it."""
    statuses: list[int] = []
    headers = [(b"host", b"127.0.0.1"), (b"content-type", b"application/json")]
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method,
        "scheme": "http", "path": path, "raw_path": path.encode(), "root_path": "",
        "query_string": query.encode(),
        "headers": headers, "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 80),
    }  # fmt: skip

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])

    asyncio.run(app(scope, receive, send))
    (status,) = statuses
    return status


EXPERIMENT = {
    "window": "sliding",
    "size": 4,
    "every": 2,
    "events": [{"time": 1, "x": 2}, {"time": 3, "x": 1}],
}


@fuzzing
@given(value=json_values, changes=st.dictionaries(st.sampled_from([*EXPERIMENT, "delay"]), json_values))
def test_any_request_to_the_lab_has_an_answer(value: Any, changes: dict[str, Any]) -> None:
    app = web_app.application(Feed())
    for body in (value, EXPERIMENT | changes):
        assert answered(app, "POST", "/api/lab", "", json.dumps(body).encode()) in (200, 422)


@fuzzing
@given(text=st.text(st.characters(codec="utf-8"), max_size=12), body=st.binary(max_size=40))
def test_any_request_to_the_page_has_an_answer(text: str, body: bytes) -> None:
    app = web_app.application(Feed())
    assert answered(app, "GET", f"/api/{quote(text)}x", "", body) == 404
    assert answered(app, "GET", "/api/windows", f"query={quote(text)}", body) == 200
    assert answered(app, "POST", "/api/lab", "", body) in (200, 422)


@fuzzing
@given(value=json_values, keys=json_values, at=json_values, text=st.text(max_size=12))
def test_any_request_for_features_has_an_answer(
    features: sash.OnlineFeatures, value: Any, keys: Any, at: Any, text: str
) -> None:
    app = feature_app.application(features)
    for body in (value, {"keys": keys, "at": at}, {"keys": ["a"], "at": at}):
        assert answered(app, "POST", "/features", "", json.dumps(body).encode()) in (200, 422)
    query = f"key={quote(text, errors='replace')}&at={quote(text, errors='replace')}"
    assert answered(app, "GET", "/features", query, b"") in (200, 422)


@pytest.fixture(scope="module")
def features(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sash.OnlineFeatures]:
    folder = tmp_path_factory.mktemp("features")
    publisher = Publisher.of(
        sash.stream(TABLE, time="t", key="k").rolling(2).agg(n=sash.count()).bound, folder
    )
    publisher.begin(0)
    publisher.publish(TABLE, 0)
    with sash.online(str(folder)) as online:
        yield online
