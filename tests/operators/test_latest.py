"""The latest row of each key, against the reference: batch after batch, after restarts, at the end."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

import sash
from sash.errors import ArgumentError, Unsupported
from sash.operators.bound_query import BoundLatest
from sash.operators.engine import LatestOperator
from sash.semantics.look_back_rows import LatestEvaluation
from sash.semantics.query import NO_TIME, Emit, Query, When
from sash.semantics.reference import Arrival, Batch
from tests.operators.features import (
    AGGREGATES,
    FeatureRuntime,
    any_look_backs,
    in_order,
    look_backs,
    require_rows,
    ticks,
)
from tests.runtimes.operator_runtime import TYPES, Way, leasts, small_journals, ways
from tests.runtimes.strategies import arrivals
from tests.runtimes.tables import table_of
from tests.runtimes.test_streaming_operator import batches

SCHEMA = table_of([], TYPES).schema
FEW = {"hi": AGGREGATES["hi"], "none": sash.count(where=lambda row: row.e < 0)}
"""Aggregates that many events leave as they are."""


def latest_query(
    lengths: list[int], *, delay: int = 0, lateness: int = 0, every: int = 0, forget_after: int = 0,
    aggregates: Any = AGGREGATES,
) -> Query:  # fmt: skip
    return Query(
        look_backs(*lengths), aggregates, delay=ticks(delay), allowed_lateness=ticks(lateness),
        emit=Emit(When.EVERY, ticks(every)) if every else Emit(When.CHANGE),
        forget_after=ticks(forget_after + lateness) if forget_after else NO_TIME,
    )  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(
    lengths=any_look_backs, delay=st.sampled_from([0, 0, 5, 20]), lateness=st.sampled_from([0, 0, 4, 15]),
    every=st.sampled_from([0, 0, 1, 7]), forget_after=st.sampled_from([0, 0, 5, 40]),
    aggregates=st.sampled_from([AGGREGATES, FEW]), stream=batches(), ways=ways, least=leasts,
    elastic=st.booleans(),
)  # fmt: skip
def test_oracle_a_key_has_a_row_exactly_when_it_has_changed(
    lengths: list[int], delay: int, lateness: int, every: int, forget_after: int, aggregates: Any,
    stream: list[Batch], ways: list[Way], least: int, elastic: bool,
) -> None:  # fmt: skip
    query = latest_query(
        lengths, delay=delay, lateness=lateness, every=every, forget_after=forget_after,
        aggregates=aggregates,
    )  # fmt: skip
    bound = BoundLatest(query, SCHEMA, "t", ("k",))
    with small_journals(least):
        runtime = FeatureRuntime(bound, columns=("k", "updated_at"), ways=ways, elastic=elastic)
        require_rows(runtime, LatestEvaluation(query), stream, lambda row: (row.key, row.time))


@settings(max_examples=100, deadline=None)
@given(lengths=any_look_backs, stream=arrivals(), workers=st.sampled_from([0, 1, 2, 5]))
def test_oracle_a_bounded_input_has_the_rows_of_its_newest_time(
    lengths: list[int], stream: list[Arrival], workers: int
) -> None:
    table = table_of(stream, TYPES)
    given = [length or sash.lifetime() for length in lengths]
    query = sash.stream(table, time="t", key="k").latest(*given).agg(**AGGREGATES)
    query = query.parallel(sash.KeyFarm(workers)) if workers else query
    names = ["k", "updated_at", *(field.name for field in query.bound.features)]
    rows = [tuple(row[name] for name in names) for row in query.collect().to_pylist()]
    oracle = LatestEvaluation(latest_query(lengths)).run([Batch(tuple(stream))])
    last = {row.key: row for row in oracle}
    assert sorted(rows, key=repr) == sorted(
        ((row.key, row.time, *in_order(latest_query(lengths), row.values)) for row in last.values()),
        key=repr,
    )


def test_a_row_changes_with_an_event_and_when_one_is_too_old() -> None:
    #   t        0 . . . . 5 . . . . 10 . . 13 . . . . . 20      looking back 10
    #   a        +         +         −         (15: −)            n = 1, 2, 1, 0
    #   b                            +      +                     carries the time on
    query, rows = latest_query([10], aggregates={"n": AGGREGATES["n"]}), []
    evaluation = LatestEvaluation(query)
    for time, key in ((0, "a"), (5, "a"), (10, "b"), (13, "b"), (20, "b")):
        evaluation.take(Batch((Arrival(time, key, {"e": time, "x": 1}),)))
        rows.append({row.key: row.values["n", "10"] for row in evaluation.rows if row.time == time})
    assert rows == [{"a": 1}, {"a": 2}, {"a": 1, "b": 1}, {"b": 2}, {"a": 0}]


def fed(operator: LatestOperator, times: list[int], keys: list[str]) -> None:
    rows = pa.table({"k": keys, "t": times, "e": times, "x": times}, schema=SCHEMA)
    operator.insert(rows.select(operator.bound.columns), np.arange(len(times)))


def test_only_keys_of_which_something_changes_are_visited() -> None:
    query = latest_query([100], aggregates={"n": AGGREGATES["n"]})
    operator = LatestOperator.load(BoundLatest(query, SCHEMA, "t", ("k",)), None, {})
    keys = [f"key {number}" for number in range(1_000)]
    fed(operator, list(range(1_000, 2_000)), keys)
    visited = []
    work = operator._at_work

    def counted(*args: Any, **options: Any) -> Any:
        slots = work(*args, **options)
        visited.append(len(slots))
        return slots

    operator._at_work = counted  # type: ignore[method-assign]
    assert operator.advance(2_000).reports.num_rows == 99
    assert operator.next_timer() == 2_001
    for now in range(2_001, 2_050):
        (row,) = operator.advance(now).reports.to_pylist()
        assert (row["n_100"], row["updated_at"]) == (0, now)
    assert visited == [1_000, *[1] * 49]


def test_a_key_of_which_nothing_is_left_leaves_no_trace() -> None:
    query = latest_query([10, 30])
    operator = LatestOperator.load(BoundLatest(query, SCHEMA, "t", ("k",)), None, {})
    fed(operator, [5, 6], ["a", "b"])
    assert operator.advance(6).reports.num_rows == 2
    assert operator.next_timer() == 15
    last = operator.advance(40).reports.to_pylist()
    assert [(row["k"], row["n_10"], row["n_30"], row["s_30"]) for row in last] == [
        ("a", 0, 0, None), ("b", 0, 0, None)
    ]  # fmt: skip
    assert len(operator.slots) == 0
    assert operator.next_timer() is None


def test_a_batch_has_one_row_for_a_key_also_if_time_and_events_change_it() -> None:
    query = latest_query([10], aggregates=FEW)
    operator = LatestOperator.load(BoundLatest(query, SCHEMA, "t", ("k",)), None, {})
    fed(operator, [5], ["a"])
    assert operator.advance(5).reports["hi_10"].to_pylist() == [5]
    operator.judge_by(15)  # the 5 is too old now, and a 15 arrives
    fed(operator, [15], ["a"])
    assert operator.advance(15).reports["hi_10"].to_pylist() == [15]


def test_latest_is_refused_where_it_makes_no_sense() -> None:
    stream = sash.stream(SCHEMA.empty_table(), time="t", key="k")
    with pytest.raises(ArgumentError, match="at least one duration"):
        stream.latest()
    with pytest.raises(ArgumentError, match="decay must be 'watermark' or 'clock'"):
        stream.latest(5, decay="wall")
    with pytest.raises(Unsupported, match="decay must be 'watermark' for bounded data"):
        stream.latest(5, decay="clock")
    with pytest.raises(Unsupported, match=r"latest\(\) supports only \.agg\(\)$"):
        stream.latest(5).apply(len, schema="n bigint")
    query = stream.latest(5).agg(n=sash.count())
    with pytest.raises(Unsupported, match="A key has one row"):
        query.parallel(sash.WinFarm(2))
    for inner in (sash.PaneFarm(2, 2), sash.KeyFarm(sash.WinMapReduce(2, 1), replicas=2)):
        with pytest.raises(Unsupported, match="not cut into parts"):
            query.parallel(inner)
    with pytest.raises(Unsupported, match="of windows"):
        query.explain_window(at=1, key="a")
    with pytest.raises(Unsupported, match="event-time"):
        sash.stream(SCHEMA.empty_table(), time="t", order="arrival").latest(5)
    taken = pa.table({"t": [1], "updated_at": ["a"]})
    with pytest.raises(ArgumentError, match="the output already has a column"):
        sash.stream(taken, time="t", key="updated_at").latest(5).agg(n=sash.count())


def test_latest_explains_itself(capsys: Any) -> None:
    table = pa.table({"t": [1, 2], "k": ["a", "b"]})
    query = sash.stream(table, time="t", key="k").latest(5, sash.lifetime()).agg(n=sash.count())
    text = query.explain()
    assert "E(W) = { τ : now − W < τ ≤ now } for each" in text
    assert "one row per key" in text
    assert query.collect().column_names == ["k", "n_5", "n_lifetime", "updated_at"]
