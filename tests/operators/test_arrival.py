"""Look-backs that are answered on arrival, against the reference."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

import sash
from sash.errors import ArgumentError
from sash.operators.bound_query import BoundRolling
from sash.semantics.look_back_rows import ArrivalEvaluation
from sash.semantics.query import NO_TIME, Emit, Query, When
from sash.semantics.reference import Arrival, Batch, evaluate
from tests.operators.features import (
    AGGREGATES,
    FeatureRuntime,
    any_look_backs,
    look_backs,
    require_rows,
    ticks,
)
from tests.runtimes.operator_runtime import TYPES, Way, leasts, small_journals, ways
from tests.runtimes.tables import table_of
from tests.runtimes.test_streaming_operator import batches

SCHEMA = table_of([], TYPES).schema


def rolling_query(lengths: list[int], *, delay: int = 0, forget_after: int = 0) -> Query:
    return Query(
        look_backs(*lengths), AGGREGATES, delay=ticks(delay), emit=Emit(When.ARRIVAL),
        forget_after=ticks(forget_after) if forget_after else NO_TIME,
    )  # fmt: skip


def require_answered_on_arrival(query: Query, stream: list[Batch], **options: Any) -> None:
    bound = BoundRolling(query, SCHEMA, "t", ("k",))
    runtime = FeatureRuntime(bound, columns=("k", "t", "revision"), **options)
    require_rows(runtime, ArrivalEvaluation(query), stream, lambda row: (row.key, row.time, row.revision))


@settings(max_examples=200, deadline=None)
@given(
    lengths=any_look_backs, delay=st.integers(0, 30), stream=batches(), ways=ways, least=leasts,
    forget_after=st.sampled_from([0, 0, 5, 40]), elastic=st.booleans(),
)  # fmt: skip
def test_oracle_every_batch_answers_for_its_events_and_corrects_those_before(
    lengths: list[int], delay: int, stream: list[Batch], ways: list[Way], least: int, forget_after: int,
    elastic: bool,
) -> None:  # fmt: skip
    query = rolling_query(lengths, delay=delay, forget_after=forget_after)
    with small_journals(least):
        require_answered_on_arrival(query, stream, ways=ways, elastic=elastic)


@settings(max_examples=60, deadline=None)
@given(lengths=any_look_backs, delay=st.integers(0, 30), stream=batches())
def test_oracle_the_last_revision_is_the_row_that_is_emitted_once(
    lengths: list[int], delay: int, stream: list[Batch]
) -> None:
    """In the reference itself: so it holds for whatever answers as the reference does."""
    query = rolling_query(lengths, delay=delay)
    last = {}
    for row in ArrivalEvaluation(query).run(stream):
        last[row.key, row.ordinal] = row
    for window in query.windows:
        once = evaluate(replace(query, windows=(window,), emit=Emit()), stream)
        by_time = sorted((row for row in last.values()), key=lambda row: (repr(row.key), row.time))
        expected = [report.values for report in sorted(once.reports, key=lambda r: (repr(r.key), r.id))]
        assert [
            {name: row.values[name, window.label] for name in query.aggregates} for row in by_time
        ] == expected


def test_a_row_comes_with_its_event_and_again_when_an_older_one_joins_it() -> None:
    #   t     10   20   15   40      delay 20, looking back 8
    #   n      1    1    1    1      with its own batch
    #                2               20 again, when 15 has come: 12 < 15 ≤ 20
    query = rolling_query([8], delay=20)
    evaluation = ArrivalEvaluation(query)
    for time in (10, 20, 15, 40):
        evaluation.take(Batch((Arrival(time, "a", {"e": time, "x": 1}),)))
    rows = [(row.time, row.revision, row.values["n", "8"]) for row in evaluation.rows]
    assert rows == [(10, 0, 1), (20, 0, 1), (20, 1, 2), (15, 0, 2), (40, 0, 1)]


def test_a_bounded_input_has_every_row_once_with_revision_zero() -> None:
    table = pa.table({"t": [1, 5, 3], "k": ["a", "a", "b"]})
    stream = sash.stream(table, time="t", key="k")
    once = stream.rolling(10).agg(n=sash.count()).collect()
    arrived = stream.rolling(10, emit="arrival").agg(n=sash.count()).collect()
    assert arrived.drop_columns(["revision"]).equals(once)
    assert arrived["revision"].to_pylist() == [0, 0, 0]


def test_look_backs_are_emitted_on_close_or_on_arrival() -> None:
    stream = sash.stream(SCHEMA.empty_table(), time="t", key="k")
    with pytest.raises(ArgumentError, match="emit must be 'close' or 'arrival'"):
        stream.rolling(5, emit="change")
    taken = pa.table({"t": [1], "revision": [1]})
    with pytest.raises(ArgumentError, match="the output already has a column"):
        sash.stream(taken, time="t").rolling(5, emit="arrival").agg(n=sash.count())
