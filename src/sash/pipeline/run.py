"""Running a pipeline: its streaming query from its checkpoint on, or its static one at once.

A run that is stopped, or killed, resumes from its checkpoint when it is run again: each file, and each
offset of a topic, is in exactly one micro-batch, and each micro-batch is in the sinks once, where a sink
can tell which it has. Reports and late rows come out of one pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from tempfile import TemporaryDirectory
from threading import Event
from typing import TYPE_CHECKING

from sash.api.window_query import WindowQuery
from sash.pipeline.schema import Pipeline
from sash.pipeline.sinks import batch_sink, written
from sash.runtimes.progress_bar import ProgressReading, shown

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from sash.runtimes.spark.sinks.protocol import BatchSink

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

    with in_one_sentence(), _checkpoint(pipeline) as checkpoint:
        running = query.start(
            batch_sink(pipeline, pipeline.sink, spark, name=pipeline.name),
            late=_late_sink(pipeline, spark),
            checkpoint=checkpoint,
            trigger=pipeline.run.trigger.given,
            name=pipeline.name,
        )
        try:
            seen = BatchesSeen(running)
            bar = TasksOfBatch(spark, running, seen) if pipeline.run.trigger.bounded else seen
            stopped = _awaited(running, bar.read, title=pipeline.name, stop=stop)
        finally:
            running.stop()
    seen.read()
    counts = {name: seen.counts.get(name, 0) for name in ("events", "late", "reports")}
    return RunSummary(seen.batches, seen.seconds, **counts, stopped=stopped)


def _late_sink(pipeline: Pipeline, spark: SparkSession) -> BatchSink | None:
    if pipeline.late is None:
        return None
    return batch_sink(pipeline, pipeline.late, spark, name=f"{pipeline.name}_late")


@contextmanager
def _checkpoint(pipeline: Pipeline) -> Iterator[str]:
    """The folder that a run resumes from; one that goes with the run, where it cannot be resumed."""
    if pipeline.run.checkpoint:
        yield pipeline.located(pipeline.run.checkpoint)
    else:
        with TemporaryDirectory(prefix="sash-run-", ignore_cleanup_errors=True) as folder:
            yield folder


def _awaited(
    running: StreamingQuery, read: Callable[[], ProgressReading], *, title: str, stop: Event
) -> bool:
    """False once it has ended, True when `stop` was set; QueryFailed when it has failed."""
    from sash.runtimes.spark.failures import require_well

    latest = ProgressReading(None)
    with shown(title, lambda: latest, after=0.0, keep=True):
        while running.isActive:
            if stop.wait(POLL):
                return True
            # Read here and shown there: what is counted has one reader.
            latest = read()
            require_well([running])
        latest = ProgressReading(1.0, latest.words)
    require_well([running])
    return False
