"""What does not go together in a pipeline file, each with the place that is to blame."""

from __future__ import annotations

from collections.abc import Iterator

from sash.pipeline.formats import PASSING, SINKS, SOURCES, FormatNeeds
from sash.pipeline.line_numbers import PathInDocument
from sash.pipeline.schema import DeclaredQuery, Pipeline, QueryTable, SinkTable, SourceTable, titled
from sash.planner.auto_declaration import Auto
from sash.runtimes.folder_paths import resolved
from sash.semantics.query import When

Contradictions = Iterator[tuple[PathInDocument, str]]


def contradictions(pipeline: Pipeline) -> Contradictions:
    yield from _places(("source",), pipeline.source, SOURCES[pipeline.source.format])
    yield from _of_run(pipeline)
    names: set[str] = set()
    for query in pipeline.queries:
        if query.name in names:
            yield query.place("query", "name"), f"name must be another one: {query.name} is the name of two"
        names.add(query.name)
        yield from _of_query(pipeline, query)
    yield from _shared(pipeline)


def _of_query(pipeline: Pipeline, declared: DeclaredQuery) -> Contradictions:
    query, place = declared.query, declared.place("query")
    if sum(map(bool, (query.windows, query.rolling, query.latest))) != 1:
        yield place, f"{titled(place)} must have one of windows, rolling and latest, and no two of them"
    for key, reason in _useless(query):
        if (*place, key) in pipeline.file_lines.lines:
            yield (*place, key), f"{key} must be {reason}"
    if query.online and not pipeline.streaming:
        reason = "online must be left out when mode is 'batch': q.publish(store) fills a store in Python"
        yield (*place, "online"), reason
    if pipeline.together and pipeline.streaming and not isinstance(query.parallel, Auto):
        reason = "parallel must be left out where queries run together: they share the buckets of keys"
        yield (*place, "parallel"), reason
    for table, sink in declared.sinks.items():
        yield from _places(declared.place(table), sink, SINKS[sink.format])
        yield from (_of_stream if pipeline.streaming else _of_batch)(pipeline, declared.place(table), sink)


def _useless(query: QueryTable) -> Iterator[tuple[str, str]]:
    """Keys that a query of this kind has no use for, and why."""
    arrival = query.emit.when is When.ARRIVAL
    if query.rolling:
        if query.emit.when not in (When.CLOSE, When.ARRIVAL):
            yield "emit", "'close' or 'arrival' with rolling: there is one row per event"
        yield "empty", "left out with rolling: there is one row per event"
    if query.latest:
        yield (
            "emit",
            "left out with latest, whose rows come when they change: every = '1 minute' is less often",
        )
        yield "empty", "left out with latest: there is one row per key"
    else:
        yield "every", "left out: it is for latest"
        yield "decay", "left out: it is for latest"
    if query.windows and arrival:
        yield "emit", "'close', 'change' or 'every <duration>' with windows: 'arrival' is for rolling"
    if not query.rolling:
        yield "online", "left out: it is for rolling, whose look-backs have a value at every instant"


def _places(place: PathInDocument, table: SourceTable | SinkTable, format_: FormatNeeds) -> Contradictions:
    """What a format lacks, or is given without having a use for it."""
    what, title = table.format, titled(place)
    if format_.place and not table.path and not (format_.catalogued and table.table):
        yield place, f"{title} lacks {'path or table' if format_.catalogued else 'path'} for {what}"
    if table.path and not format_.place:
        yield (*place, "path"), f"path must be left out for {what}"
    if table.table and (table.path or not format_.catalogued):
        yield (*place, "table"), "table must be left out: it is for delta and iceberg, instead of a path"
    for option in format_.options:
        if option not in table.options:
            yield (*place, "options"), f"options must have {option!r} for {what}"


def _shared(pipeline: Pipeline) -> Contradictions:
    """A place that two outputs have in common: each would replace rows of the other."""
    owners: dict[tuple[str, str], PathInDocument] = {}
    stores: set[str] = set()
    for query in pipeline.queries:
        online = query.query.online
        if online in stores:
            reason = "online must be another one, of this query alone: another folder, or redis://…#name"
            yield query.place("query", "online"), reason
        stores |= {online} if online else set()
        for table, sink in query.sinks.items():
            place = query.place(table)
            taken = [("path", resolved(pipeline.located(sink.path)))] if sink.path else []
            taken += [("table", sink.table)] if sink.table else []
            for key, where in taken:
                owner = owners.setdefault((key, where), place)
                if owner != place:
                    title = titled(owner) + (f" of {_name_at(pipeline, owner)}" if owner[1:] else "")
                    yield (
                        (*place, key),
                        f"{key} must be another one than that of {title}, which is written there",
                    )


def _name_at(pipeline: Pipeline, place: PathInDocument) -> str:
    return next(query.name for query in pipeline.queries if query.at == place[:2])


def _of_run(pipeline: Pipeline) -> Contradictions:
    source, run = pipeline.source.format, pipeline.run
    endless = SOURCES[source].endless
    if pipeline.streaming:
        if endless and run.trigger.bounded:
            works = f"a duration such as '5 seconds' for {source}, which never ends"
            yield ("run", "trigger"), f"trigger must be {works}; got {run.trigger.word!r}"
        return
    if endless:
        yield ("run", "mode"), f"mode must be 'stream' for {source}, which never ends"
    for key in ("checkpoint", "trigger"):
        if ("run", key) in pipeline.file_lines.lines:
            yield ("run", key), f"{key} must be left out when mode is 'batch'"


def _of_stream(pipeline: Pipeline, place: PathInDocument, sink: SinkTable) -> Contradictions:
    if sink.overwrite:
        yield (*place, "overwrite"), "overwrite must be left out for a stream, which only adds"
    if sink.keys and not SINKS[sink.format].catalogued:
        yield (*place, "keys"), "keys must be left out: they are for delta and iceberg"
    if sink.keys and sink.format == "iceberg" and sink.path:
        yield (*place, "path"), "path must be left out for keys: MERGE knows Iceberg tables by name"
    if sink.format not in PASSING and not pipeline.run.checkpoint:
        what = f"the folder in which a stream to {sink.format} records its progress"
        yield ("run", "checkpoint"), f"[run] lacks checkpoint, {what}"


def _of_batch(pipeline: Pipeline, place: PathInDocument, sink: SinkTable) -> Contradictions:
    if sink.keys:
        yield (*place, "keys"), "keys must be left out when mode is 'batch', which writes rows once"
    if sink.format == "memory":
        yield (*place, "format"), "format must not be memory when mode is 'batch': its rows would be lost"
