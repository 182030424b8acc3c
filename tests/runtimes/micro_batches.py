"""Streams cut into micro-batches: on Spark from files, and in process with Spark's own test double.

In both, the watermark of a batch is that of the batches before it, and after the last batch one without
data closes what the watermark has reached.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyspark.cloudpickle import register_pickle_by_value
from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import ExpiredTimerInfo, TimerValues

from sash.operators.bound_query import BoundQuery
from sash.operators.protocol import StreamOperator
from sash.runtimes.spark.compat import struct_of
from sash.runtimes.spark.packing.blocks import COUNTS, NEWEST_AT, OUTPUT, PACKED_BUCKET, PAYLOAD, Unpacker
from sash.runtimes.spark.packing.columns import BUCKET, places
from sash.runtimes.spark.packing.outputs import LATE, REPORTS, Outputs
from sash.runtimes.spark.state.operators_in_state import OPERATORS
from sash.runtimes.spark.streaming.stateful_processor import WindowProcessor
from sash.runtimes.spark.streaming.watermark_units import Clock
from sash.runtimes.spark.streaming.window_stage import WindowStage
from tests.runtimes import naive_operator, strategies

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

try:
    from pyspark.sql.streaming.tws_tester import TwsTester
except ModuleNotFoundError:  # PySpark 4.1 has no double of its state store
    TwsTester = None

# Spark's workers need not be able to import the tests.
register_pickle_by_value(naive_operator)
register_pickle_by_value(strategies)

EPOCH = 1_700_000_000
SCRATCH = tempfile.TemporaryDirectory(prefix="sash-streams-")
"""Inputs and checkpoints; gone when the tests end."""


def write_batches(folder: Path, batches: Sequence[pa.Table], *, first: int = 0) -> None:
    """One file a batch. The file source takes them by the time of their last change."""
    for number, batch in enumerate(batches, start=first):
        path = folder / f"{number:04}.parquet"
        pq.write_table(batch, path)
        os.utime(path, (EPOCH + number, EPOCH + number))


def read_batches(spark: SparkSession, folder: Path, schema: pa.Schema) -> DataFrame:
    """The files of a folder as a stream, one a micro-batch."""
    reader = spark.readStream.schema(struct_of(schema)).option("maxFilesPerTrigger", 1)
    return reader.parquet(str(folder))


def stream_batches(spark: SparkSession, batches: Sequence[pa.Table]) -> DataFrame:
    folder = Path(tempfile.mkdtemp(dir=SCRATCH.name))
    write_batches(folder, batches)
    return read_batches(spark, folder, batches[0].schema)


class Ran:
    """What a streaming query emitted until it had nothing more."""

    def __init__(self, df: DataFrame, *, checkpoint: str | None = None) -> None:
        self.tables: list[pa.Table] = []
        query = (
            df.writeStream.outputMode("append")
            .foreachBatch(lambda batch, number: self.tables.append(batch.toArrow()))
            .option("checkpointLocation", checkpoint or tempfile.mkdtemp(dir=SCRATCH.name))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        self.progress = query.recentProgress

    @property
    def table(self) -> pa.Table:
        return pa.concat_tables(self.tables)

    @property
    def rows(self) -> list[dict[str, Any]]:
        return self.table.to_pylist()

    def counted(self, count: str) -> int:
        """The sum of one of our counts over all micro-batches."""
        return counted_in(self.progress, count)


def counted_in(progress: Sequence[Any], count: str) -> int:
    return sum(
        row[count]
        for one in progress
        for name, row in one.observedMetrics.items()
        if name.startswith("sash ")
    )


class Delivered:
    """What a query that was started with a sink for each output has delivered, by output."""

    def __init__(
        self, query: Any, *late: str, checkpoint: str | Path | None = None, **options: Any
    ) -> None:
        """`late` is "late" for a sink of late rows, or the sides of a join."""
        self.tables: dict[str, list[tuple[int, pa.Table]]] = {output: [] for output in ("sink", *late)}
        handle = query.start(
            self._sink("sink"),
            late=(
                self._sink("late")
                if late == ("late",)
                else {side: self._sink(side) for side in late} or None
            ),
            checkpoint=checkpoint or tempfile.mkdtemp(dir=SCRATCH.name),
            trigger="available now",
            **options,
        )
        handle.awaitTermination()
        self.progress = handle.recentProgress

    def _sink(self, output: str) -> Callable[[DataFrame, int], None]:
        return lambda rows, batch: self.tables[output].append((batch, rows.toArrow()))

    def table(self, output: str, schema: pa.Schema) -> pa.Table:
        tables = [rows.cast(schema) for _, rows in self.tables[output]]
        return pa.concat_tables([schema.empty_table(), *tables])

    def rows(self, output: str = "sink") -> list[dict[str, Any]]:
        return [row for _, rows in self.tables[output] for row in rows.to_pylist()]

    def counted(self, count: str) -> int:
        return counted_in(self.progress, count)


class DryStream:
    """A streaming query without Spark's engine: its packer, processor and unpacker, one after the other.

    The state store is Spark's in-memory double. When `forgetful`, the operators at hand are forgotten
    between batches, so that every batch begins from what was saved.
    """

    BUCKETS = (3, 1, 4)

    def __init__(
        self, bound: BoundQuery, operator: type[StreamOperator] | None = None, *,
        outputs: Outputs = (REPORTS,), forgetful: bool = True,
    ) -> None:  # fmt: skip
        clock = Clock.of(ticks=pa.types.is_integer(bound.time_type))
        buckets = self.BUCKETS if bound.keys else self.BUCKETS[:1]
        self.stage = WindowStage.of(
            bound, outputs, buckets=buckets, clock=clock, derived=False, operator=operator
        )
        self.delay = int(clock.spark_delay(bound.query.delay.length).split()[0])
        self.engine = MicroBatches(WindowProcessor(self.stage))
        self.forgetful = forgetful
        self.newest = self.watermark = 0
        self.counts = dict.fromkeys(COUNTS, 0)
        self.late: list[dict[str, Any]] = []
        """Rows of the late output, where it is wanted."""

    def run(self, batches: Sequence[pa.Table]) -> list[dict[str, Any]]:
        """All batches, and one without data for what the last watermark closes."""
        return [row for batch in (*batches, None) for row in self.batch(batch)]

    def batch(self, table: pa.Table | None) -> list[dict[str, Any]]:
        """The rows that come out of one micro-batch."""
        if self.forgetful:
            OPERATORS.clear()
        self.watermark = max(self.watermark, self.newest - self.delay)
        payloads: dict[int, list[bytes]] = {}
        for packed in [] if table is None else self.stage.packer(placed(self.stage, table).to_batches()):
            self.newest = max(self.newest, pc.max(packed[NEWEST_AT].cast(pa.int64())).as_py() // 1000)
            for bucket, payload in zip(packed[PACKED_BUCKET], packed[PAYLOAD], strict=True):
                payloads.setdefault(bucket.as_py(), []).append(payload.as_py())
        answered = self.engine.batch(self.watermark, payloads)
        for count in COUNTS:
            self.counts[count] += sum(row[count] for row in answered)
        tables = by_output(self.stage, answered)
        self.late += tables.get(LATE, [])
        return tables[REPORTS]


def by_output(stage: Any, answered: Sequence[Any]) -> dict[str, list[dict[str, Any]]]:
    """What a step emitted in blocks, as rows of its outputs."""
    found: dict[str, list[dict[str, Any]]] = {}
    for number, (output, schema) in enumerate(stage.schemas.items()):
        payloads = [row[PAYLOAD] for row in answered if row[OUTPUT] == number]
        blocks = pa.table({PAYLOAD: pa.array(payloads, pa.binary())}).to_batches()
        found[output] = [row for rows in Unpacker(schema)(blocks) for row in rows.to_pylist()]
    return found


def placed(stage: WindowStage, table: pa.Table) -> pa.Table:
    """Rows as Spark hands them to the packer: by position, each with its share."""
    columns, keys = stage.columns, list(stage.bound.keys)
    words = [repr(list(row.values())).encode() for row in table.select(keys).to_pylist()] if keys else []
    share = [sum(word) % len(stage.buckets) for word in words] or [0] * table.num_rows
    rows = table.select(columns).rename_columns(places(columns))
    return rows.append_column(BUCKET, pa.array(share, pa.int32()))


class MicroBatches(TwsTester or object):
    """Spark's double of a state store, driven in Spark's order: the rows of a batch, then the timers."""

    def __init__(self, processor: WindowProcessor) -> None:
        if TwsTester is None:
            pytest.skip("Spark's double of a state store came with PySpark 4.2")
        super().__init__(processor, timeMode="EventTime", eventTimeExtractor=lambda row: 2**62)

    def batch(self, watermark: int, payloads: dict[int, list[bytes]]) -> list[Row]:
        self._currentWatermarkMs = watermark
        self.handle.setWatermark(watermark)
        now, rows = TimerValues(-1, watermark), []
        for bucket, blocks in payloads.items():
            self.handle.setGroupingKey(bucket)
            arrived = iter([Row(**{PAYLOAD: block}) for block in blocks])
            rows += self.processor.handleInputRows((bucket,), arrived, now)
        timers = self.handle._timers
        for bucket in list(timers.getAllKeysWithTimers()):
            self.handle.setGroupingKey(bucket)
            for expiry in [at for at in timers.listTimers(bucket) if at <= watermark]:
                rows += self.processor.handleExpiredTimer(
                    key=(bucket,), timerValues=now, expiredTimerInfo=ExpiredTimerInfo(expiry)
                )
                self.handle.deleteTimer(expiry)
        return rows
