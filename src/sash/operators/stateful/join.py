"""J+: the operator that pairs tuples of two inputs, or of one with itself, by any predicate.

    { (l, r) : |l.τ − r.τ| ≤ within, where(l, r) }      every pair once, when the later of the two arrives

This is the window join of `sash.semantics.join`, as an O+: a null that the predicate reads makes it false,
and an input that is joined with itself is both sides, so that every tuple meets itself.

Both ends of `within` are closed, as in ScaleJoin, whose purge leaves a stored tuple alone unless its τ + WS
is before the new one (Operator 3 of the STRETCH paper). A window of O+ does not hold its right end: in
those terms WS is `within` and one tick, δ. WA is one tick, and the time of a pair is the end of its window,
one tick after the later of its tuples.

Windows are single, and every tuple has all keys 0 … n − 1. Under each key it is compared with the tuples
that are stored there, and under one key, in turn, it is stored. So keys are equal shares of the work,
whatever the data (Gulisano, Nikolakopoulos, Papatriantafilou, Tsigas: 'ScaleJoin: a Deterministic,
Disjoint-Parallel and Skew-Resilient Stream Join', IEEE Transactions on Big Data, 2021).

>>> import pyarrow as pa
>>> xs = Input(pa.schema([("t", pa.int64()), ("x", pa.int64())]), time="t")
>>> near = Join(within=5, inputs=xs, where=lambda l, r: l.x - r.x == 1)
>>> near.over({"t": [1, 2, 7, 8], "x": [7, 8, 7, 9]}).select(["time", "left_t", "right_t"]).to_pylist()
[{'time': 3, 'left_t': 2, 'right_t': 1}, {'time': 8, 'left_t': 2, 'right_t': 7}]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import pyarrow as pa

from sash.errors import ArgumentError
from sash.operators.elastic.instance_of_share import Assignment, balanced
from sash.operators.joins.bound_join import BoundJoin, BoundSide
from sash.operators.order.interleaved import Input
from sash.operators.stateful.declaration import EmittedRows, Stateful
from sash.operators.stateful.keys import ByRow
from sash.operators.stateful.running_operator import Running
from sash.operators.stateful.windows import InputEvent, WindowSet
from sash.semantics import durations, join
from sash.semantics.durations import Duration, DurationLike
from sash.semantics.event import Row
from sash.semantics.expression import Side

SHARES = 16
TICK = 1
"""δ: a pair's time is that long after the later of its tuples."""


class Join(Stateful):
    """Pairs within a window. What finds and compares them is the store of `sash.operators.joins`; `update`
    is the same tuple by tuple."""

    def __init__(
        self,
        *,
        within: DurationLike,
        inputs: Input | Sequence[Input],
        where: Callable[[Row, Row], Any],
        prefixes: tuple[str, str] = ("left_", "right_"),
        mapping: Assignment = balanced,
        shares: int = SHARES,
    ) -> None:
        chosen = (inputs,) if isinstance(inputs, Input) else tuple(inputs)
        if len(chosen) not in (1, 2):
            raise ArgumentError("inputs", f"{len(chosen)} of them", "one, to join with itself, or two")
        length = durations.not_negative(within, "within")
        self.join = join.IntervalJoin(length, where)
        self.prefixes, self.sides = prefixes, (chosen[0], chosen[-1])
        tick = Duration(1, length.unit if length.length else chosen[0].unit)
        size = Duration(length.length + tick.length, tick.unit)
        super().__init__(
            advance=tick, size=size, inputs=chosen, window="single", mapping=mapping, shares=shares,
            keys=ByRow(lambda row: range(shares)), schema=pa.schema(list(self.bound.output)[1:]),
        )  # fmt: skip

    @cached_property
    def bound(self) -> BoundJoin:
        """The join, bound to the columns of its inputs."""
        left, right = (
            BoundSide(side, own.schema, own.time, ()) for side, own in zip(Side, self.sides, strict=True)
        )
        return BoundJoin(self.join, left, right, prefixes=self.prefixes, after=TICK)

    def late_by(self, delays: Sequence[Duration]) -> BoundJoin:
        """The same over streams whose events may come so long after newer ones."""
        left, right = delays[0], delays[-1]
        return replace(self.bound, join=replace(self.join, left_delay=left, right_delay=right))

    def update(self, windows: WindowSet, arrival: InputEvent) -> EmittedRows:
        """Store the tuple when it is its turn; compare it with what the other side has stored here."""
        turn = arrival.ordinal % self.shares == windows.key
        if len(self.inputs) == 2:
            others = [(other, arrival) for other in windows[1 - arrival.input]]
            pairs = others if arrival.input == 1 else [pair[::-1] for pair in others]
        else:
            others = [(other, arrival) for other in windows[0]]
            pairs = [*others, *(pair[::-1] for pair in others), *([(arrival, arrival)] if turn else [])]
        if turn:
            windows[arrival.input].append(arrival)
        return [
            self._paired(left.row, right.row) for left, right in pairs if self._holds(left.row, right.row)
        ]

    def _holds(self, left: Row, right: Row) -> bool:
        return join.pair_matches(self.join.where, join.PredicateRow(left), join.PredicateRow(right))

    def _paired(self, left: Row, right: Row) -> dict[str, Any]:
        rows = zip(self.prefixes, (left, right), strict=True)
        return {prefix + name: value for prefix, row in rows for name, value in row.items()}

    def start(self) -> Running:
        from sash.operators.stateful.join_shares import JoinShares

        return JoinShares(self)
