"""A program for test_kafka_kills.py: windows over a topic, a few records a micro-batch.

    python -m tests.kafka.run_topic <broker> <topic> <topic of the windows> <checkpoint>

Killed at any moment and started again with the same arguments, it goes on from the checkpoint.
"""

from __future__ import annotations

import sys

import sash
from tests.kafka.broker import connector
from tests.kafka.windows import start


def main(broker: str, topic: str, out: str, checkpoint: str) -> None:
    spark = sash.spark_session(
        master="local[1]", app="topic to be killed", spark_sql_shuffle_partitions="2", **connector()
    )
    spark.sparkContext.setLogLevel("OFF")
    records = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", broker)
        .option("subscribe", topic)
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", 40)
        .load()
    )
    start(broker, records, out, checkpoint).awaitTermination()


if __name__ == "__main__":
    main(*sys.argv[1:])
