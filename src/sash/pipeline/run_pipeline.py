"""Running a pipeline: its streaming queries from their checkpoint on, or its static ones at once.

A run that is stopped, or killed, resumes from its checkpoint when it is run again: each file, and each
offset of a topic, is in exactly one micro-batch, and each micro-batch is in the sinks once, where a sink
knows which it has. Reports and late rows of all queries come out of one pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Event
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from sash.api.together import together
from sash.api.window_query import WindowQuery
from sash.operators.arena.owned_folders import owned_folder
from sash.pipeline.schema import Pipeline
from sash.pipeline.sinks import batch_sink, require_no_output, written
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
    counts: Mapping[str, Mapping[str, int]]
    """Of each query, by name."""
    stopped: bool
    """By an interrupt, before it came to an end of its own."""


Queries: TypeAlias = Mapping[str, WindowQuery]
"""Those of a pipeline, by name."""


def run_batch(pipeline: Pipeline, queries: Queries, spark: SparkSession) -> None:
    """Compute all windows of a static source, and write them, query by query."""
    from sash.runtimes.spark.failures import in_one_sentence
    from sash.runtimes.spark.monitoring.job_progress import jobs_shown

    require_no_output(pipeline, spark=spark)
    with in_one_sentence(), jobs_shown(spark, lines=True):
        for declared in pipeline.queries:
            query, keys = queries[declared.name], declared.stream.key
            written(pipeline, declared.sink, query.dataframe(), keys=keys)
            if declared.late is not None:
                written(pipeline, declared.late, query.late().dataframe(), keys=keys)


def run_stream(pipeline: Pipeline, queries: Queries, spark: SparkSession, *, stop: Event) -> RunSummary:
    """Run until the trigger's end, or until `stop` is set; QueryFailed when the run fails."""
    from sash.runtimes.spark.failures import in_one_sentence
    from sash.runtimes.spark.monitoring.job_progress import BatchesSeen, TasksOfBatch

    with in_one_sentence(), _checkpoint(pipeline) as checkpoint:
        running = _started(pipeline, queries, spark, checkpoint)
        try:
            seen = BatchesSeen(running)
            bar = TasksOfBatch(spark, running, seen) if pipeline.run.trigger.bounded else seen
            stopped = _awaited(running, bar.read, title=pipeline.name, stop=stop)
        finally:
            running.stop()
    seen.read()
    none = dict.fromkeys(("events", "late", "reports"), 0)
    counts = {name: none | seen.by_query.get(name, {}) for name in queries}
    return RunSummary(seen.batches, seen.seconds, counts, stopped=stopped)


def _started(pipeline: Pipeline, queries: Queries, spark: SparkSession, checkpoint: str) -> StreamingQuery:
    sinks: dict[str, dict[str, BatchSink]] = {"sink": {}, "late": {}}
    for declared in pipeline.queries:
        for table, sink in declared.sinks.items():
            name = pipeline.name_of(declared) + ("_late" if table == "late" else "")
            made = batch_sink(pipeline, sink, spark, name=name, keys=declared.stream.key)
            sinks[table][declared.name] = made
    how: dict[str, Any] = {
        "checkpoint": checkpoint, "trigger": pipeline.run.trigger.given, "name": pipeline.name,
    }  # fmt: skip
    stores = {
        declared.name: pipeline.located(declared.query.online)
        for declared in pipeline.queries
        if declared.query.online
    }
    if pipeline.together:
        every = together(**queries).start(sinks["sink"], late=sinks["late"], online=stores, **how)
        return cast("StreamingQuery", every)
    ((name, query),) = queries.items()
    own: dict[str, Any] = {"late": sinks["late"].get(name), "online": stores.get(name)}
    return cast("StreamingQuery", query.start(sinks["sink"][name], **own, **how))


@contextmanager
def _checkpoint(pipeline: Pipeline) -> Iterator[str]:
    """The folder that a run resumes from; one that goes with the run, where it cannot be resumed."""
    if pipeline.run.checkpoint:
        yield pipeline.located(pipeline.run.checkpoint)
    else:
        with owned_folder("sash-run-") as folder:
            yield str(folder / "checkpoint")


def _awaited(
    running: StreamingQuery, read: Callable[[], ProgressReading], *, title: str, stop: Event
) -> bool:
    """False once it has ended, True when `stop` was set; QueryFailed when it has failed."""
    from sash.runtimes.spark.failures import require_well

    latest = ProgressReading(None)
    with shown(title, lambda: latest, after=0.0, keep=True, lines=True):
        while running.isActive:
            if stop.wait(POLL):
                return True
            # Read here and shown there: what is counted has one reader.
            latest = read()
            require_well([running])
        latest = ProgressReading(1.0, latest.words)
    require_well([running])
    return False
