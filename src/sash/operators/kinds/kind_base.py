"""The base class of window kinds. What the operator knows of a kind: which windows there
are, which elements they still need.

    ranges      the windows that are not final, over the elements that are held
    advance     elements are final up to a time: what can go, and what to remember of it

The elements of a key are numbered from its first one on, and keep their ordinals when older ones are gone.
A kind remembers a few numbers per key, so that identifiers and extents are those of the definition
although most elements are gone. A bounded input is a stream of one batch with nothing to remember before
it.

Every window kind of `semantics.windows` has one class in this package, in a module of its own, and an entry
in `KINDS` of `operators/kinds/__init__.py`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Generic, Protocol, TypeVar

import numpy as np
import pyarrow as pa

from sash.aggregation.kernels.compiler.numba_compilation import kernel_of
from sash.aggregation.kernels.state import ring_search, rings
from sash.arrays import Array, Ints, Mask, Numbers
from sash.operators.columns.arrow_columns import to_numpy
from sash.operators.columns.layout import Layout
from sash.operators.windows.ranges import MISSING, NEVER, Ranges
from sash.semantics.event import Order
from sash.semantics.window import Window

KeyMemory = dict[str, Array]
"""What a kind remembers, a column for each name, an entry per key."""
NOWHERE = np.empty(0, np.int64)
AnyWindow = TypeVar("AnyWindow", bound=Window)


@dataclass(frozen=True)
class Moment:
    """What is known when windows are listed."""

    settled: int
    """Up to here elements were final when the last list was made."""
    horizon: int
    """How far the stream is known to have come."""
    empty: bool
    """Whether windows without events count."""
    until: int = NEVER
    """Windows that close later need not be listed."""


@dataclass(frozen=True)
class Held:
    """The elements of some keys: of key k, those with the ordinals head[k] ≤ i < count[k].

    Element i of key k stands at `base[k] + (i & mask[k])` of every column: see `kernels.state.rings`.
    """

    times: Ints
    base: Ints
    mask: Ints
    head: Ints
    count: Ints
    order: Order = Order.EVENT_TIME
    column: Callable[[str], Numbers] | None = None
    """A numeric column of the elements, addressed as `times` is."""
    gather: Callable[[], Layout] | None = None
    """The elements themselves, for what is computed event by event."""
    policy: Slides | None = None
    """What slides a policy window."""

    @classmethod
    def all_of(cls, layout: Layout, policy: Slides | None = None) -> Held:
        """A bounded input: all elements of all keys."""
        offsets, keys = layout.offsets, layout.slots
        return cls(
            layout.times, offsets[:-1], np.full(keys, rings.EVERYTHING), np.zeros(keys, np.int64),
            np.diff(offsets), layout.order, lambda name: numbers_of(layout.rows[name]), lambda: layout,
            policy,
        )  # fmt: skip

    def __len__(self) -> int:
        return len(self.base)

    def positions(self, which: Ints, ordinals: Ints) -> Ints:
        found: Ints = self.base[which] + (ordinals & self.mask[which])
        return found

    def time_at(self, which: Ints, ordinals: Ints) -> Ints:
        return self.times[self.positions(which, ordinals)]

    def cut(
        self, which: Ints, bounds: Numbers, *, values: Numbers | None = None, after: bool = False,
        since: Ints = NOWHERE,
    ) -> Ints:  # fmt: skip
        """For each bound: the first ordinal of that key whose time (or value) is not below it. `since` are
        ordinals that are not after those, to look for them from there."""
        cuts = np.empty(len(bounds), np.int64)
        column = self.times if values is None else values
        kernel_of(ring_search.cut_rings)(
            column, self.base, self.mask, self.head, self.count, which, bounds, after, since, cuts
        )
        return cuts

    def before(self, time: int, *, since: Ints = NOWHERE) -> Ints:
        """The ordinal of the first element of each key with this time or a later one; in arrival order,
        where time does not matter, that after the last."""
        if self.order is Order.ARRIVAL:
            return self.count
        return self.cut(np.arange(len(self)), np.full(len(self), time), since=since)

    def bounds(self, which: Ints, lo: Ints, hi: Ints) -> tuple[Ints, Ints]:
        """The times of the first and last element of each range; MISSING where it has none."""
        start, end = np.full(len(lo), MISSING), np.full(len(lo), MISSING)
        some = np.flatnonzero(lo < hi)
        start[some] = self.time_at(which[some], lo[some])
        end[some] = self.time_at(which[some], hi[some] - 1)
        return start, end


class Slides(Protocol):
    """The fold of a policy's tracked aggregates over the elements that are held."""

    def slides(self, since: Ints, until: Ints, lo: Ints) -> tuple[Ints, Ints, Ints]:
        """Insert the elements since[k] ≤ i < until[k] of each key one by one into its window, which begins
        at lo[k], and evict what the policy wants out: (key, ordinal, lo after it) of each insertion."""
        ...

    def keep(self) -> None:
        """The elements of the last call are final: the next one goes on from there."""
        ...


