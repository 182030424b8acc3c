"""Keys that are forgotten by event time, and accumulators that are kept instead of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

import sash
from sash.aggregation import built_in
from sash.errors import ArgumentError
from sash.operators.bound_query import BoundQuery, BoundWhole
from sash.operators.engine import StatePlan, WindowOperator
from sash.operators.folding.whole_windows import Fold
from sash.semantics import windows
from sash.semantics.durations import Duration, Unit
from sash.semantics.event import Order
from sash.semantics.query import Emit, Query
from sash.semantics.reference import Arrival, Batch
from sash.semantics.window import Window
from tests.runtimes.operator_runtime import (
    TYPES,
    Runtime,
    Way,
    leasts,
    require_answered_as_the_reference,
    small_journals,
    ways,
)
from tests.runtimes.tables import table_of
from tests.runtimes.test_streaming_operator import batches, queries

SCHEMA = table_of([], TYPES).schema


@settings(max_examples=150, deadline=None)
@given(query=queries(), stream=batches(), ways=ways, least=leasts, after=st.integers(1, 40))
def test_oracle_a_key_that_is_forgotten_begins_again(
    query: Query, stream: list[Batch], ways: list[Way], least: int, after: int
) -> None:
    if query.order is Order.ARRIVAL:
        return
    forget = Duration(after + query.allowed_lateness.length, Unit.TICKS)
    bound = BoundQuery(Query(**{**query.__dict__, "forget_after": forget}), SCHEMA, "t", ("k",))
    with small_journals(least):
        require_answered_as_the_reference(Runtime(bound, ways=ways), stream)


def test_with_an_allowed_lateness_a_key_is_forgotten_by_the_watermark_all_the_same() -> None:
    #   t          10 . . . . 15 16 17 18           a is forgotten at 16, when nothing of it waits any more
    #   key        a          b  b  a  a
    query = Query(
        (windows.rows(2),), {"all": built_in.collect("e")}, allowed_lateness=Duration(5, Unit.TICKS),
        forget_after=Duration(6, Unit.TICKS),
    )  # fmt: skip
    keys = {10: "a", 15: "b", 16: "b", 17: "a", 18: "a", 40: "c"}
    stream = [Batch((Arrival(time, key, {"e": time, "x": 1}),)) for time, key in keys.items()]
    require_answered_as_the_reference(Runtime(BoundQuery(query, SCHEMA, "t", ("k",))), stream)


def _stream(**settings: Any) -> Any:
    return sash.stream(SCHEMA.empty_table(), time="t", key="k", **settings)


WITHOUT_DATA = {
    "look-backs": _stream().rolling(50, 200).agg(n=sash.count()),
    "sliding": _stream().window(sash.sliding(100, every=10)).agg(n=sash.count()),
    "session": _stream().window(sash.session(20)).agg(n=sash.count()),
    "slide by tuple": _stream(forget_after=300).window(sash.slide_by_tuple(100, 3)).agg(n=sash.count()),
    "count": _stream(forget_after=300, allowed_lateness=20).window(sash.rows(5)).agg(n=sash.count()),
}


@pytest.mark.parametrize("name", WITHOUT_DATA)
def test_keys_are_forgotten_without_new_data(name: str) -> None:
    """A bucket whose keys are all idle is woken for that, but rarely."""
    operator = WindowOperator.load(WITHOUT_DATA[name].bound, None, {})
    for time in range(0, 1000, 7):
        rows = pa.table({"t": [time], "k": [f"key {time}"], "e": [0], "x": [1]}, schema=SCHEMA)
        operator.insert(rows.select(operator.bound.columns), np.arange(1))
    operator.advance(1000)
    woken = 0
    while (next_timer := operator.next_timer()) is not None:
        operator.advance(next_timer)
        woken += 1
        assert next_timer < 2000
        assert woken < 40
    assert len(operator.slots) == 0


def test_what_is_forgotten_is_counted_and_leaves_no_slot() -> None:
    query = Query((windows.rows(10),), {"n": built_in.count()}, forget_after=Duration(100, Unit.TICKS))
    operator = WindowOperator.load(BoundQuery(query, SCHEMA, "t", ("k",)), None, {})
    for key in ("a", "b"):
        rows = pa.table({"t": [0], "k": [key], "e": [0], "x": [1]}, schema=SCHEMA)
        operator.insert(rows.select(operator.bound.columns), np.arange(1))
    assert operator.advance(99).forgotten == 0
    assert len(operator.slots) == 2
    assert operator.advance(100).forgotten == 2
    assert len(operator.slots) == 0


def test_keys_are_not_forgotten_while_they_can_be_corrected() -> None:
    rows = pa.table({"t": [1], "k": ["a"]})
    stream = sash.stream(rows, time="t", key="k", allowed_lateness=50, forget_after=50)
    with pytest.raises(ArgumentError, match="longer than allowed_lateness"):
        stream.window(sash.tumbling(10))


# Folds

RESULT = pa.schema([("n", pa.int64()), ("held", pa.list_(pa.int64()))])


def nothing() -> dict[str, Any]:
    return {"n": 0, "held": []}


def step(total: dict[str, Any], row: Any) -> dict[str, Any]:
    """Changes what it is given, as users' functions do."""
    total["n"] += 1
    total["held"].append(row.e)
    return total


