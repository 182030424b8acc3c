"""`sash run`, `sash explain` and `sash check`: a pipeline file on Spark.

Their options are declared in `cli/main.py`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from sash.api.together import Together, together
from sash.api.window_query import WindowQuery
from sash.cli.spark_session import spark_session
from sash.pipeline import Pipeline, read
from sash.pipeline.binding import bound, bound_to
from sash.pipeline.run_pipeline import Queries, RunSummary, run_batch, run_stream
from sash.pipeline.safety import require_safe
from sash.pipeline.schema import SinkTable
from sash.pipeline.sinks import require_no_output
from sash.pipeline.sources import declared
from sash.runtimes.interrupts import interrupts
from sash.runtimes.local.local_source import LocalSource
from sash.runtimes.observed_counts import in_all

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

INTERRUPTED = 130
"""The exit code of a run that was stopped before its end, as shells have it."""
SHOWN = 20
"""Rows of the memory sink, which would be gone otherwise."""


def run(file: Path, *, safe: bool = False, debug: bool) -> int:
    """Run until the pipeline's own end, or until it is stopped; the exit code. `safe`: refuse code."""
    pipeline = read_pipeline(file, safe=safe)
    if not pipeline.streaming:
        require_no_output(pipeline)
    with _bound(pipeline, debug=debug) as (queries, spark):
        if not pipeline.streaming:
            run_batch(pipeline, queries, spark)
            for query in pipeline.queries:
                print(f"{pipeline.name_of(query)}: done; {_sink(query.sink)}")
            return 0
        with interrupts() as stop:
            outcome = run_stream(pipeline, queries, spark, stop=stop)
        for query in pipeline.queries:
            name = pipeline.name_of(query)
            if query.sink.format == "memory" and spark.catalog.tableExists(name):
                spark.table(name).show(SHOWN, truncate=False)
    print(_summary(pipeline, outcome))
    return INTERRUPTED if outcome.stopped and pipeline.run.trigger.bounded else 0


def explain(file: Path, *, plan: bool = False, safe: bool = False, as_json: bool, debug: bool) -> None:
    """Print the plan of the pipeline: of its query, or of all that run together and of each."""
    pipeline = read_pipeline(file, safe=safe)
    with bound_without_rows(pipeline, planned=True, debug=debug) as queries:
        explained: dict[str, WindowQuery | Together] = {**queries}
        if pipeline.together and pipeline.streaming:
            explained = {"": together(**queries)}
        if as_json:
            found = {name: json.loads(one.explain("json")) for name, one in explained.items()}
            print(json.dumps(found.get("", {"queries": found}), ensure_ascii=False))
            return
        for name, one in explained.items():
            if name:
                print(f"{name}:")
            one.explain("plan" if plan else "text")


def check(file: Path, *, safe: bool = False, debug: bool) -> None:
    """Bind the queries to their source, build what Spark would run, and print the columns."""
    from sash.runtimes.spark.failures import in_one_sentence
    from sash.runtimes.spark.files.declared_files import DeclaredSource

    pipeline = read_pipeline(file, safe=safe)
    with bound_without_rows(pipeline, debug=debug) as queries:
        with in_one_sentence():
            for query in queries.values():
                if isinstance(query.source, DeclaredSource):
                    query.source.require_possible(query.bound)
                elif not isinstance(query.source, LocalSource):
                    query.dataframe()
            if pipeline.together and pipeline.streaming:
                together(**queries)
        print(f"{file}: nothing is wrong; it would write", *_written(pipeline, queries))


@contextmanager
def _bound(pipeline: Pipeline, *, debug: bool) -> Iterator[tuple[Queries, SparkSession]]:
    with spark_session(
        app=f"sash {pipeline.name}", debug=debug, settings=pipeline.spark, announced=True
    ) as spark:
        yield bound(pipeline, spark), spark


@contextmanager
def bound_without_rows(pipeline: Pipeline, *, planned: bool = False, debug: bool) -> Iterator[Queries]:
    """For what runs nothing: with Spark only where Spark alone knows the source. `planned`: the plan is
    wanted too, which depends on the first rows where they are read at once."""
    rows = declared(pipeline) if pipeline.streaming or not planned else None
    if rows is not None:
        yield bound_to(pipeline, rows)
        return
    with _bound(pipeline, debug=debug) as (queries, _):
        yield queries


def read_pipeline(file: Path, *, safe: bool) -> Pipeline:
    """The pipeline of a file; `safe`: one with code is refused, before anything of it is used."""
    pipeline = read(file)
    if safe:
        require_safe(pipeline)
    return pipeline


def _written(pipeline: Pipeline, queries: Queries) -> Iterator[str]:
    """Where the reports of each query go, and their columns; a line for each of several."""
    for query in pipeline.queries:
        schema = queries[query.name].bound.output
        columns = ", ".join(f"{field.name} {field.type}" for field in schema)
        name = f"\n  {query.name}: " if query.name else ""
        yield f"{name}{_sink(query.sink)} with the columns {columns}"


def _sink(sink: SinkTable) -> str:
    return " ".join(filter(None, (sink.format, sink.path or sink.table or sink.options.get("topic", ""))))


def _summary(pipeline: Pipeline, outcome: RunSummary) -> str:
    emitted = {
        name: f"{counts['reports']:,} reports, {counts['late']:,} late"
        for name, counts in outcome.counts.items()
    }
    done = (
        f"{pipeline.name}: {in_all(outcome.counts, 'events'):,} events in {outcome.batches:,} "
        f"batch{'es' * (outcome.batches != 1)} and {outcome.seconds:.1f} s; "
        f"{'' if pipeline.together else emitted[''] + '; '}{'stopped' if outcome.stopped else 'done'}"
    )
    if pipeline.run.checkpoint:
        done += f"; run it again to continue from {pipeline.run.checkpoint}"
    return "\n".join([done, *(f"  {name}: {words}" for name, words in emitted.items() if name)])
