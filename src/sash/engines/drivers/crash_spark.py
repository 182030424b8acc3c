"""Kill Spark and start it again: `python crash_spark.py folder file|plain`, where PySpark is installed.

Tumbling windows of 3 over the times 10 … 19, one file per micro-batch, with a checkpoint. The first start
kills the JVM and itself in the micro-batch that shows the second window, after it was written and before
Spark has noted that; the second resumes from the checkpoint, and ends. Windows go to `folder/out`, one line
each: as a reader of Spark's file sink sees them, or from foreachBatch, which appends.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession, functions as F


def main(folder: Path, sink: str) -> None:
    first = not (folder / "checkpoint").exists()
    if first:
        (folder / "events").mkdir()
        for index in range(10):
            path = folder / "events" / f"{index:04}.json"
            path.write_text(json.dumps({"i": index, "t": 10 + index}) + "\n")
            os.utime(path, (1_000_000_000 + index, 1_000_000_000 + index))
    builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    spark = builder.config("spark.sql.shuffle.partitions", "1").getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    write = windows(spark, folder / "events").writeStream.outputMode("append").trigger(availableNow=True)
    write = write.option("checkpointLocation", str(folder / "checkpoint"))
    if sink == "plain":
        write.foreachBatch(appending(spark, folder / "out", first)).start().awaitTermination()
        return
    files = folder / "files"
    if first:
        threading.Thread(target=kill_after, args=(spark, files / "_spark_metadata"), daemon=True).start()
    write.format("json").option("path", str(files)).start().awaitTermination()
    shown = spark.read.schema("held ARRAY<INT>").json(str(files)).collect()
    (folder / "out").write_text("".join(json.dumps(row.held) + "\n" for row in shown))


def windows(spark: SparkSession, events: Path) -> DataFrame:
    read = spark.readStream.schema("i INT, t LONG").option("maxFilesPerTrigger", 1).json(str(events))
    timed = read.withColumn("time", F.timestamp_seconds("t")).withWatermark("time", "0 seconds")
    held = timed.groupBy(F.window("time", "3 seconds")).agg(F.sort_array(F.collect_list("i")).alias("held"))
    return held.select("held")


def appending(spark: SparkSession, out: Path, armed: bool) -> Any:
    def append(batch: DataFrame, number: int) -> None:
        shown = [row.held for row in batch.collect()]
        with out.open("a") as file:
            file.writelines(json.dumps(held) + "\n" for held in shown)
        if armed and any(2 in held for held in shown):
            kill(spark)

    return append


def kill_after(spark: SparkSession, log: Path) -> None:
    """Kill once the sink has noted the files of a micro-batch in which the second window can be."""
    while not (log / "6").exists():
        time.sleep(0.001)
    kill(spark)


def kill(spark: SparkSession) -> None:
    gateway: Any = spark.sparkContext._gateway
    os.kill(gateway.proc.pid, signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
