"""J+: the operator that pairs tuples of two inputs, or of one with itself, by any predicate.

    { (l, r) : |l.τ − r.τ| < WS, where(l, r) }      every pair once, when the later of the two arrives

It is ScaleJoin (Gulisano, Nikolakopoulos, Papatriantafilou, Tsigas: IEEE Big Data 2015) as an O+: WA is
one tick, windows are single, and every tuple has all keys 0 … n − 1. Under each key it is compared with
the tuples that are stored there, and under one key, in turn, it is stored. So keys are equal shares of
the work, whatever the data. On a single input the older tuple of a pair is the left one.

>>> import pyarrow as pa
>>> xs = Input(pa.schema([("t", pa.int64()), ("x", pa.int64())]), time="t")
>>> near = Join(size=5, inputs=xs, where=lambda l, r: abs(l.x - r.x) <= 1)
>>> near.over({"t": [1, 2, 6], "x": [7, 8, 7]}).select(["time", "left_t", "right_t"]).to_pylist()
[{'time': 3, 'left_t': 1, 'right_t': 2}, {'time': 7, 'left_t': 2, 'right_t': 6}]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from sash.aggregation.kernels.machine import NumbaError
from sash.aggregation.kernels.source import NoSource
from sash.errors import ArgumentError
from sash.operators.elastic.mapping import Assignment, balanced
from sash.operators.interleaved import Input
from sash.operators.stateful.declaration import Answer, Stateful
from sash.operators.stateful.keys import ByRow
from sash.operators.stateful.running import Running
from sash.operators.stateful.windows import Arrival, WindowSet
from sash.semantics import durations
from sash.semantics.durations import Duration, DurationLike
from sash.semantics.event import Row
from sash.semantics.predicate import require_callable, truth

SHARES = 16


class Join(Stateful):
    """Pairs within a window. Compiled where the predicate's text and columns allow it, else interpreted."""

    def __init__(
        self,
        *,
        size: DurationLike,
        inputs: Input | Sequence[Input],
        where: Callable[[Row, Row], Any],
        prefixes: tuple[str, str] = ("left_", "right_"),
        mapping: Assignment = balanced,
        shares: int = SHARES,
    ) -> None:
        chosen = (inputs,) if isinstance(inputs, Input) else tuple(inputs)
        if len(chosen) not in (1, 2):
            raise ArgumentError("inputs", f"{len(chosen)} of them", "one, to join with itself, or two")
        require_callable(where, "where", "lambda l, r: abs(l.x - r.a) <= 10")
        self.where, self.prefixes = where, prefixes
        self.sides = (chosen[0], chosen[-1])
        fields = [
            pa.field(prefix + field.name, field.type)
            for prefix, side in zip(prefixes, self.sides, strict=True)
            for field in side.schema
        ]
        length = durations.positive(size, "size")
        super().__init__(
            advance=Duration(1, length.unit), size=length, inputs=chosen, window="single", mapping=mapping,
            shares=shares, keys=ByRow(lambda row: range(shares)), schema=pa.schema(fields),
        )  # fmt: skip

    def update(self, windows: WindowSet, arrival: Arrival) -> Answer:
        """Compare with what the other side has stored under this key; store it when it is its turn."""
        others = windows[len(self.inputs) - 1 - arrival.input]
        matches = [other for other in others if self._holds(*self._sided(other, arrival))]
        if arrival.ordinal % self.shares == windows.key:
            windows[arrival.input].append(arrival)
        return [self._paired(*self._sided(other, arrival)) for other in matches]

    def _sided(self, stored: Arrival, arrived: Arrival) -> tuple[Row, Row]:
        if len(self.inputs) == 2 and arrived.input == 0:
            return arrived.row, stored.row
        return stored.row, arrived.row

    def _holds(self, left: Row, right: Row) -> bool:
        return truth(self.where(left, right), asked_by="the join", about=(left, right))

    def _paired(self, left: Row, right: Row) -> dict[str, Any]:
        rows = zip(self.prefixes, (left, right), strict=True)
        return {prefix + name: value for prefix, row in rows for name, value in row.items()}

    def start(self) -> Running:
        from sash.operators.stateful.matching import CompiledJoin

        try:
            return CompiledJoin(self)
        except (NoSource, NumbaError):
            return super().start()
