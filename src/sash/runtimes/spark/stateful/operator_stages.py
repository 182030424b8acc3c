"""O+ over DataFrames of Spark.

static       key sets → pack → groupBy(bucket).applyInArrow(the operator of the bucket)
streaming    key sets → pack → the operator of the bucket, with its windows in Spark's state store, or in
             the decoupled store of the elastic runtime

Each input is packed by itself, into blocks of one common schema, and all of them are one DataFrame then.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from itertools import starmap
from typing import Any, ClassVar, NoReturn, cast

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, functions as F

from sash.errors import ArgumentError, DataError, Unsupported
from sash.operators.elastic.declaration import Elastic
from sash.operators.elastic.instance_of_share import balanced, checked
from sash.operators.order.interleaved import END_OF_TIME, weave
from sash.operators.stateful.declaration import TIME, Stateful
from sash.operators.stateful.rows_of_all_inputs import CommonRows
from sash.operators.stateful.streaming import BoundOperator, OperatorOnStream
from sash.runtimes.spark.batch.driver_memory import brought
from sash.runtimes.spark.batch.first_rows_of_answer import first_rows
from sash.runtimes.spark.compat import struct_of
from sash.runtimes.spark.files.parquet_stream import ParquetStream
from sash.runtimes.spark.monitoring.job_progress import jobs_shown
from sash.runtimes.spark.packing import columns as by_position
from sash.runtimes.spark.packing.answers import answers_with
from sash.runtimes.spark.packing.balanced_bucket_ids import BUCKETS_PER_PARTITION, bucket_ids, bucket_ids_on
from sash.runtimes.spark.packing.blocks import (
    INPUT,
    PACKED,
    PACKED_BUCKET,
    PAYLOAD,
    Packer,
    block_schema,
    rows_of,
)
from sash.runtimes.spark.packing.columns import ORDINAL, ORIGINAL, arrow_schema
from sash.runtimes.spark.packing.outputs import LATE, REPORTS, Outputs, OutputSchemas
from sash.runtimes.spark.packing.time_of_batch import StampedPacker
from sash.runtimes.spark.session_requirements import require_streaming, require_workers, shuffle_partitions
from sash.runtimes.spark.state.fingerprint import BUCKET_NUMBERS, BUCKETS, describe_operator
from sash.runtimes.spark.stateful.key_sets import KeySetPacker, KeySetRoute, in_bucket
from sash.runtimes.spark.streaming.bucket_call import BucketCall
from sash.runtimes.spark.streaming.stateful_processor import WindowProcessor
from sash.runtimes.spark.streaming.stateful_step import Emitted, answers_of
from sash.runtimes.spark.streaming.upstream_watermark import Upstream
from sash.runtimes.spark.streaming.watermark_units import Clock
from sash.runtimes.spark.streaming.window_stage import WindowStage

_SENT = ("send each tuple once to each bucket that owns a key of it", "shuffle by bucket")


def frame_of(data: Any) -> DataFrame:
    """What the caller gave, as a DataFrame."""
    df: DataFrame = data.dataframe() if isinstance(data, ParquetStream) else data
    require_workers(df.sparkSession)
    return df


def require_fitting(operator: Stateful, frames: tuple[DataFrame, ...]) -> None:
    """Refuse frames that the operator cannot read."""
    if len(frames) != len(operator.inputs):
        expected = f"one frame for each of {len(operator.inputs)} inputs"
        raise ArgumentError("data", f"{len(frames)} frames", expected)
    for number, (own, df) in enumerate(zip(operator.inputs, frames, strict=True)):
        found = arrow_schema(df)
        for wanted in own.schema:
            if wanted.name not in found.names or found.field(wanted.name).type != wanted.type:
                expected = f"a DataFrame with the column {wanted.name}: {wanted.type}"
                raise ArgumentError(f"data[{number}]", str(found), expected)


class OperatorBucketCall(BucketCall):
    """One call of the operator of a bucket. Copies of a tuple are counted by another bucket."""

    def insert(self, rows: pa.Table) -> None:
        original = rows[ORIGINAL].to_numpy()
        self._counts["events"] += int(original.sum())
        arrived = rows.drop_columns([ORDINAL, ORIGINAL]).rename_columns(self._stage.columns)
        operator = cast(OperatorOnStream, self._bucket.operator)
        self._take("late", operator.insert(arrived, rows[ORDINAL].to_numpy(), originals=original))


@dataclass(frozen=True)
class OperatorStage:
    """What a runtime knows of an operator on a stream, with the face of a window's `WindowStage`."""

    bound: BoundOperator
    buckets: tuple[int, ...]
    clock: Clock
    outputs: Outputs = (REPORTS,)
    derived: bool = False
    operator: type[OperatorOnStream] = OperatorOnStream

    call: ClassVar[type[BucketCall]] = OperatorBucketCall
    panes: ClassVar[None] = None

    def of_bucket(self, number: int) -> BoundOperator:
        place = self.buckets.index(number)
        return replace(self.bound, operator=in_bucket(self.bound.operator, place, len(self.buckets)))

    def arrived(self, bucket: int, blocks: Iterable[tuple[bytes | pa.Buffer, int]]) -> pa.Table:
        """Rows of all inputs: each has the time of its own."""
        return rows_of(bucket, (payload for payload, _ in blocks), self.block)

    @property
    def columns(self) -> list[str]:
        return self.bound.columns

    @property
    def block(self) -> pa.Schema:
        return block_schema(self.bound.schema, originals=True)

    @property
    def schema(self) -> pa.Schema:
        return self.bound.output

    @cached_property
    def schemas(self) -> OutputSchemas:
        every = {REPORTS: self.schema, LATE: self.bound.late_output}
        return {output: every[output] for output in self.outputs}

    @cached_property
    def description(self) -> dict[str, Any]:
        buckets = {BUCKETS: len(self.buckets), BUCKET_NUMBERS: list(self.buckets)}
        return describe_operator(self.bound) | buckets


