"""How much Spark does for a micro-batch: jobs and stages, counted, and as `explain()` has it."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from operator import attrgetter, itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import sash
from tests.runtimes.micro_batches import stream_batches
from tests.runtimes.test_spark_streaming import SCHEMA, by_minute, cut, trades

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark


class Counted:
    """The jobs of a query that has ended, and their stages; Spark makes a group of a stream's jobs."""

    def __init__(self, spark: SparkSession, handle: Any) -> None:
        handle.awaitTermination()
        self.batches = len(handle.recentProgress)
        tracker = spark.sparkContext.statusTracker()
        jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(str(handle.runId))]
        self.jobs = len(jobs)
        self.stages = max(len(job.stageIds) for job in jobs)
        self.last_stages = len(max(jobs, key=attrgetter("jobId")).stageIds)


@pytest.fixture(scope="module")
def batches() -> list[pa.Table]:
    """Three with rows, the last of them late."""
    rows = trades(200)
    return [*cut(rows, 1), pa.Table.from_pylist(rows[:20], schema=SCHEMA)]


def test_a_batch_to_a_folder_is_one_job(
    spark: SparkSession, batches: list[pa.Table], tmp_path: Path
) -> None:
    query = by_minute(stream_batches(spark, batches))
    ran = Counted(spark, query.start(tmp_path / "sink", checkpoint=tmp_path / "c", trigger="available now"))
    # The first one has another stage: what Spark's fold would save is known after it.
    assert (ran.jobs, ran.stages, ran.last_stages) == (ran.batches, 3, 2)
    assert "1 job of 2 stages a batch, both with Python; tasks write folders themselves" in (
        query.explain("plan")
    )


SMALL: dict[str, Callable[[Any], Any]] = {
    "reports": lambda stream: stream.window(sash.tumbling("1 minute")).agg(n=sash.count()),
    "rows": lambda stream: stream.window(sash.rows(10, every=3)).agg(s=sash.sum("size")),
    "on arrival": lambda stream: stream.rolling("1 minute", emit="arrival").agg(n=sash.count()),
}


def by_size_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take the clock out of the choice: on a busy machine any batch may be a slow one."""
    monkeypatch.setattr("sash.runtimes.spark.epochs.one_task.BUSY", math.inf)
    monkeypatch.setattr("sash.runtimes.spark.epochs.one_task.SLOWER", math.inf)


@pytest.mark.parametrize("kind", SMALL)
@pytest.mark.parametrize("late", [False, True], ids=["", "late rows"])
def test_small_batches_are_one_stage_and_answer_as_large_ones(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, late: bool
) -> None:
    """Ten of them; the first three show how small they are, and the ninth is late."""
    by_size_alone(monkeypatch)
    rows = trades(400)
    parts = [rows[at : at + 45] for at in range(0, 400, 45)]
    tables = [pa.Table.from_pylist(part, schema=SCHEMA) for part in (*parts[:-1], rows[:20], parts[-1])]

    def ran(place: Path, **how: Any) -> tuple[Any, list[Any]]:
        df = stream_batches(spark, tables)
        query = SMALL[kind](sash.stream(df, time="ts", key="symbol", delay="10 seconds"))
        sinks = {"late": place / "late"} if late else {}
        counted = Counted(
            spark,
            query.start(place / "out", checkpoint=place / "c", trigger="available now", **sinks, **how),
        )
        outputs = [
            sorted(map(str, sash.published(place / name, spark=spark).toArrow().to_pylist()))
            for name in ("out", *sinks)
        ]
        return counted, outputs

    alone, found = ran(tmp_path / "alone")
    shared_out, wanted = ran(tmp_path / "shared", elastic=sash.Elastic(min=2, max=2, store="files"))
    assert (alone.jobs, alone.last_stages) == (alone.batches, 1)
    assert shared_out.last_stages == 2
    assert found == wanted
    assert found[0]


def test_a_large_batch_after_small_ones_is_computed_in_several_tasks(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever packs it finds out, before anything is written."""
    by_size_alone(monkeypatch)
    monkeypatch.setattr("sash.runtimes.spark.packing.row_packing.LARGEST", 20_000)
    rows = trades(3_000)
    cuts = [0, 40, 80, 120, 160, 200, 2_950, 3_000]
    tables = [pa.Table.from_pylist(rows[lo:hi], schema=SCHEMA) for lo, hi in pairwise(cuts)]
    query = SMALL["rows"](sash.stream(stream_batches(spark, tables), time="ts", key="symbol"))
    handle = query.start(tmp_path / "out", checkpoint=tmp_path / "c", trigger="available now")
    counted = Counted(spark, handle)
    assert counted.jobs == counted.batches + 1  # the one that was begun in one task
    found = sash.published(tmp_path / "out", spark=spark).drop("batch").toArrow().to_pylist()
    whole = sash.stream(pa.concat_tables(tables), time="ts", key="symbol")
    wanted = whole.window(sash.rows(10, every=3), flush=False).agg(s=sash.sum("size")).collect()
    assert sorted(map(str, found)) == sorted(map(str, wanted.to_pylist()))


