"""`q.start(sink, checkpoint=…)`: a streaming query with its sink, fixed or elastic.

A fixed one is what `q.dataframe().writeStream` gives: its parallelism is frozen in its checkpoint. An
elastic one chooses the number of its tasks for every micro-batch (see `elastic`).
"""

from __future__ import annotations

from os import PathLike, fspath
from typing import Any, cast

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from sash.errors import ArgumentError, Unsupported
from sash.operators.bound import WINDOW, BoundQuery
from sash.operators.elastic.declaration import Elastic
from sash.planner.auto import Auto
from sash.runtimes.spark.compat import is_connect
from sash.runtimes.spark.elastic.run import ElasticQuery, ElasticRun
from sash.runtimes.spark.elastic.state_location import require_reachable
from sash.runtimes.spark.native.epoch_fold import EpochFold
from sash.runtimes.spark.packing.columns import flat as flat_columns
from sash.runtimes.spark.state.arenas import remove_when_ended
from sash.runtimes.spark.streaming.clock import Clock
from sash.runtimes.spark.streaming.sinks import Sink, sink_for
from sash.runtimes.spark.streaming.streaming_source import StreamingSource
from sash.runtimes.spark.streaming.upstream import Upstream
from sash.runtimes.spark.streaming.window_stage import Output, WindowStage
from sash.runtimes.trigger import Trigger
from sash.semantics.durations import Duration, DurationLike


def start(
    source: StreamingSource,
    bound: BoundQuery,
    output: Output,
    sink: Sink,
    *,
    checkpoint: str | PathLike[str],
    elastic: Elastic | None,
    trigger: DurationLike | None,
    name: str | None,
    flat: bool = False,
) -> StreamingQuery | ElasticQuery:
    """Begin; the handle tells how it goes and stops it."""
    place = fspath(checkpoint)
    if elastic is None:
        reports = source.flat_dataframe if flat else source.dataframe
        answer = reports(bound) if output == "reports" else source.late_dataframe(bound)
        return start_writing(answer, sink, checkpoint=place, trigger=trigger, name=name)
    if not isinstance(elastic, Elastic):
        raise ArgumentError("elastic", elastic, "sash.Elastic(min=…, max=…), or left out")
    if source.idle is not None:
        raise Unsupported("elastic", "a stream with idle=…", "given streams without it")
    if not isinstance(source.parallelism, Auto):
        raise Unsupported(
            "elastic", str(source.parallelism), "left out under a pattern",
            hint="A pattern fixes how many workers there are; an elastic query chooses that anew for every "
            "micro-batch.",
        )  # fmt: skip
    stage = WindowStage.of(
        bound,
        output,
        buckets=tuple(range(elastic.buckets)) if bound.keys else (0,),
        clock=Clock.of(ticks=bool(pa.types.is_integer(bound.time_type))),
        derived=False,
        operator=source.operator,
    )
    fold = EpochFold.of(stage, source.df) if source.rows_in_spark else None
    arriving, stage = (source.packed(stage), stage) if fold is None else (source.df, fold.stage)
    return start_elastic(
        arriving, stage, _flattening(sink) if flat else sink,
        delay=bound.query.delay, checkpoint=place, elastic=elastic, trigger=trigger, name=name, fold=fold,
    )  # fmt: skip


def _flattening(sink: Sink) -> Sink:
    write = sink_for(sink)
    return lambda reports, batch: write(flat_columns(reports, WINDOW), batch)


def start_writing(
    answer: DataFrame,
    sink: Sink,
    *,
    checkpoint: str | PathLike[str],
    trigger: DurationLike | None,
    name: str | None,
) -> StreamingQuery:
    """A query whose parallelism is Spark's, from its answer on."""
    writer = _writer(answer, fspath(checkpoint), trigger, name).outputMode("append")
    if callable(sink):
        query = cast(StreamingQuery, writer.foreachBatch(sink).start())
    else:
        sink_for(sink)
        query = cast(StreamingQuery, writer.format("parquet").start(fspath(sink)))
    remove_when_ended(query, answer.sparkSession)
    return query


def start_elastic(
    arriving: DataFrame,
    stage: WindowStage,
    sink: Sink,
    *,
    delay: Duration,
    checkpoint: str,
    elastic: Elastic,
    trigger: DurationLike | None,
    name: str | None,
    inputs: int = 1,
    fold: EpochFold | None = None,
) -> ElasticQuery:
    """An elastic query over the blocks of a stream, or of several, which `arriving` then tells apart; with
    `fold`, over the rows of a stream."""
    _require_reachable(arriving.sparkSession, elastic.store, checkpoint)
    _require_no_watermark(arriving)
    run = ElasticRun(stage, delay, elastic, checkpoint, sink_for(sink), inputs, fold=fold)
    query = _writer(arriving, checkpoint, trigger, name).foreachBatch(run).start()
    remove_when_ended(query, arriving.sparkSession)
    return ElasticQuery(query, run)


def _require_reachable(spark: SparkSession, store: str, checkpoint: str) -> None:
    if is_connect(spark):
        raise Unsupported(
            "elastic", store, "left out on Spark Connect", hint="Its driver is not this process."
        )
    setting = spark.sparkContext.getConf().get
    require_reachable(
        store,
        checkpoint,
        master=str(setting("spark.master")),
        speculation=setting("spark.speculation") == "true",
    )


def _writer(df: DataFrame, checkpoint: str, trigger: DurationLike | None, name: str | None) -> Any:
    writer = df.writeStream.option("checkpointLocation", checkpoint)
    if name is not None:
        writer = writer.queryName(name)
    return writer if trigger is None else writer.trigger(**Trigger.parse(trigger, "trigger").spark)


def _require_no_watermark(df: DataFrame) -> None:
    columns = Upstream.of(df).columns
    if columns:
        raise Unsupported(
            "elastic", f"a stream with a watermark on {', '.join(columns)}", "given streams without one",
            hint="Say how late events may come with sash.stream(…, delay=…) instead of withWatermark.",
        )  # fmt: skip
