"""From queries over one stream to a running stream."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from os import PathLike, fspath
from typing import cast

import pyarrow as pa
from pyspark.sql import DataFrame, functions as F
from pyspark.sql.streaming.query import StreamingQuery

from sash.errors import Unsupported
from sash.operators.bound_query import BoundLatest, BoundQuery
from sash.operators.elastic.declaration import Elastic
from sash.runtimes.observed_counts import metric_of
from sash.runtimes.spark.compat import is_connect
from sash.runtimes.spark.epochs.one_task import OneTask
from sash.runtimes.spark.hadoop_folder import HadoopFolder
from sash.runtimes.spark.packing.blocks import COUNTS, PACKED_BUCKET
from sash.runtimes.spark.packing.outputs import LATE, REPORTS
from sash.runtimes.spark.session_requirements import require_streaming, shuffle_partitions
from sash.runtimes.spark.sinks.online import publishing
from sash.runtimes.spark.sinks.protocol import BatchSink, Sink
from sash.runtimes.spark.sinks.sink_of_argument import sinks_for
from sash.runtimes.spark.sql_folding.epoch_fold import EpochFold
from sash.runtimes.spark.state.queries_of_checkpoint import Register
from sash.runtimes.spark.streaming.epochs_or_state_store import epochs_together
from sash.runtimes.spark.streaming.processor_for_driver import LightProcessor
from sash.runtimes.spark.streaming.start import flattening, start_run, start_writing
from sash.runtimes.spark.streaming.stateful_step import Emitted
from sash.runtimes.spark.streaming.streaming_source import StreamingSource
from sash.runtimes.spark.streaming.upstream_watermark import Upstream
from sash.runtimes.spark.streaming.window_stage import WindowStage
from sash.runtimes.spark.together.epochs import TogetherRun
from sash.runtimes.spark.together.processor import TogetherProcessor
from sash.runtimes.spark.together.stage import QueryOfStream, TogetherStage, output_of
from sash.semantics.durations import Duration, DurationLike, Unit


def start_together(
    source: StreamingSource,
    bounds: Mapping[str, BoundQuery],
    sinks: Mapping[str, Sink],
    *,
    late: Mapping[str, Sink],
    checkpoint: str | PathLike[str],
    trigger: DurationLike | None,
    name: str | None,
    flat: frozenset[str] = frozenset(),
    online: Mapping[str, str | PathLike[str]],
) -> StreamingQuery:
    """Begin; each query has a sink, and one for late rows where `late` has one. The reports of those in
    `flat` have plain columns in the place of the struct `window`; those in `online` are published."""
    spark, place = source.df.sparkSession, fspath(checkpoint)
    if is_connect(spark):
        raise Unsupported(
            "together", "Spark Connect", "used where the driver is this process",
            hint="Its register of queries is written by the driver.",
        )  # fmt: skip
    given: dict[str, tuple[str, Sink | None]] = {}
    for query in bounds:
        given[output_of(query, REPORTS)] = f"sinks[{query!r}]", sinks[query]
        given[output_of(query, LATE)] = f"late[{query!r}]", late.get(query)
    latest = {output_of(query, REPORTS): own.keys for query, own in bounds.items()
              if isinstance(own, BoundLatest)}  # fmt: skip
    chosen = sinks_for(given, checkpoint=place, latest=latest)
    for query in flat:
        chosen[output_of(query, REPORTS)] = flattening(chosen[output_of(query, REPORTS)])
    for query, store in online.items():
        output = output_of(query, REPORTS)
        chosen[output] = publishing(
            chosen[output], bounds[query], store, spark, checkpoint=place, pattern=None
        )
    epochs = epochs_together(source, bounds.values(), place)
    if epochs is not None:
        return _in_epochs(source, bounds, chosen, epochs, late, place, trigger, name)
    register = Register(spark, place, bounds)
    stage = replace(stage_of(source, bounds, late=late, states=register.states), gone=register.gone)
    return start_writing(
        emitted(source, stage), chosen,
        checkpoint=place, trigger=trigger, name=name, register=register, early=bool(stage.panes),
    )  # fmt: skip


def _in_epochs(
    source: StreamingSource, bounds: Mapping[str, BoundQuery], sinks: Mapping[str, BatchSink],
    epochs: Elastic, late: Mapping[str, Sink], checkpoint: str, trigger: DurationLike | None,
    name: str | None,
) -> StreamingQuery:  # fmt: skip
    """With the states of all queries in files of the checkpoint."""
    stage = stage_of(source, bounds, late=late, states=dict.fromkeys(bounds, ""))
    stage = replace(stage, partitions=epochs.buckets, stamps=epochs.max)
    fold = None
    if source.rows_in_spark and len(stage.groups) == 1 and stage.panes:
        (group,) = stage.groups
        # What is late for one query may be on time for another: it travels as rows.
        late_rows = stage.row_packer(group)
        fold = EpochFold.over(
            stage.panes[group.buckets], source.df, group.buckets, stage.columns, late=late_rows
        )
    place = HadoopFolder(source.df.sparkSession, checkpoint).url
    run = TogetherRun(
        cast(WindowStage, stage), [Duration(0, Unit.MICROSECONDS)], epochs, place, sinks,
        fold=fold, packing=source.packing(stage), one_task=OneTask(),
    )  # fmt: skip
    return start_run(run, source.arriving(stage), trigger=trigger, name=name)


def stage_of(
    source: StreamingSource,
    bounds: Mapping[str, BoundQuery],
    *,
    late: Mapping[str, Sink],
    states: Mapping[str, str],
) -> TogetherStage:
    upstream, partitions = Upstream.of(source.df), shuffle_partitions(source.df.sparkSession)
    queries = tuple(
        QueryOfStream(name, states[name], bound, (REPORTS, LATE) if name in late else (REPORTS,))
        for name, bound in bounds.items()
    )
    ticks = bool(pa.types.is_integer(queries[0].bound.time_type))
    return TogetherStage(queries, partitions, ticks, upstream.derived, early=not upstream.derived)


def emitted(source: StreamingSource, stage: TogetherStage) -> Emitted:
    """What the step of all queries emits, with the counts of each in Spark's progress reports."""
    require_streaming(source.df.sparkSession, chained=stage.derived)
    packed, processor = source.watermarked(stage), TogetherProcessor(stage)
    rows = packed.groupBy(PACKED_BUCKET).transformWithStateInPandas(
        LightProcessor(processor, named=True),
        outputStructType=processor.answers.struct,
        outputMode="append",
        timeMode="eventTime",
    )
    for query in stage.queries:
        rows = _counted(rows, processor, query.name)
    queries = {name: own.description for name, own in stage.stages.items()}
    return Emitted(rows, tuple(stage.schemas), processor.answers.opened, queries)


def _counted(rows: DataFrame, processor: TogetherProcessor, query: str) -> DataFrame:
    totals = {count: processor.answers.total(f"{query} {count}") for count in COUNTS}
    return rows.observe(
        metric_of(query),
        *(F.coalesce(total, F.lit(0)).alias(count) for count, total in totals.items()),
    )
