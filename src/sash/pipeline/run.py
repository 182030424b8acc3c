"""Running a pipeline: its streaming queries from their checkpoints on, or its static one at once.

    <checkpoint>/reports     how far the windows have come
    <checkpoint>/late        how far the late output has come, a query of its own

A run that is stopped, or killed, resumes from there when it is run again: each file, and each offset of a
topic, is in exactly one micro-batch, and each micro-batch is in the sink once, where the sink keeps a log
as Spark's files do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from threading import Event
from typing import TYPE_CHECKING

from sash.api.window_query import WindowQuery
from sash.pipeline.schema import Pipeline
from sash.pipeline.sinks import begun, written
from sash.runtimes.progress_bar import ProgressReading, shown

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

POLL = 0.2
"""Seconds between two looks at a running query."""


@dataclass(frozen=True)
class RunSummary:
    """What a run did, as its micro-batches counted."""

    batches: int
    seconds: float
    events: int
    late: int
    reports: int
    stopped: bool
    """By an interrupt, before it came to an end of its own."""


def run_batch(pipeline: Pipeline, query: WindowQuery, spark: SparkSession) -> None:
    """Compute all windows of a static source, and write them."""
    from sash.runtimes.spark.failures import in_one_sentence
    from sash.runtimes.spark.monitoring.job_progress import jobs_shown

    with in_one_sentence(), jobs_shown(spark):
        written(pipeline, pipeline.sink, query.dataframe())
        if pipeline.late is not None:
            written(pipeline, pipeline.late, query.late().dataframe())


def run_stream(pipeline: Pipeline, query: WindowQuery, spark: SparkSession, *, stop: Event) -> RunSummary:
    """Run until the trigger's end, or until `stop` is set; QueryFailed when the run fails."""
    from sash.runtimes.spark.failures import in_one_sentence
    from sash.runtimes.spark.monitoring.job_progress import BatchesSeen, TasksOfBatch

    running: list[StreamingQuery] = []
    try:
        with in_one_sentence():
            for one in _started(pipeline, query):
                running.append(one)  # one by one: the first is stopped when the second cannot begin
            seen = BatchesSeen(running[0])
            bar = TasksOfBatch(spark, running[0], seen) if pipeline.run.trigger.bounded else seen
            stopped = _awaited(running, bar.read, title=pipeline.name, stop=stop)
    finally:
        for one in running:
            one.stop()
    seen.read()
    counts = {name: seen.counts.get(name, 0) for name in ("events", "late", "reports")}
    return RunSummary(seen.batches, seen.seconds, **counts, stopped=stopped)


def _started(pipeline: Pipeline, query: WindowQuery) -> Iterator[StreamingQuery]:
    root = pipeline.located(pipeline.run.checkpoint) if pipeline.run.checkpoint else ""
    outputs = [("reports", pipeline.name, pipeline.sink, query.dataframe)]
    if pipeline.late is not None:
        outputs.append(("late", f"{pipeline.name}_late", pipeline.late, query.late().dataframe))
    for part, name, sink, rows in outputs:
        yield begun(pipeline, sink, rows(), name=name, checkpoint=root and f"{root}/{part}")


def _awaited(
    running: list[StreamingQuery], read: Callable[[], ProgressReading], *, title: str, stop: Event
) -> bool:
    """False once all have ended, True when `stop` was set; QueryFailed when one has failed, which
    ends the others too."""
    from sash.runtimes.spark.failures import require_well

    latest = ProgressReading(None)
    with shown(title, lambda: latest, after=0.0, keep=True):
        while any(one.isActive for one in running):
            if stop.wait(POLL):
                return True
            # Read here and shown there: what is counted has one reader.
            latest = read()
            require_well(running)
        latest = ProgressReading(1.0, latest.words)
    require_well(running)
    return False
