"""Streams with a hot key, a task for each bucket: processor time of the busiest task of the step.

    python -m benchmarks.hot_key --only busy

    ratio  =  Σ time of the busiest task of a batch  /  Σ mean of all tasks of a batch       a mean of 8

Processor time, because eight tasks on fewer cores wait for each other, which makes all of them look alike.
Of sliding, count and rolling windows it is that of the Python process of a task; a batch that one task
computes alone has 8 times the mean. Of a function over whole windows it is that of the function, which says
itself who has run it, and what the owner needed to hand windows out, by its clock. Where a stage more
computes windows, a batch has two busiest tasks, one after the other, and both count. Nothing is known of a
first batch, so that the batches from the second on are judged.

Rounds are runs of their own, after one that warms up; the median of their ratios counts.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark import TaskContext

import sash
from benchmarks.harness import Table
from benchmarks.hot_key_runs import CHEAP, timed
from benchmarks.hot_key_steps import SpentByTasks, stepping
from benchmarks.hot_key_streams import BUCKETS, PROMISED, SHARES, events, queries
from benchmarks.spark.inputs import written
from benchmarks.user_functions import steps_of
from sash.runtimes.spark.streaming.hot_keys.choose_busy_buckets import Sharing
from sash.runtimes.spark.streaming.hot_keys.handed_out_windows import BucketLoad

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = "slope double, number bigint, stage bigint, task bigint, seconds double"
BATCH_ID = "streaming.sql.batchId"
Measure = tuple[float, float]
"""Seconds of the busiest tasks of all batches, and of the mean."""


def busy(spark: SparkSession, folder: Path, *, quick: bool, rounds: int) -> Table:
    """All kinds of queries, with 50, 90 and 99 % of the rows in one key."""
    table = Table(f"streams, {BUCKETS} buckets, no hint: processor time of the busiest task", "mean of all")
    table.start()
    batches, steps = (2, 0) if quick else (6, steps_of(1.0))
    for share in SHARES:
        for name in (*CHEAP, "apply"):
            rows = 20_000 if quick else 300_000 if name == "apply" else 1_200_000
            path = written(folder / f"busy {name} {share}", events(rows, share), files=batches)
            once = partial(of_steps, spark, path, name)
            if name == "apply":
                once = partial(of_functions, spark, path, steps)
            found = [once() for _ in range(rounds + 1)][1:]
            ratios = sorted((busiest / mean, busiest) for busiest, mean in found if mean)
            ratio, seconds = ratios[len(ratios) // 2] if ratios else (0.0, 0.0)
            table.add(f"{share:.0%}: {name}", seconds, ratio, limit=PROMISED)
            if ratios:
                print(f"    of {len(ratios)} runs {ratios[0][0]:.2f} to {ratios[-1][0]:.2f}", flush=True)
    return table


def measured(batches: Iterable[Iterable[float]]) -> Measure:
    """Of the seconds of the tasks of each batch that has any."""
    tasks = [list(batch) for batch in batches]
    return sum(max(batch) for batch in tasks if batch), sum(sum(batch) for batch in tasks) / BUCKETS


def of_steps(spark: SparkSession, path: Path, name: str) -> Measure:
    meter = spark.sparkContext.accumulator({}, SpentByTasks())
    with stepping(meter=meter):
        timed(spark, path, lambda df: queries(df, 0)[name])
    batches: dict[int, list[float]] = defaultdict(list)
    for (epoch, _), seconds in meter.value.items():
        batches[epoch].append(seconds)
    return measured(batches.values())


def of_functions(spark: SparkSession, path: Path, steps: int) -> Measure:
    tables: list[pa.Table] = []
    seen: list[Mapping[int, BucketLoad]] = []
    see = Sharing.see

    def recorded(sharing: Sharing, loads: Mapping[int, BucketLoad]) -> None:
        seen.append(dict(loads))
        see(sharing, loads)

    def read(out: Path) -> None:
        tables.extend(pq.ParquetFile(each).read() for each in sorted(out.rglob("*.parquet")))

    with patch.object(Sharing, "see", recorded):
        timed(spark, path, partial(fits, steps), then=read)
    handing = [max((load.handing for load in loads.values()), default=0.0) for loads in seen]
    return critical(pa.concat_tables(tables), handing)


def critical(reports: pa.Table, handing: list[float]) -> Measure:
    """From the second batch on. The stage of the step comes first, in which windows are handed out."""
    stages: dict[tuple[int, int], dict[int, float]] = defaultdict(lambda: defaultdict(float))
    for row in reports.select(["number", "stage", "task", "seconds"]).to_pylist():
        stages[row["number"], row["stage"]][row["task"]] += row["seconds"]
    busiest = sum(max(tasks.values()) for (batch, _), tasks in stages.items() if batch)
    every = sum(sum(tasks.values()) for (batch, _), tasks in stages.items() if batch)
    return busiest + sum(handing[1:]), (every + sum(handing[1:])) / BUCKETS


def fits(steps: int, df: Any) -> sash.WindowQuery:
    """The expensive function, which says who has run it and what that took."""
    windowed = sash.stream(df, time="ts", key="k").window(sash.rows(100, every=50))
    return windowed.apply(fit_of(steps), schema=SCHEMA)


def fit_of(steps: int) -> Callable[[pa.Table], dict[str, float]]:
    def fit(rows: pa.Table) -> dict[str, float]:
        began, total = time.thread_time(), 0
        for step in range(steps):
            total += step & 7
        task = TaskContext.get()
        assert task is not None
        return {
            "slope": float(total), "number": int(task.getLocalProperty(BATCH_ID) or 0),
            "stage": task.stageId(), "task": task.partitionId(), "seconds": time.thread_time() - began,
        }  # fmt: skip

    return fit
