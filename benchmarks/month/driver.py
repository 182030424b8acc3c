"""One life of the driver: python -m benchmarks.month.driver HOME KEYS DAYS HOURS FROM TO [killed]

Each step puts the files of some hours into the folder, waits until both streams have taken them, and
measures what there is then. A life that is `killed` ends with SIGKILL while the streams work on its last
files.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

import sash
from benchmarks.month import measuring, queries
from benchmarks.month.events import BEGIN, HOUR, Month

SPARK = {
    # What Spark keeps by number of batches or by the clock, it keeps for days of such a month: less of it.
    "spark.sql.streaming.minBatchesToRetain": "5",
    "spark.sql.streaming.fileSource.log.cleanupDelay": "20s",
    "spark.sql.streaming.stateStore.maintenanceInterval": "5s",
    "spark.sql.streaming.numRecentProgressUpdates": "5",
    "spark.ui.retainedJobs": "20",
    "spark.ui.retainedStages": "20",
    "spark.ui.retainedTasks": "100",
    "spark.sql.ui.retainedExecutions": "20",
    # The folder of each step stays, empty (see _retire): from 33 on, Spark would list them with a job.
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "1000",
    # The heap is there from the beginning, so that what grows is not heap.
    "spark.driver.extraJavaOptions": f"-Xms{measuring.HEAP >> 20}m -XX:+AlwaysPreTouch",
    # A life may be killed before its first batch is planned.
    "spark.sql.streaming.verifyCheckpointDirectoryEmptyOnStart": "false",
}
KEPT = 12
"""Hours after which files that have been read are removed, and batches of each sink that are left."""


def live(home: Path, month: Month, hours: int, begin: int, end: int, *, killed: bool) -> None:
    spark = sash.spark_session(
        master="local[2,4]", app="a month", spark_sql_shuffle_partitions="2",
        spark_driver_memory=f"{measuring.HEAP >> 20}m", spark_local_dir=str(home / "scratch"), **SPARK,
    )  # fmt: skip
    running = queries.start(spark, home)
    with (home / "measures.jsonl").open("a") as book:
        for number, step in enumerate(range(begin, end, hours)):
            until = min(step + hours, end)
            rows = _put(home / "files", month, step, until)
            if killed and until == end:
                time.sleep(1.0)
                os.killpg(0, signal.SIGKILL)
            began, worked = time.monotonic(), measuring.processes(os.getpid())["CPU"]
            for query in running:
                query.processAllAvailable()
            measured: dict[str, Any] = {
                "hour": until, "rows": rows, "seconds": time.monotonic() - began,
                **measuring.processes(os.getpid()), **measuring.folders(home), **_progress(running),
                **measuring.outside_of_the_heap(spark),
            }  # fmt: skip
            measured["CPU seconds"] = measured.pop("CPU") - worked
            if number % max(1, 6 // hours) == 0:
                measured["JVM heap MB"] = measuring.heap(spark)
            book.write(json.dumps(measured) + "\n")
            book.flush()
            _retire(home, step - KEPT)
    for query in running:
        query.stop()
    spark.stop()


def _put(folder: Path, month: Month, begin: int, end: int) -> int:
    """The files of some hours, all at once, and once: a life before this one may have done it, and died."""
    rows, place = 0, folder / f"{begin:05}"
    hidden = folder / f".{begin:05}"
    shutil.rmtree(hidden, ignore_errors=True)
    hidden.mkdir()
    for hour in range(begin, end):
        for partition, table in enumerate(month.tables(hour)):
            rows += table.num_rows
            path = hidden / f"{hour:05}-{partition}.parquet"
            pq.write_table(table, path)
            # Spark remembers files by the time of their last change, for a week of it.
            at = (BEGIN + (hour + 1) * HOUR) // 1_000_000
            os.utime(path, (at, at))
    if place.exists():
        shutil.rmtree(hidden)
    else:
        hidden.rename(place)
    return rows


def _progress(running: list[Any]) -> dict[str, float]:
    found: dict[str, float] = {}
    for name, query in zip(("together", "elastic"), running, strict=True):
        progress = query.lastProgress
        if progress is None:
            continue
        found[f"{name} batch"] = progress.batchId
        found[f"{name} seconds"] = progress.durationMs.get("triggerExecution", 0) / 1e3
        for operator in progress.stateOperators:
            found["state rows"] = operator.numRowsTotal
            found["state memory MB"] = operator.memoryUsedBytes / measuring.MEGABYTE
    return found


def _retire(home: Path, hour: int) -> None:
    """Retention, which is not the queries' task: files of hours before, and all but the last batches."""
    for path in (home / "files").glob("[0-9]*"):
        if int(path.name) < hour:
            for file in path.iterdir():  # not the folder: a query may be about to list it
                file.unlink()
    for sink in (home / "sinks").glob("*"):
        for old in sorted(sink.glob("batch=*"), key=lambda each: int(each.name[6:]))[:-KEPT]:
            shutil.rmtree(old)


if __name__ == "__main__":
    where, keys, days, *numbers = sys.argv[1:7]
    live(Path(where), Month(int(keys), int(days)), *map(int, numbers), killed=sys.argv[7:] == ["killed"])
