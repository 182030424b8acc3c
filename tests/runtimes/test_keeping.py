"""Rows that are kept for several readers leave no copies of the session behind, which hold plans."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sash.runtimes.spark.batch_jobs import kept

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
