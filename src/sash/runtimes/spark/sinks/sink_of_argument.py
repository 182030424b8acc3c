"""What a caller gave as a sink, as a `BatchSink`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
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
    sinks: dict[str, BatchSink] = {}
    owners: dict[tuple[str, ...], str] = {}
    for output, (argument, value) in given.items():
        if value is None:
            continue
        sinks[output] = sink = sink_for(value, argument=argument)
        owner = owners.setdefault(sink.identity, argument) if sink.identity else argument
        if owner != argument:
            raise ArgumentError(
                argument, value, "a place of its own",
                message=f"{argument} must have a place of its own: {owner} is written there, and each "
                "would replace rows of the other",
            )  # fmt: skip
    return sinks


def require_free_columns(sinks: Mapping[str, BatchSink], columns: Callable[[str], Iterable[str]]) -> None:
    """No output has a column that its sink adds, which would silently take its place. Spark ignores
    upper and lower case."""
    for output, sink in sinks.items():
        for name in columns(output):
            if name.casefold() in sink.adds:
                raise ArgumentError(
                    output, name, "without this column",
                    message=f"the column {name!r} of the output {output!r} must be renamed before, since "
                    f"its sink adds a column {name.casefold()!r}",
                )  # fmt: skip
