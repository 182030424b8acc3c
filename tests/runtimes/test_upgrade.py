"""Aggregates that come and go while a stream is stopped: what is the same goes on, what is new begins."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from sash.aggregation import built_in
from sash.errors import DifferentQuery
from sash.operators.bound_query import BoundQuery, BoundRolling
from sash.operators.engine.saving import operator_journal as journal
from sash.semantics import windows
from sash.semantics.durations import Duration, Unit
from sash.semantics.query import Query
from sash.semantics.reference import Arrival, Batch, evaluate
from sash.semantics.window import Window
from tests.runtimes.elastic_batches import DryElastic
from tests.runtimes.micro_batches import DryStream
from tests.runtimes.tables import table_of
from tests.runtimes.test_spark_streaming_dry import cut, queries

TYPES = {"e": pa.int64(), "x": pa.int64()}
EVERY = {
    "n": built_in.count(),
    "s": built_in.sum("x"),
    "hi": built_in.max("x"),
    "held": built_in.collect("e"),
    "few": built_in.count(where="x > 2"),
    "last": built_in.last("x"),
    "some": built_in.distinct("e"),
    "best": built_in.argmax("x", "e"),
}


def bound_query(query: Query, kind: type[BoundQuery] = BoundQuery) -> BoundQuery:
    return kind(query, table_of([], TYPES).schema, "t", ("k",))


def resumed(before: DryStream, bound: BoundQuery) -> DryStream:
    """Another query on the state that one has left."""
    after = DryStream(bound)
    for name, state in before.engine.handle.map_states.items():
        after.engine.handle.map_states[name].state = state.state
    after.engine.handle._timers, after.newest = before.engine.handle._timers, before.newest
    return after


def require_other_elements(refused: DifferentQuery) -> None:
    """Panes are held for some aggregates, and events for others."""
    assert "of the stream, and these aggregates would need" in str(refused)


names = st.lists(st.sampled_from(sorted(EVERY)), min_size=1, max_size=4, unique=True)


def chosen(query: Query, names: list[str]) -> Query:
    return replace(query, aggregates={name: EVERY[name] for name in names})


def newest(batches: list[list[Arrival]]) -> int:
    times = (event.time for batch in batches for event in batch)
    return max((time for time in times if time is not None), default=-(2**62))


def compared(
    rows: list[dict[str, Any]], query: Query, batches: list[list[Arrival]], new: set[str], seen: int
) -> None:
    """Against the reference, which has had all aggregates from the beginning."""
    outcome = evaluate(query, [Batch(tuple(batch)) for batch in batches])
    expected = {
        (r.key, r.window, r.id, r.revision): (r.start, r.values)
        for r in outcome.reports
    }  # fmt: skip
    for row in rows:
        window = row["window"]
        label = window.get("name", query.windows[0].label)
        start, values = expected[row["k"], label, window["id"], row.get("revision", 0)]
        for name in query.aggregates:
            began = start is not None and start <= seen
            allowed = [values[name], None] if name in new and began else [values[name]]
            assert row[name] in allowed, (name, row, values)


@settings(max_examples=150, deadline=None)
@given(query=queries(), batches=cut(), then=names, now=names, at=st.integers(0, 4), often=st.booleans())
def test_oracle_aggregates_that_stay_are_right_and_new_ones_are_right_or_null(
    query: Query, batches: list[list[Arrival]], then: list[str], now: list[str], at: int, often: bool
) -> None:
    before, after = chosen(query, then), chosen(query, now)
    with pytest.MonkeyPatch.context() as patch:
        if often:
            patch.setattr(journal, "LEAST", 1)  # a snapshot with every other batch
        dry = DryStream(bound_query(before))
        for batch in batches[:at]:
            dry.batch(table_of(batch, TYPES))
        try:
            later = resumed(dry, bound_query(after))
            rows = later.run([table_of(batch, TYPES) for batch in batches[at:]])
        except DifferentQuery as refused:
            require_other_elements(refused)
            return
    seen = newest(batches[:at])
    compared(rows, after, batches, set(now) - set(then), seen)


TUMBLING = Query((windows.tumbling(10),), {}, delay=Duration(0, Unit.TICKS), flush=False)


def events(*times: int) -> pa.Table:
    return table_of([Arrival(time, "a", {"e": time, "x": time}) for time in times], TYPES)


def test_the_order_of_aggregates_makes_no_difference() -> None:
    """What is held has them by number, in memory that is mapped as it is."""
    dry = DryStream(bound_query(chosen(TUMBLING, ["s", "hi"])))
    dry.batch(events(1, 2, 3))
    (row, _) = resumed(dry, bound_query(chosen(TUMBLING, ["hi", "s"]))).run([events(4, 12, 24)])
    assert (row["s"], row["hi"]) == (10, 4)


def test_a_new_aggregate_is_null_in_windows_that_began_before() -> None:
    # t   0 . 3 | 4 . . . . . 12 . . . . . . 24        |: hi is added
    dry = DryStream(bound_query(chosen(TUMBLING, ["n"])))
    dry.batch(events(3))
    later = resumed(dry, bound_query(chosen(TUMBLING, ["n", "hi"])))
    assert [(row["n"], row["hi"]) for row in later.run([events(4, 12), events(24)])] == [(2, None), (1, 12)]


def test_a_new_aggregate_is_rebuilt_where_events_are_held() -> None:
    query = replace(TUMBLING, windows=(windows.slide_by_tuple(10, 2),))
    dry = DryStream(bound_query(chosen(query, ["s"])))
    dry.batch(events(1, 2, 3))
    later = resumed(dry, bound_query(chosen(query, ["hi", "n"])))
    rows = later.run([events(4, 5, 6), events(30)])
    assert [(row["hi"], row["n"]) for row in rows] == [(2, 2), (4, 4), (6, 6)]


@pytest.mark.parametrize("nulls", [False, True])
@pytest.mark.parametrize("least", [1, journal.LEAST], ids=["a snapshot", "entries"])
def test_a_new_aggregate_is_rebuilt_from_one_that_reads_its_column_and_more(
    nulls: bool, least: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of an event that the wider one has left out nobody knows which of its columns was null."""
    monkeypatch.setattr(journal, "LEAST", least)
    query = replace(TUMBLING, windows=(windows.slide_by_tuple(10, 2),))
    dry = DryStream(bound_query(chosen(query, ["best"])))
    for time in (1, 2, 3):
        number = None if nulls and time == 1 else time
        dry.batch(table_of([Arrival(time, "a", {"e": number, "x": time})], TYPES))
    later = resumed(dry, bound_query(chosen(query, ["best", "hi"])))
    rows = later.run([events(4, 5, 6), events(30)])
    unknown = nulls and least == 1
    assert [row["hi"] for row in rows] == ([None] * 3 if unknown else [2, 4, 6])


