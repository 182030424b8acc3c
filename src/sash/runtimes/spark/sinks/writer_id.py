"""Which query writes: what distinguishes two queries that have batches of the same number."""

from __future__ import annotations

from pyspark.sql import SparkSession

from sash.runtimes.spark.state.arenas import QUERY_ID

DIGITS = 12


def writer_of(spark: SparkSession) -> str:
    """The beginning of the identifier in the checkpoint of the running query, in hexadecimal digits: the
    same after a restart. Zeros where no query runs."""
    query = spark.sparkContext.getLocalProperty(QUERY_ID)
    return query.replace("-", "")[:DIGITS] if query else "0" * DIGITS
