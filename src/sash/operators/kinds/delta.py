"""Delta windows: at every trigger r, { δ_r − W ≤ δ < δ_r } (or ≤ δ_r, when closed on the right).

    triggers    the first event of a key, then the first with δ − δ(last trigger) > S, and so on

The definition computes in Python, whose integers have no end and whose comparisons of integers with
fractions are exact. Here 64 bits are used where they compute the same:

    δ of fractions        W and S are floats, or whole numbers that are floats too
    δ of whole numbers    |δ| and whole W, S < 2^62: no difference leaves 64 bits
                          a fractional S is its floor:  n > S  ⟺  n > ⌊S⌋
                          a fractional W makes δ_r − W a float: |δ| ≤ 2^53, and n ≥ x  ⟺  n ≥ ⌈x⌉

Everything else, decimals among it, is evaluated by the definition (`delta_by_definition`).
"""

from __future__ import annotations

import math
from typing import Any, cast

import numpy as np
import pyarrow as pa

from sash.aggregation.kernels.windows import deltas as kernels
from sash.arrays import Ints, Numbers
from sash.operators.kinds.delta_by_definition import DeltaByDefinition, look_back
from sash.operators.kinds.kind_base import Held, KeyMemory, Moment, RangeKind, numbers_of
from sash.operators.kinds.kinds_over_all_held import to_ordinals
from sash.operators.predicates.predicate_kinds import EXACT_IN_FLOAT, kind_of_column
from sash.operators.windows.ranges import MISSING, NEVER, Ranges
from sash.semantics.windows import DeltaWindow

FARTHEST = 2**62
_REASONS = {kernels.NOT_A_NUMBER: "is not a number", kernels.DECREASED: "decreased"}


def on_columns(window: DeltaWindow, type_: pa.DataType) -> bool:
    """Whether 64 bits hold δ and the window's lengths, unless values turn out to be too large."""
    kind, lengths = kind_of_column(type_), (window.size, window.slide)
    if kind not in ("int", "float") or not all(type(length) in (int, float) for length in lengths):
        return False
    limit = FARTHEST if kind == "int" else EXACT_IN_FLOAT
    return all(isinstance(length, float) or length < limit for length in lengths)


