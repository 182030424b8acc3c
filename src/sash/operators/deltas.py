"""Delta windows on columns: δ as 64-bit numbers, for all keys at once.

    triggers    the first event of a key, then the first with δ − δ(last trigger) > S, and so on
    [lo, hi)    from the first δ ≥ δ_r − W to the first δ ≥ δ_r     (closed="right": to the first δ > δ_r)

The definition computes in Python, whose integers have no end and whose comparisons of integers with
fractions are exact. Columns are used where 64 bits say the same:

    δ of fractions        W and S are floats, or whole numbers that are floats too
    δ of whole numbers    |δ| and whole W, S < 2^62: no difference leaves 64 bits
                          a fractional S is its floor:  n > S  ⟺  n > ⌊S⌋
                          a fractional W makes δ_r − W a float: |δ| ≤ 2^53, and n ≥ x  ⟺  n ≥ ⌈x⌉

Everything else, decimals among it, is evaluated by the definition. A `Memory` says what a stream knows of
the events that are gone; a bounded input knows nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import cast

import numpy as np
import pyarrow as pa

from sash.aggregation.kernels import deltas as kernels
from sash.aggregation.kernels.cuts import Ints, Numbers, cut
from sash.operators.clock_windows import numbered
from sash.operators.layout import Layout
from sash.operators.predicate_kinds import EXACT_IN_FLOAT, kind_of_column, to_kernel
from sash.operators.ranges import MISSING, NEVER, Ranges, event_bounds
from sash.semantics.windows import DeltaWindow

FARTHEST = 2**62

_REASONS = {kernels.NOT_A_NUMBER: "is not a number", kernels.DECREASED: "decreased"}


@dataclass(frozen=True)
class Memory:
    """Of each slot, what its next windows depend on besides the events that are held."""

    next_id: Ints
    """How many triggers there were."""
    scanned: Ints
    """How many of the held events have been looked at for triggers."""
    open: Ints
    """Whether the window of the last trigger, closed on the right, may still get events."""
    trigger: Numbers
    floor: Numbers
    """The value of the last trigger, and of the last event that is gone."""

    @classmethod
    def blank(cls, slots: int, *, whole: bool) -> Memory:
        none = np.zeros(slots, np.int64)
        lowest: Numbers = np.full(slots, MISSING) if whole else np.full(slots, -np.inf)
        return cls(none, none, none, lowest, lowest)


def on_columns(window: DeltaWindow, type_: pa.DataType) -> bool:
    """Whether 64 bits hold δ and the window's lengths, unless values turn out to be too large."""
    kind, lengths = kind_of_column(type_), (window.size, window.slide)
    if kind not in ("int", "float") or not all(type(length) in (int, float) for length in lengths):
        return False
    limit = FARTHEST if kind == "int" else EXACT_IN_FLOAT
    return all(isinstance(length, float) or length < limit for length in lengths)


def misfits(window: DeltaWindow, layout: Layout, floor: Numbers | None = None) -> dict[int, str] | None:
    """The positions of the events that have no place, and why not; None if 64 bits do not hold δ."""
    column = layout.rows[window.attribute]
    if kind_of_column(column.type) not in ("int", "float"):
        return None
    values = _numbers(column)
    known = column.is_valid().to_numpy() if column.null_count else np.ones(len(values), np.bool_)
    if floor is None:
        floor = Memory.blank(layout.slots, whole=values.dtype == np.int64).floor
    reasons = kernels.misfits(values, known, layout.offsets, floor)
    return {int(at): f"{window.attribute} {_REASONS[int(reasons[at])]}" for at in np.flatnonzero(reasons)}


def _numbers(column: pa.ChunkedArray) -> Numbers:
    return cast(Numbers, to_kernel(column))


@dataclass(frozen=True)
class Deltas:
    """The placed events of a layout, by δ."""

    window: DeltaWindow
    layout: Layout
    values: Numbers
    memory: Memory

    @classmethod
    def of(cls, window: DeltaWindow, layout: Layout, memory: Memory | None = None) -> Deltas | None:
        """None if the definition must be asked."""
        column = layout.rows[window.attribute]
        if not on_columns(window, column.type):
            return None
        values = _numbers(column)
        if memory is None:
            memory = Memory.blank(layout.slots, whole=values.dtype == np.int64)
        fractional = isinstance(window.size, float) or isinstance(window.slide, float)
        limit = EXACT_IN_FLOAT if fractional else FARTHEST - 1
        if values.dtype == np.int64:
            for numbers in (values, memory.trigger[memory.next_id > 0]):
                if len(numbers) and (numbers.min() < -limit or numbers.max() > limit):
                    return None
        return cls(window, layout, values, memory)

    @property
    def slide(self) -> float:
        if self.values.dtype == np.int64:
            return min(math.floor(self.window.slide), FARTHEST)
        return float(self.window.slide)

    def _reaches(self, at: Numbers) -> Numbers:
        """δ_r − W: what the windows of triggers with these values reach back to."""
        if self.values.dtype == np.int64 and isinstance(self.window.size, float):
            return np.ceil(np.maximum(at.astype(np.float64) - self.window.size, -FARTHEST)).astype(np.int64)
        return cast(Numbers, at - self.window.size)

    def triggers(self, until: Ints) -> tuple[Ints, Ints, Ints]:
        """Slot, identifier and position of the triggers among the first `until` events of each slot."""
        memory, offsets = self.memory, self.layout.offsets
        position = kernels.triggers(
            self.values, offsets, memory.scanned, until, memory.next_id > 0, memory.trigger, self.slide
        )
        slot = np.searchsorted(offsets, position, side="right") - 1
        _, number = numbered(np.bincount(slot, minlength=self.layout.slots))
        return slot, memory.next_id[slot] + number, position

    def ranges(self, *, empty: bool) -> Ranges:
        """The windows that are not final; those without events only with `empty`."""
        layout = self.layout
        slot, w, position = self.triggers(layout.sizes)
        at = self.values[position]
        if self.window.closed == "left":
            # A trigger is the first event with its value, so that those below it stand before it.
            hi = position
        else:
            opened = np.flatnonzero(self.memory.open)
            slot = np.concatenate([opened, slot])
            order = np.argsort(slot, kind="stable")
            slot = slot[order]
            w = np.concatenate([self.memory.next_id[opened] - 1, w])[order]
            at = np.concatenate([self.memory.trigger[opened], at])[order]
            hi = cut(self.values, layout.offsets, slot, at, after=True)
        lo = cut(self.values, layout.offsets, slot, self._reaches(at))
        closer = np.append(layout.times, NEVER)[hi]
        closes_at = np.where(hi < layout.offsets[slot + 1], closer, NEVER)
        found = Ranges(slot, w, lo, hi, *event_bounds(layout.times, lo, hi), closes_at)
        return found if empty else found.where(lo < hi)
