"""First-in-first-out structures in a ring: the kernels of `kernels.aggregators`, over numbers and objects.

A window is a ring of elements, a few cells beside it (`edge`) and a header of integers, all of which the
kernels change in place. A ring that is full, or eight times too large, is exchanged when something is
inserted; that copy is paid for by the insertions and evictions since the one before it.

Over numbers a kernel is machine code (`compiled.build`). Over objects it is its own template, called with
the monoid's functions and with `ABSENT` as the identity, which costs no combine.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Protocol

import numpy as np

from sash.aggregation.algorithms.fifo import Fifo
from sash.aggregation.algorithms.nulls import Nulls
from sash.aggregation.algorithms.protocol import Time, as_list
from sash.aggregation.elements import ABSENT, Element, ElementBatch
from sash.aggregation.interpreted import interpreted, object_words
from sash.aggregation.kernels.aggregators import amta, daba, subtract_on_evict, two_stacks
from sash.aggregation.kernels.compiler.template_words import Columns
from sash.aggregation.monoid import Monoid

SMALLEST = 16
"""Places in the smallest ring."""


@dataclass(frozen=True)
class Structure:
    """One algorithm: the module and the name of its kernels, and the cells of the ring for one position."""

    module: ModuleType
    kernels: str
    cells: int = 1


STRUCTURES = {
    "TwoStacks": Structure(two_stacks, "two_stacks"),
    "DABALite": Structure(daba, "daba"),
    "SubtractOnEvict": Structure(subtract_on_evict, "subtract_on_evict"),
    "LogMTA": Structure(amta, "log_mta", cells=2),
    "AMTA": Structure(amta, "amta", cells=2),
}


class ElementColumns(Protocol):
    """Makes and reads the columns that hold a window's elements."""

    def empty(self, n: int) -> Columns: ...

    def identities(self, n: int) -> Columns: ...

    def header(self, n: int) -> Any: ...

    def one(self, element: Element) -> Columns: ...

    def element(self, fold: Any) -> Element: ...


class RingWindow(Fifo):
    """A window [lo, hi) of the stream in the ring of one structure."""

    @abstractmethod
    def _ready(self, name: str, *arguments: Any) -> Callable[..., Any]:
        """The kernel of that name; `arguments` are some that it can be tried with."""

    def _arrange(self, structure: Structure, columns: ElementColumns) -> None:
        self._columns, self._cells, self._capacity = columns, structure.cells, SMALLEST
        self._ring = columns.empty(self._cells * SMALLEST)
        self._edge = columns.identities(structure.module.EDGE_SIZE)
        self._header = columns.header(structure.module.HEADER_SIZE)
        self._nulls = Nulls()
        state = (self._ring, self._edge, self._header)
        self._insert_kernel = self._ready(f"{structure.kernels}_insert", columns.identities(0), *state)
        self._evict_kernel = self._ready(f"{structure.kernels}_evict", *state, 0)
        self._query_kernel = self._ready(f"{structure.kernels}_query", *state)

    # Insertion.

    def _append(self, element: Element) -> None:
        column = self._columns.one(element)
        self._make_room(1)
        self._insert_kernel(column, self._ring, self._edge, self._header)
        if element is ABSENT:
            self._nulls.append(self._hi)

    def _insert_batch(self, elements: ElementBatch, times: Sequence[Time]) -> None:
        self._take_times(times)
        self._make_room(len(elements))
        self._insert_kernel(elements.columns, self._ring, self._edge, self._header)
        if elements.known is not None:
            self._nulls.extend(np.flatnonzero(~elements.known) + self._hi)
        self._hi += len(elements)

    def _make_room(self, count: int) -> None:
        # One place more than there are elements: the even blocks of a forest are kept by their ends.
        wanted = self._hi - self._lo + count + 1
        if wanted <= self._capacity and (self._capacity <= 8 * wanted or self._capacity == SMALLEST):
            return
        capacity = max(SMALLEST, 1 << (wanted - 1).bit_length())
        positions = np.arange(self._lo, self._hi + 1)
        old, new = positions & (self._capacity - 1), positions & (capacity - 1)
        ring = self._columns.empty(self._cells * capacity)
        for before, after in zip(self._ring, ring, strict=True):
            for cell in range(self._cells):
                after[cell * capacity + new] = before[cell * self._capacity + old]
        self._ring, self._capacity = ring, capacity

    # Eviction and query.

    def _evict(self, count: int) -> None:
        self._evict_kernel(self._ring, self._edge, self._header, count)
        self._lo += count
        self._nulls.delete_before(self._lo)
        if self._timed:
            self._times.delete_before(self._lo)

    def _fold(self) -> Element:
        if self._nulls.cover(self._lo, self._hi):
            return ABSENT
        return self._columns.element(self._query_kernel(self._ring, self._edge, self._header))


class ObjectRing(RingWindow):
    """Elements of any kind in the ring; every ⊕ is a call of the monoid's own `combine`.

    >>> biggest = Monoid("max", ("x",), lambda: float("-inf"), lambda x: x, max, lambda m: m)
    >>> window = ObjectRing("TwoStacks", biggest)
    >>> window.insert_many([5, 1, 3])
    >>> window.evict()
    >>> window.query()
    3
    """

    def __init__(self, name: str, monoid: Monoid) -> None:
        super().__init__(monoid)
        self._structure = STRUCTURES[name]
        self._words = object_words(monoid.combine)
        if name == "SubtractOnEvict":
            subtract = monoid.require_inverse(name)
            self._words["inverse"] = lambda total, old: total if old is ABSENT else subtract(total, old)
        self._arrange(self._structure, _Objects())

    def _ready(self, name: str, *arguments: Any) -> Callable[..., Any]:
        return interpreted(getattr(self._structure.module, name), self._words)

    def _lift_batch(self, columns: Sequence[Any], count: int) -> ElementBatch:
        return self._as_elements(super()._lift_batch(columns, count))

    def _as_elements(self, elements: Any) -> ElementBatch:
        listed = as_list(elements)
        known = np.array([element is not ABSENT for element in listed], np.bool_)
        return ElementBatch((listed,), None if known.all() else known)  # type: ignore[arg-type]

    def _evict(self, count: int) -> None:
        super()._evict(count)
        # What has left must not be kept alive by the ring.
        mask = self._capacity - 1
        gone = self._lo - 1 & mask if count == 1 else np.arange(self._lo - count, self._lo) & mask
        self._ring[0][gone] = ABSENT


class _Objects:
    def empty(self, n: int) -> Columns:
        return (np.full(n, ABSENT, object),)

    identities = empty

    def header(self, n: int) -> list[int]:
        return [0] * n

    def one(self, element: Element) -> Columns:
        return ([element],)  # type: ignore[return-value]

    def element(self, fold: Any) -> Element:
        return fold