def sent_to_buckets(
    frames: tuple[DataFrame, ...], operator: Stateful, *, buckets: tuple[int, ...], clock: Clock,
    stamps: int = 0,
) -> list[DataFrame]:  # fmt: skip
    """The tuples of each input in blocks, each tuple once for each bucket that owns a key of it; with
    `stamps` for so many tasks."""

    def sent(number: int, df: DataFrame) -> DataFrame:
        packer = packer_of_input(operator, number, buckets=buckets, clock=clock)
        tuples = df.selectExpr(*by_position.placed(operator.inputs[number].schema.names))
        blocks = tuples.mapInArrow(StampedPacker(packer, stamps) if stamps else packer, PACKED)
        return blocks if len(frames) == 1 else blocks.withColumn(INPUT, F.lit(number))

    return list(starmap(sent, enumerate(frames)))


def buckets_of_operator(operator: Stateful, *, partitions: int) -> tuple[int, ...]:
    """The buckets of an operator whose tasks are Spark's partitions: its f_μ places them once."""
    if operator.mapping is balanced:
        return bucket_ids(partitions=partitions, each=BUCKETS_PER_PARTITION)
    shares, tasks = partitions * BUCKETS_PER_PARTITION, range(partitions)
    mapping = operator.mapping(shares, tasks, before=None, load=None)
    return bucket_ids_on(checked(mapping, shares=shares, instances=tasks).tolist(), partitions=partitions)


def packer_of_input(
    operator: Stateful, number: int, *, buckets: tuple[int, ...], clock: Clock
) -> KeySetPacker:
    """Tuples of one input → blocks for buckets, with rows as all inputs have them in common."""
    rows = CommonRows(operator.inputs)
    names = rows.schema.names
    time = by_position.places(names)[names.index(rows.time(number))]
    route = KeySetRoute(operator.keys[number], rows, number, len(buckets))
    packer = Packer(block_schema(rows.schema, originals=True), time, buckets, clock, route)
    return KeySetPacker(rows, number, packer)


def _static(operator: Stateful, frames: tuple[DataFrame, ...]) -> DataFrame:
    """The whole output over static DataFrames, one for each input."""
    buckets = buckets_of_operator(operator, partitions=shuffle_partitions(frames[0].sparkSession))
    rows = CommonRows(operator.inputs)

    def answer(table: pa.Table) -> pa.Table:
        bucket = table[PACKED_BUCKET][0].as_py()
        block = block_schema(rows.schema, originals=True)
        arrived = rows_of(bucket, table[PAYLOAD].to_pylist(), block)
        arrived = arrived.drop_columns([ORDINAL, ORIGINAL]).rename_columns(rows.schema.names)
        if not pc.all(rows.known(arrived)).as_py():
            # As in process: a bounded input has no late output.
            raise DataError("every row of an operator's inputs must hold a time; got a null")
        mine = in_bucket(operator, buckets.index(bucket), len(buckets))
        parts = rows.parts(arrived, rows.times(arrived))
        return mine.start().process(weave(mine.inputs, parts, watermark=END_OF_TIME, first=0))

    blocks = sent_to_buckets(frames, operator, buckets=buckets, clock=clock_of(operator))
    together = reduce(DataFrame.unionAll, blocks)
    return together.groupBy(PACKED_BUCKET).applyInArrow(answer, struct_of(operator.schema))


