"""What a micro-batch leaves in the JVM of the driver, counted: no code and no objects of Python."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sash
from sash.runtimes.spark.compat import struct_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = pa.schema([("at", pa.timestamp("us", "UTC")), ("key", pa.int64()), ("x", pa.int64())])
MINUTE, BEGIN = 60_000_000, 1_767_225_600_000_000
FIRST, MORE = 5, 5
OF_BATCH = 3
"""Objects of py4j: a batch makes some fifty, and how many are held at a moment differs by a few."""
TOTALS = {"n": sash.count(), "total": sash.sum("x")}


def panes(stream: sash.Stream) -> Any:
    return stream.window(sash.sliding("3 minutes", every="1 minute")).agg(**TOTALS)


def look_backs(stream: sash.Stream) -> Any:
    return stream.rolling("2 minutes").agg(**TOTALS)


@pytest.mark.spark
@pytest.mark.parametrize("query", [panes, look_backs])
def test_after_some_batches_no_code_is_generated_and_no_object_is_kept(
    query: Callable[[sash.Stream], Any], spark: SparkSession, tmp_path: Path
) -> None:
    """Code that Spark generates is compiled once for each text of it: a number of the batch in an
    expression would be a class for each batch, which the JVM keeps outside of its heap."""
    (tmp_path / "files").mkdir()
    arriving = spark.readStream.schema(struct_of(SCHEMA)).parquet(str(tmp_path / "files"))
    stream = sash.stream(arriving, time="at", key="key", delay="1 minute")
    running = query(stream).start(tmp_path / "sink", checkpoint=tmp_path / "checkpoint")
    counted, most = [], 0
    try:
        for batches in (range(FIRST), range(FIRST, FIRST + MORE)):
            for number in batches:
                _put(tmp_path / "files", number)
                running.processAllAvailable()
            counted.append(_compiled(spark))
            most = most or _objects(spark, 0) + OF_BATCH * MORE
        kept = _objects(spark, most)
    finally:
        running.stop()
    assert counted[1] == counted[0] > 0
    assert kept <= most


def _put(files: Path, number: int) -> None:
    rows = [BEGIN + number * MINUTE + second * 1_000_000 for second in range(40)]
    columns = [pa.array(rows, SCHEMA[0].type), pa.array(range(40)), pa.array(range(number, number + 40))]
    pq.write_table(pa.table(columns, schema=SCHEMA), files / f"{number}.parquet")


def _compiled(spark: SparkSession) -> int:
    """Texts of generated code that have been compiled."""
    compilations = spark._jvm.org.apache.spark.metrics.source.CodegenMetrics.METRIC_COMPILATION_TIME()
    return int(compilations.getCount())


def _objects(spark: SparkSession, most: int) -> int:
    """What the JVM keeps for Python, as soon as that is not more than `most`, or stays as it is: a thread
    of py4j tells it some time later what Python has let go."""
    gateway = spark.sparkContext._gateway.java_gateway_server.getGateway()
    before, now, deadline = -1, int(gateway.getBindings().size()), time.monotonic() + 30
    while now > most and (now != before or most) and time.monotonic() < deadline:
        gc.collect()
        time.sleep(0.5)
        before, now = now, int(gateway.getBindings().size())
    return now
