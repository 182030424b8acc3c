"""A streaming query as its executors know it: what they read, how they tell time, what they answer with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import pyarrow as pa

from sash.operators.bound import BoundQuery
from sash.operators.streaming.protocol import StreamOperator
from sash.runtimes.spark import columns as by_position
from sash.runtimes.spark.clock import Clock
from sash.runtimes.spark.columns import ORDINAL
from sash.runtimes.spark.fingerprint import describe
from sash.runtimes.spark.packing import Packer, Unpacker

Output = Literal["reports", "late"]


@dataclass(frozen=True)
class Stage:
    """One stateful step and the two that pack and unpack around it."""

    bound: BoundQuery
    output: Output
    buckets: tuple[int, ...]
    clock: Clock
    derived: bool
    """Whether the rows come from another stateful step."""
    operator: type[StreamOperator]

    @property
    def columns(self) -> list[str]:
        """The input columns that it reads: a late event is told as it came."""
        return self.bound.columns if self.output == "reports" else list(self.bound.schema.names)

    @property
    def block(self) -> pa.Schema:
        """Of the rows on their way to a bucket: the columns by position, and the order of arrival."""
        fields = [
            self.bound.schema.field(name).with_name(place)
            for name, place in zip(self.columns, by_position.places(self.columns), strict=True)
        ]
        return pa.schema([*fields, pa.field(ORDINAL, pa.int64())])

    @property
    def schema(self) -> pa.Schema:
        """Of the answer."""
        return self.bound.output if self.output == "reports" else self.bound.late_output

    @property
    def description(self) -> dict[str, Any]:
        """What a checkpoint must have been made by."""
        return describe(self.bound, output=self.output, columns=self.columns, buckets=len(self.buckets))

    @property
    def packer(self) -> Packer:
        time = by_position.places(self.columns)[self.columns.index(self.bound.time)]
        return Packer(self.block, time, self.buckets, self.clock)

    @property
    def unpacker(self) -> Unpacker:
        return Unpacker(self.schema)
