"""A new window kind: its definition, one class, an entry in `KINDS`; then it runs everywhere.

The toys are in `toy_kinds`.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

import sash
from sash.dashboard.open_windows import open_windows
from sash.display.timeline import lane_of
from sash.operators.bound_query import BoundQuery
from sash.operators.kinds import KINDS
from sash.planner.auto_declaration import AUTO
from sash.planner.costs.constants import DEFAULTS
from sash.planner.explain.state_size import state_of
from sash.planner.facts import EventFacts, Facts, cut_of
from sash.planner.plans.candidates import never
from sash.planner.plans.cheapest_pattern import make_plan
from sash.runtimes.spark.sizing.load import ExpectedLoad, filling_seconds
from sash.semantics.durations import Duration, Unit
from sash.semantics.event import Event
from sash.semantics.query import Query
from sash.semantics.reference import Arrival, Batch, evaluate
from sash.semantics.window import Window
from tests.operators.toy_kinds import TOYS, BlockWindow, HalfWindow, PrimeWindow
from tests.runtimes.elastic_batches import DryElastic
from tests.runtimes.micro_batches import DryStream
from tests.runtimes.operator_runtime import (
    TYPES,
    Runtime,
    Way,
    elements_of,
    leasts,
    require_answered_as_the_reference,
    small_journals,
    ways,
)
from tests.runtimes.strategies import arrivals
from tests.runtimes.tables import expected_rows, rows_of, table_of
from tests.runtimes.test_spark_streaming_dry import AGGREGATES, cut, expected, observed
from tests.runtimes.test_streaming_operator import COMMUTATIVE, batches


@pytest.fixture(scope="module", autouse=True)
def registered() -> Iterator[None]:
    KINDS.update(TOYS)
    yield
    for toy in TOYS:
        del KINDS[toy]


toys: st.SearchStrategy[Window] = st.one_of(
    st.builds(PrimeWindow, st.integers(1, 9)),
    st.builds(BlockWindow, st.integers(1, 20)),
    st.builds(HalfWindow, st.integers(1, 20)),
)


def test_the_definition_of_the_toys() -> None:
    events = [Event(time, ordinal) for ordinal, time in enumerate([0, 3, 4, 11, 12, 30])]
    assert [(e.lo, e.hi) for e in PrimeWindow(2).extents(events)] == [(1, 3), (2, 4), (4, 6)]
    assert [(e.lo, e.hi) for e in BlockWindow(10).extents(events)] == [(0, 3), (3, 5), (5, 6)]
    assert [(e.lo, e.hi) for e in HalfWindow(10).extents(events)] == [(0, 3)]


@settings(max_examples=100, deadline=None)
@given(window=toys, stream=arrivals(), aggregates=st.sampled_from([AGGREGATES, COMMUTATIVE]))
def test_oracle_a_toy_over_a_bounded_input(window: Window, stream: list[Any], aggregates: Any) -> None:
    query = sash.stream(table_of(stream, TYPES), time="t", key="k").window(window).agg(**aggregates)
    oracle = evaluate(query.bound.query, [Batch(tuple(stream))])
    assert rows_of(query.collect(), aggregates) == expected_rows(oracle.reports, aggregates, named=False)


@settings(max_examples=150, deadline=None)
@given(
    window_list=st.lists(toys, min_size=1, max_size=2),
    stream=batches(),
    ways=ways,
    least=leasts,
    lateness=st.sampled_from([0, 0, 9]),
    aggregates=st.sampled_from([AGGREGATES, COMMUTATIVE]),
)
def test_oracle_a_toy_on_a_stream(
    window_list: list[Window],
    stream: list[Batch],
    ways: list[Way],
    least: int,
    lateness: int,
    aggregates: Any,
) -> None:
    named = tuple(window.named(f"w{number}") for number, window in enumerate(window_list))
    query = Query(named, aggregates, allowed_lateness=Duration(lateness, Unit.TICKS))
    bound = BoundQuery(query, table_of([], TYPES).schema, "t", ("k",))
    with small_journals(least):
        require_answered_as_the_reference(Runtime(bound, ways=ways), stream)


@settings(max_examples=30, deadline=None)
@given(window=toys, batches=cut(), forgetful=st.booleans())
def test_oracle_a_toy_in_the_runtimes_of_spark(window: Window, batches: Any, forgetful: bool) -> None:
    query = Query((window,), AGGREGATES, flush=False)
    bound = BoundQuery(query, table_of([], TYPES).schema, "t", ("k",))
    tables = [table_of(batch, TYPES) for batch in batches]
    outcome = expected(evaluate(query, [Batch(tuple(batch)) for batch in batches]), query)
    assert observed(DryStream(bound, forgetful=forgetful).run(tables), query) == outcome
    with tempfile.TemporaryDirectory() as folder:
        elastic = DryElastic(bound, Path(folder), degrees=lambda epoch: 1 + epoch % 3, forgetful=forgetful)
        assert observed(elastic.run(tables), query) == outcome


@pytest.mark.parametrize(
    ("window", "most"), [(PrimeWindow(3), 2), (BlockWindow(10), 0), (HalfWindow(5), 5)], ids=str
)
def test_a_toy_keeps_what_its_class_needs(window: Window, most: int) -> None:
    bound = BoundQuery(Query((window,), COMMUTATIVE), table_of([], TYPES).schema, "t", ("k",))
    runtime = Runtime(bound)
    for time in range(100):
        runtime.step(Batch((Arrival(time, "a", {"e": time, "x": 1}),)))
        assert elements_of(runtime.operator) <= most


TABLE = pa.table({"t": [0, 3, 4, 11, 12, 30], "k": ["a"] * 6})
EVENTS = EventFacts(rows=1_000, keys=10, hottest=0.1, span=500)


def over(window: Window, data: pa.Table = TABLE) -> Any:
    return sash.stream(data, time="t", key="k").window(window).agg(n=sash.count())


@pytest.mark.parametrize("window", [PrimeWindow(3), BlockWindow(10), HalfWindow(10)], ids=str)
def test_a_toy_is_explained(window: Window) -> None:
    assert repr(window) == f"<sash window {window}: {window.formula}, {window.context.value}>"
    assert str(window) in window._repr_markdown_()
    assert str(window) in repr(over(window))
    for form in ("text", "plan", "json"):
        assert str(window) in over(window).explain(form)
    assert window.formula in over(window).explain("plan")
    (explained,) = json.loads(over(window).explain("json"))["windows"]
    assert explained["on_columns"]


@pytest.mark.parametrize(
    ("window", "at", "words"),
    [
        (PrimeWindow(2), 0, "no report has shown it"),
        (PrimeWindow(2), 4, "reported when event 3 arrived"),
        (BlockWindow(10), 4, "reported when event 4 arrived"),
        (BlockWindow(10), 30, "waits for an event of this key in another block, and for the watermark"),
        (HalfWindow(10), 4, "reported when event 4 arrived"),
        (HalfWindow(10), 11, "no report has shown it"),
        (HalfWindow(20), 12, "reported when event 6 arrived"),
    ],
)  # fmt: skip
def test_a_toy_explains_its_windows(window: Window, at: int, words: str) -> None:
    why = over(window).explain_window(key="a", at=at, as_of=len(TABLE))
    assert words in str(why)
    assert [story.half_open for event in why.events for story in event.windows] == [window.half_open]


def test_the_planner_estimates_a_toy() -> None:
    """Halves are time windows with gaps, and so are their facts."""
    halves, twin = (
        cut_of(window, EVENTS, TABLE.schema) for window in (HalfWindow(10), sash.sliding(10, every=20))
    )
    assert halves == replace(twin, label="halves(10)")
    for window in (PrimeWindow(3), BlockWindow(10)):
        assert cut_of(window, EVENTS, TABLE.schema).panes is None


@pytest.mark.parametrize(
    ("window", "kept"),
    [
        (PrimeWindow(3), "the last 3 events"),
        (BlockWindow(10), "the running aggregate of its open window"),
        (HalfWindow(10), "all events of the open window"),
    ],
    ids=str,
)
def test_the_planner_knows_what_a_stream_keeps_of_a_toy(window: Window, kept: str) -> None:
    bound = over(window).bound
    facts = Facts.of(bound, EVENTS, where="spark streaming", cores=4)
    plan = make_plan(bound, facts, DEFAULTS, parallelism=AUTO, refuse=never)
    assert state_of(bound, plan).amount.startswith(kept)


def test_a_cluster_is_sized_for_a_toy() -> None:
    stamped = TABLE.set_column(0, "t", TABLE["t"].cast(pa.timestamp("us")))
    load = ExpectedLoad(rate=100.0, keys=10, seconds=1.0)
    filling = [
        filling_seconds(over(window, stamped).bound, load) for window in (PrimeWindow(70), sash.rows(70))
    ]
    assert filling == [7.0, 7.0]


@settings(max_examples=50, deadline=None)
@given(length=st.integers(1, 12), stream=arrivals())
def test_differential_halves_are_computed_by_pane_farms(length: int, stream: list[Any]) -> None:
    query = over(HalfWindow(length), table_of(stream, TYPES))
    assert query.parallel(sash.PaneFarm(2, 2)).collect().equals(query.collect())


def test_halves_are_drawn_and_counted_by_the_clock() -> None:
    halves, twin = HalfWindow(10), sash.sliding(10, every=20)
    events = [Event(time, ordinal) for ordinal, time in enumerate([0, 3, 4, 21, 30])]
    assert lane_of(halves, events) == replace(lane_of(twin, events), title="halves(10)")
    for watermark in range(40):
        counts = [open_windows([window], watermark=watermark, newest=50) for window in (halves, twin)]
        assert counts[0] == counts[1]
