"""What a pipeline writes, as each sink can take it.

csv      one column for each field of a struct: window_start, window_end
kafka    value is the row as JSON, key the key columns (one as it is, several as JSON)
others   the rows as they are
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sash.pipeline.schema import Pipeline, SinkTable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery


def written(pipeline: Pipeline, sink: SinkTable, rows: DataFrame) -> None:
    """Write static rows, all of them."""
    mode = "overwrite" if sink.overwrite else "append" if sink.format == "kafka" else "errorifexists"
    writer: Any = _shaped(rows, sink, pipeline).write.format(sink.format).options(**sink.options)
    if sink.table:
        writer.mode(mode).saveAsTable(sink.table)
    elif sink.path:
        writer.mode(mode).save(pipeline.located(sink.path))
    else:
        writer.mode("append" if sink.format == "console" else "overwrite").save()


def begun(
    pipeline: Pipeline, sink: SinkTable, rows: DataFrame, *, name: str, checkpoint: str
) -> StreamingQuery:
    """Begin to write streaming rows; `checkpoint` is empty where a run cannot be resumed."""
    writer: Any = _shaped(rows, sink, pipeline).writeStream.format(sink.format).options(**sink.options)
    writer = writer.queryName(name).outputMode("append").trigger(**pipeline.run.trigger.spark)
    if checkpoint:
        writer = writer.option("checkpointLocation", checkpoint)
    if sink.table:
        query: StreamingQuery = writer.toTable(sink.table)
    else:
        query = writer.start(pipeline.located(sink.path)) if sink.path else writer.start()
    return query


def _shaped(rows: DataFrame, sink: SinkTable, pipeline: Pipeline) -> DataFrame:
    if sink.format == "csv":
        from sash.runtimes.spark.packing.columns import flat

        return flat(rows)
    return _messages(rows, pipeline.stream.key) if sink.format == "kafka" else rows


def _messages(rows: DataFrame, keys: tuple[str, ...]) -> DataFrame:
    from pyspark.sql import functions as F

    from sash.runtimes.spark.packing.columns import quoted

    value = F.to_json(F.struct(*map(quoted, rows.columns))).alias("value")
    if not keys:
        return rows.select(value)
    one = F.col(quoted(keys[0])).cast("string")
    key = one if len(keys) == 1 else F.to_json(F.struct(*map(quoted, keys)))
    return rows.select(key.alias("key"), value)
