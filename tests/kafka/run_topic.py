"""A program for test_kafka_kills.py: windows over a topic, a few records a micro-batch.

    python run_topic.py <broker> <topic> <topic of the windows> <checkpoint> <how> [<master> <archive>]

Killed at any moment and started again with the same arguments, it goes on from the checkpoint. `how` is one
of `STARTS`. With a master it runs on that cluster, whose executors get Sash in the archive.
"""

from __future__ import annotations

import sys
import time

from pyspark.errors import StreamingQueryException

import sash
from tests.kafka.broker import connector
from tests.kafka.windows import STARTS

ATTEMPTS = 20


def main(
    broker: str,
    topic: str,
    out: str,
    checkpoint: str,
    how: str,
    master: str = "local[1]",
    archive: str = "",
) -> None:
    cluster = {
        "spark_submit_pyFiles": archive, "spark_executor_memory": "600m", "spark_executor_cores": "1",
        "spark_cores_max": "2", "spark_locality_wait": "0s",
    }  # fmt: skip
    spark = sash.spark_session(
        master=master, app="topic to be killed", spark_sql_shuffle_partitions="2",
        **connector(), **(cluster if archive else {}),
    )  # fmt: skip
    spark.sparkContext.setLogLevel("OFF")
    records = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", broker)
        .option("subscribe", topic)
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", 40)
        .load()
    )
    for attempt in range(ATTEMPTS):
        try:
            STARTS[how](broker, records, out, checkpoint).awaitTermination()
            return
        except StreamingQueryException as failed:
            # A batch that lost its broker, or executors too often: it goes on from its checkpoint.
            print(f"attempt {attempt}: {failed}", flush=True)
            time.sleep(1)
    raise SystemExit("it failed too often")


if __name__ == "__main__":
    main(*sys.argv[1:])
