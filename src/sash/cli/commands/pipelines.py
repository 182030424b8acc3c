"""`sash run`, `sash explain` and `sash check`: a pipeline file on Spark."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from sash.api.window_query import WindowQuery
from sash.cli.interrupts import interrupts
from sash.cli.spark_session import spark_session
from sash.pipeline import Pipeline, read
from sash.pipeline.binding import bound
from sash.pipeline.run import RunSummary, run_batch, run_stream

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

INTERRUPTED = 130
"""The exit code of a run that was stopped before its end, as shells have it."""
SHOWN = 20
"""Rows of the memory sink, which would be gone otherwise."""


def run(file: Path, *, debug: bool) -> int:
    """Run until the pipeline's own end, or until it is stopped; the exit code."""
    with _bound(file, debug=debug) as (pipeline, query, spark):
        if not pipeline.streaming:
            run_batch(pipeline, query, spark)
            print(f"{pipeline.name}: done; {_sink(pipeline)}")
            return 0
        with interrupts() as stop:
            outcome = run_stream(pipeline, query, spark, stop=stop)
        if pipeline.sink.format == "memory" and spark.catalog.tableExists(pipeline.name):
            spark.table(pipeline.name).show(SHOWN, truncate=False)
    print(_summary(pipeline, outcome))
    return INTERRUPTED if outcome.stopped and pipeline.run.trigger.bounded else 0


def explain(file: Path, *, as_json: bool, debug: bool) -> None:
    """Print the plan of the pipeline's query."""
    with _bound(file, debug=debug) as (_, query, _):
        if as_json:
            print(query.explain("json"))
        else:
            query.explain()


def check(file: Path, *, debug: bool) -> None:
    """Bind the query to its source, build what Spark would run, and print the columns."""
    from sash.runtimes.spark.failures import in_one_sentence

    with _bound(file, debug=debug) as (pipeline, query, _):
        with in_one_sentence():
            query.dataframe()
        columns = ", ".join(f"{field.name} {field.type}" for field in query.bound.output)
        print(f"{file}: nothing is wrong; it would write {_sink(pipeline)} with the columns {columns}")


@contextmanager
def _bound(file: Path, *, debug: bool) -> Iterator[tuple[Pipeline, WindowQuery, SparkSession]]:
    pipeline = read(file)
    with spark_session(app=f"sash {pipeline.name}", debug=debug, settings=pipeline.spark) as spark:
        yield pipeline, bound(pipeline, spark), spark


def _sink(pipeline: Pipeline) -> str:
    sink = pipeline.sink
    return " ".join(filter(None, (sink.format, sink.path or sink.table or sink.options.get("topic", ""))))


def _summary(pipeline: Pipeline, outcome: RunSummary) -> str:
    counts = (
        f"{pipeline.name}: {outcome.events:,} events in {outcome.batches:,} "
        f"batch{'es' * (outcome.batches != 1)} and "
        f"{outcome.seconds:.1f} s; {outcome.reports:,} reports, {outcome.late:,} late"
    )
    state = "stopped" if outcome.stopped else "done"
    if not pipeline.run.checkpoint:
        return f"{counts}; {state}"
    return f"{counts}; {state}: it can be resumed from {pipeline.run.checkpoint}: run it again"
