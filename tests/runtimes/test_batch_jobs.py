"""Rows that are kept for several readers leave no copies of the session behind, which hold plans."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sash.runtimes.spark.micro_batch_jobs import ADAPTIVE, WholeJobs, all_at_once, kept
from sash.runtimes.spark.session_requirements import PARTITIONS, shuffle_partitions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.spark
def test_rows_are_kept_in_their_own_session(spark: SparkSession) -> None:
    stream = spark.newSession()
    rows = kept(stream.range(3).repartition(2))
    manager = stream._jsparkSession.sharedState().cacheManager()
    cached = manager.lookupCachedData(rows._jdf).get().cachedRepresentation()
    assert cached.cacheBuilder().cachedPlan().session().equals(stream._jsparkSession)
    assert rows.count() == 3
    rows.unpersist()


@pytest.mark.spark
@pytest.mark.parametrize(("most", "tasks"), [("200", None), ("1", 1)])
def test_shuffles_of_a_batch_have_a_task_per_core_and_no_more_than_the_session_allows(
    spark: SparkSession, most: str, tasks: int | None
) -> None:
    stream, jobs = spark.newSession(), WholeJobs()
    stream.conf.set(PARTITIONS, most)
    stream.conf.set(ADAPTIVE, "true")
    for _ in range(2):
        jobs.plan(stream)
        assert shuffle_partitions(stream) == (tasks or spark.sparkContext.defaultParallelism)
        assert stream.conf.get(ADAPTIVE) == "false"
        jobs.restore(stream)
        assert (stream.conf.get(PARTITIONS), stream.conf.get(ADAPTIVE)) == (most, "true")


@pytest.mark.spark
def test_jobs_at_once_have_the_properties_of_their_thread_and_all_end_before_one_fails(
    spark: SparkSession,
) -> None:
    seen: list[str | None] = []
    spark.sparkContext.setLocalProperty("sash.test", "mine")

    def job() -> None:
        seen.append(spark.sparkContext.getLocalProperty("sash.test"))

    def failing() -> None:
        raise ValueError("no room")

    try:
        with pytest.raises(ValueError, match="no room"):
            all_at_once(spark, [failing, job, job])
        all_at_once(spark, [job])
    finally:
        spark.sparkContext.setLocalProperty("sash.test", "")
    assert seen == ["mine"] * 3
