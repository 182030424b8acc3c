"""State of operators and of aggregates whose content was replaced under a good seal: read or refused with
a typed error, with little memory, and no signal, which would end this process."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import Any, NamedTuple, cast

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

import sash
from sash.aggregation.built_in.sketch_bytes import kll_of
from sash.aggregation.encoding import decode, encode
from sash.aggregation.stores.values import seal, seal_json, unseal
from sash.errors import CorruptValue, SashError, StoreError
from sash.operators import Aggregate, Input, Stateful
from sash.operators.columns.table_bytes import bytes_of, table_of
from sash.operators.engine import WindowOperator, pane_operator
from sash.operators.engine.pane_operator import PanePartsOperator
from sash.operators.engine.pending_events import Events
from sash.operators.engine.saving import journal_entries as entries, operator_journal as journal
from sash.operators.joins import two_sided
from sash.operators.joins.asof.asof_operator import AsofOperator
from sash.operators.joins.join_operator import JoinOperator
from sash.operators.joins.state import row_chunks
from sash.operators.stateful import streaming
from sash.operators.stateful.streaming import BoundOperator, OperatorOnStream
from sash.runtimes.spark.patterns.owner import OwnerOperator
from sash.runtimes.spark.state import operators_in_state
from sash.semantics.durations import Duration, Unit
from sash.semantics.expression import Side
from tests.operators.test_inventory import SCHEMA, WINDOWED, saved_after, stream, table
from tests.runtimes.operator_runtime import LEASTS, small_journals
from tests.state.damage import damaged, json_values
from tests.state.memory_taken import little_memory

BATCHES = [
    table([(10 * n + 7 * k % 20, ["a", "b", None][k % 3], k % 10) for k in range(12)]) for n in range(4)
]
fuzzing = settings(max_examples=60)


class SavedOperator(NamedTuple):
    """What an operator has saved, what it is sealed under, and how it goes on."""

    header: bytes
    chunks: dict[int, bytes]
    header_name: bytes
    chunk_name: Callable[[int], bytes]
    goes_on: Callable[[bytes, dict[int, bytes]], None]


def _windows(name: str, least: int, kind: Any = WindowOperator) -> SavedOperator:
    bound = WINDOWED[name].bound
    with small_journals(least):
        saved = saved_after(kind(bound), [batch.select(bound.columns) for batch in BATCHES])

    def goes_on(header: bytes, chunks: dict[int, bytes]) -> None:
        operator = kind.load(bound, header, chunks)
        operator.insert(table([(60, "a", 1), (61, "c", 2)]).select(bound.columns), np.arange(2))
        operator.advance(55)
        operator.save()

    header_name = pane_operator.HEADER if kind is PanePartsOperator else journal.HEADER
    return SavedOperator(*saved, header_name, entries.chunk_name, goes_on)


def _join(bound: Any, kind: Any) -> SavedOperator:
    operator, chunks, header = kind(bound), dict[int, bytes](), b""
    for number, batch in enumerate(BATCHES):
        operator.resume(header, chunks)
        for side in Side:
            operator.insert(side, batch, np.arange(12) + 12 * number)
        operator.advance(10 * number)
        saved = operator.save()
        header = saved.header
        chunks = {n: data for n, data in (chunks | saved.written).items() if n not in saved.dropped}

    def goes_on(header: bytes, chunks: dict[int, bytes]) -> None:
        again = kind.load(bound, header, chunks)
        for side in Side:
            again.insert(side, BATCHES[-1], np.arange(12) + 100)
        again.advance(60)
        again.save()

    return SavedOperator(header, chunks, two_sided.HEADER, row_chunks.chunk_name, goes_on)


JOIN = stream().join(stream(), within=3, how="full").bound
ASOF = {
    way: stream().join_asof(stream(), direction=way, tolerance=9).bound
    for way in ("backward", "forward", "nearest")
}


WINDOW: dict[str, Any] = {"advance": 5, "size": 20, "inputs": Input(SCHEMA, time="t"), "keys": "k"}
COUNTS = Aggregate(**WINDOW, n=sash.count())


def _most(windows: Any) -> dict[str, Any]:
    return {"most": max(arrival.row.x for arrival in windows[0])}


FUNCTIONS = Stateful(**WINDOW, window="single", output=_most, schema=pa.schema([("most", pa.int64())]))


def _stateful(declared: Stateful) -> SavedOperator:
    bound = BoundOperator.of(declared, Duration(10, Unit.TICKS))
    header, chunks = saved_after(OperatorOnStream(bound), BATCHES)

    def goes_on(header: bytes, chunks: dict[int, bytes]) -> None:
        operator = OperatorOnStream.load(bound, header, chunks)
        operator.insert(BATCHES[-1], np.arange(12))
        operator.advance(60)
        operator.save()

    return SavedOperator(header, chunks, streaming.HEADER, streaming.chunk_name, goes_on)


SAVED: dict[str, Callable[[], SavedOperator]] = {
    **{f"snapshot of {name}": cache(lambda name=name: _windows(name, 0)) for name in WINDOWED},
    "journal of events": cache(lambda: _windows("events", max(LEASTS))),
    "owner of windows that others compute": cache(lambda: _windows("events", 0, OwnerOperator)),
    "panes that leave": cache(lambda: _windows("panes", 0, PanePartsOperator)),
    "join": cache(lambda: _join(JOIN, JoinOperator)),
    **{f"as-of {way}": cache(lambda way=way: _join(ASOF[way], AsofOperator)) for way in ASOF},
    "stateful operator": cache(lambda: _stateful(COUNTS)),
    "operator with functions": cache(lambda: _stateful(FUNCTIONS)),
}


@pytest.mark.parametrize("name", SAVED)
@fuzzing
@given(data=st.data())
def test_state_with_another_content_is_read_or_refused(name: str, data: st.DataObject) -> None:
    saved = SAVED[name]()
    header, chunks = saved.header, dict(saved.chunks)
    number = data.draw(st.sampled_from([None, *chunks]))
    if number is None:
        content = bytes(unseal(saved.header_name, header))
        header = seal(saved.header_name, data.draw(damaged(content)))
    else:
        content = bytes(unseal(saved.chunk_name(number), chunks[number]))
        chunks[number] = seal(saved.chunk_name(number), data.draw(damaged(content)))
    with little_memory(), suppress(SashError):
        saved.goes_on(header, chunks)


@pytest.mark.parametrize("name", SAVED)
@fuzzing
@given(data=st.data(), value=json_values)
def test_a_header_with_other_facts_is_read_or_refused(name: str, data: st.DataObject, value: Any) -> None:
    """Damaged bytes are rarely JSON; a fact of another type, or a large number, is."""
    saved = SAVED[name]()
    facts = json.loads(bytes(unseal(saved.header_name, saved.header)))
    fact = data.draw(st.sampled_from(sorted(facts)))
    other = data.draw(st.just(value) | st.sampled_from([-1, 2**31, 2**40, 2**62, 2**64, -(2**63), 1e300]))
    with little_memory(), suppress(SashError):
        saved.goes_on(seal_json(saved.header_name, facts | {fact: other}), dict(saved.chunks))


TOKEN = (operators_in_state.TOKEN,)


class KeptState:
    """Spark's state of a bucket."""

    def __init__(self) -> None:
        self.kept: dict[tuple[int], tuple[bytes]] = {}

    def getValue(self, key: tuple[int]) -> tuple[bytes] | None:
        return self.kept.get(key)

    def updateValue(self, key: tuple[int], value: tuple[bytes]) -> None:
        self.kept[key] = value