class DeltaKind(RangeKind[DeltaWindow]):
    """`next_id` triggers were found among the first `scanned` elements, the last at the value `trigger`;
    its window stays `open` until a greater value is final, if it is closed on the right. `floor` is the
    value of the last element: what falls below it has no place. `wide` marks values beyond the limit."""

    places = True

    def __init__(self, window: DeltaWindow, schema: pa.Schema) -> None:
        super().__init__(window, schema)
        self.whole = kind_of_column(schema.field(window.attribute).type) == "int"
        lowest = MISSING if self.whole else -math.inf
        self.memory = {  # type: ignore[misc]
            "next_id": 0, "scanned": 0, "open": 0, "wide": 0, "trigger": lowest, "floor": lowest,
        }  # fmt: skip

    @property
    def _limit(self) -> int:
        fractional = isinstance(self.window.size, float) or isinstance(self.window.slide, float)
        return EXACT_IN_FLOAT if fractional else FARTHEST - 1

    @property
    def _slide(self) -> float:
        return min(math.floor(self.window.slide), FARTHEST) if self.whole else float(self.window.slide)

    def misfits(self, rows: pa.Table, offsets: Ints, held: Held, memory: KeyMemory) -> dict[int, str]:
        column = rows[self.window.attribute]
        values = numbers_of(column)
        known = column.is_valid().to_numpy() if column.null_count else np.ones(len(values), np.bool_)
        reasons = kernels.misfits(values, known, offsets, memory["floor"])
        if self.whole:
            beyond = np.flatnonzero((values < -self._limit) | (values > self._limit))
            memory["wide"][np.searchsorted(offsets, beyond, side="right") - 1] = 1
        name = self.window.attribute
        return {int(at): f"{name} {_REASONS[int(reasons[at])]}" for at in np.flatnonzero(reasons)}

    def ranges(self, held: Held, memory: KeyMemory, moment: Moment) -> Ranges:
        if memory["wide"].any():
            return self._by_definition(held, memory).ranges_of(held, moment)
        values = self._values(held)
        key, ordinal = self._triggers(held, memory, values)
        number = np.arange(len(key)) - np.searchsorted(key, key)
        w, at = memory["next_id"][key] + number, values[held.positions(key, ordinal)]
        if self.window.closed == "left":
            # A trigger is the first element with its value, so that those below it stand before it.
            hi = ordinal
        else:
            opened = np.flatnonzero(memory["open"])
            key = np.concatenate([opened, key])
            order = np.argsort(key, kind="stable")
            key = key[order]
            w = np.concatenate([memory["next_id"][opened] - 1, w])[order]
            at = np.concatenate([memory["trigger"][opened], at])[order]
            hi = held.cut(key, at, values=values, after=True)
        lo = np.minimum(held.cut(key, self._reaches(at), values=values), hi)
        closes_at = np.full(len(key), NEVER)
        closed = np.flatnonzero(hi < held.count[key])
        closes_at[closed] = held.time_at(key[closed], hi[closed])
        found = Ranges(key, w, lo, hi, *held.bounds(key, lo, hi), closes_at)
        return found if moment.empty else found.where(lo < hi)

    def advance(self, held: Held, memory: KeyMemory, settled: int) -> Ints:
        if memory["wide"].any():
            return self._by_definition(held, memory).advanced(held, memory, settled)
        values = self._values(held)
        key, ordinal = self._triggers(held, memory, values)
        last = np.flatnonzero(np.diff(key, append=-1))
        slots, counts = np.unique(key, return_counts=True)
        memory["next_id"][slots] += counts
        memory["trigger"][key[last]] = values[held.positions(key[last], ordinal[last])]
        memory["open"][key[last]] = self.window.closed == "right"
        memory["scanned"][:] = held.count
        some = np.flatnonzero(held.head < held.count)
        trigger, top = memory["trigger"][some], values[held.positions(some, held.count[some] - 1)]
        memory["floor"][some] = top
        memory["open"][some[top > trigger]] = 0
        # The next trigger is above `trigger + every`, and not below what has been seen.
        following = np.maximum(trigger + self._slide, top)
        reach = np.where(memory["open"][some], trigger, following).astype(np.float64)
        needed = held.head.copy()
        bound = look_back(self.window, reach, trigger.astype(np.float64))
        needed[some] = held.cut(some, self._bound(bound), values=values)
        return needed

    def _values(self, held: Held) -> Numbers:
        assert held.column is not None
        return held.column(self.window.attribute)

    def _triggers(self, held: Held, memory: KeyMemory, values: Numbers) -> tuple[Ints, Ints]:
        since = np.maximum(memory["scanned"], held.head)
        return kernels.ring_triggers(
            values, held.base, held.mask, since, held.count, memory["next_id"] > 0, memory["trigger"],
            self._slide,
        )  # fmt: skip

    def _reaches(self, at: Numbers) -> Numbers:
        """δ_r − W: what the windows of triggers with these values reach back to."""
        if self.whole and isinstance(self.window.size, float):
            return np.ceil(np.maximum(at.astype(np.float64) - self.window.size, -FARTHEST)).astype(np.int64)
        return cast(Numbers, at - self.window.size)

    def _bound(self, bound: Any) -> Numbers:
        """What to cut at, so that nothing above is let go; NaN lets nothing go."""
        if not self.whole:
            return cast(Numbers, np.where(np.isnan(bound), -np.inf, bound))
        whole = np.nan_to_num(np.floor(bound), nan=-FARTHEST)
        return cast(Numbers, np.clip(whole, -FARTHEST, FARTHEST).astype(np.int64))

    def _by_definition(self, held: Held, memory: KeyMemory) -> _Wide:
        return _Wide(self, held, memory)

    def wakes(self, times: Ints) -> Ints:
        return times


class _Wide:
    """The same by the definition, for values that 64 bits cannot compute with."""

    def __init__(self, kind: DeltaKind, held: Held, memory: KeyMemory) -> None:
        self._progress = DeltaByDefinition(kind.window)
        self._progress.measure(whole=kind.whole)
        assert held.gather is not None
        self._layout = held.gather()
        scanned = np.maximum(memory["scanned"], held.head) - held.head
        columns = {name: memory[name].copy() for name in self._progress.memory}
        self._progress.remembered = columns | {"scanned": scanned}

    def ranges_of(self, held: Held, moment: Moment) -> Ranges:
        return to_ordinals(self._progress.ranges(self._layout, moment), self._layout, held.head)

    def advanced(self, held: Held, memory: KeyMemory, settled: int) -> Ints:
        gone = self._progress.move_on(self._layout, settled)
        for name in ("next_id", "open", "trigger"):
            memory[name][:] = self._progress.remembered[name]
        memory["scanned"][:] = held.count
        for key in np.flatnonzero(np.diff(self._layout.offsets)):
            last = int(self._layout.offsets[key + 1]) - 1
            memory["floor"][key] = self._layout.rows[self._progress.window.attribute][last].as_py()
        return held.head + gone