def test_a_look_back_has_a_new_aggregate_once_it_reaches_no_event_of_before() -> None:
    query = replace(TUMBLING, windows=(windows.slide_by_tuple(10, 1),))
    rolling = bound_query(chosen(query, ["few"]), BoundRolling)
    dry = DryStream(rolling)
    dry.batch(events(3))
    later = resumed(dry, bound_query(chosen(query, ["few", "hi"]), BoundRolling))
    rows = later.run([events(4, 12), events(14), events(30)])
    (column,) = (name for name in later.stage.schema.names if name.startswith("hi_"))
    assert {row["t"]: row[column] for row in rows} == {3: None, 4: None, 12: None, 14: 14}


def test_two_changes_one_after_the_other() -> None:
    query = replace(TUMBLING, windows=(windows.tumbling(100),))
    dry = DryStream(bound_query(chosen(query, ["n"])))
    dry.batch(events(3))
    dry = resumed(dry, bound_query(chosen(query, ["hi", "n"])))
    dry.batch(events(4))
    later = resumed(dry, bound_query(chosen(query, ["s", "hi"])))
    rows = later.run([events(5, 104), events(250)])
    assert [(row["s"], row["hi"]) for row in rows] == [(None, None), (104, 104)]


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (windows.tumbling(20), r"windows were tumbling\(10\) and are tumbling\(20\)"),
        (windows.session(3), "without the windows that are open here"),
    ],
)  # fmt: skip
def test_other_windows_cannot_go_on_and_the_loss_is_named(other: Window, message: str) -> None:
    dry = DryStream(bound_query(chosen(TUMBLING, ["n"])))
    dry.batch(events(1))
    with pytest.raises(DifferentQuery, match=message):
        resumed(dry, bound_query(chosen(replace(TUMBLING, windows=(other,)), ["n", "hi"]))).batch(events(2))


def test_windows_in_another_order_are_another_query() -> None:
    """What is kept of a window stands at its place, whatever its name is."""
    both = windows.rows(2).named("short"), windows.rows(5).named("long")
    dry = DryStream(bound_query(chosen(replace(TUMBLING, windows=both), ["n"])))
    dry.batch(events(1, 2, 3))
    swapped = bound_query(chosen(replace(TUMBLING, windows=both[::-1]), ["n"]))
    with pytest.raises(DifferentQuery, match="another order: long, short, which were short, long"):
        resumed(dry, swapped).batch(events(4))


def test_another_forget_after_is_another_query() -> None:
    """A journal that is replayed would forget other keys than were forgotten."""
    dry = DryStream(bound_query(chosen(TUMBLING, ["n"])))
    dry.batch(events(1))
    other = replace(chosen(TUMBLING, ["n"]), forget_after=Duration(100, Unit.TICKS))
    with pytest.raises(DifferentQuery, match="forget_after"):
        resumed(dry, bound_query(other)).batch(events(2))


@pytest.mark.parametrize("name", ["known", "hi 2"])
def test_names_that_look_like_words_of_the_state_are_names(name: str) -> None:
    session = replace(TUMBLING, windows=(windows.session(5),))
    before = replace(session, aggregates={name: built_in.count(), "hi": built_in.sum("x")})
    after = replace(
        session, aggregates={name: built_in.count(), "hi": built_in.max("x"), "m": built_in.sum("e")}
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(journal, "LEAST", 1)
        dry = DryStream(bound_query(before))
        for time in (1, 2, 3):
            dry.batch(events(time))
        rows = resumed(dry, bound_query(after)).run([events(4, 5, 6), events(40)])
    assert [row[name] for row in rows] == [6]


@settings(max_examples=25, deadline=None)
@given(query=queries(), batches=cut(), then=names, now=names, at=st.integers(1, 3))
def test_oracle_elastic_queries_take_other_aggregates_on_too(
    query: Query, batches: list[list[Arrival]], then: list[str], now: list[str], at: int
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        before, after = (bound_query(chosen(query, chosen_names)) for chosen_names in (then, now))
        DryElastic(before, Path(folder)).run([table_of(batch, TYPES) for batch in batches[:at]])
        later, rows = DryElastic(after, Path(folder)), []
        try:
            for epoch, batch in enumerate(batches[at:], start=min(at, len(batches))):
                if epoch == at:  # a try that fails after its task has committed
                    later.execute(table_of(batch, TYPES), epoch, tasks=1, only=1)
                rows += later.execute(table_of(batch, TYPES), epoch, tasks=2)
        except DifferentQuery as refused:
            require_other_elements(refused)
            return
    seen = newest(batches[:at])
    compared(rows, after.query, batches, set(now) - set(then), seen)