def numbers_of(column: pa.ChunkedArray) -> Numbers:
    """A numeric column as kernels take it; nulls are 0."""
    values, _ = to_numpy(column)
    whole = values.dtype.kind != "f"
    return values.astype(np.int64, copy=False) if whole else values.astype(np.float64, copy=False)


class WindowKind(ABC, Generic[AnyWindow]):
    """Of one window of the query, for all keys."""

    memory: ClassVar[dict[str, int | float]] = {}
    """What is remembered of a key, and what a new key begins with."""
    forgets: ClassVar[bool] = False
    """Whether a key without elements needs no memory, so that it can be forgotten."""
    places: ClassVar[bool] = False
    """Whether some events have no place in such windows: then its elements are its own."""
    follows_horizon: ClassVar[bool] = False
    """Whether windows appear because the stream has come further, without an event of their key."""

    def __init__(self, window: AnyWindow, schema: pa.Schema) -> None:
        self.window, self.schema = window, schema

    @property
    def on_columns(self) -> bool:
        """Whether windows are found on columns; otherwise event by event, in Python."""
        return True

    def blank(self, keys: int) -> KeyMemory:
        """The memory of keys that have none yet."""
        return {
            name: np.full(keys, start, np.float64 if isinstance(start, float) else np.int64)
            for name, start in self.memory.items()
        }

    def misfits(self, rows: pa.Table, offsets: Ints, held: Held, memory: KeyMemory) -> dict[int, str]:
        """Which of the new events have no place, and why; those of key k stand at offsets[k] and after."""
        return {}

    @abstractmethod
    def wakes(self, times: Ints) -> Ints:
        """The least watermark at which an event with such a time can close a window."""


class RangeKind(WindowKind[AnyWindow]):
    """A kind whose windows are ranges of elements that are kept."""

    @abstractmethod
    def ranges(self, held: Held, memory: KeyMemory, moment: Moment) -> Ranges:
        """The windows not final at `moment.settled`; lo and hi are ordinals, slots indexes of `held`."""

    @abstractmethod
    def advance(self, held: Held, memory: KeyMemory, settled: int) -> Ints:
        """All that is held is final up to `settled`: the first ordinal of each key that is still needed.
        Brings `memory` up to date."""

    def next_close(self, held: Held, memory: KeyMemory, now: int) -> Ints:
        """When time alone closes the next window of each key; NEVER if only an event can."""
        return np.full(len(held), NEVER)

    def expires(self, newest: Ints) -> Ints:
        """When a key whose newest event has such a time has nothing left that a window needs."""
        return np.full(len(newest), NEVER)


@dataclass(frozen=True)
class Runs:
    """Elements that become ever larger ones: of each key, what its open window has become, then new events.

    A bounded input is one in which no key has an open window.
    """

    offsets: Ints
    first: Ints
    """The time of the first event in each element."""
    last: Ints
    """… and of the last."""
    carried: Mask
    """Which elements are open windows."""
    marks: Mask
    """Whether the window's predicate holds, for each event."""

    @property
    def begins(self) -> Mask:
        """Which elements are the first of their key."""
        begins = np.zeros(len(self.first), np.bool_)
        begins[self.offsets[:-1][np.diff(self.offsets) > 0]] = True
        return begins

    def key_of(self, positions: Ints) -> Ints:
        """The keys of these positions."""
        return np.searchsorted(self.offsets, positions, side="right") - 1


class GrowingKind(WindowKind[AnyWindow]):
    """A kind whose windows only grow: of an open window its fold is enough, and a key has at most one."""

    closes_by_time: ClassVar[bool] = False
    """Whether time alone closes a window, as long after its last event as `wakes` returns."""
    numbered: ClassVar[bool] = True
    """Whether windows are numbered, so that their number must be remembered."""

    def windows(self, runs: Runs) -> Ranges:
        """All windows; lo and hi are positions. Numbered from 0 for each key, if they are numbered."""
        return self.runs(runs) if len(runs.first) else Ranges.none()

    @abstractmethod
    def runs(self, runs: Runs) -> Ranges:
        """The same, of at least one element."""
