"""What a caller gave as a sink, as a `BatchSink`."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike, fspath

from sash.errors import ArgumentError
from sash.runtimes.spark.sinks.folder import FolderSink
from sash.runtimes.spark.sinks.protocol import BatchSink, FunctionSink, Sink


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


def sinks_for(given: Mapping[str, tuple[str, Sink | None]]) -> dict[str, BatchSink]:
    """By output; `given` has the argument and the value for each, None where it was left out."""
    return {
        output: sink_for(sink, argument=argument)
        for output, (argument, sink) in given.items()
        if sink is not None
    }
