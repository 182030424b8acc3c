"""Rows of a micro-batch that are kept, because several readers want them and they are computed once."""

from __future__ import annotations

from pyspark.sql import DataFrame

OFF = (
    "spark.sql.sources.bucketing.autoBucketedScan.enabled",
    "spark.sql.adaptive.applyFinalStageShuffleOptimizations",
)


def kept(rows: DataFrame) -> DataFrame:
    """`rows.persist()`, without a copy of the session.

    Spark plans what it keeps with these settings off, and copies the session where they are on. Copies
    stay alive with the plans and the shuffle files of their batches. The session of a micro-batch is the
    stream's own, so nothing else is changed.
    """
    for name in OFF:
        rows.sparkSession.conf.set(name, "false")
    return rows.persist()
