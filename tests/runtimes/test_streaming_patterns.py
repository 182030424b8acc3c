"""Patterns on streaming DataFrames, on Spark: the reports of the reference, and who computed them."""

from __future__ import annotations

import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import sash
from sash.aggregation import built_in
from sash.errors import Unsupported
from sash.operators.patterns.declared import KeyFarm, PaneFarm, Pattern, WinFarm, WinMapReduce
from sash.semantics.reference import Arrival, Batch, evaluate
from sash.semantics.window import Window
from tests.runtimes.micro_batches import (
    Delivered,
    Ran,
    counted_in,
    read_batches,
    stream_batches,
    write_batches,
)
from tests.runtimes.object_aggregates import OBJECTS
from tests.runtimes.tables import expected_rows, rows_of, table_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

TYPES = {"e": pa.int64(), "x": pa.int64()}
NUMBERS = {"n": built_in.count(), "s": built_in.sum("x"), "hi": built_in.max("x")}


def arrivals(seed: int) -> list[list[Arrival]]:
    """Sixty events of three keys in two micro-batches: in disorder, some late, some without a time."""
    rng = random.Random(seed)
    stream = []
    for number in range(60):
        time = None if rng.random() < 0.05 else number + rng.randrange(-25, 5)
        stream.append(Arrival(time, rng.choice(["a", "b", None]), {"e": number, "x": rng.randrange(10)}))
    return [stream[start : start + 30] for start in range(0, 60, 30)]


@pytest.mark.parametrize(
    ("seed", "window", "chosen"),
    [
        (1, sash.sliding(12, every=5), KeyFarm(WinMapReduce(2, 2), replicas=2)),
        (3, sash.sliding(10, every=4), WinFarm(3)),
        (4, sash.sliding(10, every=5), WinFarm(2, model="agnostic")),
        (6, sash.rows(4, every=3), PaneFarm(2, 2)),
    ],
    ids=["two steps", "one step", "agnostic", "in parts"],
)
def test_oracle_a_stream_under_a_pattern_has_the_reports_and_late_rows_of_the_reference(
    spark: SparkSession, seed: int, window: Window, chosen: Pattern
) -> None:
    batches = arrivals(seed)
    df = stream_batches(spark, [table_of(batch, TYPES) for batch in batches])
    stream = sash.stream(df, time="t", key="k", delay=4).window(window)
    query = stream.agg(**NUMBERS).parallel(chosen)
    ran = Delivered(query, "late")
    oracle = evaluate(query.bound.query, [Batch(tuple(batch)) for batch in batches])
    reports = pa.concat_tables([table for _, table in ran.tables["sink"]]).cast(query.bound.output)
    assert rows_of(reports, NUMBERS) == expected_rows(oracle.reports, NUMBERS, named=False)
    late = [row for _, table in ran.tables["late"] for row in table.to_pylist()]
    assert sorted((row["e"], row["late_reason"]) for row in late) == sorted(
        (one.arrival.values["e"], one.reason) for one in oracle.late
    )
    assert len(late) > 2
    counts = [counted_in(ran.progress, count) for count in ("events", "late", "reports")]
    assert counts == [60, len(oracle.late), len(oracle.reports)]


def test_oracle_reports_alone_come_from_two_steps_too(spark: SparkSession) -> None:
    seed, size, every, chosen = 1, 12, 5, KeyFarm(WinMapReduce(2, 2), replicas=2)
    batches = arrivals(seed)
    df = stream_batches(spark, [table_of(batch, TYPES) for batch in batches])
    stream = sash.stream(df, time="t", key="k", delay=4).window(sash.sliding(size, every=every))
    query = stream.agg(**NUMBERS).parallel(chosen)
    ran = Ran(query.dataframe())
    oracle = evaluate(query.bound.query, [Batch(tuple(batch)) for batch in batches])
    table = ran.table.cast(query.bound.output)
    assert rows_of(table, NUMBERS) == expected_rows(oracle.reports, NUMBERS, named=False)
    counted = (ran.counted("events"), ran.counted("late"), ran.counted("reports"))
    assert counted == (60, len(oracle.late), len(oracle.reports))
    assert len(oracle.reports) > 20
    assert len(oracle.late) > 2


@pytest.mark.parametrize(
    ("chosen", "options"),
    [
        (PaneFarm(2, 2), {"empty": True}),
        (KeyFarm(WinMapReduce(2, 1), replicas=2), {"emit": "change"}),
    ],
    ids=["corrected and empty", "early"],
)
def test_oracle_two_steps_correct_themselves_and_fold_objects(
    spark: SparkSession, chosen: Pattern, options: dict[str, Any]
) -> None:
    """Both steps see the same watermark in the same micro-batch: revisions are those of the reference."""
    batches, names = arrivals(5), NUMBERS | OBJECTS
    df = stream_batches(spark, [table_of(batch, TYPES) for batch in batches])
    stream = sash.stream(df, time="t", key="k", delay=4, allowed_lateness=6)
    query = stream.window(sash.sliding(12, every=5), **options).agg(**names).parallel(chosen)
    ran = Delivered(query, "late")
    oracle = evaluate(query.bound.query, [Batch(tuple(batch)) for batch in batches])
    rows = ran.rows()
    found = [
        (row["k"], row["window"]["id"], row["revision"], *(row[name] for name in names)) for row in rows
    ]
    expected = [(r.key, r.id, r.revision, *r.values.values()) for r in oracle.reports]
    assert sorted(found, key=repr) == sorted(expected, key=repr)
    assert max(row[2] for row in found) > 0
    assert sorted(row["e"] for row in ran.rows("late")) == sorted(
        one.arrival.values["e"] for one in oracle.late
    )


