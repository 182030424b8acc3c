"""A streaming DataFrame as input, and a streaming DataFrame as answer.

    select → pack → watermark → groupBy(bucket) → window, in a state store → answer

Between pack and window one binary block for a bucket moves instead of rows. Spark drops no row on this way,
so that what is late is decided by the query and written to its late output. The counts of events, late
events and reports are in each progress report of the running query, under `observedMetrics`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import isfinite
from typing import Any, NoReturn, Protocol

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from sash.errors import SashError, Unsupported
from sash.operators.bound_query import WINDOW, BoundQuery
from sash.operators.engine import StatePlan, holds_whole_windows, keeps_panes
from sash.operators.look_backs_by_pane import LookBackPanes
from sash.operators.patterns.declared import Pattern
from sash.operators.protocol import StreamOperator
from sash.planner.auto_declaration import AUTO, Auto, Parallelism
from sash.planner.costs.constants import DEFAULTS, Costs, costs
from sash.planner.facts import Facts
from sash.planner.plans.candidates import Choice
from sash.planner.plans.cheapest_pattern import Plan, make_plan
from sash.planner.sampling import assumed
from sash.runtimes.spark.packing import columns as by_position
from sash.runtimes.spark.packing.answers import answers_with
from sash.runtimes.spark.packing.balanced_bucket_ids import bucket_ids
from sash.runtimes.spark.packing.blocks import PACKED_BUCKET, PAYLOAD, Packing
from sash.runtimes.spark.packing.bucket_of_key_sql import Share
from sash.runtimes.spark.packing.columns import arrow_schema
from sash.runtimes.spark.packing.outputs import REPORTS, Outputs
from sash.runtimes.spark.packing.row_packing import RowPacking
from sash.runtimes.spark.patterns.stream_plan import (
    impossible_on_streams,
    not_planned_on_streams,
    stream_stages_of,
)
from sash.runtimes.spark.patterns.streaming_stages import farmed, is_chained
from sash.runtimes.spark.session_requirements import require_streaming, shuffle_partitions, task_slots
from sash.runtimes.spark.sql_folding.when_spark_folds import spark_fold
from sash.runtimes.spark.streaming.epochs_or_state_store import why_session, why_state_store
from sash.runtimes.spark.streaming.heartbeat import heartbeats
from sash.runtimes.spark.streaming.hot_keys.choose_shared_keys import least_rows, shared_panes
from sash.runtimes.spark.streaming.panes_before_shuffle import why_rows
from sash.runtimes.spark.streaming.stateful_processor import WindowProcessor
from sash.runtimes.spark.streaming.stateful_step import Emitted, answers_of
from sash.runtimes.spark.streaming.upstream_watermark import Upstream
from sash.runtimes.spark.streaming.watermark_units import Clock
from sash.runtimes.spark.streaming.window_stage import WindowStage
from sash.semantics.durations import Duration, Unit

MOST_BUCKETS = 64


class PackedStage(Protocol):
    """What a stage needs before its step: which rows, and in which blocks."""

    @property
    def time(self) -> str: ...
    @property
    def ticks(self) -> bool: ...
    @property
    def columns(self) -> list[str]: ...
    @property
    def shares(self) -> list[Share]: ...
    @property
    def packer(self) -> Packing: ...
    @property
    def spark_delay(self) -> str: ...
    @property
    def buckets(self) -> tuple[int, ...]: ...
    @property
    def block(self) -> pa.Schema: ...


@dataclass(frozen=True)
class StreamingSource:
    """An unbounded DataFrame."""

    df: DataFrame
    operator: type[StreamOperator] | None = None
    """What keeps the windows of a bucket; None: whatever suits the query."""
    parallelism: Parallelism = AUTO
    """Who computes which windows, or the wish that the planner decides."""
    idle: Duration | None = None
    """How long nothing may come until time goes on by the clock."""

    bounded = False
    ends = False
    rows_in_spark = True
    """Whether Spark reads the rows, and could compute with them."""

    @property
    def schema(self) -> pa.Schema:
        return arrow_schema(self.df)

    @property
    def spark_schema(self) -> StructType:
        return self.df.schema

    @cached_property
    def upstream(self) -> Upstream:
        return Upstream.of(self.df)

    @property
    def slots(self) -> int:
        """How many tasks run at a time."""
        return task_slots(self.df.sparkSession)

    @property
    def partitions(self) -> int:
        return shuffle_partitions(self.df.sparkSession)

    def collect(self, bound: BoundQuery) -> NoReturn:
        self._refuse_to_collect()

    def dataframe(self, bound: BoundQuery) -> DataFrame:
        return self.planned_anywhere(bound).emitted(bound, (REPORTS,)).output()

    def flat_dataframe(self, bound: BoundQuery) -> DataFrame:
        return by_position.flat(self.dataframe(bound), WINDOW)

    def plan(self, bound: BoundQuery, constants: Costs | None = None) -> Plan:
        """What a new checkpoint would begin with: by these constants, or by those of this machine."""
        known = self.parallelism if isinstance(self.parallelism, Auto) else AUTO
        cores = known.cores or self.slots
        events = assumed(bound, known)
        facts = Facts.of(bound, events, where="spark streaming", cores=cores)
        facts = replace(facts, own_watermark=self.upstream.own())
        if self.rows_in_spark and keeps_panes(bound):
            facts = replace(facts, spark=spark_fold(bound, self.spark_schema, events))
        refuse = self._not_planned if isinstance(self.parallelism, Auto) else self.refusal
        return make_plan(bound, facts, constants or costs(), parallelism=self.parallelism, refuse=refuse)

    def computed_by(self, choice: Choice) -> StreamingSource:
        """The same, with nothing left to the planner."""
        return replace(self, parallelism=AUTO if choice is None else choice)

    def planned_anywhere(self, bound: BoundQuery) -> StreamingSource:
        """The same with the plan that any machine would make: where a checkpoint cannot be read, it must
        find the plan that it began with, wherever it goes on."""
        return self.computed_by(self.plan(bound, DEFAULTS).pattern)

    def parallel(self, parallelism: Parallelism, bound: BoundQuery) -> StreamingSource:
        refusal = None if isinstance(parallelism, Auto) else self.refusal(parallelism, bound)
        if refusal is not None:
            raise refusal
        return replace(self, parallelism=parallelism)

    def idle_after(self, idle: Duration) -> StreamingSource:
        """The same, with windows that close although no more events come."""
        return replace(self, idle=idle)

    def by_clock(self) -> StreamingSource:
        """The same, whose time goes on by the clock; as far behind it as `idle_after` has it, if at all."""
        return self if self.idle is not None else self.idle_after(Duration(0, Unit.MICROSECONDS))

    def stages(self, bound: BoundQuery, plan: Plan) -> list[str]:
        upstream, partitions = self.upstream, self.partitions
        delay = f"a delay of {bound.query.delay}"
        kept = f"the stream's own watermark, and {delay}" if upstream.columns else delay
        if self.idle is not None:
            kept += f"; {self.idle} behind the clock when nothing comes"
        keys = ", ".join(bound.keys) or "one bucket: no key"
        pack, watermark = (
            f"pack {len(bound.columns)} columns into a block for each bucket",
            f"watermark: {kept}",
        )
        opens = answers_with({REPORTS: bound.output}).stages
        if plan.pattern is not None:
            return [
                pack,
                watermark,
                *stream_stages_of(plan.pattern, bound, keys, opens, derived=upstream.derived),
            ]
        why, held = why_state_store(self, bound), _held_in_words(bound)
        if why is None:
            buckets = self.epoch_buckets(bound)
            spread = (
                f"shuffle {buckets} buckets to {min(buckets, self.slots)} tasks, one per core; small "
                "batches after small ones are packed and computed in one task, without a shuffle"
            )
            kept_in, opens = f"{held} in files of the checkpoint", ()
            written = ["write: 1 job of 2 stages a batch, both with Python; tasks write folders themselves"]
        else:
            spread = f"shuffle {len(_buckets(bound, partitions))} buckets to {partitions} partitions"
            kept_in = f"{held} in Spark's state store, RocksDB: {why}"
            written = ["write: 1 job of 2 stages a batch, both with Python; 1 more for a further output"]
        folds = why is None and plan.facts.spark is not None and plan.facts.spark.of is not None
        return [
            f"{pack} of ({keys}), {self._early_or_why_not(bound, native=folds)}",
            watermark,
            spread,
            f"window and fold, with {kept_in}",
            *opens,
            *self._shared_in_words(bound, epochs=why is None),
            *written,
        ]

    def why_session(self) -> str | None:
        """Why no query of the stream's session runs in epochs; None where some may."""
        return why_session(self.df.sparkSession)

    def epoch_buckets(self, bound: BoundQuery) -> int:
        """How many a new query in epochs has, for good: a task serves several, so that more cores can be
        used later."""
        return min(self.partitions, MOST_BUCKETS) if bound.keys else 1

    def refusal(self, pattern: Pattern, bound: BoundQuery) -> SashError | None:
        """Why a stream cannot be computed under a pattern; None where it can."""
        return impossible_on_streams(pattern, bound, derived=self.upstream.derived)

    def _not_planned(self, pattern: Pattern, bound: BoundQuery) -> SashError | None:
        """Why the planner does not choose a pattern by itself."""
        return not_planned_on_streams(pattern, bound, derived=self.upstream.derived)

    def _refuse_to_collect(self) -> NoReturn:
        raise Unsupported(
            "data", "a streaming DataFrame", "bounded for collect()",
            hint="It has no end: use .start(sink, checkpoint=…).",
        )  # fmt: skip

    def folds_early(self, bound: BoundQuery) -> bool:
        """Whether rows may be folded before the shuffle, where tasks know the watermark of their batch."""
        return self.why_rows(bound) is None

    def why_rows(self, bound: BoundQuery) -> str | None:
        """Why they are not."""
        if self.upstream.derived:
            return "rows of another stateful step are judged by the watermark before"
        if self.operator is not None or self.plan(bound).pattern is not None:
            return "the query is computed in a way of its own"
        return why_rows(bound)

    def _early_or_why_not(self, bound: BoundQuery, *, native: bool) -> str:
        why = self.why_rows(bound)
        if why is not None:
            return f"rows as they are: {why}"
        where = "in all tasks, where that saves a quarter of the rows"
        if native:
            where += "; in generated code where the batch before was large and halved by it"
        return f"under start() first folded into panes, {where}"

    def emitted(
        self,
        bound: BoundQuery,
        outputs: Outputs,
        buckets: tuple[int, ...] | None = None,
        *,
        early: bool = False,
        shared: bool = False,
    ) -> Emitted:
        """Reports and late rows, in one pass; in the buckets that a checkpoint has, where that is known.
        `early`: tasks know the watermark of their batch, and may fold rows. `shared`: they know which
        buckets are busy, and these may hand windows out."""
        pattern = self.plan(bound).pattern
        require_streaming(self.df.sparkSession, chained=self.upstream.derived or is_chained(pattern, bound))
        stage = self.stage(bound, outputs, buckets, early=early)
        if pattern is not None:
            return farmed(stage, pattern, partitions=self.partitions, packed=self.watermarked, kept=buckets)
        # Not where reports leave in blocks: Spark writes into a checkpoint in which way rows leave.
        in_frames = answers_with({REPORTS: bound.output}).frames
        stage = replace(stage, hands_out=shared and in_frames and self.shares_windows(bound))
        return answers_of(self.watermarked(stage), WindowProcessor(stage))

    def shares_windows(self, bound: BoundQuery) -> bool:
        """Whether busy buckets may hand windows out, where the driver finds out which they are."""
        return self.operator is None and self.plan(bound).pattern is None and holds_whole_windows(bound)

    def shared_look_backs(self, bound: BoundQuery, buckets: int) -> LookBackPanes | None:
        """The panes by which so many buckets share look-backs of hot keys; None where they cannot."""
        if self.operator is not None or self.upstream.derived:
            return None
        return shared_panes(bound, buckets=buckets)

    def _shared_in_words(self, bound: BoundQuery, *, epochs: bool) -> list[str]:
        panes = self.shared_look_backs(bound, self.epoch_buckets(bound)) if epochs else None
        if panes is not None and isfinite(least := least_rows(panes, self.parallelism)):
            return [
                "under start(), look-backs of a key that has more rows than a task has on average, and at "
                f"least {least:,}, in two batches: computed by {panes.shares} buckets, until it has fewer"
            ]
        if not self.shares_windows(bound):
            return []
        return [
            "under start(), windows of a bucket that took far longer than the others in the batch before: "
            f"computed in {max(self.slots, len(_buckets(bound, self.partitions)))} tasks, round-robin"
        ]

    def stage(
        self, bound: BoundQuery, outputs: Outputs, buckets: tuple[int, ...] | None, *, early: bool = False
    ) -> WindowStage:
        """The step of the query, not yet over any rows."""
        upstream, delay = self.upstream, bound.query.delay.length
        return WindowStage.of(
            bound,
            outputs,
            buckets=buckets or _buckets(bound, self.partitions),
            clock=Clock.of(ticks=_ticks(bound), delay=delay if upstream.columns else 0),
            derived=upstream.derived,
            operator=self.operator,
            early=early,
        )

    def watermarked(self, stage: PackedStage) -> DataFrame:
        """The blocks of the stage's buckets, with a watermark: the stream's own, or one of their stamps."""
        upstream = self.upstream
        upstream.require_about(self.df, stage.time, ticks=stage.ticks)
        if self.idle is not None:
            self.require_clock(self.idle, upstream, ticks=stage.ticks)
        blocks = self.packed(stage)
        if self.idle is not None:
            blocks = blocks.unionAll(heartbeats(self.df.sparkSession, stage, self.idle))
        blocks = upstream.watermarked(blocks, stage.spark_delay, ticks=stage.ticks)
        return blocks.select(PACKED_BUCKET, PAYLOAD)

    def require_clock(self, idle: Duration, upstream: Upstream, *, ticks: bool) -> None:
        if ticks:
            raise Unsupported(
                "idle",
                str(idle),
                "left out for integer times",
                hint="They do not follow a clock.",
            )
        if upstream.columns:
            raise Unsupported(
                "idle", str(idle), "left out for a stream with a watermark of its own",
                hint="Give how late events may come as sash.stream(…, delay=…) instead of withWatermark.",
            )  # fmt: skip

    @property
    def origin(self) -> Any:
        """What two queries over one stream have in common."""
        return self.df

    def packed(self, stage: PackedStage) -> DataFrame:
        """The rows of the stream, a block for each bucket."""
        return self.packing(stage).blocks(self.arriving(stage))

    def arriving(self, stage: PackedStage) -> DataFrame:
        """What `packing` makes blocks of."""
        return self.df.select(*map(by_position.quoted, stage.columns))

    def packing(self, stage: PackedStage) -> RowPacking:
        shares = (share.sql for share in stage.shares)
        return RowPacking((*by_position.placed(stage.columns), *shares), stage.packer)


def _ticks(bound: BoundQuery) -> bool:
    return bool(pa.types.is_integer(bound.time_type))


def _buckets(bound: BoundQuery, partitions: int) -> tuple[int, ...]:
    """Numbers of buckets, as Spark will spread them; a query without a key has one. They are fixed for the
    life of a checkpoint. A task works on the buckets of its partition one after the other, so that more
    than one would only be more calls to the state store."""
    return bucket_ids(partitions=partitions, each=1) if bound.keys else (0,)


def _held_in_words(bound: BoundQuery) -> str:
    """What an operator holds of its stream."""
    if keeps_panes(bound):
        return "panes"
    return "running aggregates" if all(lane.running for lane in StatePlan(bound).lanes) else "events"
