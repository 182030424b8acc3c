"""The query of a pipeline, bound to the columns of its source.

Everything that can be refused is refused by the API itself; here it is built in steps, so that an error
names the line of the file that caused it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from typing import TYPE_CHECKING

from sash.aggregation import monoids
from sash.api.stream import Stream, Windowed, stream
from sash.api.window_query import WindowQuery
from sash.errors import ArgumentError
from sash.pipeline import schema
from sash.pipeline.positions import Place
from sash.pipeline.schema import Pipeline
from sash.pipeline.sources import opened, require_sinks

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_PROBE = "__sash_probe"
"""An aggregate that fits every input, to bind what stands before the aggregates."""
_KEYS = {"stream": [key.name for key in fields(schema.StreamTable)], "query": ["emit", "empty"]}
"""Arguments of the API that are keys of these tables."""


def bound(pipeline: Pipeline, spark: SparkSession) -> WindowQuery:
    """The query. The schema of its source is read; nothing runs."""
    require_sinks(pipeline, spark)
    rows, table = opened(pipeline, spark), pipeline.stream
    with _by_argument(pipeline):
        timed = stream(
            rows,
            time=table.time,
            key=table.key,
            delay=table.delay,
            allowed_lateness=table.allowed_lateness,
            order=table.order,
            idle=table.idle,
            forget_after=table.forget_after,
        )
        windowed = _windowed(pipeline, timed)
        windowed.agg(**{_PROBE: monoids.count()})
    at = pipeline.blame.at
    if pipeline.query.semantics:
        with at("query", "semantics"):
            windowed = windowed.semantics(pipeline.query.semantics)
    for name, aggregate in pipeline.aggregates.items():
        with at("aggregates", name):
            windowed.agg(**{name: aggregate})
    with at("aggregates"):
        query = windowed.agg(**pipeline.aggregates)
    with at("query", "parallel"):
        query = query.parallel(pipeline.query.parallel)
    with at("query", "flat"):
        return query.flat() if pipeline.query.flat else query


def _windowed(pipeline: Pipeline, timed: Stream) -> Windowed:
    query = pipeline.query
    if query.rolling:
        return timed.rolling(*query.rolling)
    return timed.window(*query.windows, emit=query.emit, empty=query.empty)


@contextmanager
def _by_argument(pipeline: Pipeline) -> Iterator[None]:
    """Errors of the API name an argument: the key of that name is to blame, or the window of that label."""
    try:
        yield
    except ArgumentError as error:
        raise pipeline.blame.wrong(_place(pipeline, error.argument), str(error)) from error


def _place(pipeline: Pipeline, argument: str) -> Place:
    for table, keys in _KEYS.items():
        if argument in keys:
            return (table, argument)
    labels = [window.label for window in pipeline.query.windows]
    return ("query", "windows", labels.index(argument)) if argument in labels else ("query", "windows")
