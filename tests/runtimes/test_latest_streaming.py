"""The latest row of each key on Spark: a table that is current after every batch, whatever the batch is."""

from __future__ import annotations

import datetime as dt
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

import sash
from sash.errors import Unsupported
from sash.operators.bound_query import BoundLatest
from sash.operators.patterns.declared import KeyFarm
from sash.runtimes.spark.sinks.jdbc import JdbcSink
from sash.semantics.look_back_rows import LatestEvaluation
from sash.semantics.query import Emit, Query, When
from sash.semantics.reference import Arrival, Batch
from tests.aggregation.conftest import RedisServer
from tests.operators.features import AGGREGATES, any_look_backs, in_order, look_backs, ticks
from tests.runtimes.dry_farm import DryFarm
from tests.runtimes.micro_batches import Delivered, DryStream, read_batches, write_batches
from tests.runtimes.tables import table_of
from tests.runtimes.test_spark_streaming_dry import TYPES, cut

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@settings(max_examples=60, deadline=None)
@given(
    lengths=any_look_backs, delay=st.integers(0, 10), lateness=st.sampled_from([0, 6]),
    every=st.sampled_from([0, 4]), forget_after=st.sampled_from([0, 0, 9]), stream=cut(),
    forgetful=st.booleans(), workers=st.sampled_from([0, 0, 1, 3]),
)  # fmt: skip
def test_oracle_a_micro_batch_emits_the_keys_whose_row_has_changed(
    lengths: list[int], delay: int, lateness: int, every: int, forget_after: int,
    stream: list[list[Arrival]], forgetful: bool, workers: int,
) -> None:  # fmt: skip
    query = Query(
        look_backs(*lengths), AGGREGATES, delay=ticks(delay), allowed_lateness=ticks(lateness),
        emit=Emit(When.EVERY, ticks(every)) if every else Emit(When.CHANGE), flush=False,
        forget_after=ticks(forget_after + lateness if forget_after else 0),
    )  # fmt: skip
    bound = BoundLatest(query, table_of([], TYPES).schema, "t", ("k",))
    farm = DryFarm(bound, KeyFarm(workers), forgetful=forgetful) if workers else None
    dry, oracle = farm or DryStream(bound, forgetful=forgetful), LatestEvaluation(query)
    names = ["k", "updated_at", *(field.name for field in bound.features)]
    for arrivals in (*stream, None):
        before = len(oracle.rows)
        # Spark knows what a batch does to the watermark when the next one begins.
        for arrival in arrivals or ():
            oracle._accept(arrival)
        oracle.report()
        oracle.watermark.observe(a.time for a in arrivals or () if a.time is not None)
        rows = dry.batch(None if arrivals is None else table_of(arrivals, TYPES))
        assert sorted((tuple(row[name] for name in names) for row in rows), key=repr) == sorted(
            ((row.key, row.time, *in_order(query, row.values)) for row in oracle.rows[before:]), key=repr
        )


@pytest.mark.parametrize("other", list("bcdefg"))
def test_a_key_is_forgotten_in_time_also_when_its_bucket_is_idle(other: str) -> None:
    """
    a       10 ────────── 19                 its last row, with the batch that begins at 20
    other                   20  21
    """
    query = Query(
        look_backs(0), {"n": sash.count()}, emit=Emit(When.CHANGE), forget_after=ticks(9), flush=False
    )
    dry = DryStream(BoundLatest(query, table_of([], TYPES).schema, "t", ("k",)))
    rows = []
    for at, key in ((10, "a"), (20, other), (21, other)):
        rows += dry.batch(table_of([Arrival(at, key, {"e": at, "x": 1})], TYPES))
    assert sorted((row["k"], row["updated_at"], row["n_lifetime"]) for row in rows) == [
        ("a", 10, 1), ("a", 20, 0), (other, 20, 1),
    ]  # fmt: skip


# On Spark itself

STREAM = [
    [(10, "a"), (12, "b"), (11, "a")],
    [],
    [(20, "b"), (19, "c")],  # nothing of a: it loses what it has
    [(21, "b"), (33, "b"), (18, "c")],  # the 18 is late
    [(60, "d")],  # all others are silent
    [(61, "a")],
]
SCHEMA = pa.schema([("t", pa.int64()), ("k", pa.string())])


def tables() -> list[pa.Table]:
    return [pa.Table.from_pylist([{"t": t, "k": k} for t, k in rows], schema=SCHEMA) for rows in STREAM]


