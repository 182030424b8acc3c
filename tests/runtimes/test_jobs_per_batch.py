"""How much Spark does for a micro-batch: jobs and stages, counted, and as `explain()` has it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import sash
from tests.runtimes.micro_batches import stream_batches
from tests.runtimes.test_spark_streaming import SCHEMA, by_minute, cut, trades

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

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


@pytest.fixture(scope="module")
def batches() -> list[pa.Table]:
    """Three with rows, the last of them late."""
    rows = trades(200)
    return [*cut(rows, 1), pa.Table.from_pylist(rows[:20], schema=SCHEMA)]


def test_a_batch_to_a_folder_is_one_job_of_two_stages(
    spark: SparkSession, batches: list[pa.Table], tmp_path: Path
) -> None:
    query = by_minute(stream_batches(spark, batches))
    ran = Counted(spark, query.start(tmp_path / "sink", checkpoint=tmp_path / "c", trigger="available now"))
    assert (ran.jobs, ran.stages) == (ran.batches, 2)
    assert "1 job of 2 stages a batch, both with Python; 1 more for a further output with rows" in (
        query.explain("plan")
    )


def test_a_second_output_is_one_job_more_for_batches_that_have_rows_of_it(
    spark: SparkSession, batches: list[pa.Table], tmp_path: Path
) -> None:
    query = by_minute(stream_batches(spark, batches))
    ran = Counted(
        spark,
        query.start(
            tmp_path / "sink", late=tmp_path / "late", checkpoint=tmp_path / "c", trigger="available now"
        ),
    )
    assert (ran.jobs, ran.stages) == (ran.batches + 1, 2)
    assert sash.published(tmp_path / "late", spark=spark).count() == 20


def test_ten_queries_are_one_step_and_a_job_for_each_that_reports(
    spark: SparkSession, batches: list[pa.Table], tmp_path: Path
) -> None:
    df = stream_batches(spark, batches)
    stream = sash.stream(df, time="ts", key="symbol", delay="1 hour")
    queries = {
        f"q{number}": stream.window(sash.tumbling(f"{number + 1} minutes")).agg(n=sash.count())
        for number in range(10)
    }
    handle = sash.together(**queries).start(
        {name: tmp_path / name for name in queries}, checkpoint=tmp_path / "c", trigger="available now"
    )
    ran = Counted(spark, handle)
    # Nothing closes within the hour: each batch is the job that runs the step, for the first of the sinks.
    assert (ran.jobs, ran.stages) == (ran.batches, 2)
