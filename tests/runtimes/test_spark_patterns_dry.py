"""What Spark's tasks do under a pattern, without Spark: routed, placed and computed in this process."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given, settings, strategies as st

import sash
from sash.aggregation import built_in
from sash.operators.bound_query import BoundQuery
from sash.operators.folding.panes import Panes
from sash.operators.patterns.declared import KeyFarm, PaneFarm, Pattern, WinFarm, WinMapReduce, WinSeq
from sash.runtimes.spark.batch.bucket_query import BucketQuery
from sash.runtimes.spark.packing.columns import BUCKET, HASH, HORIZON, ORDINAL, places
from sash.runtimes.spark.patterns.active_workers import WORKER, Router, WindowWorker
from sash.runtimes.spark.patterns.agnostic import BatchWorker, triggered
from sash.runtimes.spark.patterns.route import Route
from sash.runtimes.spark.patterns.static_plan import plan_of
from sash.semantics.query import Query
from sash.semantics.reference import Arrival, Batch, evaluate
from sash.semantics.window import Window
from tests.runtimes.strategies import any_window, arrivals
from tests.runtimes.tables import expected_rows, rows_of, table_of

NUMBERS = {
    "n": built_in.count(),
    "nx": built_in.count("x"),
    "s": built_in.sum("x"),
    "hi": built_in.max("x"),
}
ORDERED = NUMBERS | {"held": built_in.collect("e")}
OBJECTS = {"n": built_in.count(), "most": built_in.top_k("x", 2), "kinds": built_in.count_distinct("x")}
TYPES = {"e": pa.int64(), "x": pa.int64()}

degree = st.integers(1, 6)
inner: st.SearchStrategy[Any] = st.one_of(
    st.just(WinSeq()), st.builds(PaneFarm, degree, degree), st.builds(WinMapReduce, degree, degree)
)
pattern: st.SearchStrategy[Pattern] = st.one_of(
    inner,
    st.builds(lambda held, n: KeyFarm(held, replicas=n), inner, degree),
    st.builds(lambda held, n: WinFarm(held, replicas=n), inner, degree),
)
clock: st.SearchStrategy[Window] = st.one_of(
    st.builds(lambda size, every: sash.sliding(size, every=every, origin=1), degree, degree),
    st.builds(lambda step, steps: sash.cumulate(step * steps, step), degree, degree),
)


def placed(query: BucketQuery, stream: list[Arrival], **more: Any) -> pa.Table:
    """The rows as Spark hands them over: by position, numbered, with the column that routes them."""
    rows = table_of(stream, TYPES).select(list(query.columns)).rename_columns(places(query.columns))
    columns = {ORDINAL: np.arange(len(stream)), **more}
    known = [arrival.time for arrival in stream if arrival.time is not None]
    if not query.bound.query.flush or query.bound.query.empty:
        columns[HORIZON] = np.full(len(stream), max(known, default=0))
    for name, values in columns.items():
        rows = rows.append_column(name, pa.array(values, pa.int64()))
    return rows


def bound_query(query: Query) -> BucketQuery:
    bound = BoundQuery(query, table_of([], TYPES).schema, "t", ("k",))
    return BucketQuery(bound, tuple(bound.columns))


def reports_of_workers(router: Router, tables: list[pa.Table]) -> Iterator[dict[str, Any]]:
    sent = pa.concat_tables([router.sent(table) for table in tables])
    for worker in range(router.route.workers):
        mine = sent.filter(pa.array(sent[WORKER].to_numpy() == worker))
        for batch in WindowWorker(router)(mine.to_batches()):
            yield from batch.to_pylist()


@settings(max_examples=200, deadline=None)
@given(
    chosen=pattern, window=clock, stream=arrivals(), flush=st.booleans(), empty=st.booleans(),
    objects=st.booleans(), cut=st.integers(0, 40),
)  # fmt: skip
def test_oracle_rows_that_are_routed_to_workers_give_what_the_reference_gives(
    chosen: Pattern, window: Window, stream: list[Arrival], flush: bool, empty: bool, objects: bool,
    cut: int,
) -> None:  # fmt: skip
    plan = plan_of(chosen)
    names = (OBJECTS if objects else NUMBERS) if plan.folds else ORDERED
    query = bound_query(Query((window,), names, flush=flush, empty=empty))
    hashes = np.array([{"a": -7, "b": 12, None: 42}[arrival.key] for arrival in stream], np.int64)
    table = placed(query, stream, **{HASH: hashes})
    panes = Panes.of(query.bound, objects=True) if plan.folds else None
    router = Router(query, plan.route, panes, HORIZON in table.column_names)
    rows = list(reports_of_workers(router, [table.slice(0, cut), table.slice(cut)]))
    oracle = evaluate(query.bound.query, [Batch(tuple(stream))])
    reports = pa.Table.from_pylist(rows, schema=query.bound.output)
    assert rows_of(reports, names) == expected_rows(oracle.reports, names, named=False)


@settings(max_examples=150, deadline=None)
@given(
    windows=st.lists(any_window, min_size=1, max_size=2), n=degree, stream=arrivals(), empty=st.booleans()
)
def test_oracle_batches_of_an_owner_can_be_computed_by_any_worker(
    windows: list[Window], n: int, stream: list[Arrival], empty: bool
) -> None:
    named = tuple(window.named(f"w{number}") for number, window in enumerate(windows))
    query = bound_query(Query(named, ORDERED, empty=empty))
    if not stream:
        return
    batches = triggered(query, placed(query, stream, **{BUCKET: np.full(len(stream), 3)}), workers=n)
    assert set(batches["worker"].to_pylist()) <= set(range(n))
    worker = BatchWorker(query.bound)
    rows = [row for batch in worker(batches.to_batches()) for row in batch.to_pylist()]
    oracle = evaluate(query.bound.query, [Batch(tuple(stream))])
    reports = pa.Table.from_pylist(rows, schema=query.bound.output)
    assert rows_of(reports, ORDERED) == expected_rows(oracle.reports, ORDERED, named=len(named) > 1)


@settings(max_examples=100, deadline=None)
@given(window=clock, keys=degree, windows=degree, h=st.integers(-9, 9), t=st.integers(-30, 30))
def test_an_event_goes_to_the_workers_of_its_windows_and_to_no_other(
    window: Any, keys: int, windows: int, h: int, t: int
) -> None:
    route = Route(keys, windows)
    _, workers = route.sent([window], np.array([h]), np.array([t]))
    ids = window.mapping(t)
    expected = {h % keys * windows + (h + w) % windows for w in ids}
    if windows > 1:
        assert workers.tolist() == sorted(expected)
    for w in ids:
        assert [
            route.mine(worker, np.array([h]), np.array([w]))[0] for worker in range(route.workers)
        ].count(True) == 1
