"""What of a pipeline file is code, for files that others have written: `sash run --safe` refuses it.

    [spark]              jars, options of the JVM, classes of catalogs
    select               expressions of Spark SQL, in which reflect(…) calls any Java method
    schema               DEFAULT and GENERATED have expressions too
    keys, table, path    of a Delta or Iceberg table, as they stand in a MERGE statement
    options              of connectors name classes and login modules; a few are known to be data

Aggregates, conditions, windows and patterns are parsed by Sash and never evaluated. Paths and servers are
data: a safe run still reads and writes wherever its user may.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from sash.errors import did_you_mean
from sash.pipeline.formats import SERVERS
from sash.pipeline.line_numbers import PathInDocument
from sash.pipeline.schema import Pipeline

DATA_OPTIONS = frozenset(
    {
        SERVERS, "subscribe", "topic", "startingOffsets", "endingOffsets", "maxOffsetsPerTrigger",
        "failOnDataLoss", "host", "port", "rowsPerSecond", "numPartitions", "rampUpTime",
        "maxFilesPerTrigger", "latestFirst", "pathGlobFilter", "recursiveFileLookup",
        "header", "sep", "delimiter", "encoding", "quote", "escape", "comment", "nullValue", "inferSchema",
        "multiLine", "mode", "dateFormat", "timestampFormat", "timestampNTZFormat", "locale",
        "compression", "numRows", "truncate", "enforceSchema",
    }
)  # fmt: skip
"""Options that are words or numbers to whoever reads them, in any format."""
_NAME = re.compile(r"[\w-]+(\.[\w-]+)*")
_EXPRESSION = re.compile(r"\b(default|generated)\b", re.IGNORECASE)


def require_safe(pipeline: Pipeline) -> None:
    """PipelineError, with the line, for the first thing that is code."""
    for place, reason in unsafe(pipeline):
        raise pipeline.file_lines.wrong(place, f"--safe refuses {reason}")


def unsafe(pipeline: Pipeline) -> Iterator[tuple[PathInDocument, str]]:
    """Everything that is code, or may be: where it stands, and what it is."""
    for setting in pipeline.spark:
        yield ("spark", setting), f"settings of Spark, which can load code: {setting}"
    source = pipeline.source
    if source.select:
        yield ("source", "select"), "expressions of Spark SQL, which can call any code of the JVM"
    if _EXPRESSION.search(source.schema):
        yield ("source", "schema"), "expressions in a schema: DEFAULT and GENERATED"
    yield from _tables(("source",), source.table)
    yield from _options(("source", "options"), source.options)
    for query in pipeline.queries:
        for table, sink in query.sinks.items():
            place = query.place(table)
            yield from _tables(place, sink.table, *sink.keys)
            if sink.format in ("delta", "iceberg") and "`" in sink.path:
                yield (*place, "path"), "a path with a quote, which ends a name in SQL"
            yield from _options((*place, "options"), sink.options)


def _tables(place: PathInDocument, table: str, *keys: str) -> Iterator[tuple[PathInDocument, str]]:
    for key, name in (("table", table), *(("keys", key) for key in keys)):
        if name and not _NAME.fullmatch(name):
            yield (*place, key), f"{name!r}, which is more than a name; it would be read as SQL"


def _options(place: PathInDocument, options: Mapping[str, str]) -> Iterator[tuple[PathInDocument, str]]:
    known = {name.lower() for name in DATA_OPTIONS}
    for name in options:
        if name.lower() not in known:
            hint = did_you_mean(name, DATA_OPTIONS)
            yield (*place, name), f"the option {name!r}, which it does not know. {hint}".rstrip(". ")