@pytest.mark.parametrize("folded", [True, False])
def test_a_batch_of_an_elastic_query_is_one_job(
    spark: SparkSession, batches: list[pa.Table], tmp_path: Path, folded: bool
) -> None:
    """Two stages, and one more where Spark folds panes first."""
    stream = sash.stream(stream_batches(spark, batches), time="ts", key="symbol", delay="10 seconds")
    value = sash.sum("size") if folded else sash.first("size")
    query = stream.window(sash.tumbling("1 minute")).agg(s=value)
    handle = query.start(
        tmp_path / "sink", checkpoint=tmp_path / "c", trigger="available now",
        elastic=sash.Elastic(min=2, max=2, store="files", buckets=4),
    )  # fmt: skip
    ran = Counted(spark, handle)
    assert (handle._run.fold is not None) == folded
    assert (ran.jobs, ran.stages) == (ran.batches, 3 if folded else 2)


def taken(rows: DataFrame) -> set[tuple[Any, ...]]:
    found = rows.select("symbol", "ts", "n_1_minute").toArrow()
    return set(zip(*(column.to_pylist() for column in found), strict=True))


READERS: dict[str, tuple[Callable[[DataFrame], Any], int]] = {
    "all": (taken, 0),
    "twice": (lambda rows: (rows.count(), taken(rows)), 3),  # a count has three jobs by itself
    "one row": (lambda rows: rows.select("symbol").head(1), 1),
    "kept and let go": (
        lambda rows: (rows.persist(), taken(rows), rows.unpersist()),
        2,
    ),  # of its own cache
    "none": (lambda rows: None, 0),
}
"""What a function may do with the rows of a batch, and how many jobs this is beyond one."""


@pytest.mark.parametrize("reader", READERS)
def test_the_step_runs_once_whatever_a_function_reads(
    spark: SparkSession, tmp_path: Path, reader: str
) -> None:
    """The step moves state: what the function does with the first batch must not show in the next ones."""
    read, more = READERS[reader]
    later: set[tuple[Any, ...]] = set()

    def sink(rows: DataFrame, batch: int) -> None:
        if batch:
            later.update(taken(rows))
        else:
            read(rows)

    def rolling(df: DataFrame) -> Any:
        stream = sash.stream(df, time="ts", key="symbol", delay="10 seconds")
        return stream.rolling("1 minute", emit="arrival").agg(n=sash.count())

    tables = cut(sorted(trades(200), key=itemgetter("ts")), 3)
    handle = rolling(stream_batches(spark, tables)).start(
        sink, checkpoint=tmp_path / "c", trigger="available now"
    )
    ran = Counted(spark, handle)
    static = spark.createDataFrame(pa.concat_tables(tables).combine_chunks())
    assert later
    assert later <= taken(
        sash.stream(static, time="ts", key="symbol").rolling("1 minute").agg(n=sash.count()).dataframe()
    )
    assert ran.jobs <= ran.batches + more


def test_a_second_folder_is_no_job_more(
    spark: SparkSession, batches: list[pa.Table], tmp_path: Path
) -> None:
    query = by_minute(stream_batches(spark, batches))
    ran = Counted(
        spark,
        query.start(
            tmp_path / "sink", late=tmp_path / "late", checkpoint=tmp_path / "c", trigger="available now"
        ),
    )
    assert (ran.jobs, ran.stages) == (ran.batches, 3)
    assert sash.published(tmp_path / "late", spark=spark).count() == 20


def test_ten_queries_are_one_job(spark: SparkSession, batches: list[pa.Table], tmp_path: Path) -> None:
    df = stream_batches(spark, batches)
    stream = sash.stream(df, time="ts", key="symbol", delay="10 seconds")
    queries = {
        f"q{number}": stream.window(sash.tumbling(f"{number + 1} minutes")).agg(n=sash.count())
        for number in range(10)
    }
    handle = sash.together(**queries).start(
        {name: tmp_path / name for name in queries}, checkpoint=tmp_path / "c", trigger="available now"
    )
    ran = Counted(spark, handle)
    assert (ran.jobs, ran.stages) == (ran.batches, 3)
    assert sash.published(tmp_path / "q0", spark=spark).count() > 0
