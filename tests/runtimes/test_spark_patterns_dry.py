"""What Spark's tasks do under a pattern, without Spark: routed, placed and computed in this process."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from hypothesis import given, settings, strategies as st

import sash
from sash.aggregation import built_in
from sash.operators.bound_query import BoundQuery
from sash.operators.folding.panes import Panes
from sash.operators.patterns.declared import KeyFarm, PaneFarm, Pattern, WinFarm, WinMapReduce, WinSeq
from sash.operators.patterns.who_finds_windows import in_order
from sash.runtimes.spark.batch.bucket_query import BucketQuery
from sash.runtimes.spark.packing.columns import BUCKET, HASH, HORIZON, ORDINAL, places
from sash.runtimes.spark.patterns.active_workers import WORKER, Router, WindowWorker
from sash.runtimes.spark.patterns.agnostic import BatchWorker, WholeWindows, triggered
from sash.runtimes.spark.patterns.route import Route
from sash.runtimes.spark.patterns.static_plan import plan_of
from sash.runtimes.spark.patterns.window_parts import PARTS, PartWorker, WindowParts, handing_of
from sash.semantics.query import Query
from sash.semantics.reference import Arrival, Batch, evaluate
from sash.semantics.window import Window
from tests.runtimes.dry_farm import by_worker
from tests.runtimes.object_aggregates import OBJECTS
from tests.runtimes.strategies import any_window, arrivals
from tests.runtimes.tables import expected_rows, rows_of, table_of

NUMBERS = {
    "n": built_in.count(),
    "nx": built_in.count("x"),
    "s": built_in.sum("x"),
    "hi": built_in.max("x"),
}
FIRSTS = {"first": built_in.first("x"), "run": built_in.longest_increasing_run("x")}
ORDERED = NUMBERS | {"held": built_in.collect("e")}
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
    if HORIZON not in more and (not query.bound.query.flush or query.bound.query.empty):
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
    aggregates=st.sampled_from([NUMBERS, OBJECTS, ORDERED | FIRSTS]), cut=st.integers(0, 40),
)  # fmt: skip
def test_oracle_rows_that_are_routed_to_workers_give_what_the_reference_gives(
    chosen: Pattern, window: Window, stream: list[Arrival], flush: bool, empty: bool,
    aggregates: dict[str, Any], cut: int,
) -> None:  # fmt: skip
    plan = plan_of(chosen)
    names = NUMBERS if plan.dealt and "held" in aggregates else aggregates
    query = bound_query(Query((window,), names, flush=flush, empty=empty))
    hashes = np.array([{"a": -7, "b": 12, None: 42}[arrival.key] for arrival in stream], np.int64)
    table = placed(query, stream, **{HASH: hashes})
    sorts = in_order(query.bound)
    panes = Panes.of(query.bound, objects=True, in_order=sorts) if plan.folds else None
    router = Router(query, plan.route, panes, HORIZON in table.column_names)
    tables = [table.slice(0, cut), table.slice(cut)]
    if panes is not None and sorts:  # a pane is in one task, in any order
        starts = [panes.starts(np.array([arrival.time or 0]))[0] for arrival in stream]
        task = pa.array([start // panes.length % 3 for start in starts], pa.int64())
        tables = [table.filter(pc.equal(task, number)) for number in range(3)]
        tables = [one.take(pa.array(range(one.num_rows - 1, -1, -1), pa.int64())) for one in tables]
    rows = list(reports_of_workers(router, tables))
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
    given = placed(query, stream, **{BUCKET: np.full(len(stream), 3)})
    batches = triggered(query, given, WholeWindows(n))
    assert set(batches["worker"].to_pylist()) <= set(range(n))
    worker = BatchWorker(query.bound)
    rows = [row for batch in worker(batches.to_batches()) for row in batch.to_pylist()]
    oracle = evaluate(query.bound.query, [Batch(tuple(stream))])
    reports = pa.Table.from_pylist(rows, schema=query.bound.output)
    assert rows_of(reports, ORDERED) == expected_rows(oracle.reports, ORDERED, named=len(named) > 1)


@settings(max_examples=200, deadline=None)
@given(
    windows=st.lists(any_window, min_size=1, max_size=2), held=inner.filter(lambda held: held != WinSeq()),
    copies=st.integers(1, 3), by_key=st.booleans(), stream=arrivals(), empty=st.booleans(),
    flush=st.booleans(),
)  # fmt: skip
def test_oracle_windows_that_an_owner_finds_are_put_together_from_parts(
    windows: list[Window], held: Any, copies: int, by_key: bool, stream: list[Arrival], empty: bool,
    flush: bool,
) -> None:  # fmt: skip
    """Panes of aggregates that do not commute, too; whatever the windows are, none of them has a pane that
    is cut by another one's end."""
    chosen = KeyFarm(held, replicas=copies) if by_key else WinFarm(held, replicas=copies)
    handing = handing_of(chosen)
    assert isinstance(handing, WindowParts)
    names = OBJECTS | NUMBERS if handing.plan.dealt else ORDERED | OBJECTS
    named = tuple(window.named(f"w{number}") for number, window in enumerate(windows))
    query = bound_query(Query(named, names, empty=empty, flush=flush))
    handed = [PARTS.empty_table()]
    for bucket in range(2):
        mine = [arrival for arrival in stream if (arrival.key == "a") == bool(bucket)]
        times = [arrival.time for arrival in stream if arrival.time is not None]
        if mine:
            more = {BUCKET: np.full(len(mine), bucket), HORIZON: np.full(len(mine), max(times, default=0))}
            handed.append(triggered(query, placed(query, mine, **more), handing))
    parts = by_worker(PartWorker(query.bound), pa.concat_tables(handed).to_batches())
    reports = list(by_worker(handing.last(query.bound), parts))
    rows = [row for batch in reports for row in batch.to_pylist()]
    oracle = evaluate(query.bound.query, [Batch(tuple(stream))])
    table = pa.Table.from_pylist(rows, schema=query.bound.output)
    assert rows_of(table, names) == expected_rows(oracle.reports, names, named=len(named) > 1)


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
