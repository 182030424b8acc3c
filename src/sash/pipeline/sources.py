"""The source of a pipeline as what `sash.stream` takes.

Parquet files of a stream are read in Python (`sash.read_stream_parquet`), which takes about a fifth less
time for a whole query than Spark's own reader. A schema that is not given is that of the files which are
there. Kafka and sockets carry bytes: with a schema they are read as JSON, and what is no such JSON has null
in every column, so that it ends in the late output and not in a window.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from sash.errors import ArgumentError, SashError
from sash.pipeline import csv_headers
from sash.pipeline.formats import SINKS, SOURCES
from sash.pipeline.safety import DATA_OPTIONS
from sash.pipeline.schema import DeclaredQuery, Pipeline, SourceTable
from sash.planner.auto_declaration import Auto

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from sash.runtimes.spark.files.declared_files import DeclaredFiles

_PATTERN = re.compile(r"[*?\[{]")


def opened(pipeline: Pipeline, spark: SparkSession) -> Any:
    """The rows of the source, static or streaming; PipelineError when they cannot be had."""
    from sash.runtimes.spark.failures import in_one_sentence

    source, at = pipeline.source, pipeline.file_lines.at
    with at("source", "format"):
        _require_connector(spark, source.format)
    place = ""
    if source.path:
        place = pipeline.located(source.path)
        with at("source", "path"):
            _require_there(place)
        _require_header(pipeline, place)
    try:
        with in_one_sentence():
            rows = _rows(source, spark, place, streaming=pipeline.streaming)
    except SashError as error:
        raise pipeline.file_lines.wrong(("source", _blamed(source, error)), str(error)) from error
    if not source.select:
        return rows
    with at("source", "select"), in_one_sentence():
        return _dataframe(rows).selectExpr(*source.select)


def declared(pipeline: Pipeline) -> DeclaredFiles | pa.Table | None:
    """The source of a pipeline of which all columns can be known without Spark: files on this machine, in a
    session of ours. An empty table where they are read at once. None for any other."""
    from sash.runtimes.spark.files.declared_files import DeclaredFiles
    from sash.runtimes.spark.files.parquet_stream import LISTING, OPTIONS

    source, python = pipeline.source, pipeline.source.format == "parquet" and pipeline.streaming
    known = frozenset(OPTIONS if python else DATA_OPTIONS).difference(LISTING)
    plain = SOURCES[source.format].path and not source.select and known.issuperset(source.options)
    here = plain and "://" not in source.path and not _PATTERN.search(source.path)
    if not here or pipeline.spark or not all(map(_needs_no_session, pipeline.queries)):
        return None
    place = pipeline.located(source.path)
    with pipeline.file_lines.at("source", "path"):
        _require_there(place)
    _require_header(pipeline, place)
    with pipeline.file_lines.at("source", "schema" if source.schema else "path"):
        if python:
            return DeclaredFiles.of(place, source.schema)
        files = DeclaredFiles.read_by_spark(place, source.schema, nested=source.format != "csv")
    return files if files is None or pipeline.streaming else files.schema.empty_table()


def _needs_no_session(query: DeclaredQuery) -> bool:
    """Neither for its pattern, nor for the connectors of its sinks."""
    within = not any(SINKS[sink.format].package for sink in query.sinks.values())
    return within and isinstance(query.query.parallel, Auto)


def require_sinks(pipeline: Pipeline, spark: SparkSession) -> None:
    """PipelineError where Spark has no connector for a sink."""
    for query in pipeline.queries:
        for table, sink in query.sinks.items():
            with pipeline.file_lines.at(*query.place(table, "format")):
                _require_connector(spark, sink.format)


def _rows(source: SourceTable, spark: SparkSession, place: str, *, streaming: bool) -> Any:
    if source.format == "parquet" and streaming:
        from sash.runtimes.spark.files.parquet_stream import read_stream_parquet

        return read_stream_parquet(place, schema=source.schema or None, spark=spark, **source.options)
    reading = csv_headers.COMPARED if source.schema else {"header": "true", "inferSchema": "true"}
    options = (reading if source.format == "csv" else {}) | dict(source.options)
    reader = (spark.readStream if streaming else spark.read).format(source.format).options(**options)
    if SOURCES[source.format].path:
        schema = source.schema or spark.read.format(source.format).options(**options).load(place).schema
        return reader.schema(schema).load(place)
    if source.table:
        return reader.table(source.table)
    rows = reader.load(place) if place else reader.load()
    return _parsed(rows, source.schema) if source.schema and "value" in rows.columns else rows


def _parsed(rows: DataFrame, schema: str) -> DataFrame:
    from pyspark.sql import functions as F

    event = F.from_json(F.col("value").cast("string"), schema)
    return rows.select(event.alias("event")).select("event.*")


def _blamed(source: SourceTable, error: SashError) -> str:
    """The key that an error of the reader is about: an option by its name, a type of the schema."""
    if getattr(error, "argument", None) in source.options:
        return "options"
    return "schema" if source.schema else "path"


def _dataframe(rows: Any) -> DataFrame:
    """A stream of parquet files as an ordinary DataFrame, which has expressions."""
    made: DataFrame = rows if hasattr(rows, "selectExpr") else rows.dataframe()
    return made


def _require_there(place: str) -> None:
    if "://" not in place and not _PATTERN.search(place) and not Path(place).exists():
        raise ArgumentError("path", place, "a folder that exists")


def _require_header(pipeline: Pipeline, place: str) -> None:
    source = pipeline.source
    if source.format == "csv" and source.schema and "://" not in place:
        with pipeline.file_lines.at("source", "schema"):
            csv_headers.require_header(place, source.schema, source.options)


def _require_connector(spark: Any, name: str) -> None:
    from sash.runtimes.spark.sinks.usable import require_connector

    require_connector(spark, name, how='under [spark], "spark.jars.packages" = "{package}:…"')
