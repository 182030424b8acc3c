"""Spark Structured Streaming's own windows: one file per micro-batch, append mode.

The rows of one micro-batch are a table without an order, so they are taken by the start of their window.
Several queries run side by side: a micro-batch of one event is mostly waiting.
"""

from __future__ import annotations

import json
import logging
import os
import tempfile
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sash.engines.probe_run import Content, ProbeRun, Seen

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

SIDE_BY_SIDE = 4
SETTINGS = {"spark.sql.shuffle.partitions": "1", "spark.sql.session.timeZone": "UTC"}


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
            return list(pool.map(self._one, runs))

    def window_starts(self) -> list[int]:
        from pyspark.sql import functions as F

        folder = Path(tempfile.mkdtemp(dir=self._scratch.name))
        write_batches(folder / "events", ProbeRun(times=(0, 0, 0), size=1))
        reader = self._session.readStream.schema("i INT").option("maxFilesPerTrigger", 1)
        clocked = reader.json(str(folder / "events")).groupBy(F.window(F.current_timestamp(), "1 second"))
        starts: set[int] = set()
        query = (
            clocked.count().select(F.unix_millis("window.start").alias("start"))
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

    def _one(self, run: ProbeRun) -> Seen:
        from pyspark.errors import AnalysisException

        folder = Path(tempfile.mkdtemp(dir=self._scratch.name))
        write_batches(folder / "events", run)
        try:
            windows = windowed(self._session, folder / "events", run)
        except AnalysisException as refusal:
            return Seen(refused=str(refusal).splitlines()[0])
        reports: list[Content] = []
        query = (
            windows.writeStream.outputMode("append")
            .foreachBatch(lambda batch, _: reports.extend(_contents(batch.collect())))
            .option("checkpointLocation", str(folder / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        return Seen(reports=tuple(reports))


def write_batches(folder: Path, run: ProbeRun) -> None:
    """One file for each group of events that arrive together, in their order of modification."""
    folder.mkdir()
    for number, group in enumerate(run.groups()):
        path = folder / f"{number:04}.json"
        rows = ({"i": i, "t": run.times[i], "key": run.key(i)} for i in group)
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        os.utime(path, (1_000_000_000 + number, 1_000_000_000 + number))


def windowed(session: SparkSession, folder: Path, run: ProbeRun) -> DataFrame:
    """The windows of a run over the files of a folder: (start, held)."""
    from pyspark.sql import functions as F

    reader = session.readStream.schema("i INT, t LONG, key STRING").option("maxFilesPerTrigger", 1)
    events = reader.json(str(folder)).withColumn("time", F.timestamp_seconds("t"))
    keyed = events.withWatermark("time", f"{run.delay} seconds")
    grouped = keyed.groupBy("key", _window(run).alias("w"))
    return grouped.agg(F.sort_array(F.collect_list("i")).alias("held")).select("w.start", "held")


def _window(run: ProbeRun) -> Column:
    from pyspark.sql import functions as F

    if run.kind == "session":
        return F.session_window("time", f"{run.size} seconds")
    return F.window("time", f"{run.size} seconds", f"{run.slide} seconds")


def _contents(rows: Iterable[Any]) -> list[Content]:
    return [tuple(row["held"]) for row in sorted(rows, key=lambda row: row["start"])]
