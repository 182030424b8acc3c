"""Window kinds that Sash does not have, each a definition and the class that computes it.

primes    the last n events, at every event whose ordinal is a prime
blocks    events whose time lies in the same block of the clock, until one of another block comes
halves    the first half of every two lengths of the clock
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import ClassVar

import numpy as np

from sash.operators.kinds.kind_base import GrowingKind, Held, Ints, KeyMemory, Moment, RangeKind, Runs
from sash.operators.windows.numbering import numbered, numbered_by_key
from sash.operators.windows.ranges import NEVER, Ranges
from sash.semantics.durations import Unit
from sash.semantics.event import Event, Order
from sash.semantics.window import (
    BOTH_ORDERS,
    Context,
    ContextAwareWindow,
    Extent,
    IntervalWindow,
    Window,
    spanned,
)


def primes_below(number: int) -> list[int]:
    return [n for n in range(2, number) if all(n % divisor for divisor in range(2, n))]


@dataclass(frozen=True, slots=True, repr=False)
class PrimeWindow(ContextAwareWindow):
    """{ r − n < i ≤ r } for the w-th prime r."""

    size: int

    context: ClassVar[Context] = Context.FCA
    orders: ClassVar[frozenset[Order]] = BOTH_ORDERS

    def __str__(self) -> str:
        return f"primes({self.size})"

    @property
    def capacity(self) -> int:
        return self.size

    @property
    def formula(self) -> str:
        return f"E(w) = {{ i : r − {self.size} < i ≤ r }}, r the w-th prime"

    def extents(
        self, events: Sequence[Event], *, horizon: int | None = None, empty: bool = False
    ) -> Iterator[Extent]:
        for w, r in enumerate(primes_below(len(events))):
            lo = max(0, r + 1 - self.size)
            yield spanned(w, events, lo, r + 1, closes_at=events[r].time)


class PrimeKind(RangeKind[PrimeWindow]):
    """`next_id` windows are complete."""

    memory: ClassVar[dict[str, int | float]] = {"next_id": 0}

    def ranges(self, held: Held, memory: KeyMemory, moment: Moment) -> Ranges:
        primes = np.array(primes_below(int(held.count.max(initial=0))), np.int64)
        found = np.searchsorted(primes, held.count)
        slot = np.repeat(np.arange(len(held)), found - memory["next_id"])
        begin = np.cumsum(found - memory["next_id"]) - (found - memory["next_id"])
        w = memory["next_id"][slot] + np.arange(len(slot)) - begin[slot]
        hi = primes[w] + 1
        lo = np.maximum(0, hi - self.window.size)
        start, end = held.bounds(slot, lo, hi)
        return Ranges(slot, w, lo, hi, start, end, closes_at=end)

    def advance(self, held: Held, memory: KeyMemory, settled: int) -> Ints:
        primes = np.array(primes_below(int(held.count.max(initial=0))), np.int64)
        memory["next_id"][:] = np.searchsorted(primes, held.count)
        return np.maximum(held.head, held.count + 1 - self.window.size)

    def wakes(self, times: Ints) -> Ints:
        return times


@dataclass(frozen=True, slots=True, repr=False)
class BlockWindow(ContextAwareWindow):
    """Maximal runs of events with the same ⌊τ / length⌋."""

    length: int

    context: ClassVar[Context] = Context.FCF
    closed_by_next: ClassVar[bool] = True

    def __str__(self) -> str:
        return f"blocks({self.length})"

    @property
    def time_unit(self) -> Unit:
        return Unit.TICKS

    @property
    def formula(self) -> str:
        return f"E(w) = the w-th maximal run of events with the same ⌊τ / {self.length}⌋"

    def extents(
        self, events: Sequence[Event], *, horizon: int | None = None, empty: bool = False
    ) -> Iterator[Extent]:
        lo = 0
        for w, (_, run) in enumerate(groupby(events, lambda event: event.time // self.length)):
            hi = lo + len(list(run))
            yield spanned(w, events, lo, hi, closes_at=events[hi].time if hi < len(events) else None)
            lo = hi

    def awaited(self, extent: Extent, events: Sequence[Event]) -> str:
        return "an event of this key in another block"


class BlockKind(GrowingKind[BlockWindow]):
    """`next_id` is the number of the windows that are over."""

    memory: ClassVar[dict[str, int | float]] = {"next_id": 0}

    def runs(self, runs: Runs) -> Ranges:
        block, begins = runs.first // self.window.length, runs.begins
        begins[1:] |= block[1:] != block[:-1]
        lo = np.flatnonzero(begins)
        hi = np.append(lo[1:], len(begins))
        key, w = numbered_by_key(runs, lo)
        after = np.append(runs.first, NEVER)[hi]
        closes_at = np.where(hi < runs.offsets[key + 1], after, NEVER)
        return Ranges(key, w, lo, hi, runs.first[lo], runs.last[hi - 1], closes_at)

    def wakes(self, times: Ints) -> Ints:
        return times


@dataclass(frozen=True, slots=True, repr=False)
class HalfWindow(IntervalWindow):
    """{ 2·w·length ≤ τ < (2·w + 1)·length }."""

    length: int

    def __str__(self) -> str:
        return f"halves({self.length})"

    @property
    def time_unit(self) -> Unit:
        return Unit.TICKS

    @property
    def formula(self) -> str:
        return f"E(w) = {{ τ : 2·w·{self.length} ≤ τ < (2·w + 1)·{self.length} }}"

    def extent(self, w: int) -> range:
        return range(2 * w * self.length, (2 * w + 1) * self.length)

    def mapping(self, x: int) -> range:
        w, offset = divmod(x, 2 * self.length)
        return range(w + (offset >= self.length), w + 1)


class HalfKind(RangeKind[HalfWindow]):
    """The clock knows all windows, so that nothing is remembered."""

    forgets: ClassVar[bool] = True

    def ranges(self, held: Held, memory: KeyMemory, moment: Moment) -> Ranges:
        slot, number = numbered(held.count - held.head)
        w, offset = np.divmod(held.time_at(slot, held.head[slot] + number), 2 * self.window.length)
        open_ = (offset < self.window.length) & ((2 * w + 1) * self.window.length > moment.settled)
        slot, w = np.unique([slot[open_], w[open_]], axis=1)
        start, end = 2 * w * self.window.length, (2 * w + 1) * self.window.length
        return Ranges(slot, w, held.cut(slot, start), held.cut(slot, end), start, end, closes_at=end)

    def advance(self, held: Held, memory: KeyMemory, settled: int) -> Ints:
        length = self.window.length
        return held.before(((settled - length) // (2 * length) + 1) * 2 * length)

    def next_close(self, held: Held, memory: KeyMemory, now: int) -> Ints:
        found = self.ranges(held, memory, Moment(now, now, empty=False))
        closes = np.full(len(held), NEVER)
        np.minimum.at(closes, found.slot, found.closes_at)
        return closes

    def wakes(self, times: Ints) -> Ints:
        w, offset = np.divmod(times, 2 * self.window.length)
        return np.where(offset < self.window.length, (2 * w + 1) * self.window.length, NEVER)


TOYS: dict[type[Window], type[RangeKind] | type[GrowingKind]] = {
    PrimeWindow: PrimeKind,
    BlockWindow: BlockKind,
    HalfWindow: HalfKind,
}
