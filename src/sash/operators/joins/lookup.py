"""Rows with the rows of a table that have the same keys: columns from a table for every event.

    output  =  the rows' columns as they are · the table's, without its keys

Rows keep their order, and a row that the table has several rows for comes several times, in the table's
order. Null is a key of its own. A name of the table that the rows have too gets the suffix.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np
import pyarrow as pa

from sash.aggregation.kernels.rows.csr import rows_by_key
from sash.errors import ArgumentError, UnknownColumn
from sash.operators.joins.hash_band_or_matrix import Equality, equality
from sash.operators.joins.key_codes import common_codes
from sash.operators.joins.state.archive import nullable
from sash.semantics.expression import Side
from sash.semantics.join import hint_for_how

Missing: TypeAlias = Literal["inner", "left"]
"""What becomes of rows that the table has no row for: they are left out, or get nulls."""


_NO_TIME = "A row of the table that matches no event has no time at which it could be emitted."


@dataclass(frozen=True)
class Lookup:
    """Which columns are compared, and which come out."""

    rows: pa.Schema
    table: pa.Schema
    on: Mapping[str, str]
    """Columns of the rows, and of the table."""
    how: Missing = "inner"
    suffix: str = "_right"

    def __post_init__(self) -> None:
        if self.how not in ("inner", "left"):
            outer = hint_for_how(self.how)
            raise ArgumentError(
                "how", self.how, "'inner' or 'left' for a join with a table",
                hint=outer if "'left'" in outer else _NO_TIME,
            )  # fmt: skip
        if not self.on:
            raise ArgumentError("on", self.on, "at least one column")
        for on, schema, whose in (
            (list(self.on), self.rows, "stream"), (list(self.on.values()), self.table, "table")
        ):  # fmt: skip
            for name in on:
                if name not in schema.names:
                    raise UnknownColumn(f"on of the {whose}", name, schema.names)
        for left, right in self.on.items():
            if equality(left, right, self._schemas) is None:
                types = [str(self.rows.field(left).type), str(self.table.field(right).type)]
                raise ArgumentError("on", types, f"columns of one type for {left} = {right}")
        names = [*self.rows.names, *self.names.values()]
        for name in names:
            if names.count(name) > 1:
                raise ArgumentError("suffixes", self.suffix, f"such that {name!r} names one column only")

    @property
    def _schemas(self) -> dict[Side, pa.Schema]:
        return {Side.LEFT: self.rows, Side.RIGHT: self.table}

    @property
    def keys(self) -> list[Equality]:
        found = (equality(left, right, self._schemas) for left, right in self.on.items())
        return [key for key in found if key is not None]

    @cached_property
    def names(self) -> dict[str, str]:
        """The columns of the table that come out, and what they are called then."""
        others = [name for name in self.table.names if name not in self.on.values()]
        return {name: name + self.suffix if name in self.rows.names else name for name in others}

    def of(self, rows: pa.Table, table: pa.Table) -> pa.Table:
        """The rows with what the table has for them."""
        own, theirs, keys = common_codes(self.keys, rows, table)
        offsets, order = rows_by_key(theirs, keys)
        first, counts = offsets[own], offsets[own + 1] - offsets[own]
        times = np.maximum(counts, 1) if self.how == "left" else counts
        chosen = np.repeat(np.arange(rows.num_rows), times)
        turn = np.arange(len(chosen)) - np.repeat(np.cumsum(times) - times, times)
        known = counts[chosen] > 0
        found = np.zeros(len(chosen), np.int64)
        found[known] = order[(first[chosen] + turn)[known]]
        taken = nullable(table.select(list(self.names))).take(pa.array(found, mask=~known))
        every = len(chosen) == rows.num_rows and bool((times == 1).all())
        kept = rows if every else rows.take(pa.array(chosen))
        for name, column in zip(self.names.values(), taken.columns, strict=True):
            kept = kept.append_column(name, column)
        return kept
