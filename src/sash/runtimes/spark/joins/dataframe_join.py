"""Joins of two DataFrames of Spark: static ones, or streams.

    static       spread over buckets → cogroup(bucket) → pairs                            static_join.py
    streaming    spread over buckets → pack → union → join, in a state store → unpack     streaming_join.py

A row can go to several buckets, but every pair meets in one (`join_routes`). Spark itself joins two
streams only where there is an equality; here the buckets are ours.
"""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame

from sash.errors import Unsupported
from sash.runtimes.spark.files.parquet_stream import FileSource
from sash.runtimes.spark.joins.static_join import StaticJoin
from sash.runtimes.spark.joins.streaming_join import StreamingJoin


def join_of_sources(left: Any, right: Any) -> StaticJoin | StreamingJoin:
    """The runtime for two sources of Spark, both static or both streams."""
    if left.bounded:
        return StaticJoin(left.df, right.df)
    return StreamingJoin(_rows_of(left), _rows_of(right))


def _rows_of(source: Any) -> DataFrame:
    if source.idle is not None:
        raise Unsupported("join", "a stream with idle=…", "given streams without it")
    rows: DataFrame = source.files.dataframe() if isinstance(source, FileSource) else source.df
    return rows