@cache
def in_state() -> tuple[Any, dict[tuple[int], tuple[bytes]]]:
    state, bound = KeptState(), WINDOWED["events"].bound
    buckets = operators_in_state.StateOfBuckets(
        cast(Any, state), bound=lambda _: bound, operator=WindowOperator, description={"kind": "a query"}
    )
    bucket = buckets.load(3)
    bucket.operator.insert(BATCHES[0].select(bound.columns), np.arange(12))
    buckets.save(bucket)
    return buckets, dict(state.kept)


@fuzzing
@given(data=st.data())
def test_a_bucket_in_sparks_state_with_another_token_is_read_or_refused(data: st.DataObject) -> None:
    buckets, good = in_state()
    name = operators_in_state.sealed_as(3)
    key = data.draw(st.sampled_from([TOKEN, (operators_in_state.QUERY,)]))
    # Another fingerprint, so that the description of the query is read, too.
    other = bytearray(unseal(name, good[TOKEN][0]))
    other[20] ^= key != TOKEN
    changed = good | {TOKEN: (seal(name, other),)}
    content = bytes(unseal(name, changed[key][0]))
    buckets._state.kept = changed | {key: (seal(name, data.draw(damaged(content))),)}
    with little_memory(), suppress(SashError):
        buckets.load(3)


