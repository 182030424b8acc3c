"""`q.start(sink, checkpoint=…)`: a streaming query with its sink, fixed or elastic.

A fixed one has its parallelism frozen in its checkpoint, as every stateful query of Spark. An
elastic one chooses the number of its tasks for every micro-batch (see `epochs`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from os import PathLike, fspath
from typing import Any, cast

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from sash.errors import ArgumentError, SashError, Unsupported
from sash.operators.bound_query import WINDOW, BoundLatest, BoundQuery, BoundRolling
from sash.operators.elastic.declaration import Elastic
from sash.operators.elastic.instance_of_share import Assignment, balanced
from sash.operators.joins.asof.bound_asof import BoundAsof
from sash.operators.joins.bound_join import BoundJoin
from sash.operators.patterns.declared import Pattern
from sash.planner.auto_declaration import Auto
from sash.planner.plans.cheapest_pattern import Plan
from sash.runtimes.folder_paths import resolved
from sash.runtimes.spark.compat import is_connect
from sash.runtimes.spark.epochs.assumed_skew import AssumedSkew
from sash.runtimes.spark.epochs.decision_records import remember_decisions
from sash.runtimes.spark.epochs.elastic_query import ElasticQuery
from sash.runtimes.spark.epochs.epoch_answers import EpochAnswers
from sash.runtimes.spark.epochs.epoch_progress import remember
from sash.runtimes.spark.epochs.epoch_run import ElasticRun
from sash.runtimes.spark.epochs.executors import ExecutorDegree
from sash.runtimes.spark.epochs.one_task import OneTask
from sash.runtimes.spark.epochs.store_of_state import require_reachable, warn_of_forgetful_server
from sash.runtimes.spark.failures import java_in_one_sentence
from sash.runtimes.spark.hadoop_folder import HadoopFolder
from sash.runtimes.spark.joins.streaming_join import JoinStage, StreamingJoin, late_of
from sash.runtimes.spark.monitoring.small_batches import watch
from sash.runtimes.spark.packing.columns import flat as flat_columns
from sash.runtimes.spark.packing.outputs import LATE, REPORTS
from sash.runtimes.spark.session import warn_of_costly_settings
from sash.runtimes.spark.sinks.folder import FolderSink
from sash.runtimes.spark.sinks.online import publishing
from sash.runtimes.spark.sinks.protocol import BatchSink, Sink
from sash.runtimes.spark.sinks.sink_of_argument import require_fitting_columns, sinks_for
from sash.runtimes.spark.sinks.usable import require_usable
from sash.runtimes.spark.sinks.wrapped_sinks import ShapedSink, innermost
from sash.runtimes.spark.sql_folding.epoch_fold import EpochFold
from sash.runtimes.spark.state.arenas import local_folders, remove_when_ended
from sash.runtimes.spark.state.queries_of_checkpoint import Register
from sash.runtimes.spark.stateful.operator_stages import OperatorStage, StreamingOperator
from sash.runtimes.spark.streaming.deliver_outputs_to_sinks import BatchFunction, Delivery
from sash.runtimes.spark.streaming.epochs_or_state_store import epochs_for
from sash.runtimes.spark.streaming.hot_keys.choose_busy_buckets import SharingOut
from sash.runtimes.spark.streaming.hot_keys.choose_shared_keys import KeySharing, least_rows
from sash.runtimes.spark.streaming.hot_keys.handed_out_windows import HandedWindows
from sash.runtimes.spark.streaming.interruption import brief_when_interrupted
from sash.runtimes.spark.streaming.plan_of_checkpoint import settled
from sash.runtimes.spark.streaming.running_query import RunningQuery
from sash.runtimes.spark.streaming.stateful_step import Emitted
from sash.runtimes.spark.streaming.streaming_source import StreamingSource
from sash.runtimes.spark.streaming.upstream_watermark import Upstream
from sash.runtimes.spark.streaming.watermark_to_tasks import with_watermark
from sash.runtimes.spark.streaming.watermark_units import Clock
from sash.runtimes.spark.streaming.window_stage import WindowStage
from sash.runtimes.trigger import Trigger
from sash.semantics.durations import Duration, DurationLike
from sash.semantics.expression import Side

EMPTY_BATCHES = "spark.sql.streaming.noDataMicroBatches.enabled"


def start(
    source: StreamingSource,
    bound: BoundQuery,
    sink: Sink,
    *,
    late: Sink | None,
    checkpoint: str | PathLike[str],
    elastic: Elastic | None,
    trigger: DurationLike | None,
    name: str | None,
    flat: bool = False,
    online: str | PathLike[str] | None = None,
) -> StreamingQuery | ElasticQuery:
    """Begin; the handle shows its progress and stops it."""
    spark, place = source.df.sparkSession, fspath(checkpoint)
    latest = {REPORTS: bound.keys} if isinstance(bound, BoundLatest) else {}
    sinks = sinks_for({REPORTS: ("sink", sink), LATE: ("late", late)}, checkpoint=place, latest=latest)
    if flat:
        sinks[REPORTS] = flattening(sinks[REPORTS])
    unsettled, source = source, settled(source, bound, place, elastic=elastic is not None)
    if online is not None:
        pattern = source.plan(bound).pattern if elastic is None else None
        sinks[REPORTS] = publishing(sinks[REPORTS], bound, online, spark, checkpoint=place, pattern=pattern)
    epochs = epochs_for(source, bound, place) if elastic is None else elastic
    if epochs is None:
        register = _register(spark, place)
        early = register is not None and source.folds_early(bound)
        buckets = None if register is None else register.buckets()
        writing = start_writing(
            source.emitted(bound, tuple(sinks), buckets, early=early, shared=register is not None), sinks,
            checkpoint=place, trigger=trigger, name=name, register=register, early=early,
            on_arrival=_answers_on_arrival(bound),
        )  # fmt: skip
        if register is not None and isinstance(source.parallelism, Auto):
            watch(writing, "stateful", sinks.values())
        return writing
    _require_elastic(epochs)
    if source.idle is not None:
        raise Unsupported("elastic", "a stream with idle=…", "given streams without it")
    if elastic is not None and not isinstance(source.parallelism, Auto):
        raise not_elastic(source.parallelism)
    stage = WindowStage.of(
        bound,
        tuple(sinks),
        buckets=tuple(range(epochs.buckets)) if bound.keys else (0,),
        clock=Clock.of(ticks=bool(pa.types.is_integer(bound.time_type))),
        derived=False,
        operator=source.operator,
        early=source.folds_early(bound),
        stamps=epochs.max,
    )
    windows = None
    if elastic is None and source.shares_windows(bound):
        stage = replace(stage, hands_out=True)
        windows = SharingOut(HandedWindows(EpochAnswers(stage.schemas), stage.bound, stage.buckets))
    panes = None
    if elastic is None and online is None:
        panes = source.shared_look_backs(stage.bound, len(stage.buckets))
        stage = replace(stage, look_backs=panes)
    fold = EpochFold.of(stage, source.df) if source.rows_in_spark else None
    run = ElasticRun(
        stage, [bound.query.delay], epochs, HadoopFolder(spark, place).url, sinks,
        fold=fold, packing=source.packing(stage), one_task=OneTask() if elastic is None else None,
        skew=_assumed_skew(unsettled, bound) if elastic is None else None,
        executors=ExecutorDegree.of(spark) if epochs.executors else None, windows=windows,
        on_arrival=_answers_on_arrival(bound),
        sharing=None if panes is None else KeySharing(panes, least_rows(panes, unsettled.parallelism)),
    )  # fmt: skip
    query = start_run(run, source.arriving(stage), trigger=trigger, name=name)
    if elastic is not None:
        return ElasticQuery(query, run)
    watch(query, "epoch", sinks.values(), in_one_task=run.was_in_one_task)
    return query


def _assumed_skew(source: StreamingSource, bound: BoundQuery) -> AssumedSkew | None:
    known = source.parallelism
    if not isinstance(known, Auto) or not bound.keys:
        return None

    def planned(hottest: float) -> Plan:
        return replace(source, parallelism=replace(known, hottest=hottest)).plan(bound)

    facts = source.plan(bound).facts
    return AssumedSkew(facts.events, facts.cores, planned)


def flattening(sink: BatchSink) -> BatchSink:
    """The same sink for reports with plain columns in the place of the struct `window`."""
    return ShapedSink(sink, lambda reports: flat_columns(reports, WINDOW))


def start_writing(
    emitted: Emitted,
    sinks: Mapping[str, BatchSink],
    *,
    checkpoint: str | PathLike[str],
    trigger: DurationLike | None,
    name: str | None,
    register: Register | None,
    early: bool = False,
    on_arrival: bool = False,
) -> StreamingQuery:
    """A query whose parallelism is Spark's, from what its step emits on. Without a register, where the
    driver is not this process, workers compare it with its checkpoint. `early`: tasks must know the
    watermark of their batch. `on_arrival`: all rows come with batches that have events."""
    spark = emitted.rows.sparkSession
    if is_connect(spark):
        _require_no_folder(sinks)
    require_fitting_columns(sinks, lambda output: dict(emitted.output(output).dtypes))
    warn_of_costly_settings(spark)
    delivery: BatchFunction = Delivery(emitted.outputs, emitted.opened, sinks, on_arrival)
    sharing = None if emitted.windows is None else SharingOut(emitted.windows)
    if sharing is not None:
        delivery = sharing.around(delivery)
    if early:
        delivery = with_watermark(delivery, spark, fspath(checkpoint))
    if register is not None:
        register.require_same(emitted.queries)
        delivery = register.around(delivery)
    writer = _writer(emitted.rows, fspath(checkpoint), trigger, name).outputMode("append")
    with without_empty_batches(spark) if on_arrival else nullcontext():
        query = _begun(spark, writer.foreachBatch(brief_when_interrupted(delivery)), checkpoint, sinks)
    if sharing is not None:
        remember_decisions(str(query.runId), sharing)
    return _running(query, spark, fspath(checkpoint), sinks)


def _answers_on_arrival(bound: BoundQuery) -> bool:
    """Whether every row comes with the batch of its event, or of one that corrects it."""
    rolling = isinstance(bound, BoundRolling) and not isinstance(bound, BoundLatest)
    return rolling and bound.query.emit.early


@contextmanager
def without_empty_batches(spark: SparkSession) -> Iterator[None]:
    """Queries that are started here have no micro-batch without data after each that moved the watermark:
    rows that arrive meanwhile would wait for it. A query has the settings of its start for good."""
    before = spark.conf.get(EMPTY_BATCHES, None)
    spark.conf.set(EMPTY_BATCHES, "false")
    try:
        yield
    finally:
        if before is None:
            spark.conf.unset(EMPTY_BATCHES)
        else:
            spark.conf.set(EMPTY_BATCHES, before)


def start_join(
    inputs: StreamingJoin,
    bound: BoundJoin | BoundAsof,
    sink: Sink,
    *,
    late: Mapping[Side, Sink],
    checkpoint: str | PathLike[str],
    elastic: Elastic | None,
    trigger: DurationLike | None,
    name: str | None,
    mapping: Assignment = balanced,
) -> StreamingQuery | ElasticQuery:
    """A join of two streams."""
    given = {late_of(side): (f"late[{side.value!r}]", late.get(side)) for side in Side}
    sinks = sinks_for({REPORTS: ("sink", sink), **given}, checkpoint=checkpoint)
    return _start_blocks(
        inputs.left.sparkSession, sinks,
        emitted=lambda: inputs.emitted(bound, tuple(sinks)),
        blocks=lambda elastic: inputs.elastic(bound, tuple(sinks), elastic),
        delays=[bound.join.delay(side) for side in Side], mapping=mapping,
        checkpoint=fspath(checkpoint), elastic=elastic, trigger=trigger, name=name,
    )  # fmt: skip


def start_operator(
    inputs: StreamingOperator,
    sink: Sink,
    *,
    late: Sink | None,
    checkpoint: str | PathLike[str],
    elastic: Elastic | None,
    trigger: DurationLike | None,
    name: str | None,
) -> StreamingQuery | ElasticQuery:
    """A stateful operator over streams. Tuples that come too late go to the sink `late`."""
    sinks = sinks_for({REPORTS: ("sink", sink), LATE: ("late", late)}, checkpoint=checkpoint)
    return _start_blocks(
        inputs.frames[0].sparkSession, sinks,
        emitted=lambda: inputs.emitted(tuple(sinks)),
        blocks=lambda elastic: inputs.elastic(tuple(sinks), elastic),
        delays=inputs.bound.delays, mapping=inputs.bound.operator.mapping,
        checkpoint=fspath(checkpoint), elastic=elastic, trigger=trigger, name=name,
    )  # fmt: skip


def _start_blocks(
    spark: SparkSession,
    sinks: Mapping[str, BatchSink],
    *,
    emitted: Callable[[], Emitted],
    blocks: Callable[[Elastic], tuple[DataFrame, JoinStage | OperatorStage]],
    delays: Sequence[Duration],
    mapping: Assignment,
    checkpoint: str,
    elastic: Elastic | None,
    trigger: DurationLike | None,
    name: str | None,
) -> StreamingQuery | ElasticQuery:
    """A join or an operator, whose streams are packed into blocks. In epochs, where it is elastic, blocks
    have the number of their stream, and `mapping` is the operator's f_μ."""
    if elastic is None:
        return start_writing(
            emitted(), sinks,
            checkpoint=checkpoint, trigger=trigger, name=name, register=_register(spark, checkpoint),
        )  # fmt: skip
    _require_elastic(elastic)
    arriving, stage = blocks(elastic)
    run = ElasticRun(
        cast(WindowStage, stage), delays, elastic, HadoopFolder(spark, checkpoint).url, sinks,
        executors=ExecutorDegree.of(spark) if elastic.executors else None,
    )  # fmt: skip
    if mapping is not balanced:
        run.assign = mapping
    return ElasticQuery(start_run(run, arriving, trigger=trigger, name=name), run)