@dataclass(frozen=True)
class StaticOperator:
    """An operator over static DataFrames, one for each input."""

    operator: Stateful
    frames: tuple[DataFrame, ...]

    bounded: ClassVar[bool] = True

    def collect(self) -> pa.Table:
        with jobs_shown(self.frames[0].sparkSession):
            return brought(self.dataframe()).cast(self.operator.schema).sort_by(TIME)

    def first(self, rows: int) -> tuple[pa.Table, int]:
        """The first rows of the answer in order, and how many it has."""
        with jobs_shown(self.frames[0].sparkSession):
            found, total = first_rows(self.dataframe(), rows, ordered=lambda table: table.sort_by(TIME))
        return found.cast(self.operator.schema), total

    def dataframe(self) -> DataFrame:
        return _static(self.operator, self.frames)

    @property
    def stages(self) -> list[str]:
        return [*_SENT, "run the operator of each bucket in Arrow"]


@dataclass(frozen=True)
class StreamingOperator:
    """An operator over streaming DataFrames, one for each input."""

    bound: BoundOperator
    frames: tuple[DataFrame, ...]

    bounded: ClassVar[bool] = False

    def collect(self) -> NoReturn:
        raise Unsupported(
            "data", "a streaming DataFrame", "bounded for collect()",
            hint="It has no end: run it with .start(sink, checkpoint=…), or write .dataframe() to a sink.",
        )  # fmt: skip

    def dataframe(self) -> DataFrame:
        return self.emitted((REPORTS,)).output()

    @property
    def stages(self) -> list[str]:
        delays = ", ".join(map(str, self.bound.delays))
        return [
            *_SENT,
            f"watermark: the least of the inputs', with a delay of {delays}",
            "run the operator of each bucket, with its windows in RocksDB or in an elastic query's store",
            *answers_with({REPORTS: self.bound.output}).stages,
        ]

    def emitted(self, outputs: Outputs) -> Emitted:
        """Rows and late tuples, in one pass."""
        spark, operator = self.frames[0].sparkSession, self.bound.operator
        upstreams = list(map(Upstream.of, self.frames))
        derived = any(upstream.derived for upstream in upstreams)
        require_streaming(spark, chained=derived)
        # Spark has one watermark for all: a delay on top of one that a stream came with holds for all.
        several = zip(self.bound.delays, upstreams, strict=True)
        kept = [delay.length for delay, upstream in several if upstream.columns]
        clock = Clock.of(ticks=_ticks(operator), delay=max(kept, default=0))
        buckets = buckets_of_operator(operator, partitions=shuffle_partitions(spark))
        stage = OperatorStage(self.bound, buckets, clock, outputs, derived)
        sent = sent_to_buckets(self.frames, operator, buckets=buckets, clock=clock)
        packed = [self._timed(number, blocks, upstreams[number]) for number, blocks in enumerate(sent)]
        # It has the face of a window's stage.
        processor = WindowProcessor(cast(WindowStage, stage))
        return answers_of(reduce(DataFrame.unionAll, packed), processor)

    def _timed(self, number: int, blocks: DataFrame, upstream: Upstream) -> DataFrame:
        """Blocks with the watermark of their input."""
        ticks = _ticks(self.bound.operator)
        upstream.require_about(self.frames[number], self.bound.operator.inputs[number].time, ticks=ticks)
        delay = clock_of(self.bound.operator).spark_delay(self.bound.delays[number].length)
        return upstream.watermarked(blocks, delay, ticks=ticks).select(PACKED_BUCKET, PAYLOAD)

    def elastic(self, outputs: Outputs, elastic: Elastic) -> tuple[DataFrame, OperatorStage]:
        """The blocks of all inputs for the elastic runtime, and what its tasks do with them."""
        operator, clock = self.bound.operator, clock_of(self.bound.operator)
        stage = OperatorStage(self.bound, tuple(range(elastic.buckets)), clock, outputs)
        blocks = sent_to_buckets(
            self.frames, operator, buckets=stage.buckets, clock=clock, stamps=elastic.max
        )
        return reduce(DataFrame.unionAll, blocks), stage


def clock_of(operator: Stateful) -> Clock:
    return Clock.of(ticks=_ticks(operator))


def _ticks(operator: Stateful) -> bool:
    time = operator.inputs[0]
    return bool(pa.types.is_integer(time.schema.field(time.time).type))
