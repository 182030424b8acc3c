"""Look-backs of a hot key that several workers share: the answer of one worker, and an even load."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

import sash
from sash.aggregation import built_in
from sash.arrays import Ints
from sash.errors import NotCommutative, Unsupported
from sash.operators.bound_query import BoundQuery
from sash.operators.columns.table_bytes import table_of as opened
from sash.operators.look_backs_by_pane import LookBackPanes
from sash.operators.patterns.declared import KeyFarm, PaneFarm, Pattern, WinMapReduce
from sash.runtimes.spark.batch.bucket_query import BucketQuery
from sash.runtimes.spark.packing.columns import HASH, ORDINAL, places
from sash.runtimes.spark.patterns.shared_look_backs import (
    BLOCKS,
    COUNT,
    PANES,
    ROWS,
    SPAN,
    WORKER,
    LookBackRouter,
    LookBackWorker,
)
from sash.runtimes.spark.patterns.static_plan import plan_of
from sash.semantics.look_back_rows import ArrivalEvaluation
from sash.semantics.reference import Arrival, Batch
from tests.runtimes.strategies import arrivals
from tests.runtimes.tables import table_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NUMBERS = {
    "n": built_in.count(),
    "nx": built_in.count("x"),
    "s": built_in.sum("x"),
    "hi": built_in.max("x"),
    "low": built_in.sum("x", where="x < 5"),
}
OBJECTS = {"most": built_in.top_k("x", 2), "kinds": built_in.count_distinct("x")}
TYPES = {"e": pa.int64(), "x": pa.int64()}

degree = st.integers(1, 6)
shared: st.SearchStrategy[Pattern] = st.one_of(
    st.builds(PaneFarm, degree, degree),
    st.builds(WinMapReduce, degree, degree),
    st.builds(lambda a, b: KeyFarm(PaneFarm(b, b), replicas=a), degree, degree),
)
# Many divisors, so that several workers share a key.
look_backs = st.one_of(
    st.lists(st.sampled_from([6, 12, 24, 36, 60]), min_size=1, max_size=3, unique=True),
    st.lists(st.integers(1, 30), max_size=2, unique=True),
)


@dataclass(frozen=True)
class OfSomeLength(LookBackPanes):
    """Panes of hot keys are of one of the possible lengths, whether it pays or not."""

    chosen: int

    def lengths_of(self, rows: Ints, spans: Ints) -> Ints:
        return np.where(rows > 0, self.lengths[self.chosen % len(self.lengths)], 0)

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "chosen": self.chosen}


def of_workers(
    bound: BoundQuery,
    pattern: Pattern,
    table: pa.Table,
    hashes: Any,
    *,
    cut: int,
    hot: set[int],
    chosen: int | None = None,
) -> tuple[pa.Table, list[int]]:
    """The answer of all workers, and how many elements each of them gets; rows come in two blocks."""
    query, route = BucketQuery(bound, tuple(bound.columns)), plan_of(pattern).route
    panes = LookBackPanes.of(bound, workers=route.windows)
    assert panes is not None
    if chosen is not None:
        panes = OfSomeLength(panes.bound, panes.shares, chosen)
    router = LookBackRouter(query, panes, route)
    rows = table.select(list(query.columns)).rename_columns(places(query.columns))
    times = np.asarray(table[bound.time].cast(pa.int64()).fill_null(0).to_numpy())
    counts = {one: (int((hashes == one).sum()), int(np.ptp(times[hashes == one]))) for one in hot}
    of_key = [counts.get(int(one), (None, None)) for one in hashes]
    more = {ORDINAL: range(len(times)), HASH: hashes}
    more |= {COUNT: [rows for rows, _ in of_key], SPAN: [span for _, span in of_key]}
    for name, values in more.items():
        rows = rows.append_column(name, pa.array(values, pa.int64()))
    blocks = [
        block for part in (rows.slice(0, cut), rows.slice(cut)) for block in router(part.to_batches())
    ]
    sent = pa.Table.from_batches(blocks, BLOCKS)
    answers, counts = [bound.output.empty_table()], [0] * route.workers
    for worker in range(route.workers):
        mine = sent.filter(pa.array(sent[WORKER].to_numpy() == worker))
        for kind in (ROWS, PANES):
            counts[worker] += sum(opened(block).num_rows for block in mine[kind].drop_null().to_pylist())
        given = LookBackWorker(panes, bound.output)(mine.to_batches())
        answers.append(pa.Table.from_batches(given, bound.output))
    return pa.concat_tables(answers), counts


def in_order(table: pa.Table) -> list[dict[str, Any]]:
    """Rows by key, then as they came."""
    rows = sorted(table.to_pylist(), key=lambda row: (str(row["k"]), row["e"]))
    return [{name: row[name] for name in row if name not in TYPES} for row in rows]


@settings(max_examples=200, deadline=None)
@given(
    pattern=shared, stream=arrivals(), lengths=look_backs, endless=st.booleans(), objects=st.booleans(),
    cut=st.integers(0, 40), hot=st.sets(st.sampled_from([-7, 12, 42])), chosen=st.integers(0, 5),
)  # fmt: skip
def test_oracle_look_backs_that_workers_share_are_those_of_the_reference(
    pattern: Pattern, stream: list[Arrival], lengths: list[int], endless: bool, objects: bool, cut: int,
    hot: set[int], chosen: int,
) -> None:  # fmt: skip
    names = OBJECTS if objects else NUMBERS
    table = table_of(stream, TYPES)
    windows = [*lengths, *([sash.lifetime()] if endless or not lengths else [])]
    bound = sash.stream(table, time="t", key="k").rolling(*windows).agg(**names).bound
    hashes = np.array([{"a": -7, "b": 12, None: 42}[arrival.key] for arrival in stream], np.int64)
    hot &= set(hashes.tolist())
    found, _ = of_workers(bound, pattern, table, hashes, cut=cut, hot=hot, chosen=chosen)
    assert found.schema == bound.output
    label = {
        (name, window.label): bound.feature(name, window)
        for window in bound.query.windows
        for name in names
    }
    rows = ArrivalEvaluation(bound.query).run([Batch(tuple(stream))])
    rows.sort(key=lambda row: (str(row.key), row.ordinal))
    expected = [
        {"k": row.key, "t": row.time, **{label[name]: value for name, value in row.values.items()}}
        for row in rows
    ]
    assert in_order(found) == expected


@pytest.mark.parametrize("share", [0.5, 0.9, 0.99])
@pytest.mark.parametrize("back", [10_000_000, 3_600_000_000])
def test_no_worker_has_much_more_than_the_mean_of_all(share: float, back: int) -> None:
    random, rows, workers = np.random.default_rng(5), 60_000, 8
    keys = np.where(random.random(rows) < share, 0, random.integers(1, 97, rows))
    table = pa.table({"t": np.arange(rows) * 1000, "k": keys, "v": random.integers(0, 9, rows)})
    bound = sash.stream(table, time="t", key="k").rolling(back).agg(s=sash.sum("v")).bound
    pattern = PaneFarm(workers, workers)
    found, counts = of_workers(bound, pattern, table, keys, cut=rows // 2, hot={0})
    assert max(counts) <= 1.5 * sum(counts) / workers
    assert sum(counts) <= 1.15 * rows
    assert found.num_rows == rows


def test_a_key_that_panes_do_not_make_smaller_stays_with_one_worker() -> None:
    panes = shared_by(8, "1 second")
    minute, sparse = 60_000_000, 900
    lengths = panes.lengths_of(np.array([10**6, sparse, 0]), np.array([minute, minute, 0]))
    assert lengths.tolist() == [125_000, 0, 0]


def test_as_many_workers_share_a_key_as_look_backs_allow() -> None:
    assert shared_by(8, 7, 14).shares == 7
    assert shared_by(8, 5, 7).shares == 1
    assert shared_by(8, 24, sash.lifetime()).shares == 8
    assert shared_by(3, sash.lifetime()).lengths[-1] == 2**50


def shared_by(workers: int, *look_backs: Any) -> LookBackPanes:
    times = pa.timestamp("us") if isinstance(look_backs[0], str) else pa.int64()
    stream = sash.stream(pa.table({"t": pa.array([], times)}), time="t")
    panes = LookBackPanes.of(stream.rolling(*look_backs).agg(n=sash.count()).bound, workers=workers)
    assert panes is not None
    return panes


@pytest.mark.spark
@pytest.mark.parametrize(
    "pattern",
    [PaneFarm(2, 4), WinMapReduce(3, 4), KeyFarm(PaneFarm(2, 2), replicas=2)],
    ids=str,
)
@pytest.mark.parametrize("keyed", [True, False])
def test_a_hot_key_on_spark_has_the_rows_of_one_worker(
    spark: SparkSession, pattern: Pattern, keyed: bool
) -> None:
    columns = (
        "timestamp_micros(id * 7919 % 20011 * 1000) AS ts",
        "CASE WHEN id % 10 = 0 THEN NULL WHEN id % 97 = 1 THEN id % 11 ELSE -1 END AS `a key`",
        "id AS e",
        "CASE WHEN id % 5 > 0 THEN id % 13 END AS x",
    )
    df = spark.range(0, 20_000, 1, 3).selectExpr(*columns)
    stream = sash.stream(df, time="ts", key="a key" if keyed else None)
    plain = stream.rolling("2 seconds", "500 ms", sash.lifetime()).agg(**NUMBERS, **OBJECTS)
    workers = plain.parallel(pattern)
    assert "fold panes of hot keys where rows lie" in workers.explain("plan")
    order = [("e", "ascending")]
    assert workers.collect().sort_by(order).equals(plain.parallel(sash.WinSeq()).collect().sort_by(order))


@pytest.mark.spark
def test_what_cannot_be_shared_by_panes_is_refused_with_the_reason(spark: SparkSession) -> None:
    rolling = sash.stream(spark.range(3), time="id").rolling(5)
    with pytest.raises(NotCommutative, match="before they are in order"):
        rolling.agg(held=sash.collect("id")).parallel(PaneFarm(2, 2))
    with pytest.raises(Unsupported, match="need no owner"):
        rolling.agg(n=sash.count()).parallel(sash.WinFarm(2, model="agnostic"))