def not_elastic(pattern: Pattern) -> SashError:
    """Why a query under a pattern cannot be elastic."""
    return Unsupported(
        "elastic", str(pattern), "left out under a pattern",
        hint="A pattern fixes how many workers there are; an elastic query chooses that for every "
        "micro-batch.",
    )  # fmt: skip


def _require_elastic(given: Any) -> None:
    if not isinstance(given, Elastic):
        raise ArgumentError("elastic", given, "sash.Elastic(min=…, max=…), or left out")


def _register(spark: SparkSession, checkpoint: str) -> Register | None:
    return None if is_connect(spark) else Register(spark, checkpoint)


def start_run(
    run: ElasticRun, arriving: DataFrame, *, trigger: DurationLike | None, name: str | None
) -> StreamingQuery:
    """Begin with the batches of a stream, once all is found to be in order."""
    spark = arriving.sparkSession
    _require_reachable(spark, run.elastic.store, run.checkpoint)
    _require_no_watermark(arriving)
    warn_of_forgetful_server(run.elastic.store)
    require_fitting_columns(
        run.sinks, lambda output: {field.name: str(field.type) for field in run.stage.schemas[output]}
    )
    warn_of_costly_settings(spark, elastic=True)
    run.require_same_query(spark)
    if run.fold is None and run.packing is not None:
        # In the plan of the stream, and not in each batch: no batch needs the rows in another form.
        arriving, run.packing = run.packing.selected(arriving), replace(run.packing, columns=())
    writer = _writer(arriving, run.checkpoint, trigger, name)
    query = _begun(spark, writer.foreachBatch(brief_when_interrupted(run)), run.checkpoint, run.sinks)
    remember(str(query.runId), run)
    remember_decisions(str(query.runId), run)
    run.query = query
    return _running(query, spark, run.checkpoint, run.sinks)


