"""What a caller gave as a sink, as a `BatchSink`. A new sink needs nothing here: see `protocol`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from os import PathLike, fspath

from sash.errors import ArgumentError
from sash.runtimes.spark.sinks.folder import FolderSink
from sash.runtimes.spark.sinks.protocol import BatchSink, FlatSink, FunctionSink, KeyedSink, Sink
from sash.runtimes.spark.sinks.wrapped_sinks import innermost

_LIST = re.compile(r"\b(array|(large_|fixed_size_)?list|map)\b")
"""In a type of Spark's or of Arrow's."""


def sink_for(given: Sink, *, argument: str = "sink") -> BatchSink:
    if isinstance(given, BatchSink):
        return given
    if callable(given):
        return FunctionSink(given)
    if isinstance(given, str | PathLike):
        return FolderSink(fspath(given))
    raise ArgumentError(
        argument, given, "a path, a sash.sinks.…, or a function of a DataFrame and the number of its batch"
    )


def sinks_for(
    given: Mapping[str, tuple[str, Sink | None]], *, latest: Mapping[str, tuple[str, ...]] | None = None
) -> dict[str, BatchSink]:
    """By output; `given` has the argument and the value for each, None where it was left out. `latest`: the
    keys of outputs of `.latest`, whose rows each take the place of the one before."""
    sinks: dict[str, BatchSink] = {}
    owners: dict[tuple[str, ...], str] = {}
    for output, (argument, value) in given.items():
        if value is None:
            continue
        sink = sink_for(value, argument=argument)
        if isinstance(sink, KeyedSink) and latest and output in latest:
            sink = sink.of_latest(latest[output])
        sinks[output] = sink
        owner = owners.setdefault(sink.identity, argument) if sink.identity else argument
        if owner != argument:
            raise ArgumentError(
                argument, value, "a place of its own",
                message=f"{argument} must have a place of its own: {owner} is written there, and each "
                "would replace rows of the other",
            )  # fmt: skip
    return sinks


def require_fitting_columns(
    sinks: Mapping[str, BatchSink], columns: Callable[[str], Mapping[str, str]]
) -> None:
    """No output has a column that its sink cannot hold, or one that its sink adds, which would silently
    take its place; Spark ignores upper and lower case. `columns`: types by name, of an output."""
    for output, sink in sinks.items():
        for name, type_ in columns(output).items():
            _require_held(sink, name, type_)
            if name.casefold() in sink.adds:
                raise ArgumentError(
                    output, name, "without this column",
                    message=f"the column {name!r} of the output {output!r} must be renamed before, since "
                    f"its sink adds a column {name.casefold()!r}",
                )  # fmt: skip


def _require_held(sink: BatchSink, column: str, type_: str) -> None:
    sink = innermost(sink)
    if isinstance(sink, FlatSink) and sink.holds_no_lists and _LIST.search(type_):
        raise ArgumentError(
            column, type_, "a single value",
            message=f"the column {column!r} is a list ({type_}), which {sink.holds_no_lists} cannot hold",
            hint="Leave it out, or write it to a folder of parquet or json files, a Delta or Iceberg "
            "table, Kafka or Redis, or as text (to_json) in a function that is the sink.",
        )  # fmt: skip
