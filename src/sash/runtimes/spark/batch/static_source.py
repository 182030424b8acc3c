"""A PySpark DataFrame as input, and a DataFrame as answer.

    select → repartition(n, hash(keys)) → mapInArrow(window)
    select → groupBy(keys, pane).agg(…) → the same over panes       where Spark can fold them: `sql_folding`

One call of the kernels serves all keys of a partition: they need no rows of one key next to each other, so
that nothing is sorted by Spark, as `groupBy(…).applyInArrow` would. The arrival order travels as a column,
because a shuffle does not keep it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, functions as F

from sash.operators.answer import Answer
from sash.operators.bound_query import WINDOW, BoundLatest, BoundQuery
from sash.operators.folding.panes import Panes
from sash.operators.kinds import kind_of_window
from sash.operators.patterns.who_finds_windows import owner_finds
from sash.planner.auto_declaration import AUTO, Auto, Parallelism
from sash.planner.costs.constants import costs
from sash.planner.costs.spark_batch import TASKS_PER_CORE, bucket_tasks
from sash.planner.facts import EventFacts, Facts, with_density
from sash.planner.plans.cheapest_pattern import Plan, make_plan
from sash.planner.sampling import SAMPLE, assumed, seen
from sash.runtimes.spark.batch.bucket_query import BucketQuery, PartitionWindows
from sash.runtimes.spark.batch.driver_memory import COLLECT, EXPLAIN, PUBLISH, brought
from sash.runtimes.spark.batch.first_rows_of_answer import first_rows
from sash.runtimes.spark.compat import arrow_of, is_connect, struct_of
from sash.runtimes.spark.files.declared_files import DeclaredFiles
from sash.runtimes.spark.files.parquet_stream import ParquetStream
from sash.runtimes.spark.monitoring.job_progress import jobs_shown
from sash.runtimes.spark.packing import columns as by_position
from sash.runtimes.spark.packing.balanced_bucket_ids import BUCKETS_PER_PARTITION
from sash.runtimes.spark.packing.bucket_of_key_sql import bucket, key_hash
from sash.runtimes.spark.packing.columns import BUCKET, HASH, HORIZON, ORDINAL, arrow_schema, quoted
from sash.runtimes.spark.patterns.active_workers import sent_to_workers
from sash.runtimes.spark.patterns.agnostic import handed_to_workers
from sash.runtimes.spark.patterns.count_windows_by_position import CELLS
from sash.runtimes.spark.patterns.shared_look_backs import look_back_stages, look_backs_of_workers
from sash.runtimes.spark.patterns.static_plan import (
    impossible,
    look_backs,
    not_planned,
    over_positions,
    plan_of,
    require_possible,
    stage_lines,
)
from sash.runtimes.spark.patterns.window_parts import handing_of
from sash.runtimes.spark.session_requirements import require_workers, shuffle_partitions, task_slots
from sash.runtimes.spark.sql_folding.first_rows import rows_per_pane
from sash.runtimes.spark.sql_folding.pane_fold_sql import NativeFold
from sash.runtimes.spark.sql_folding.when_spark_folds import native_stages, spark_fold
from sash.runtimes.spark.streaming.streaming_source import StreamingSource

# A function of this module would let every worker import it, with the planner and all that is of streams.
REPORTS: Callable[[Answer], pa.Table] = attrgetter("reports")
LATE: Callable[[Answer], pa.Table] = attrgetter("late")


@dataclass(frozen=True)
class SparkSource:
    """A static DataFrame."""

    df: DataFrame
    parallelism: Parallelism = AUTO
    """How windows are spread over tasks, or the wish that the planner decides."""

    bounded = True
    ends = True

    @classmethod
    def of(cls, data: Any) -> SparkSource | StreamingSource | None:
        """The source for `data`, or None when it is neither a DataFrame of Spark nor a stream of files."""
        if isinstance(data, DeclaredFiles):
            return data.source()
        if isinstance(data, ParquetStream):
            require_workers(data.paths.sparkSession)
            return data.source()
        if not isinstance(data, DataFrame):
            return None
        require_workers(data.sparkSession)
        return StreamingSource(data) if data.isStreaming else cls(data)

    @property
    def schema(self) -> pa.Schema:
        return arrow_schema(self.df)

    def rows(self, columns: list[str]) -> pa.Table:
        """The events themselves, in order of arrival, brought to the driver."""
        schema = pa.schema([self.schema.field(name) for name in columns])
        return brought(self.df.select(*map(quoted, columns)), EXPLAIN).cast(schema)

    def parallel(self, parallelism: Parallelism, bound: BoundQuery) -> SparkSource:
        if not isinstance(parallelism, Auto):
            require_possible(parallelism, bound)
        return replace(self, parallelism=parallelism)

    def plan(self, bound: BoundQuery) -> Plan:
        known = self.parallelism if isinstance(self.parallelism, Auto) else AUTO
        events = assumed(bound, known)
        if known.sample:
            columns = [quoted(name) for name in (bound.time, *bound.keys)]
            first = self.df.select(*columns).limit(SAMPLE).toArrow()
            events = seen(bound, first, known)
        elif isinstance(self.parallelism, Auto):
            events = self._with_density(bound, events)
        cores = known.cores or task_slots(self.df.sparkSession)
        facts = Facts.of(bound, events, where="spark batch", cores=cores)
        if isinstance(self.parallelism, Auto):
            facts = replace(facts, spark=spark_fold(bound, self.df.schema, events))
        refuse = not_planned if isinstance(self.parallelism, Auto) else impossible
        return make_plan(bound, facts, costs(), parallelism=self.parallelism, refuse=refuse)

    def _with_density(self, bound: BoundQuery, events: EventFacts) -> EventFacts:
        """With how many rows share a pane, where it depends on that who folds them."""
        if spark_fold(bound, self.df.schema, events).of != "panes":
            return events
        return with_density(bound, events, rows_per_pane(self.df, bound))

    def collect(self, bound: BoundQuery) -> pa.Table:
        return self._collected(self.dataframe(bound)).cast(bound.output)

    def collect_late(self, bound: BoundQuery) -> pa.Table:
        return self._collected(self.late_dataframe(bound)).cast(bound.late_output)

    def to_publish(self, bound: BoundQuery, columns: Sequence[str]) -> pa.Table:
        schema = pa.schema([bound.output.field(name) for name in columns])
        rows = self.dataframe(bound).select(*map(quoted, columns))
        return self._collected(rows, PUBLISH).cast(schema)

    def first(self, bound: BoundQuery, rows: int) -> tuple[pa.Table, int]:
        """The first rows of the answer in order, and how many it has."""
        with jobs_shown(self.df.sparkSession):
            found, total = first_rows(self.dataframe(bound), rows, ordered=bound.ordered)
        return found.cast(bound.output), total

    def _collected(self, df: DataFrame, what: tuple[str, str] = COLLECT) -> pa.Table:
        with jobs_shown(self.df.sparkSession):
            return brought(df, what)

    def dataframe(self, bound: BoundQuery) -> DataFrame:
        plan = self.plan(bound)
        pattern = plan.pattern
        if pattern is None and plan.facts.folded_by_spark:
            return self._folded_by_spark(bound, plan)
        if pattern is None:
            return self._windowed(bound, bound.columns, bound.output, REPORTS, plan=plan)
        positions = over_positions(pattern, bound)
        if positions is not None:
            cells = CELLS * task_slots(self.df.sparkSession)
            numbered = replace(self, df=positions.numbered(self.df, cells=cells))
            return positions.reports(numbered.dataframe(positions.inner))
        query = BucketQuery(bound, tuple(bound.columns))
        if owner_finds(pattern, bound, sorted_panes=True):
            rows = self._rows(query, self._bucket(bound))
            return handed_to_workers(rows, query, handing_of(pattern))
        rows = self._rows(query, f"bigint({key_hash(bound)}) AS {HASH}")
        if look_backs(pattern, bound) is not None:
            return look_backs_of_workers(rows, query, plan_of(pattern))
        return sent_to_workers(rows, query, plan_of(pattern))

    def flat_dataframe(self, bound: BoundQuery) -> DataFrame:
        return by_position.flat(self.dataframe(bound), WINDOW)

    def late_dataframe(self, bound: BoundQuery) -> DataFrame:
        return self._windowed(bound, bound.schema.names, bound.late_output, LATE)

    def stages(self, bound: BoundQuery, plan: Plan) -> list[str]:
        keys = ", ".join(bound.keys) or "one bucket: no key"
        select = f"select {len(bound.columns)} columns"
        if plan.pattern is not None:
            positions = over_positions(plan.pattern, bound)
            first = [] if positions is None else [positions.stage]
            shared = look_backs(plan.pattern, bound)
            if shared is not None:
                return [select, *look_back_stages(shared, plan_of(plan.pattern), keys)]
            over = bound if positions is None else positions.inner
            return [select, *first, *stage_lines(plan.pattern, over, keys)]
        if plan.facts.spark is not None and plan.facts.folded_by_spark:
            return [select, *native_stages(plan.facts.spark, keys)]
        tasks = self._tasks(plan)
        spread = "" if tasks is None else f" to {tasks} tasks"
        return [
            select,
            f"shuffle{spread} by ({keys})" if bound.keys else "all rows to one task: no key",
            "window and fold in Arrow",
        ]

    def _folded_by_spark(self, bound: BoundQuery, plan: Plan) -> DataFrame:
        """Windows by SQL, or panes by SQL and windows by Python."""
        fold = NativeFold.of(bound, self.df.schema)
        assert isinstance(fold, NativeFold), fold
        if fold.window is not None:
            return fold.windows(self.df, fold.window)
        panes = Panes.of(bound)
        assert panes is not None, "only for queries that fold panes"
        folded, names = panes.folded, panes.folded.schema.names
        return self._windowed(
            folded, names, bound.output, REPORTS, rows=fold.panes(self.df, panes), plan=plan
        )

    def _windowed(
        self, bound: BoundQuery, columns: list[str], output: pa.Schema, part: Callable[[Answer], pa.Table],
        *, rows: DataFrame | None = None, plan: Plan | None = None,
    ) -> DataFrame:  # fmt: skip
        query = BucketQuery(bound, tuple(columns))

        struct = struct_of(output)
        window = PartitionWindows(query, part, arrow_of(struct, zone="UTC"))
        placed = self._rows(query, f"{key_hash(bound)} AS {HASH}", rows=rows)
        tasks = self._tasks(plan) if bound.keys else 1
        spread = placed.repartition(HASH) if tasks is None else placed.repartition(tasks, HASH)
        return spread.drop(HASH).mapInArrow(window, struct)

    def _rows(self, query: BucketQuery, place: str, *, rows: DataFrame | None = None) -> DataFrame:
        """The columns by position, the order of arrival, and `place`, which decides where a row goes; of
        `rows`, if they are not those of the input."""
        ordinal = f"monotonically_increasing_id() AS {ORDINAL}"
        placed = (rows or self.df).selectExpr(*by_position.placed(query.columns), ordinal, place)
        if _needs_horizon(query.bound):
            newest = self.df.agg(F.max(quoted(query.bound.time)).alias(HORIZON))
            placed = placed.crossJoin(F.broadcast(newest))
        return placed

    def _tasks(self, plan: Plan | None) -> int | None:
        """As many as the plan has for a shuffle by key; without a plan, several per core. None: as many
        partitions as Spark has for a shuffle, which it puts together where they are small; so it is where
        there are more of them, or where the cores are not known."""
        spark = self.df.sparkSession
        if is_connect(spark) or TASKS_PER_CORE * task_slots(spark) <= shuffle_partitions(spark):
            return None
        if plan is None:
            return TASKS_PER_CORE * task_slots(spark)
        return bucket_tasks(plan.facts, costs().spark, costs().process)

    def _bucket(self, bound: BoundQuery) -> str:
        buckets = shuffle_partitions(self.df.sparkSession) * BUCKETS_PER_PARTITION
        return f"{bucket(bound, buckets)} AS {BUCKET}"


def _needs_horizon(bound: BoundQuery) -> bool:
    """Whether windows exist because the stream went on elsewhere, without an event of their key."""
    if isinstance(bound, BoundLatest):
        return True
    by_clock = any(kind_of_window(window, bound.schema).follows_horizon for window in bound.query.windows)
    return bound.query.empty or by_clock or not bound.query.flush
