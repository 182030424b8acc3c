"""Several queries over one stream on Spark, and what each has emitted in each of its batches."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from sash.operators.bound_query import BoundQuery
from sash.runtimes.spark.packing.blocks import OUTPUT, PAYLOAD, Unpacker
from sash.runtimes.spark.streaming.streaming_source import StreamingSource
from sash.runtimes.spark.together.processor import TogetherProcessor
from sash.runtimes.spark.together.stage import output_of
from sash.runtimes.spark.together.start_together import emitted, stage_of
from tests.runtimes.micro_batches import SCRATCH, stream_batches

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True)
class OnePass:
    answers: Any
    kept: list[pa.Table]
    """Of each micro-batch, what all queries have emitted."""

    @classmethod
    def of(
        cls, spark: SparkSession, batches: Sequence[pa.Table], queries: Mapping[str, BoundQuery]
    ) -> OnePass:
        source, names = StreamingSource(stream_batches(spark, batches)), list(queries)
        stage = stage_of(source, queries, late=dict.fromkeys(names, _no_sink), states={n: n for n in names})
        kept: list[pa.Table] = []
        query = (
            emitted(source, stage)
            .rows.writeStream.outputMode("append")
            .foreachBatch(lambda rows, number: kept.append(rows.toArrow()))
            .option("checkpointLocation", tempfile.mkdtemp(dir=SCRATCH.name))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        return cls(TogetherProcessor(stage).answers, kept)

    def rows(self, query: str, output: str, batches: slice) -> Iterator[dict[str, Any]]:
        """The rows of one output: those with lists come in blocks."""
        answers, name = self.answers, output_of(query, output)
        seen = pa.concat_tables(self.kept[batches])
        schema, (_, places) = answers.schemas[name], answers._columns
        mine = seen.filter(pc.equal(seen[OUTPUT], list(answers.schemas).index(name)))
        columns = [mine[f"c{place}"] for place in places[name]]
        if len(columns) == len(schema.names):
            yield from pa.table(columns, names=schema.names).to_pylist()
            return
        for rows in Unpacker(schema)(pa.table({PAYLOAD: columns[0]}).to_batches()):
            yield from rows.to_pylist()


def _no_sink(rows: DataFrame, batch: int) -> None:
    raise AssertionError("rows are read before they reach a sink")
