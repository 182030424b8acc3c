"""A streaming query as its executors know it: what they read, how time goes on, what they answer with."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import pyarrow as pa

from sash.operators.bound_query import BoundQuery
from sash.operators.engine import operator_of, with_late_columns
from sash.operators.look_backs_by_pane import LookBackPanes
from sash.operators.protocol import StreamOperator
from sash.runtimes.spark.packing import columns as by_position
from sash.runtimes.spark.packing.blocks import Packer, RowRoute, block_schema, rows_of
from sash.runtimes.spark.packing.bucket_of_key_sql import Share
from sash.runtimes.spark.packing.columns import BUCKET
from sash.runtimes.spark.packing.outputs import HANDED, LATE, REPORTS, Outputs, OutputSchemas
from sash.runtimes.spark.packing.pane_blocks import SharedPanes
from sash.runtimes.spark.packing.time_of_batch import StampedPacker
from sash.runtimes.spark.state.fingerprint import BUCKET_NUMBERS, PATTERN, describe
from sash.runtimes.spark.streaming.bucket_call import BucketCall
from sash.runtimes.spark.streaming.hot_keys.handed_out_windows import HANDED_WINDOWS
from sash.runtimes.spark.streaming.hot_keys.look_back_packer import LookBackPacker
from sash.runtimes.spark.streaming.panes_before_shuffle import PanePacker
from sash.runtimes.spark.streaming.watermark_units import Clock


@dataclass(frozen=True)
class WindowStage:
    """One stateful step, and what packs rows for it; its answer leaves it as `answers` has it."""

    bound: BoundQuery
    outputs: Outputs
    """Which outputs are wanted: reports, or reports and late rows."""
    buckets: tuple[int, ...]
    clock: Clock
    derived: bool
    """Whether the rows come from another stateful step."""
    operator: type[StreamOperator]
    route: RowRoute | None = None
    """Which buckets a row goes to; None: to that of its key."""
    answers: pa.Schema | None = None
    """Of what the operator emits for another stage; None: what the query answers with."""
    pattern: str | None = None
    """Whose stage this is, when a pattern was given."""
    relays: pa.Schema | None = None
    """Of late rows that a step before this one has found, and that pass through it in a bucket of their
    own; None: there is no such step, or late rows are not wanted."""
    panes: SharedPanes | None = None
    """What rows may be folded into before the shuffle, where tasks know the watermark of their batch."""
    stamps: int = 0
    """How many tasks behind the shuffle are sent the time of each packer; 0: Spark's watermark has it."""
    hands_out: bool = False
    """Whether windows may be handed to other tasks in some batches."""
    look_backs: LookBackPanes | None = None
    """By what several buckets share the look-backs of hot keys in some batches; None: they never do."""

    @classmethod
    def of(
        cls, bound: BoundQuery, outputs: Outputs, *, buckets: tuple[int, ...], clock: Clock, derived: bool,
        operator: type[StreamOperator] | None = None, early: bool = False, stamps: int = 0,
    ) -> WindowStage:  # fmt: skip
        bound = with_late_columns(bound) if LATE in outputs else bound
        panes = SharedPanes.of([bound], [clock]) if early else None
        chosen = operator or operator_of(bound)
        return cls(bound, outputs, buckets, clock, derived, chosen, panes=panes, stamps=stamps)

    def of_bucket(self, number: int) -> BoundQuery:
        """What the operator of a bucket computes: the same for all of them."""
        return self.bound

    call: ClassVar[type[BucketCall]] = BucketCall
    """What one call of the operator of a bucket does."""

    def arrived(self, bucket: int, blocks: Iterable[tuple[bytes | pa.Buffer, int]]) -> pa.Table:
        """What `call` inserts, of the blocks of a bucket, each with the number of its input."""
        return rows_of(bucket, (payload for payload, _ in blocks), self.block)

    @property
    def columns(self) -> list[str]:
        """The input columns that a block has, in its order: those that the query reads, or all of them
        where late rows leave as they came."""
        return list(self.bound.schema.names) if LATE in self.outputs else self.bound.columns

    @cached_property
    def block(self) -> pa.Schema:
        """Of the rows on their way to a bucket."""
        return block_schema(pa.schema([self.bound.schema.field(name) for name in self.columns]))

    @cached_property
    def schema(self) -> pa.Schema:
        """Of the reports, or of what takes their place."""
        return self.bound.output if self.answers is None else self.answers

    @cached_property
    def schemas(self) -> OutputSchemas:
        """Of all outputs."""
        every = {REPORTS: self.schema, LATE: self.bound.late_output}
        relayed = {} if self.relays is None else {LATE: self.relays}
        handed = {HANDED: HANDED_WINDOWS} if self.hands_out else {}
        return {output: every[output] for output in self.outputs} | relayed | handed

    @cached_property
    def description(self) -> dict[str, Any]:
        """What a checkpoint must have been made by."""
        described = describe(self.bound, buckets=len(self.buckets))
        described |= {"state": self.operator.__name__, BUCKET_NUMBERS: list(self.buckets)}
        return described if self.pattern is None else described | {PATTERN: self.pattern}

    @property
    def shares(self) -> list[Share]:
        return [Share(BUCKET, self.bound, len(self.buckets))]

    @property
    def time(self) -> str:
        return self.bound.time

    @property
    def ticks(self) -> bool:
        return bool(pa.types.is_integer(self.bound.time_type))

    @property
    def spark_delay(self) -> str:
        """Of Spark's watermark, where the stream has none of its own."""
        return self.clock.spark_delay(self.bound.query.delay.length)

    @property
    def row_packer(self) -> Packer:
        time = by_position.places(self.columns)[self.columns.index(self.bound.time)]
        return Packer(self.block, time, self.buckets, self.clock, self.route)

    @property
    def packer(self) -> Packer | PanePacker | LookBackPacker | StampedPacker:
        rows = self.row_packer
        packer: Packer | PanePacker | LookBackPacker = rows
        if self.panes is not None:
            packer = PanePacker(rows, self.panes, tuple(self.columns))
        elif self.look_backs is not None:
            packer = LookBackPacker(rows, self.look_backs)
        return StampedPacker(packer, self.stamps) if self.stamps else packer
