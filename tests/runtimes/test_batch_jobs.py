"""Rows that are kept for several readers leave no copies of the session behind, which hold plans."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sash.runtimes.spark.batch_jobs import kept, plan_whole_jobs
from sash.runtimes.spark.requirements import shuffle_partitions

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
def test_shuffles_of_a_batch_have_a_task_per_core_and_no_more_than_the_session_allows(
    spark: SparkSession,
) -> None:
    stream = spark.newSession()
    cores = spark.sparkContext.defaultParallelism
    for most, expected in ((200, cores), (1, 1), (200, cores)):
        plan_whole_jobs(stream, most=most)
        assert shuffle_partitions(stream) == expected
    assert stream.conf.get("spark.sql.adaptive.enabled") == "false"
