"""An as-of join bound to the columns of its two inputs.

    output  =  the left's columns as they are · the right's, without its keys

A name of the right that the left has too gets the suffix.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa

from sash.errors import ArgumentError
from sash.operators.columns.times import FARTHEST
from sash.operators.joins.bound_join import LEFT_PLACE, BoundSides
from sash.operators.joins.hash_band_or_matrix import Strategy, choose
from sash.semantics.asof import Asof
from sash.semantics.expression import Side

ASOF = "one pass by time"
"""How pairs are found, in words."""


@dataclass(frozen=True)
class BoundAsof(BoundSides):
    """An as-of join, the inputs that it reads, and the columns that it answers with."""

    join: Asof
    suffix: str = "_right"

    kept = (Side.LEFT,)
    """The sides whose rows are emitted also without an answer."""

    def __post_init__(self) -> None:
        super().__post_init__()
        names = self.output.names
        for name in names:
            if names.count(name) > 1:
                raise ArgumentError("suffix", self.suffix, f"such that {name!r} names one column only")

    @property
    def reach(self) -> int | None:
        """How far apart in time a row and its answer may be: at most as far as any two times are."""
        tolerance = self.join.tolerance
        return None if tolerance is None else min(tolerance.length, 2 * FARTHEST)

    @cached_property
    def strategy(self) -> Strategy:
        """Which rows have to come together."""
        return choose(self.keys, [], self.schemas)

    @cached_property
    def output(self) -> pa.Schema:
        fields = list(self.left.schema)
        for name in self.right.others:
            field = self.right.schema.field(name)
            suffix = self.suffix if name in self.left.schema.names else ""
            fields.append(field.with_name(name + suffix).with_nullable(True))
        return pa.schema([field.remove_metadata() for field in fields])

    @property
    def placed_output(self) -> pa.Schema:
        """The output with the place of the left row, by which it can be put in order."""
        return self.output.append(pa.field(LEFT_PLACE, pa.int64()))

    @property
    def order(self) -> tuple[str, ...]:
        """The columns that the placed output is sorted by."""
        return self.left.time, LEFT_PLACE
