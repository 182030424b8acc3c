"""The queries of a pipeline, bound to the columns of their source.

Everything that can be refused is refused by the API itself; here they are built in steps, so that an error
names the line of the file that caused it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from sash.aggregation import built_in
from sash.api.runtime_of_input import source_of
from sash.api.stream import Stream, stream
from sash.api.window_query import WindowQuery
from sash.api.windowed import Windowed
from sash.errors import ArgumentError
from sash.operators.bound_query import require_column, require_inputs
from sash.pipeline import schema
from sash.pipeline.line_errors import all_mistakes
from sash.pipeline.line_numbers import PathInDocument
from sash.pipeline.schema import DeclaredQuery, Pipeline, SinkTable
from sash.pipeline.sources import opened, require_sinks
from sash.semantics.query import When
from sash.serving.publisher import Publisher

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_PROBE = "__sash_probe"
"""An aggregate that fits every input, to bind what stands before the aggregates."""
_KEYS = {
    "stream": [key.name for key in fields(schema.StreamTable)],
    "query": ["emit", "empty", "every", "decay"],
}
"""Arguments of the API that are keys of these tables."""


def bound(pipeline: Pipeline, spark: SparkSession) -> dict[str, WindowQuery]:
    """The queries by name, over one source. Its schema is read; nothing runs."""
    require_sinks(pipeline, spark)
    return bound_to(pipeline, opened(pipeline, spark))


def bound_to(pipeline: Pipeline, rows: Any) -> dict[str, WindowQuery]:
    """The same over rows that are there, or declared."""
    columns = source_of(rows).schema
    with all_mistakes() as mistakes:
        for declared in pipeline.queries:
            with mistakes.kept():
                _require_columns(pipeline, declared, columns)
    made = {declared.name: _bound(pipeline, declared, rows) for declared in pipeline.queries}
    with all_mistakes() as mistakes:
        for declared in pipeline.queries:
            written = {"sink": made[declared.name].bound.output, "late": columns}
            for table, sink in declared.sinks.items():
                with mistakes.kept(), pipeline.file_lines.at(*declared.place(table, "format")):
                    _require_held(sink, written[table])
    return made


def _require_held(sink: SinkTable, written: pa.Schema) -> None:
    """A struct has a column for each field in a csv file; a list has no place there."""
    if sink.format != "csv":
        return
    for field in written:
        parts = field.flatten() if pa.types.is_struct(field.type) else [field]
        for part in parts:
            if pa.types.is_nested(part.type):
                raise ArgumentError(
                    "format", sink.format, "'parquet' or 'json'",
                    message=f"format must not be csv: it cannot hold the column {part.name!r}, which is "
                    f"{part.type}",
                    hint="parquet and json can.",
                )  # fmt: skip


def _require_columns(pipeline: Pipeline, declared: DeclaredQuery, columns: pa.Schema) -> None:
    """All columns that are not there, in one error."""
    table, at = declared.stream, pipeline.file_lines.at
    with all_mistakes() as mistakes:
        for argument, name in (("time", table.time), *(("key", key) for key in table.key)):
            with mistakes.kept(), at(*_place(pipeline, declared, argument)):
                require_column(argument, name, columns)
        for name, aggregate in declared.aggregates.items():
            with mistakes.kept(), at(*declared.place("aggregates", name)):
                require_inputs(name, aggregate, columns)


def _bound(pipeline: Pipeline, declared: DeclaredQuery, rows: Any) -> WindowQuery:
    table, query = declared.stream, declared.query
    with _by_argument(pipeline, declared):
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
        windowed = _windowed(query, timed)
        windowed.agg(**{_PROBE: built_in.count()})
    at, place = pipeline.file_lines.at, declared.place
    if query.semantics:
        with at(*place("query", "semantics")):
            windowed = windowed.semantics(query.semantics)
    for name, aggregate in declared.aggregates.items():
        with at(*place("aggregates", name)):
            windowed.agg(**{name: aggregate})
    with at(*place("aggregates")):
        made = windowed.agg(**declared.aggregates)
    with at(*place("query", "parallel")):
        made = made.parallel(query.parallel)
    if query.online:
        with at(*place("query", "online")):
            Publisher.of(made.bound, pipeline.located(query.online))
    with at(*place("query", "flat")):
        return made.flat() if query.flat else made


def _windowed(query: schema.QueryTable, timed: Stream) -> Windowed:
    if query.rolling:
        arrival = query.emit.when is When.ARRIVAL
        return timed.rolling(*query.rolling, emit="arrival" if arrival else "close")
    if query.latest:
        return timed.latest(*query.latest, every=query.every, decay=query.decay)
    return timed.window(*query.windows, emit=query.emit, empty=query.empty)


@contextmanager
def _by_argument(pipeline: Pipeline, declared: DeclaredQuery) -> Iterator[None]:
    """Errors of the API name an argument: the key of that name is to blame, or the window of that label."""
    try:
        yield
    except ArgumentError as error:
        raise pipeline.file_lines.wrong(_place(pipeline, declared, error.argument), str(error)) from error


def _place(pipeline: Pipeline, declared: DeclaredQuery, argument: str) -> PathInDocument:
    for table, keys in _KEYS.items():
        if argument in keys:
            own = declared.place(table, argument)
            return own if own in pipeline.file_lines.lines else (table, argument)
    labels = [window.label for window in declared.query.windows]
    return declared.place(
        "query", declared.query.kind, *([labels.index(argument)] if argument in labels else [])
    )
