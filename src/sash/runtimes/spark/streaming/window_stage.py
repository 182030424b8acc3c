"""A streaming query as its executors know it: what they read, how time goes on, what they answer with."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import pyarrow as pa

from sash.operators.bound import BoundQuery
from sash.operators.engine import WindowOperator
from sash.operators.protocol import StreamOperator
from sash.runtimes.spark.packing import columns as by_position
from sash.runtimes.spark.packing.blocks import Packer, RowRoute, block_schema
from sash.runtimes.spark.state.fingerprint import describe
from sash.runtimes.spark.streaming.clock import Clock

Output = Literal["reports", "late"]


@dataclass(frozen=True)
class BoundToAllColumns(BoundQuery):
    """A query that reads every column of its input: a late event is emitted as it came."""

    @property
    def columns(self) -> list[str]:
        return list(self.schema.names)


@dataclass(frozen=True)
class WindowStage:
    """One stateful step, and what packs rows for it; its answer leaves it as `answers` has it."""

    bound: BoundQuery
    output: Output
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

    @classmethod
    def of(
        cls, bound: BoundQuery, output: Output, *, buckets: tuple[int, ...], clock: Clock, derived: bool,
        operator: type[StreamOperator] | None = None,
    ) -> WindowStage:  # fmt: skip
        if output == "late" and bound.columns != bound.schema.names:
            bound = BoundToAllColumns(bound.query, bound.schema, bound.time, bound.keys)
        return cls(bound, output, buckets, clock, derived, operator or WindowOperator)

    def of_bucket(self, number: int) -> BoundQuery:
        """What the operator of a bucket computes: the same for all of them."""
        return self.bound

    @property
    def columns(self) -> list[str]:
        """The input columns that it reads, in the order of a block."""
        return self.bound.columns

    @cached_property
    def block(self) -> pa.Schema:
        """Of the rows on their way to a bucket."""
        return block_schema(pa.schema([self.bound.schema.field(name) for name in self.columns]))

    @cached_property
    def schema(self) -> pa.Schema:
        """Of the answer."""
        if self.answers is not None:
            return self.answers
        return self.bound.output if self.output == "reports" else self.bound.late_output

    @cached_property
    def description(self) -> dict[str, Any]:
        """What a checkpoint must have been made by."""
        described = describe(self.bound, output=self.output, buckets=len(self.buckets))
        described |= {"state": self.operator.__name__}
        return described if self.pattern is None else described | {"pattern": self.pattern}

    @property
    def packer(self) -> Packer:
        time = by_position.places(self.columns)[self.columns.index(self.bound.time)]
        return Packer(self.block, time, self.buckets, self.clock, self.route)