growing = st.sampled_from(
    [
        windows.session(5),
        windows.threshold(lambda row: row.x is not None and row.x > 4),
        windows.punctuated(lambda row: row.x == 3),
        windows.rows(3, every=2),
        windows.time(10, 5),
    ]
)


@settings(max_examples=60, deadline=None)
@given(
    window_list=st.lists(growing, min_size=1, max_size=2),
    stream=batches(),
    emit=st.sampled_from(["close", "change"]),
    lateness=st.sampled_from([0, 5]),
    restart=st.booleans(),
)
def test_differential_a_fold_gives_what_aggregates_give(
    window_list: list[Window], stream: list[Batch], emit: str, lateness: int, restart: bool
) -> None:
    named = tuple(window.named(f"w{number}") for number, window in enumerate(window_list))
    late = Duration(lateness, Unit.TICKS)
    aggregates = {"n": built_in.count(), "held": built_in.collect("e")}
    options = {"emit": Emit.parse(emit), "allowed_lateness": late, "flush": False}
    plain = BoundQuery(Query(named, aggregates, **options), SCHEMA, "t", ("k",))
    folded = BoundWhole(Query(named, **options), SCHEMA, "t", ("k",), Fold(nothing, step, RESULT))
    operators = [WindowOperator.load(bound, None, {}) for bound in (plain, folded)]
    stores: list[dict[int, bytes]] = [{}, {}]
    watermark = -100
    for batch in stream:
        rows = table_of(list(batch.arrivals), TYPES)
        watermark = max([watermark, *(a.time for a in batch.arrivals if a.time is not None)])
        answers = []
        for number, operator in enumerate(operators):
            operator.insert(rows.select(operator.bound.columns), np.arange(rows.num_rows))
            reports = operator.advance(watermark).reports.select(["k", "window", "n", "held"])
            answers.append(sorted(reports.to_pylist(), key=repr))
            saved = operator.save()
            stores[number] |= saved.written
            for dropped in saved.dropped:
                del stores[number][dropped]
            if restart:
                operators[number] = WindowOperator.load(operator.bound, saved.header, stores[number])
            else:
                operator.resume(saved.header, stores[number])
        assert answers[0] == answers[1]


def test_windows_that_only_grow_keep_an_accumulator_and_no_rows() -> None:
    for init, kept in ((nothing, True), (set, True), (object, False)):
        fold = Fold(init, step, RESULT)
        bound = BoundWhole(Query((windows.session(5),)), SCHEMA, "t", ("k",), fold)
        (lane,) = StatePlan(bound).lanes
        assert lane.running == kept
        assert lane.form.whole_rows != kept


def test_the_newest_event_of_a_key_counts_and_not_the_beginning_of_its_pane() -> None:
    """A key that comes all the time is not forgotten, however long its windows are."""
    query = Query(
        (windows.time(300, 300),),
        {"n": built_in.count()},
        forget_after=Duration(60, Unit.TICKS),
        flush=True,
    )
    stream = [Batch((Arrival(time, "a", {"e": time, "x": 1}),)) for time in range(0, 700, 20)]
    runtime = Runtime(BoundQuery(query, SCHEMA, "t", ("k",)))
    require_answered_as_the_reference(runtime, stream)
