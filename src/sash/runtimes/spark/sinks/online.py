"""A sink whose rows are also published by key, to be read at request time.

The driver notes each batch before its rows and after them; the tasks that hold the rows publish them, each
key in one of them. A batch that is executed again adds nothing twice (see `serving.publisher`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from os import PathLike, fspath

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession, functions as F

from sash.errors import SettingError, Unsupported
from sash.operators.bound_query import BoundQuery
from sash.runtimes.spark.compat import is_connect
from sash.runtimes.spark.hadoop_folder import HadoopFolder
from sash.runtimes.spark.packing.columns import quoted
from sash.runtimes.spark.sinks.protocol import BatchSink, Reads
from sash.runtimes.spark.sinks.wrapped_sinks import WrappedSink
from sash.runtimes.spark.state.arenas import QUERY_ID
from sash.runtimes.spark.state.checkpoint_label import CheckpointLabel
from sash.serving.publisher import Published, Publisher


@dataclass(frozen=True)
class OnlineSink(WrappedSink):
    """A sink, and the features of what it is given."""

    publisher: Publisher
    checkpoint: str

    reads = Reads.KEPT
    """Its rows are read twice."""

    def has(self, spark: SparkSession, batch: int) -> bool:
        owner = str(spark.sparkContext.getLocalProperty(QUERY_ID))
        label = bytes(CheckpointLabel.here(self.checkpoint, query=owner))
        published = self.publisher.begin(batch, owner=owner, label=label)
        return published and self.sink.has(spark, batch)

    def write(self, rows: DataFrame, batch: int) -> None:
        if not self.sink.has(rows.sparkSession, batch):
            self.sink.write(rows, batch)
        if self.publisher.progress().done >= batch:
            return
        part = PublishPart(self.publisher, batch)
        columns = [quoted(name) for name in self.publisher.columns]
        parts = rows.select(*columns).mapInArrow(part, "keys long, newest long")
        ((keys, newest),) = parts.agg(F.sum("keys"), F.max("newest")).collect()
        self.publisher.done(batch, Published(keys, newest))

    def skip(self, batch: int) -> None:
        if self.publisher.progress().done < batch:
            self.publisher.done(batch)


@dataclass(frozen=True)
class PublishPart:
    """What a task does with its rows of a batch."""

    publisher: Publisher
    batch: int

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        held = list(batches)
        done = self.publisher.publish(pa.Table.from_batches(held), self.batch) if held else Published()
        yield pa.RecordBatch.from_pylist([asdict(done)])


def publishing(
    sink: BatchSink, bound: BoundQuery, store: str | PathLike[str], spark: SparkSession,
    *, checkpoint: str, pattern: object | None,
) -> OnlineSink:  # fmt: skip
    """The same sink, whose rows are published too, with the name of the checkpoint."""
    _require_publishable(spark, fspath(store), pattern=pattern)
    return OnlineSink(sink, Publisher.of(bound, store), HadoopFolder(spark, checkpoint).url)


def _require_publishable(spark: SparkSession, store: str, *, pattern: object | None) -> None:
    """Refuse where the tasks could not write, or where several would write one key."""
    if is_connect(spark):
        raise Unsupported(
            "online", store, "left out on Spark Connect", hint="Its driver is not this process."
        )
    if pattern is not None:
        raise Unsupported(
            "online", store, f"left out under {pattern}",
            hint="Under a pattern several tasks emit rows of one key.",
        )  # fmt: skip
    if spark.sparkContext.getConf().get("spark.speculation") == "true":
        raise SettingError(
            "spark.speculation", "true", "'false' for a query with online=…",
            hint="Two tasks would write the tree of one key at the same time.",
        )  # fmt: skip
    if "://" not in store and not str(spark.sparkContext.master).startswith("local"):
        raise Unsupported(
            "online", store, "a Redis server where Spark runs on several hosts",
            hint="A folder of LMDB is one host's: online='redis://host:port/0'.",
        )  # fmt: skip
