"""O+ over DataFrames of Spark.

static       key sets → pack → groupBy(bucket).applyInArrow(the operator of the bucket)
streaming    key sets → pack → the elastic runtime, with the operator's tuples in the decoupled store

Each input is packed by itself, into blocks of one common schema, and all of them are one DataFrame then.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import starmap
from os import PathLike, fspath
from typing import Any, ClassVar, NoReturn, cast

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from sash.errors import ArgumentError, Unsupported
from sash.operators.elastic.declaration import Elastic
from sash.operators.order.interleaved import END_OF_TIME, weave
from sash.operators.stateful.common_rows import CommonRows
from sash.operators.stateful.declaration import TIME, Stateful
from sash.operators.stateful.join import Join
from sash.operators.stateful.streaming import BoundOperator, OperatorOnStream, in_stream
from sash.runtimes.spark.batch.driver_memory import brought
from sash.runtimes.spark.compat import struct_of
from sash.runtimes.spark.elastic.run import ElasticQuery
from sash.runtimes.spark.files.parquet_stream import ParquetStream
from sash.runtimes.spark.monitoring.job_progress import jobs_shown
from sash.runtimes.spark.packing import columns as by_position
from sash.runtimes.spark.packing.blocks import (
    INPUT,
    PACKED,
    PACKED_BUCKET,
    PAYLOAD,
    Packer,
    block_schema,
    rows_of,
)
from sash.runtimes.spark.packing.bucket_ids import BUCKETS_PER_PARTITION
from sash.runtimes.spark.packing.columns import ORDINAL, arrow_schema
from sash.runtimes.spark.packing.outputs import LATE, REPORTS, Outputs, Schemas
from sash.runtimes.spark.requirements import require_workers, shuffle_partitions
from sash.runtimes.spark.sinks.choice import sinks_for
from sash.runtimes.spark.sinks.protocol import Sink
from sash.runtimes.spark.state.fingerprint import describe_operator
from sash.runtimes.spark.stateful.key_sets import KeySetPacker, in_bucket
from sash.runtimes.spark.streaming.clock import Clock
from sash.runtimes.spark.streaming.start import start_elastic
from sash.runtimes.spark.streaming.window_stage import WindowStage
from sash.semantics.durations import DurationLike

_SENT = ("send each tuple once to each bucket that owns a key of it", "shuffle by bucket")


def frame_of(data: Any) -> DataFrame:
    """What the caller gave, as a DataFrame."""
    df: DataFrame = data.dataframe() if isinstance(data, ParquetStream) else data
    require_workers(df.sparkSession)
    return df


def require_fitting(operator: Stateful, frames: tuple[DataFrame, ...]) -> None:
    """Refuse frames that the operator cannot read."""
    if isinstance(operator, Join):
        raise Unsupported(
            "operator", "Join", "another operator on Spark",
            hint="sash.stream(left, …).join(sash.stream(right, …), within=…, where=…) joins DataFrames.",
        )  # fmt: skip
    if len(frames) != len(operator.inputs):
        expected = f"one frame for each of {len(operator.inputs)} inputs"
        raise ArgumentError("data", f"{len(frames)} frames", expected)
    for number, (own, df) in enumerate(zip(operator.inputs, frames, strict=True)):
        found = arrow_schema(df)
        for wanted in own.schema:
            if wanted.name not in found.names or found.field(wanted.name).type != wanted.type:
                expected = f"a DataFrame with the column {wanted.name}: {wanted.type}"
                raise ArgumentError(f"data[{number}]", str(found), expected)


@dataclass(frozen=True)
class OperatorStage:
    """What the elastic runtime knows of an operator, with the face of a window's `WindowStage`."""

    bound: BoundOperator
    buckets: tuple[int, ...]
    clock: Clock
    outputs: Outputs = (REPORTS,)
    operator: type[OperatorOnStream] = OperatorOnStream

    def of_bucket(self, number: int) -> BoundOperator:
        return in_stream(self.bound, in_bucket(self.bound.operator, number, len(self.buckets)))

    @property
    def columns(self) -> list[str]:
        return self.bound.columns

    @property
    def block(self) -> pa.Schema:
        return block_schema(self.bound.schema)

    @property
    def schema(self) -> pa.Schema:
        return self.bound.output

    @cached_property
    def schemas(self) -> Schemas:
        every = {REPORTS: self.schema, LATE: self.bound.late_output}
        return {output: every[output] for output in self.outputs}

    @cached_property
    def description(self) -> dict[str, Any]:
        return describe_operator(self.bound)


