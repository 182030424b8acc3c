"""Spark Structured Streaming's own windows: one file per micro-batch, append mode.

    events of all runs, and a clock  →  withWatermark  →  groupBy, for runs with equal windows  →  union

The rows of one micro-batch are a table without an order, so they are taken by the start of their window.
Runs whose watermarks are the same after every batch share a query: a row of no run, ahead of all events,
moves its watermark. Several queries run side by side: a micro-batch of a few events is mostly waiting.
"""

from __future__ import annotations

import json
import logging
import os
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sash.engines.probe_run import EventNumbers, ProbeRun, Seen
from sash.engines.random_runs import families

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

SIDE_BY_SIDE = 4
SETTINGS = {
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.session.timeZone": "UTC",
    # A handful of rows is not worth the compiler.
    "spark.sql.codegen.wholeStage": "false",
}
CLOCK = -1
"""The number of the rows that move the watermark."""


class SparkStructured:
    """`F.window` and `F.session_window` with a watermark, on a session of one's own or a given one."""

    name = "spark_structured"
    kinds = frozenset({"time", "session"})

    def __init__(self, session: SparkSession | None = None) -> None:
        from sash.runtimes.spark.session import spark_session

        self._owned = None if session else spark_session(master="local[2]", app="sash probe")
        # Refusals are findings here, not errors for the log.
        self._logger = logging.getLogger("DataFrameQueryContextLogger")
        self._level = self._logger.level
        self._logger.setLevel(logging.CRITICAL)
        if self._owned is not None:
            self._owned.sparkContext.setLogLevel("OFF")
        self._session = (session or self._owned).newSession()  # type: ignore[union-attr]
        for name, value in SETTINGS.items():
            self._session.conf.set(name, value)
        # Spark tidies its checkpoints up in the background, also while they are removed.
        self._scratch = tempfile.TemporaryDirectory(prefix="sash-probe-", ignore_cleanup_errors=True)
        self.version = self._session.version

    def answer(self, runs: Sequence[ProbeRun]) -> list[Seen]:
        with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
            return [seen for some in pool.map(self._shared, families(runs)) for seen in some]

    def window_starts(self) -> list[int]:
        from pyspark.sql import functions as F

        folder = Path(tempfile.mkdtemp(dir=self._scratch.name))
        write_batches(folder / "events", [ProbeRun(times=(0, 0, 0), size=1)])
        clocked = read(self._session, folder / "events").where(F.col("run") != CLOCK)
        counted = clocked.groupBy(F.window(F.current_timestamp(), "1 second")).count()
        starts: set[int] = set()
        query = (
            counted.select(F.unix_millis("window.start").alias("start"))
            .writeStream.outputMode("complete")
            .foreachBatch(lambda batch, _: starts.update(row["start"] for row in batch.collect()))
            .option("checkpointLocation", str(folder / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )  # fmt: skip
        query.awaitTermination()
        return sorted(starts)

    def close(self) -> None:
        self._logger.setLevel(self._level)
        if self._owned is not None:
            self._owned.stop()
        self._scratch.cleanup()

    def _shared(self, runs: Sequence[ProbeRun]) -> list[Seen]:
        """What one query shows of runs with the same watermarks."""
        from pyspark.errors import AnalysisException

        folder = Path(tempfile.mkdtemp(dir=self._scratch.name))
        delay = write_batches(folder / "events", runs)
        events = read(self._session, folder / "events").withWatermark("time", f"{delay} seconds")
        alike: dict[tuple[str, int, int], list[int]] = {}
        for number, run in enumerate(runs):
            alike.setdefault((run.kind, run.size, run.slide), []).append(number)
        windows: list[DataFrame] = []
        refused: dict[int, Seen] = {}
        for numbers in alike.values():
            try:
                windows.append(windowed(events, numbers, runs[numbers[0]]))
            except AnalysisException as refusal:
                seen = Seen(refused=str(refusal).splitlines()[0])
                refused.update(dict.fromkeys(numbers, seen))
        reports: list[list[EventNumbers]] = [[] for _ in runs]
        if windows:
            self._run(reduce(lambda one, other: one.union(other), windows), folder / "checkpoint", reports)
        return [
            refused.get(number, Seen(reports=tuple(contents))) for number, contents in enumerate(reports)
        ]

    def _run(self, windows: DataFrame, checkpoint: Path, reports: list[list[EventNumbers]]) -> None:
        def add(batch: DataFrame, _: int) -> None:
            for row in sorted(batch.collect(), key=lambda row: row["start"]):
                reports[row["run"]].append(tuple(row["held"]))

        query = (
            windows.writeStream.outputMode("append")
            .foreachBatch(add)
            .option("checkpointLocation", str(checkpoint))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()


def write_batches(folder: Path, runs: Sequence[ProbeRun]) -> int:
    """One file for each group of events that arrive together, in their order of modification; how far the
    watermark stays behind the clock, which is ahead of all events."""
    folder.mkdir()
    delay = max(run.delay for run in runs)
    groups = zip(*(run.groups() for run in runs), strict=True)
    for batch, (watermark, arrived) in enumerate(zip(runs[0].watermarks(), groups, strict=True)):
        rows: list[dict[str, Any]] = [{"run": CLOCK, "t": watermark + delay}]
        for number, (run, group) in enumerate(zip(runs, arrived, strict=True)):
            rows += [{"run": number, "i": i, "t": run.times[i], "key": run.key(i)} for i in group]
        path = folder / f"{batch:04}.json"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        os.utime(path, (1_000_000_000 + batch, 1_000_000_000 + batch))
    return delay


def read(session: SparkSession, folder: Path) -> DataFrame:
    """The files of a folder as a stream."""
    from pyspark.sql import functions as F

    reader = session.readStream.schema("run INT, i INT, t LONG, key STRING").option("maxFilesPerTrigger", 1)
    return reader.json(str(folder)).withColumn("time", F.timestamp_seconds("t"))


def windowed(events: DataFrame, numbers: Sequence[int], run: ProbeRun) -> DataFrame:
    """The windows of runs that are like `run`: (run, start, held)."""
    from pyspark.sql import functions as F

    # A condition without the time would be moved ahead of the watermark, which would then miss the clock.
    own = events.where(F.col("run").isin(list(numbers)) | F.col("time").isNull())
    grouped = own.groupBy("run", "key", _window(run).alias("w"))
    held = F.sort_array(F.collect_list("i")).alias("held")
    return grouped.agg(held).select("run", "w.start", "held")


def _window(run: ProbeRun) -> Column:
    from pyspark.sql import functions as F

    if run.kind == "session":
        return F.session_window("time", f"{run.size} seconds")
    return F.window("time", f"{run.size} seconds", f"{run.slide} seconds")
