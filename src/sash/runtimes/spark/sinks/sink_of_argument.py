"""What a caller gave as a sink, as a `BatchSink`. A new sink needs nothing here: see `protocol`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from os import PathLike, fspath

from sash.errors import ArgumentError
from sash.runtimes.folder_paths import resolved
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
    given: Mapping[str, tuple[str, Sink | None]],
    *,
    checkpoint: str | PathLike[str] = "",
    latest: Mapping[str, tuple[str, ...]] | None = None,
) -> dict[str, BatchSink]:
    """By output; `given` has the argument and the value for each, None where it was left out. `latest`: the
    keys of outputs of `.latest`, whose rows each take the place of the one before. No folder is inside of
    another one, or of the checkpoint."""
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
    folders = {argument: place[1] for place, argument in owners.items() if place[0] == "folder"}
    _require_apart(folders, resolved(fspath(checkpoint)) if fspath(checkpoint) else "")
    return sinks


def _require_apart(folders: Mapping[str, str], checkpoint: str) -> None:
    """None of the folders is within another, unless hidden from its readers, or shares the checkpoint."""
    for argument, folder in folders.items():
        if checkpoint and (folder == checkpoint or _within(folder, checkpoint)):
            how = "is" if folder == checkpoint else "is inside of"
            raise _not_apart(argument, folder, f"it {how} the checkpoint {checkpoint}")
        for name, place in {"checkpoint": checkpoint, **folders}.items():
            if _within(place, folder) and not _hidden(place, folder):
                raise _not_apart(
                    name, place, f"it is inside of {argument}, {folder}, which is read as a whole"
                )


def _not_apart(argument: str, folder: str, why: str) -> ArgumentError:
    return ArgumentError(
        argument, folder, "a folder of its own",
        message=f"{argument} must be a folder of its own: {why}",
        hint="Name one beside it.",
    )  # fmt: skip


def _within(inner: str, outer: str) -> bool:
    return inner.startswith(outer.rstrip("/") + "/")


def _hidden(inner: str, outer: str) -> bool:
    """Spark and others do not read what begins so."""
    return any(part.startswith(("_", ".")) for part in inner[len(outer) :].split("/"))


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