def query_over(data: Any, **options: Any) -> Any:
    stream = sash.stream(data, time="t", key="k", **options)
    return stream.latest(8, 20).agg(n=sash.count(), newest=sash.max("t"))


def current(batches: list[pa.Table]) -> dict[str, tuple[Any, ...]]:
    """What a table has that is current after these batches: of every key that ever had a row."""
    oracle = LatestEvaluation(query_over(tables()[0]).bound.query)
    for table in batches:
        oracle.take(Batch(tuple(Arrival(row["t"], row["k"], row) for row in table.to_pylist())))
    return {row.key: tuple(in_order(oracle.query, row.values)) for row in oracle.rows}


SHORT = {"createTableColumnTypes": "k VARCHAR(20)"}
"""Derby does not compare texts of any length."""


def row_of(row: Any) -> tuple[Any, ...]:
    return row["n_8"], row["newest_8"], row["n_20"], row["newest_20"]


@pytest.fixture
def derby(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The database that comes with Spark, in memory."""
    monkeypatch.chdir(tmp_path)
    return f"jdbc:derby:memory:{tmp_path.name};create=true"


@pytest.mark.spark
@pytest.mark.parametrize("how", [None, KeyFarm(2), sash.Elastic(max=2, buckets=4)], ids=str)
def test_a_table_is_current_after_empty_batches_restarts_and_for_silent_keys(
    spark: SparkSession, tmp_path: Path, derby: str, how: sash.Elastic | KeyFarm | None
) -> None:
    elastic = how if isinstance(how, sash.Elastic) else None
    folder, given = tmp_path / "input", tables()
    folder.mkdir()
    sink = JdbcSink(derby, "latest", keys=("k",), options=SHORT)
    for number, table in enumerate(given):  # the query is stopped after every batch, and goes on
        write_batches(folder, [table], first=number)
        query = query_over(read_batches(spark, folder, SCHEMA))
        query = query.parallel(how) if isinstance(how, KeyFarm) else query
        options = {"checkpoint": tmp_path / "checkpoint", "trigger": "available now", "elastic": elastic}
        query.start(sink, **options).awaitTermination()
        rows = spark.read.format("jdbc").options(url=derby, dbtable="latest").load().collect()
        assert {row["k"]: row_of(row) for row in rows} == current(given[: number + 1]), number
    assert {row["k"]: row["n_20"] for row in rows} == {"a": 1, "b": 0, "c": 0, "d": 1}


class Interrupted:
    """A sink that fails once, after it has written the batch."""

    def __init__(self, sink: JdbcSink, batch: int) -> None:
        self.sink, self.batch, self.written = sink, batch, list[tuple[int, int]]()

    def __call__(self, rows: DataFrame, batch: int) -> None:
        self.sink.write(rows, batch)
        self.written.append((batch, rows.count()))
        if batch == self.batch:
            self.batch = -1
            raise RuntimeError("the power is out")


@pytest.mark.spark
def test_a_batch_that_is_executed_again_writes_the_same_rows(
    spark: SparkSession, tmp_path: Path, derby: str
) -> None:
    folder, given = tmp_path / "input", tables()
    folder.mkdir()
    write_batches(folder, given)
    sink = Interrupted(JdbcSink(derby, "again", keys=("k",), options=SHORT), batch=3)
    for fails in (True, False):
        query = query_over(read_batches(spark, folder, SCHEMA)).start(
            sink, checkpoint=tmp_path / "checkpoint", trigger="available now"
        )
        if fails:
            with pytest.raises(Exception, match="the power is out"):
                query.awaitTermination()
        else:
            query.awaitTermination()
    rows = spark.read.format("jdbc").options(url=derby, dbtable="again").load().collect()
    assert {row["k"]: row_of(row) for row in rows} == current(given)
    again = [written for batch, written in sink.written if batch == 3]
    assert len(again) == 2
    assert again[0] == again[1]


@pytest.mark.spark
def test_a_static_dataframe_has_the_rows_of_the_process(spark: SparkSession) -> None:
    table = pa.concat_tables(tables())
    static = query_over(spark.createDataFrame(table.to_pandas()))
    assert static.collect().to_pylist() == query_over(table).collect().to_pylist()
    assert [row["k"] for row in static.collect().to_pylist()] == ["a", "d"]
    farmed = static.parallel(KeyFarm(3))
    assert farmed.collect().to_pylist() == static.collect().to_pylist()
    assert "window and fold in 3 tasks" in farmed.explain("plan")


@pytest.mark.soak
@pytest.mark.spark
def test_a_key_decays_by_the_clock_when_nothing_comes(spark: SparkSession, tmp_path: Path) -> None:
    folder, rows_seen = tmp_path / "input", list[dict[str, Any]]()
    folder.mkdir()
    schema = pa.schema([("ts", pa.timestamp("us", "UTC")), ("k", pa.string())])
    stream = sash.stream(
        read_batches(spark, folder, schema), time="ts", key="k", allowed_lateness="1 minute"
    )
    query = stream.latest("20 seconds", every="2 seconds", decay="clock").agg(n=sash.count())
    running = query.start(
        lambda rows, batch: rows_seen.extend(rows.toArrow().to_pylist()), checkpoint=tmp_path / "checkpoint"
    )

    def wait_for(what: Callable[[], bool]) -> None:
        deadline = time.monotonic() + 120
        while not what():
            assert time.monotonic() < deadline
            time.sleep(0.2)

    try:
        wait_for(lambda: len(running.recentProgress) > 2)  # the clock beats
        now = dt.datetime.now(dt.UTC)
        write_batches(folder, [pa.table({"ts": [now], "k": ["a"]}, schema=schema)])
        wait_for(lambda: bool(rows_seen) and rows_seen[-1]["n_20_seconds"] == 0)
    finally:
        running.stop()
    assert [row["n_20_seconds"] for row in rows_seen] == [1, 0]
    assert all(row["updated_at"].second % 2 == 0 for row in rows_seen)
    assert rows_seen[1]["updated_at"] - now >= dt.timedelta(seconds=20)


@pytest.mark.spark
def test_integer_times_do_not_decay_by_the_clock(spark: SparkSession) -> None:
    ticks = spark.readStream.format("rate").load().selectExpr("value AS t")
    with pytest.raises(Unsupported, match="decay must be 'watermark' for integer times"):
        sash.stream(ticks, time="t").latest(5, decay="clock")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    one = RedisServer(tmp_path_factory.mktemp("redis"))
    yield one
    one.kill()


@pytest.mark.spark
@pytest.mark.redis
def test_redis_has_the_newest_row_of_each_key(
    spark: SparkSession, tmp_path: Path, server: RedisServer
) -> None:
    folder = tmp_path / "input"
    folder.mkdir()
    write_batches(folder, tables())
    sink = sash.sinks.redis(server.url, "latest:", key="k")
    query = query_over(read_batches(spark, folder, SCHEMA))
    query.start(sink, checkpoint=tmp_path / "c", trigger="available now").awaitTermination()
    with server.client() as client:
        names = sorted(client.keys("latest:*"))
        found = {name.decode(): json.loads(client.get(name)) for name in names}
    assert {name: row["n_20"] for name, row in found.items()} == {
        "latest:a": 1, "latest:b": 0, "latest:c": 0, "latest:d": 1,
    }  # fmt: skip
    assert found["latest:a"]["newest_8"] == 61


@pytest.mark.spark
def test_a_pass_of_several_queries_has_one_row_for_each_key_too(
    spark: SparkSession, tmp_path: Path
) -> None:
    folder, rows_seen = tmp_path / "input", dict[str, list[Any]](rows=[], counts=[])
    folder.mkdir()
    write_batches(folder, tables())
    df = read_batches(spark, folder, SCHEMA)
    stream = sash.stream(df, time="t", key="k")
    both = sash.together(
        rows=stream.latest(8, 20).agg(n=sash.count(), newest=sash.max("t")),
        counts=stream.window(sash.tumbling(10)).agg(n=sash.count()),
    )

    def kept(name: str) -> Any:
        return lambda rows, batch: rows_seen[name].append((batch, rows.toArrow().to_pylist()))

    both.start(
        {"rows": kept("rows"), "counts": kept("counts")}, checkpoint=tmp_path / "c", trigger="available now"
    ).awaitTermination()
    alone = Delivered(query_over(read_batches(spark, folder, SCHEMA)))
    for _, rows in rows_seen["rows"]:
        assert len(rows) == len({row["k"] for row in rows})
    together = [row for _, rows in rows_seen["rows"] for row in rows]
    assert sorted(map(repr, together)) == sorted(map(repr, alone.rows()))