def sent_to_buckets(
    frames: tuple[DataFrame, ...], operator: Stateful, *, buckets: int, clock: Clock
) -> DataFrame:
    """The tuples of all inputs in blocks, each tuple once for each bucket that owns a key of it."""

    def sent(number: int, df: DataFrame) -> DataFrame:
        packer = packer_of_input(operator, number, buckets=buckets, clock=clock)
        tuples = df.select(*by_position.placed(operator.inputs[number].schema.names))
        blocks = tuples.mapInArrow(packer, PACKED)
        return blocks if len(frames) == 1 else blocks.withColumn(INPUT, F.lit(number))

    return reduce(DataFrame.unionAll, starmap(sent, enumerate(frames)))


def packer_of_input(operator: Stateful, number: int, *, buckets: int, clock: Clock) -> KeySetPacker:
    """Tuples of one input → blocks for buckets, with rows as all inputs have them in common."""
    rows = CommonRows(operator.inputs)
    names = rows.schema.names
    time = by_position.places(names)[names.index(rows.time(number))]
    packer = Packer(block_schema(rows.schema), time, tuple(range(buckets)), clock)
    return KeySetPacker(operator.keys[number], rows, number, packer)


def _static(operator: Stateful, frames: tuple[DataFrame, ...]) -> DataFrame:
    """The whole output over static DataFrames, one for each input."""
    buckets = shuffle_partitions(frames[0].sparkSession) * BUCKETS_PER_PARTITION
    rows = CommonRows(operator.inputs)

    def answer(table: pa.Table) -> pa.Table:
        bucket = table[PACKED_BUCKET][0].as_py()
        arrived = rows_of(bucket, table[PAYLOAD].to_pylist(), block_schema(rows.schema))
        arrived = arrived.drop_columns(ORDINAL).rename_columns(rows.schema.names)
        arrived = arrived.filter(rows.known(arrived))
        mine = in_bucket(operator, bucket, buckets)
        parts = rows.parts(arrived, rows.times(arrived))
        return mine.start().process(weave(mine.inputs, parts, watermark=END_OF_TIME, first=0))

    blocks = sent_to_buckets(frames, operator, buckets=buckets, clock=_clock(operator))
    return blocks.groupBy(PACKED_BUCKET).applyInArrow(answer, struct_of(operator.schema))


@dataclass(frozen=True)
class StaticOperator:
    """An operator over static DataFrames, one for each input."""

    operator: Stateful
    frames: tuple[DataFrame, ...]

    bounded: ClassVar[bool] = True

    def collect(self) -> pa.Table:
        with jobs_shown(self.frames[0].sparkSession):
            return brought(self.dataframe()).cast(self.operator.schema).sort_by(TIME)

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
        self._refuse("collect()")

    def dataframe(self) -> NoReturn:
        self._refuse("dataframe()")

    @property
    def stages(self) -> list[str]:
        return [*_SENT, "run the operator of each bucket, with its tuples in the elastic query's store"]

    def _refuse(self, call: str) -> NoReturn:
        raise Unsupported(
            "data", "a streaming DataFrame", f"bounded for {call} of an operator",
            hint="It has no end: run it with .start(sink, checkpoint=…, elastic=sash.Elastic(…)).",
        )  # fmt: skip

    def start(
        self,
        sink: Sink,
        *,
        late: Sink | None,
        checkpoint: str | PathLike[str],
        elastic: Elastic | None,
        trigger: DurationLike | None,
        name: str | None,
    ) -> ElasticQuery:
        """Run until it is stopped, with the number of tasks that the controller wants. Tuples that come too
        late go to the sink `late`, in the same pass."""
        if not isinstance(elastic, Elastic):
            raise ArgumentError("elastic", elastic, "sash.Elastic(min=…, max=…) for an operator")
        operator, clock = self.bound.operator, _clock(self.bound.operator)
        sinks = sinks_for({REPORTS: ("sink", sink), LATE: ("late", late)})
        stage = OperatorStage(self.bound, tuple(range(elastic.buckets)), clock, tuple(sinks))
        packed = sent_to_buckets(self.frames, operator, buckets=elastic.buckets, clock=clock)
        return start_elastic(
            packed, cast(WindowStage, stage), sinks,  # it has the same face
            delay=self.bound.delay, checkpoint=fspath(checkpoint), elastic=elastic, trigger=trigger,
            name=name, inputs=len(self.frames),
        )  # fmt: skip


def _clock(operator: Stateful) -> Clock:
    time = operator.inputs[0]
    return Clock.of(ticks=bool(pa.types.is_integer(time.schema.field(time.time).type)))
