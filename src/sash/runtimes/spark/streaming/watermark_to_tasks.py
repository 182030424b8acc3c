"""The watermark of a micro-batch, known to its tasks before the stateful step.

    <checkpoint>/offsets/7 ──▶ the function of `foreachBatch`, called before batch 7 runs ──▶ its tasks

Spark writes the watermark that judges a batch when it plans the batch, and executes it from there again
after a crash. A local property of the stream's thread is known to all tasks of the jobs that it runs.

No watermark advances here: what it is, is defined in `semantics/watermark.py`; `epochs/epoch_watermark.py`
advances that of `start()`, Spark that of a query over its state store.
"""

from __future__ import annotations

import json

from pyspark import TaskContext
from pyspark.sql import DataFrame, SparkSession

from sash.runtimes.spark.hadoop_folder import HadoopFolder
from sash.runtimes.spark.streaming.deliver_outputs_to_sinks import BatchFunction

PROPERTY = "sash.batch.watermark"


def with_watermark(deliver: BatchFunction, spark: SparkSession, checkpoint: str) -> BatchFunction:
    """The same function of `foreachBatch`, whose tasks know the watermark."""
    offsets = HadoopFolder(spark, f"{checkpoint}/offsets")

    def deliver_with_watermark(emitted: DataFrame, batch: int) -> None:
        set_watermark(emitted.sparkSession, _watermark(offsets.read(str(batch))))
        deliver(emitted, batch)

    return deliver_with_watermark


def set_watermark(spark: SparkSession, milliseconds: int) -> None:
    """Known to all tasks that this thread starts from now on."""
    spark.sparkContext.setLocalProperty(PROPERTY, str(milliseconds))


def watermark_of_batch() -> int | None:
    """In milliseconds of Spark, 0 before there is one; None in a task that has received none."""
    task = TaskContext.get()
    found = None if task is None else task.getLocalProperty(PROPERTY)
    return int(found) if found else None


def _watermark(offsets: bytes | None) -> int:
    """
    >>> _watermark(b'v1\\n{"batchWatermarkMs": 5000, "conf": {}}\\n{}')
    5000
    """
    assert offsets is not None, "Spark writes it before the batch runs"
    return int(json.loads(offsets.decode().splitlines()[1])["batchWatermarkMs"])