def _begun(
    spark: SparkSession, writer: Any, checkpoint: str | PathLike[str], sinks: Mapping[str, BatchSink]
) -> Any:
    """Spark's handle. What would fail in the first batch, or with a stack of Java's, is found before."""
    if not is_connect(spark):
        place = HadoopFolder(spark, fspath(checkpoint))
        for sink in sinks.values():
            require_usable(innermost(sink), spark, place)
        if not place.make():
            raise ArgumentError("checkpoint", fspath(checkpoint), "a folder that can be made and written")
    with java_in_one_sentence():
        return writer.start()


def _running(
    query: Any, spark: SparkSession, checkpoint: str, sinks: Mapping[str, BatchSink]
) -> StreamingQuery:
    remove_when_ended(query, spark)
    if is_connect(spark):  # its handle is another one, and waits in its own way
        return cast(StreamingQuery, query)
    folders = (sink.identity[1] for sink in sinks.values() if sink.identity[:1] == ("folder",))
    return RunningQuery.of(query, [resolved(checkpoint), *folders, *local_folders(spark)])


def _require_no_folder(sinks: Mapping[str, BatchSink]) -> None:
    if any(isinstance(sink, FolderSink) for sink in sinks.values()):
        raise Unsupported(
            "sink", "a folder", "a function on Spark Connect",
            hint="Its manifests are written by the driver, which is not this process; "
            "q.dataframe().writeStream.format('parquet') writes files there.",
        )  # fmt: skip


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
            hint="Declare how late events may come with sash.stream(…, delay=…) instead of withWatermark.",
        )  # fmt: skip