def test_events_that_wait_under_another_column_are_refused() -> None:
    """A letter of a name in a snapshot with its checksum: found by a random run of the test above."""
    numbers = [np.zeros(1, np.int64)] * 4
    waiting, arriving = (Events(pa.table({name: [1]}), *numbers) for name in ("_pane 1 1", "__pane 1 1"))
    with pytest.raises(CorruptValue, match="the events that wait have the columns"):
        waiting.plus(arriving)


@pytest.mark.parametrize("name", SAVED)
def test_state_as_it_was_saved_goes_on(name: str) -> None:
    saved = SAVED[name]()
    saved.goes_on(saved.header, saved.chunks)


@pytest.mark.parametrize("name", ["journal of events", "join", "as-of nearest", "stateful operator"])
def test_state_of_another_layout_is_refused_and_is_not_damage(name: str) -> None:
    saved = SAVED[name]()
    facts = json.loads(bytes(unseal(saved.header_name, saved.header)))
    later = seal(saved.header_name, json.dumps(facts | {"layout": 99}).encode())
    with pytest.raises(StoreError, match="has layout 99, and this version of Sash reads layout") as error:
        saved.goes_on(later, saved.chunks)
    assert not isinstance(error.value, CorruptValue)


# Elements


@cache
def element_of(name: str, count: int) -> tuple[sash.Monoid, Any, bytes]:
    monoid = {
        "distinct": sash.distinct("x"), "kll": sash.quantile("x", 0.5), "bloom": sash.bloom("x"),
        "tdigest": sash.quantile("x", 0.5, sketch="tdigest"), "frequent items": sash.frequent_items("x"),
        "collect": sash.collect("x"),
    }[name]  # fmt: skip
    element = monoid.identity()
    for x in range(count):
        element = monoid.combine(element, monoid.lift(float(x)))
    return monoid, element, (monoid.encode or encode)(element)


@pytest.mark.parametrize("count", [1, 50, 3_000])
@pytest.mark.parametrize("name", ["distinct", "kll", "tdigest", "frequent items", "bloom", "collect"])
@fuzzing
@given(data=st.data())
def test_a_damaged_element_is_read_or_refused(name: str, count: int, data: st.DataObject) -> None:
    monoid, element, good = element_of(name, count)
    with suppress(CorruptValue):
        again = (monoid.decode or decode)(data.draw(damaged(good)))
        if name != "collect":  # of which any list is one
            monoid.lower(monoid.combine(again, element))


def test_levels_of_a_sketch_that_lie_outside_of_its_items_are_refused() -> None:
    monoid, _, good = element_of("kll", 3_000)
    for level in range(4):
        data = bytearray(good)
        data[24 + 20 + 4 * level : 24 + 24 + 4 * level] = (2**31).to_bytes(4, "little")
        with pytest.raises(CorruptValue, match="levels do not fit"):
            monoid.decode(bytes(data))
    with pytest.raises(CorruptValue):
        kll_of(b"")


def test_elements_that_are_nested_without_end_are_refused() -> None:
    for deep in (b"[\1\0\0\0" * 20_000 + b"N", b"{" * 200_000):
        with pytest.raises(CorruptValue, match="damaged"):
            decode(deep)


def test_a_chunk_of_an_operator_without_panes_is_refused() -> None:
    """Found by the test above: the end of an Arrow stream in the place of its batch."""
    saved = SAVED["stateful operator"]()
    number = max(saved.chunks)
    name = saved.chunk_name(number)
    table = table_of(unseal(name, saved.chunks[number])).slice(0, 0)
    with pytest.raises(CorruptValue, match="a chunk has none"):
        saved.goes_on(saved.header, saved.chunks | {number: seal(name, bytes_of(table, compressed=True))})


@pytest.mark.parametrize("column", ["start", "key", "0", "0.0"])
def test_a_chunk_of_an_operator_with_another_column_is_refused(column: str) -> None:
    """Found by the test above: a byte of a name was another, and Arrow joins no such tables."""
    saved = SAVED["stateful operator"]()
    number = max(saved.chunks)
    name = saved.chunk_name(number)
    table = table_of(unseal(name, saved.chunks[number]))
    names = [" " if each == column else each for each in table.column_names]
    other = seal(name, bytes_of(table.rename_columns(names), compressed=True))
    with pytest.raises(CorruptValue):
        saved.goes_on(saved.header, saved.chunks | {number: other})
