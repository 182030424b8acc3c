"""A Kafka topic as a sink: at least once, each message with the number of its batch.

Kafka has no transactions that would include Spark's checkpoint. A batch that is executed again is sent
again; its messages have the same header `sash-batch`, by which a consumer can leave them out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pyspark.sql import DataFrame, SparkSession, functions as F

from sash.runtimes.spark.sinks.protocol import Reads
from sash.runtimes.spark.sinks.wrapped_sinks import messages

HEADER, SERVERS = "sash-batch", "kafka.bootstrap.servers"


@dataclass(frozen=True)
class KafkaSink:
    """Rows as JSON."""

    topic: str
    servers: str
    keys: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)

    reads = Reads.ONCE
    identity = ()
    adds = ()

    @classmethod
    def with_options(cls, options: Mapping[str, str], *, keys: tuple[str, ...]) -> KafkaSink:
        """From the options of Spark's own sink, which name topic and servers too."""
        return cls(options["topic"], options[SERVERS], keys, options)

    def has(self, spark: SparkSession, batch: int) -> bool:
        return False

    def write(self, rows: DataFrame, batch: int) -> None:
        header = F.struct(F.lit(HEADER).alias("key"), F.lit(str(batch)).cast("binary").alias("value"))
        keys = [key for key in self.keys if key in rows.columns]
        sent = messages(rows, keys).withColumn("headers", F.array(header))
        given = {SERVERS: self.servers, "topic": self.topic, "includeHeaders": "true"}
        sent.write.format("kafka").options(**{**self.options, **given}).save()
