"""What does not go together in a pipeline file, each with the place that is to blame."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from sash.pipeline.formats import PASSING, SINKS, SOURCES, FormatNeeds
from sash.pipeline.positions import Place
from sash.pipeline.schema import Pipeline, SinkTable, SourceTable
from sash.runtimes.places import resolved


def contradictions(pipeline: Pipeline, given: Mapping[str, Collection[str]]) -> Iterator[tuple[Place, str]]:
    """`given`: the keys that the file has in each table, as some must be left out."""
    query, sinks = pipeline.query, _sinks(pipeline)
    if bool(query.windows) == bool(query.rolling):
        yield ("query",), "[query] must have either windows or rolling, and not both"
    if query.rolling:
        for key in {"emit", "empty"}.intersection(given["query"]):
            yield ("query", key), f"{key} must be left out with rolling: there is one row per event"
    yield from _places("source", pipeline.source, SOURCES[pipeline.source.format])
    for name, sink in sinks.items():
        yield from _places(name, sink, SINKS[sink.format])
    yield from _shared(pipeline)
    yield from _of_stream(pipeline, sinks) if pipeline.streaming else _of_batch(pipeline, sinks, given)


def _sinks(pipeline: Pipeline) -> dict[str, SinkTable]:
    return {"sink": pipeline.sink} | ({} if pipeline.late is None else {"late": pipeline.late})


def _places(name: str, table: SourceTable | SinkTable, format_: FormatNeeds) -> Iterator[tuple[Place, str]]:
    """What a format lacks, or is given without having a use for it."""
    what = table.format
    if format_.place and not table.path and not (format_.catalogued and table.table):
        yield (name,), f"[{name}] lacks {'path or table' if format_.catalogued else 'path'} for {what}"
    if table.path and not format_.place:
        yield (name, "path"), f"path must be left out for {what}"
    if table.table and (table.path or not format_.catalogued):
        yield (name, "table"), "table must be left out: it is for delta and iceberg, instead of a path"
    for option in format_.options:
        if option not in table.options:
            yield (name, "options"), f"options must have {option!r} for {what}"


def _shared(pipeline: Pipeline) -> Iterator[tuple[Place, str]]:
    """A place that reports and late rows have in common: each would replace rows of the other."""
    sink, late = pipeline.sink, pipeline.late
    if late is None:
        return
    places = [resolved(pipeline.located(table.path)) for table in (sink, late) if table.path]
    if len(places) > len(set(places)):
        yield ("late", "path"), "path must be another one than that of [sink], which is written there"
    if late.table and late.table == sink.table:
        yield ("late", "table"), "table must be another one than that of [sink], which is written there"


def _of_stream(pipeline: Pipeline, sinks: Mapping[str, SinkTable]) -> Iterator[tuple[Place, str]]:
    source, run = pipeline.source.format, pipeline.run
    if SOURCES[source].endless and run.trigger.bounded:
        works = f"a duration such as '5 seconds' for {source}, which never ends"
        yield ("run", "trigger"), f"trigger must be {works}; got {run.trigger.word!r}"
    for name, sink in sinks.items():
        if sink.overwrite:
            yield (name, "overwrite"), "overwrite must be left out for a stream, which only adds"
        if sink.format not in PASSING and not run.checkpoint:
            what = f"the folder in which a stream to {sink.format} notes how far it has come"
            yield ("run", "checkpoint"), f"[run] lacks checkpoint, {what}"


def _of_batch(
    pipeline: Pipeline, sinks: Mapping[str, SinkTable], given: Mapping[str, Collection[str]]
) -> Iterator[tuple[Place, str]]:
    source = pipeline.source.format
    if SOURCES[source].endless:
        yield ("run", "mode"), f"mode must be 'stream' for {source}, which never ends"
    for key in {"checkpoint", "trigger"}.intersection(given["run"]):
        yield ("run", key), f"{key} must be left out when mode is 'batch'"
    for name, sink in sinks.items():
        if sink.format == "memory":
            yield (name, "format"), "format must not be memory when mode is 'batch': its rows would be lost"
