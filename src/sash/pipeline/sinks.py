"""What a pipeline writes, as each sink can take it.

csv      one column for each field of a struct: window_start, window_end
kafka    value is the row as JSON, key the key columns (one as it is, several as JSON)
others   the rows as they are
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from sash.errors import ArgumentError
from sash.pipeline.line_errors import all_mistakes
from sash.pipeline.schema import Pipeline, SinkTable, titled

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from sash.runtimes.spark.sinks.protocol import BatchSink


def written(pipeline: Pipeline, sink: SinkTable, rows: DataFrame, *, keys: tuple[str, ...]) -> None:
    """Write static rows, all of them. `keys`: the columns that are a message's key."""
    mode = "overwrite" if sink.overwrite else "append" if sink.format == "kafka" else "errorifexists"
    writer: Any = _shaped(rows, sink, keys).write.format(sink.format).options(**sink.options)
    if sink.table:
        writer.mode(mode).saveAsTable(sink.table)
    elif sink.path:
        writer.mode(mode).save(pipeline.located(sink.path))
    else:
        writer.mode("append" if sink.format == "console" else "overwrite").save()


def require_no_output(pipeline: Pipeline, *, spark: SparkSession | None = None) -> None:
    """PipelineError where a batch run would write to what is there already. Without Spark only local
    folders are looked at, before anything has started."""
    with all_mistakes() as mistakes:
        for query in pipeline.queries:
            for title, sink in query.sinks.items():
                key = "path" if sink.path else "table"
                with mistakes.kept(), pipeline.file_lines.at(*query.place(title, key)):
                    if not sink.overwrite and _is_there(pipeline, sink, spark):
                        there, title = sink.path or sink.table, titled(query.place(title))
                        raise ArgumentError(
                            key, there, "a new one",
                            message=f"{key} has output already: {there}",
                            hint=f"To replace it, write overwrite = true in {title}; else name another.",
                        )  # fmt: skip


def _is_there(pipeline: Pipeline, sink: SinkTable, spark: SparkSession | None) -> bool:
    place = pipeline.located(sink.path) if sink.path else ""
    if place and "://" not in place:
        return Path(place).exists()
    if spark is None:
        return False
    if sink.table:
        return spark.catalog.tableExists(sink.table)
    from sash.runtimes.spark.hadoop_folder import HadoopFolder

    return bool(place) and HadoopFolder(spark, place).exists()


def batch_sink(
    pipeline: Pipeline, sink: SinkTable, spark: SparkSession, *, name: str, keys: tuple[str, ...]
) -> BatchSink:
    """What takes the rows of a stream, batch by batch. `name` is what a table of rows in memory is called,
    and what a Delta or Iceberg table knows the pipeline by."""
    from sash.runtimes.spark.packing.columns import flat
    from sash.runtimes.spark.sinks.console_and_noop import ConsoleSink, MemorySink, NoopSink
    from sash.runtimes.spark.sinks.folder import FolderSink
    from sash.runtimes.spark.sinks.kafka import KafkaSink
    from sash.runtimes.spark.sinks.tables import TableSink
    from sash.runtimes.spark.sinks.wrapped_sinks import ShapedSink

    match sink.format:
        case "console":
            return ConsoleSink(sink.options)
        case "memory":
            return MemorySink(spark, name)
        case "noop":
            return NoopSink()
        case "kafka":
            return KafkaSink.with_options(sink.options, keys=keys)
        case "delta" | "iceberg":
            path = pipeline.located(sink.path) if sink.path else ""
            return TableSink(name, sink.table, path, sink.format, sink.options, sink.keys or None)
    folder = FolderSink(pipeline.located(sink.path), sink.format, sink.options)
    return ShapedSink(folder, flat) if sink.format == "csv" else folder


def _shaped(rows: DataFrame, sink: SinkTable, keys: tuple[str, ...]) -> DataFrame:
    from sash.runtimes.spark.packing.columns import flat
    from sash.runtimes.spark.sinks.wrapped_sinks import messages

    if sink.format == "csv":
        return flat(rows)
    return messages(rows, keys) if sink.format == "kafka" else rows
