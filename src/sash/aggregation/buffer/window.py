"""The window buffer: the retained part of a stream, as chunks and a monoid tree over them.

    positions     0 ≤ floor ≤ head ≤ end        the window is [head, end); readers hold back the floor
    fold(lo, hi)  e_lo ⊕ … ⊕ e_{hi−1}           for any floor ≤ lo ≤ hi ≤ end, in O(log n) combines

One structure for four jobs: many windows share one copy of the stream, readers walk it without locks, a
slide policy finds its eviction point by descent from the root, and the cold middle lives in a store. In
memory are the tail, the head with its prefetched successors, and the same few chunks of each storey above:
O(log n) chunks, whatever the window's size.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from sash.aggregation.algorithms.slide_policy import PolicyQuestion, SlidePolicy
from sash.aggregation.buffer import hot
from sash.aggregation.buffer.chunk import Run
from sash.aggregation.buffer.compiled_folding import folding_of
from sash.aggregation.buffer.folding import Columns, Element, Folding, Ints
from sash.aggregation.buffer.ranges import RangeFolds
from sash.aggregation.buffer.readers import Reader
from sash.aggregation.buffer.storey import Traffic
from sash.aggregation.buffer.tower import ByFold, ByPosition, ByTime, Place, Tower
from sash.aggregation.monoid import Kind, Monoid
from sash.aggregation.stores.memory import Memory
from sash.aggregation.stores.protocol import Payload, Store
from sash.errors import ArgumentError, OutOfOrder

CHUNK = 4096
FANOUT = 64


class WindowBuffer:
    """The elements of one stream, in a store under `name`.

    `chunk` is how many elements a chunk holds at most; with `pane` a chunk also ends at each multiple of
    that many time units. `fanout` is how many chunks a node of the tree covers. With `timed` every element
    has a time, and times never decrease. `kinds` are the kinds of the monoid's input columns, when it is
    not bound to them yet.

    One thread at a time drives a buffer; the runs that it gives out may be read by any, at any time.

    >>> total = Monoid("sum", ("x",), lambda: 0, lambda x: x, lambda a, b: a + b, lambda a: a)
    >>> buffer = WindowBuffer(total, timed=True)
    >>> buffer.extend([2, 2, 3, 3], times=[10, 20, 20, 30])
    >>> buffer.evict_before(20)
    1
    >>> buffer.query(), buffer.fold(2, 4), buffer.between(20, 30)
    (8, 6, (1, 3))
    """

    def __init__(
        self,
        monoid: Monoid,
        *,
        store: Store | None = None,
        name: bytes = b"",
        kinds: tuple[Kind, ...] | None = None,
        chunk: int = CHUNK,
        fanout: int = FANOUT,
        pane: int | None = None,
        timed: bool = False,
        folding: Folding | None = None,
    ) -> None:
        if isinstance(chunk, bool) or not isinstance(chunk, int) or chunk < 1:
            raise ArgumentError("chunk", chunk, "a positive number of elements")
        if isinstance(fanout, bool) or not isinstance(fanout, int) or fanout < 2:
            raise ArgumentError("fanout", fanout, "how many chunks one node of the tree covers, at least 2")
        if pane is not None and (isinstance(pane, bool) or not isinstance(pane, int) or pane < 1):
            raise ArgumentError("pane", pane, "a positive number of time units, or None")
        if len(name) >= 256:
            raise ArgumentError("name", name, "fewer than 256 bytes")
        self.folding = folding or folding_of(monoid, kinds)
        self.timed, self.pane = timed or pane is not None, pane
        self.chunk, self.fanout = chunk, fanout
        # The length goes first, so that no buffer's keys begin with those of another.
        prefix = bytes([len(name)]) + name
        self.tower = Tower(
            self.folding,
            Memory() if store is None else store,
            prefix,
            capacity=chunk,
            fanout=fanout,
            pane=pane,
            timed=self.timed,
        )
        self.head, self.head_place = 0, Place(0, 0)
        self.last_time: int | None = None
        self.readers: dict[str, Reader] = {}
        self._ranges = RangeFolds(self.tower, self.folding, self.locate)

    # Positions

    @property
    def end(self) -> int:
        """The position that the next element will have."""
        return self.tower.end

    @property
    def floor(self) -> int:
        """The oldest position that can still be read."""
        return min([self.head, *(reader.position for reader in self.readers.values())])

    def __len__(self) -> int:
        return self.end - self.head

    def between(self, start: int, stop: int) -> tuple[int, int]:
        """The positions [lo, hi) of the window's elements with start ≤ time < stop."""
        self._require_times("between")
        lo = self.tower.seek(ByTime(start), self.head_place)
        hi = self.tower.seek(ByTime(stop), lo) if stop > start else lo
        return self._position(lo), self._position(hi)

    # In

    def append(self, *values: Any, time: int | None = None) -> None:
        """One event, given as one value for each of the monoid's columns."""
        self.folding.monoid.require_no_condition("a window buffer")
        elements = self.folding.columns([self.folding.monoid.lift(*values)])
        self.extend_elements(elements, times=None if time is None else [time])

    def extend(
        self, *columns: Any, times: Sequence[int] | Ints | None = None, n: int | None = None
    ) -> None:
        """Many events, one column for each of the monoid's; `n` is for a monoid without any."""
        self.folding.monoid.require_no_condition("a window buffer")
        sized = [*columns, *([] if times is None else [times])]
        count = len(sized[0]) if sized else n
        if count is None:
            raise ArgumentError(
                "n", None, f"the number of events, because {self.folding.monoid.name} has no columns"
            )
        self.extend_elements(self.folding.lift(columns, count), times=times)

    def extend_elements(self, elements: Columns, *, times: Sequence[int] | Ints | None = None) -> None:
        """Elements that are lifted already, such as the partial folds of panes.

        When a combine raises, the chunks that were filled before are in and the rest is not.
        """
        self.tower.extend(elements, self._checked_times(times, len(elements[0])))

    # Out

    def evict(self, count: int = 1, /) -> int:
        """Take the `count` oldest elements out of the window; returns how many."""
        if isinstance(count, bool) or not 0 <= count <= len(self):
            raise ArgumentError("count", count, f"between 0 and the window's length {len(self)}")
        return self._evict_to(self.tower.seek(ByPosition(self.head + count), self.head_place))

    def evict_before(self, time: int) -> int:
        """Take the elements with times before `time` out of the window; returns how many."""
        self._require_times("evict_before")
        return self._evict_to(self.tower.seek(ByTime(time), self.head_place))

    def evict_while(self, policy: SlidePolicy) -> int:
        """Take out the longest prefix for which `policy(total, old)` is true, total and old lowered folds.

        The policy must be monotone: true for a prefix implies true for every shorter one.
        """
        if not len(self):
            return 0
        question = PolicyQuestion(policy, self.folding.monoid, self.fold(self.head, self.end))
        probe = ByFold(self.folding.monoid.identity(), question.leaves)
        return self._evict_to(self.tower.seek(probe, self.head_place))

    # Folds

    def fold(self, lo: int, hi: int) -> Element:
        """The fold of the positions [lo, hi), as an element."""
        if lo > hi:
            raise ArgumentError("lo", lo, f"at most hi, which is {hi}")
        return self.tower.fold(self.locate(lo), self.locate(hi))

    def query(self) -> Any:
        """The lowered fold of the window; the monoid's `nothing` when it is empty."""
        monoid = self.folding.monoid
        return monoid.lower(self.fold(self.head, self.end)) if len(self) else monoid.nothing

    def fold_ranges(self, lo: Ints, hi: Ints) -> Columns:
        """The folds of many ranges [lo, hi), as columns of elements; neither lo nor hi may decrease.

        A few combines per event and range, whatever the ranges' lengths.
        """
        lo, hi = np.asarray(lo, np.int64), np.asarray(hi, np.int64)
        if len(lo) != len(hi) or np.any(lo > hi) or np.any(np.diff(lo) < 0) or np.any(np.diff(hi) < 0):
            raise ArgumentError(
                "ranges", f"{len(lo)} and {len(hi)} ends", "as many lo as hi, lo ≤ hi, not decreasing"
            )
        if len(lo) and (lo[0] < self.floor or hi[-1] > self.end):
            raise ArgumentError("ranges", f"[{lo[0]}, {hi[-1]})", f"within [{self.floor}, {self.end})")
        return self._ranges.fold(lo, hi)

    def runs(self, lo: int, hi: int) -> Iterator[Run]:
        """The elements of [lo, hi) chunk by chunk, as read-only views: nothing is copied."""
        return self.tower.runs(self.locate(lo), self.locate(hi))

    # Readers

    def reader(self, name: str) -> Reader:
        """The reader of that name; a new one begins at the head."""
        if name not in self.readers:
            self.readers[name] = Reader(self, name, self.head, self.head_place)
        return self.readers[name]

    def forget(self, reader: Reader) -> None:
        """`Reader.close`, seen from here."""
        self.readers.pop(reader.name, None)
        self.release()

    def release(self) -> None:
        """Free the chunks that lie before the head and before every reader."""
        self.tower.free(min([self.head_place, *(reader.place for reader in self.readers.values())]))

    # What is where

    @property
    def resident(self) -> int:
        """How many chunks, of all storeys, are in memory."""
        return sum(storey.resident for storey in self.tower.storeys)

    @property
    def traffic(self) -> Traffic:
        """What the store was asked for so far."""
        total = Traffic()
        for storey in self.tower.storeys:
            total.add(storey.traffic)
        return total

    def snapshot(self) -> bytes:
        """The hot part as bytes, once everything else is in the store.

        A checkpoint is these bytes and the epoch that the store is committed with right after: keep them
        together, for example under a key of the same store.
        """
        return hot.snapshot(self)

    def restore(self, snapshot: Payload) -> None:
        """Become the buffer that `snapshot` was taken of; the store must be at the epoch of that moment.

        To be called on a buffer that was built with the same arguments.
        """
        hot.restore(self, snapshot)

    def locate(self, position: int, *, after: Reader | None = None) -> Place:
        """The chunk that holds `position`, and the index in it."""
        if position == self.end:
            return self.tower.end_place
        if after is not None and after.position <= position < self.end:
            start = after.place
        elif self.head <= position < self.end:
            start = self.head_place
        elif self.floor <= position < self.end:
            start = min(reader.place for reader in self.readers.values())
        else:
            raise ArgumentError("position", position, f"between {self.floor} and {self.end}")
        return self.tower.seek(ByPosition(position), start)

    def _position(self, place: Place) -> int:
        return self.tower.storeys[0].chunk(place.chunk).start + place.entry

    def _evict_to(self, place: Place) -> int:
        before, self.head, self.head_place = self.head, self._position(place), place
        self.release()
        return self.head - before

    def _require_times(self, what: str) -> None:
        if not self.timed:
            raise ArgumentError(
                "timed", False, f"True for {what}", hint="Build the buffer with timed=True."
            )

    def _checked_times(self, times: Sequence[int] | Ints | None, n: int) -> Ints | None:
        if not self.timed:
            if times is not None:
                raise ArgumentError("times", times, "absent", hint="Build the buffer with timed=True.")
            return None
        if times is None or len(times) != n:
            raise ArgumentError("times", times, f"one time for each of the {n} elements")
        array = np.asarray(times)
        if n and array.dtype.kind not in "iu":
            raise ArgumentError("times", array.dtype, "integers")
        array = array.astype(np.int64, copy=False)
        if n:
            previous = int(array[0]) if self.last_time is None else self.last_time
            late = np.flatnonzero(array < np.concatenate(([previous], array[:-1])))
            if len(late):
                at = int(late[0])
                raise OutOfOrder(
                    f"the element at {at} has time {array[at]}, and the one before it a later time; "
                    "a window buffer takes elements in the order of their times"
                )
            self.last_time = int(array[-1])
        return array
