"""What is read at an instant is what the reference has for it, whatever came in which batches."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import sash
from sash.errors import ArgumentError, StoreError
from sash.operators.bound_query import BoundRolling
from sash.semantics.event import Event
from sash.semantics.look_back_rows import FeatureEvaluation
from sash.semantics.query import Emit, Query, When
from sash.serving import published_page_trees as forest, publisher as publisher_module
from sash.serving.publisher import Publisher
from sash.serving.records import RecordForm
from tests.operators.features import any_look_backs, look_backs, ticks
from tests.runtimes.micro_batches import DryStream
from tests.runtimes.tables import table_of
from tests.runtimes.test_spark_streaming_dry import TYPES, cut
from tests.serving.memory_place import MemoryPlace

SCHEMA = pa.schema([("e", pa.int64()), ("t", pa.int64()), ("k", pa.string()), ("x", pa.int64())])
AGGREGATES = {
    "n": sash.count(),
    "s": sash.sum("x", where="x > 2"),
    "held": sash.collect("e"),
    "last": sash.last("x"),
    "kinds": sash.count_distinct("x"),
}

event = st.tuples(
    st.integers(0, 60), st.sampled_from(["a", "b", None]), st.one_of(st.none(), st.integers(0, 9))
)
batches = st.lists(st.lists(event, max_size=12), min_size=1, max_size=6)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    lengths=any_look_backs,
    delay=st.integers(0, 20),
    fan=st.integers(2, 5),
    stream=batches,
    instants=st.lists(st.integers(-5, 100), min_size=1, max_size=6),
)
def test_oracle_every_instant_has_the_row_of_the_reference(
    memory: MemoryPlace, monkeypatch: Any,
    lengths: list[int], delay: int, fan: int, stream: list, instants: list[int],
) -> None:  # fmt: skip
    memory.clear()
    monkeypatch.setattr(forest, "FAN", fan)
    query = Query(look_backs(*lengths), AGGREGATES, delay=ticks(delay), emit=Emit(When.ARRIVAL))
    bound = BoundRolling(query, SCHEMA, "t", ("k",))
    publisher, oracle = Publisher.of(bound, "memory"), FeatureEvaluation(query)
    events: dict[str | None, list[Event]] = {}
    number, newest = 0, 0
    for batch, arrivals in enumerate(stream):
        rows = []
        for time, key, x in arrivals:
            if number and time < newest - delay:
                continue  # late for the query: it emits no row
            rows.append({"e": number, "t": time, "k": key, "x": x, "revision": 0})
            events.setdefault(key, []).append(Event(time, number, key, rows[-1]))
            number += 1
        newest = max([newest, *(row["t"] for row in rows)])
        # What was corrected by this batch comes again, too.
        rows += [row | {"revision": 1} for row in rows[:2]]
        table = pa.Table.from_pylist(rows, schema=SCHEMA.append(pa.field("revision", pa.int64())))
        publish(publisher, table, batch)
    online = sash.online("memory")
    for at in instants:
        for key in ("a", "b", None, "never seen"):
            mine = events.get(key, [])
            try:
                (row,) = online.get([key], at=at).to_pylist()
            except ArgumentError:
                assert at < newest - max(*lengths, delay)
                continue
            expected = {f"{name}_{label}": value for (name, label), value in oracle.row(mine, at).items()}
            assert row == {"k": key, "t": at} | expected
    assert memory.lost_and_leaked(RecordForm(publisher.bound)) == (set(), set())


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    lengths=any_look_backs, delay=st.integers(0, 20), fan=st.integers(2, 5), stream=cut(),
    when=st.sampled_from([When.CLOSE, When.ARRIVAL]),
)  # fmt: skip
def test_differential_the_last_row_of_a_stream_is_what_is_served(
    memory: MemoryPlace, monkeypatch: Any,
    lengths: list[int], delay: int, fan: int, stream: list, when: When,
) -> None:  # fmt: skip
    """Rows of the operator itself, some of which are corrections and all in the order that it emits. An
    aggregate that collects shows the order of events of one time."""
    memory.clear()
    monkeypatch.setattr(forest, "FAN", fan)
    aggregates = {"n": sash.count(), "held": sash.collect("e"), "s": sash.sum("x")}
    query = Query(look_backs(*lengths), aggregates, delay=ticks(delay), emit=Emit(when), flush=False)
    bound = BoundRolling(query, table_of([], TYPES).schema, "t", ("k",))
    publisher, dry = Publisher.of(bound, "memory"), DryStream(bound)
    last: dict[Any, dict[str, Any]] = {}
    for batch, arrivals in enumerate([*stream, None]):
        rows = dry.batch(None if arrivals is None else table_of(arrivals, TYPES))
        last |= {row["e"]: row for row in rows}
        publish(publisher, pa.Table.from_pylist(rows, schema=bound.output), batch)
    if not last:
        return
    online, kept = sash.online("memory"), max(*lengths, delay)
    newest = max(row["t"] for row in last.values())
    held = [row for row in last.values() if row["t"] >= newest - kept]
    served = online.get([row["k"] for row in held], at=[row["t"] for row in held]).to_pylist()
    assert served == [{name: row[name] for name in online.columns} for row in held]


def test_a_batch_that_fails_half_way_is_published_once(
    memory: MemoryPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publisher_module, "GROUP", 1)
    query = Query(look_backs(10), {"held": sash.collect("e")}, emit=Emit(When.ARRIVAL))
    publisher = Publisher.of(BoundRolling(query, SCHEMA, "t", ("k",)), "memory")
    rows = [{"e": e, "t": e, "k": "abc"[e % 3], "x": 1, "revision": 0} for e in range(9)]
    table = pa.Table.from_pylist(rows)
    publisher.begin(0)
    written = memory.write

    def fail(values: Any, removed: Any, **entries: Any) -> None:
        monkeypatch.setattr(memory, "write", refuse)
        written(values, removed, **entries)

    def refuse(values: Any, removed: Any, **entries: Any) -> None:
        raise StoreError("the store is full")

    monkeypatch.setattr(memory, "write", fail)
    with pytest.raises(StoreError, match="full"):
        publisher.publish(table, 0)
    monkeypatch.setattr(memory, "write", written)
    publish(publisher, table, 0)
    with sash.online("memory") as online:
        assert online.get(["a", "b", "c"], at=8)["held_10"].to_pylist() == [[0, 3, 6], [1, 4, 7], [2, 5, 8]]


class _Killed(Exception):
    """In the place of SIGKILL: what was written stays, nothing more is done."""


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    lengths=any_look_backs, fan=st.integers(2, 5), stream=batches,
    kills=st.lists(st.integers(0, 12), max_size=8), at=st.integers(0, 70),
)  # fmt: skip
def test_oracle_a_publisher_that_is_killed_before_any_write_adds_each_event_once(
    memory: MemoryPlace, monkeypatch: pytest.MonkeyPatch,
    lengths: list[int], fan: int, stream: list, kills: list[int], at: int,
) -> None:  # fmt: skip
    """Before a group of its keys, before the end of a batch, before keys that were silent are let go. A
    batch is executed again until it has ended."""
    memory.clear()
    monkeypatch.setattr(forest, "FAN", fan)
    monkeypatch.setattr(publisher_module, "GROUP", 1)
    left = [*kills]

    def write(*values: Any, **entries: Any) -> None:
        if left and left[0] == 0:
            del left[0]
            raise _Killed
        left[:1] = [left[0] - 1] if left else []
        MemoryPlace.write(memory, *values, **entries)

    monkeypatch.setattr(memory, "write", write)
    query = Query(look_backs(*lengths), AGGREGATES)
    publisher = Publisher.of(BoundRolling(query, SCHEMA, "t", ("k",)), "memory")
    events: dict[str | None, list[Event]] = {}
    newest = 0
    for batch, arrivals in enumerate(stream):
        rows = []
        for time, key, x in sorted(arrivals, key=lambda one: one[0]):
            newest = max(newest, time)
            rows.append({"e": len(rows) + 100 * batch, "t": newest, "k": key, "x": x})
            events.setdefault(key, []).append(Event(newest, rows[-1]["e"], key, rows[-1]))
        table, ended = pa.Table.from_pylist(rows, schema=SCHEMA), False
        while not ended:
            try:
                ended = publisher.begin(batch)
                if not ended:
                    publisher.done(batch, *([publisher.publish(table, batch)] if rows else []))
            except _Killed:
                continue
    left.clear()
    at, oracle, online = max(at, newest), FeatureEvaluation(query), sash.online("memory")
    for key in ("a", "b", None):
        (row,) = online.get([key], at=at).to_pylist()
        found = oracle.row(events.get(key, []), at)
        assert row == {"k": key, "t": at} | {f"{name}_{label}": one for (name, label), one in found.items()}
    assert memory.lost_and_leaked(RecordForm(publisher.bound)) == (set(), set())


def publish(publisher: Publisher, rows: pa.Table, batch: int) -> None:
    """As a sink does, and once more, as after a failure."""
    assert publisher.begin(batch) is False
    published = [publisher.publish(rows, batch) for _ in range(2 if rows.num_rows else 0)]
    publisher.done(batch, *published[1:])
    assert publisher.begin(batch) is True


def numbered(times: list[int], *, first: int = 0) -> pa.Table:
    rows = [{"e": first + i, "t": t, "k": "a", "x": 1} for i, t in enumerate(times)]
    return pa.Table.from_pylist(rows, schema=SCHEMA).append_column(
        "revision", pa.array([0] * len(times), pa.int64())
    )


def test_a_row_is_of_one_batch_also_when_the_next_is_published_while_it_is_read(
    memory: MemoryPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """batch 0:  t = 0 … 39, in pages of 4.   batch 1:  t = 5, and all pages after it are made again."""
    monkeypatch.setattr(forest, "FAN", 4)
    query = Query(look_backs(10, 38), {"held": sash.collect("e")}, emit=Emit(When.ARRIVAL))
    publisher = Publisher.of(BoundRolling(query, SCHEMA, "t", ("k",)), "memory")
    publish(publisher, numbered(list(range(40))), 0)
    online = sash.online("memory")
    memory.between = lambda: publish(publisher, numbered([5], first=40), 1)
    (row,) = online.get(["a"], at=39).to_pylist()
    assert memory.between is None
    assert row["held_38"] == [2, 3, 4, 5, 40, *range(6, 40)]
    assert row["held_10"] == list(range(30, 40))


@pytest.mark.parametrize("each", [1, 3, 4, 40])
def test_over_a_lifetime_the_instants_of_the_last_events_are_answered(
    memory: MemoryPlace, monkeypatch: pytest.MonkeyPatch, each: int
) -> None:
    """Also where a page has just been filled. Pages are of 4 events."""
    monkeypatch.setattr(forest, "FAN", 4)
    query = Query(look_backs(0), {"held": sash.collect("e")}, emit=Emit(When.ARRIVAL))
    publisher = Publisher.of(BoundRolling(query, SCHEMA, "t", ("k",)), "memory")
    for batch in range(-(-40 // each)):
        times = list(range(batch * each, batch * each + each))
        publish(publisher, numbered(times, first=times[0]), batch)
        newest = times[-1]
        for at in range(max(newest - 3, 0), newest + 2):
            (row,) = sash.online("memory").get(["a"], at=at).to_pylist()
            assert row["held_lifetime"] == list(range(min(at, newest) + 1))
    with pytest.raises(ArgumentError, match="have been dropped"):
        sash.online("memory").get(["a"], at=0)


def test_reads_grow_with_the_logarithm_of_the_events(memory: MemoryPlace) -> None:
    query = Query(look_backs(300, 86_400), {"n": sash.count()}, emit=Emit(When.ARRIVAL))
    publisher = Publisher.of(BoundRolling(query, SCHEMA, "t", ("k",)), "memory")
    publish(publisher, numbered(list(range(90_000))), 0)
    online = sash.online("memory")
    row = online.get(["a"], at=89_999).to_pylist()
    assert row == [{"k": "a", "t": 89_999, "n_300": 300, "n_86400": 86_400}]
    # The head; a page for 300; two pages, one below the other, for 86,400.
    assert online.reads == 4