def hot(count: int = 200) -> list[pa.Table]:
    """Of a hundred events ninety-nine have one key."""
    events = [Arrival(n, "cold" if n % 100 == 99 else "hot", {"e": n, "x": 1}) for n in range(count)]
    return [table_of(events[start : start + 100], TYPES) for start in range(0, count, 100)]


def where(events: pa.Table) -> dict[str, int]:
    from pyspark import TaskContext

    return {"task": TaskContext.get().partitionId(), "n": events.num_rows}


@pytest.mark.parametrize("model", ["active", "agnostic"])
def test_the_windows_of_a_hot_key_are_computed_by_all_tasks(spark: SparkSession, model: Any) -> None:
    query = (
        sash.stream(stream_batches(spark, hot()), time="t", key="k")
        .window(sash.sliding(20, every=5))
        .parallel(sash.WinFarm(2, model=model))
        .apply(where, schema="task bigint, n bigint")
    )
    ran = Ran(query.dataframe())
    rows = [row for row in ran.rows if row["k"] == "hot"]
    assert {
        row["window"]["id"]: row["n"] for row in rows if 0 <= row["window"]["id"] < 16
    } == dict.fromkeys(range(16), 20)
    tasks = [row["task"] for row in rows]
    assert min(tasks.count(task) for task in (0, 1)) > len(tasks) / 4
    assert ran.counted("events") == 200
    assert ran.counted("reports") == len(ran.rows)


def test_two_steps_go_on_from_their_checkpoint(spark: SparkSession, tmp_path: Path) -> None:
    batches = hot(300)
    folder, checkpoint = tmp_path / "input", str(tmp_path / "checkpoint")
    folder.mkdir()

    def counts(df: DataFrame) -> DataFrame:
        stream = sash.stream(df, time="t", key="k").window(sash.sliding(30, every=10))
        return stream.agg(n=sash.count()).parallel(sash.PaneFarm(2, 2)).dataframe()

    found = []
    for first, arrived in ((0, batches[:2]), (2, batches[2:])):
        write_batches(folder, arrived, first=first)
        found.append(Ran(counts(read_batches(spark, folder, batches[0].schema)), checkpoint=checkpoint))
    rows = [row for ran in found for row in ran.rows if row["k"] == "hot"]
    # Events 99, 199, … are of the other key; the watermark ends at 299.
    expected = {start: 30 - (start % 100 >= 70) for start in range(0, 270, 10)}
    assert {row["window"]["start"]: row["n"] for row in rows if row["window"]["start"] >= 0} == expected
    assert len(found[0].rows) > 0
    assert len(found[1].rows) > 0


@pytest.fixture(scope="module")
def rate(spark: SparkSession) -> DataFrame:
    return spark.readStream.format("rate").load()


@pytest.mark.parametrize("chosen", [WinMapReduce(2, 2), WinFarm(2)], ids=str)
def test_workers_share_the_windows_over_windows_of_a_stream(spark: SparkSession, chosen: Pattern) -> None:
    df = stream_batches(spark, hot(300))
    tens = sash.stream(df, time="t", key="k").window(sash.tumbling(10)).agg(n=sash.count())
    derived = tens.dataframe().selectExpr("window.end AS t", "k", "n")
    stream = sash.stream(derived, time="t", key="k").window(sash.sliding(60, every=30))
    query = stream.agg(n=sash.sum("n"), top=sash.top_k("n", 1)).parallel(chosen)
    ran = Ran(query.dataframe())
    rows = {row["window"]["start"]: row for row in ran.rows if row["k"] == "hot"}
    # Tens end at 10, 20, …: those of [30, 90) hold events 20 … 79; 99 and 199 are of the other key.
    assert [rows[start]["n"] for start in (30, 60, 90, 150)] == [60, 59, 59, 59]
    assert [rows[start]["top"] for start in (30, 60)] == [[10], [10]]


def test_an_elastic_query_under_a_pattern_is_refused(rate: DataFrame, tmp_path: Path) -> None:
    minutes = sash.stream(rate, time="timestamp").window(sash.tumbling("1 minute")).agg(n=sash.count())
    with pytest.raises(Unsupported, match="chooses that for every micro-batch"):
        minutes.parallel(sash.KeyFarm(2)).start(
            str(tmp_path / "sink"), checkpoint=tmp_path / "checkpoint", elastic=sash.Elastic(min=1, max=2)
        )


def test_explain_tells_the_steps_of_a_pattern_on_a_stream(rate: DataFrame) -> None:
    windowed = sash.stream(rate, time="timestamp", key="value").window(sash.tumbling("1 minute"))
    query = windowed.agg(n=sash.count())
    two = query.parallel(sash.WinMapReduce(2, 3)).explain("plan")
    assert "send rows round-robin to buckets: 1 shares of (value) × 2" in two
    assert "send panes to the buckets whose windows hold them: 1 shares of (value) × 3 of windows" in two
    nested = query.parallel(sash.WinFarm(sash.WinMapReduce(2, 1), replicas=3)).explain("plan")
    assert "is planned as WinMapReduce(map=6, reduce=3), which is the same" in nested
    agnostic = query.parallel(sash.WinFarm(4, model="agnostic")).explain("plan")
    assert "compute windows in 4 tasks, round-robin whatever the key" in agnostic
    assert "WinFarm(2)" in query.parallel(sash.WinFarm(2)).explain("plan")
