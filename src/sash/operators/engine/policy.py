"""Slide policies over the tree of a lane: what leaves is found by descent, in O(log n) combines."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sash.aggregation.kernels.rings import LANE, LEAF
from sash.aggregation.monoid import Monoid
from sash.operators.arena import Arena
from sash.operators.elements import Elements
from sash.operators.engine.form import Aggregate, Form
from sash.operators.engine.rings import RingLane
from sash.operators.engine.slots import FIRST, SLOTS, Slots
from sash.operators.folder import ColumnFolder, ObjectFolder
from sash.operators.kinds.kind import Held
from sash.operators.layout import Layout
from sash.operators.ranges import Ranges
from sash.semantics.windows import PolicyWindow

Ints = NDArray[np.int64]


def tracked_name(name: str) -> str:
    """What the lane calls a tracked aggregate."""
    return f"__track {name}"


def tracked(window: PolicyWindow) -> Mapping[str, Monoid]:
    """The tracked aggregates, as aggregates of the lane."""
    found: dict[str, Any] = {tracked_name(name): monoid for name, monoid in window.track.items()}
    return found


class PolicySlides:
    """The windows of a policy, for all keys of a lane."""

    def __init__(self, lane: RingLane, window: PolicyWindow) -> None:
        self._lane, self._window = lane, window

    def over(self, slots: Ints) -> Slider:
        return Slider(self._lane, self._window, slots)


class Slider:
    """For some keys. See `kinds.kind.Slides`."""

    def __init__(self, lane: RingLane, window: PolicyWindow, slots: Ints) -> None:
        self._lane, self._window, self._slots = lane, window, slots
        names = [tracked_name(name) for name in window.track]
        self._aggregates = [lane.form.aggregates[name] for name in names]

    def slides(self, since: Ints, until: Ints, lo: Ints) -> tuple[Ints, Ints, Ints]:
        held = self._lane.held(self._slots)
        found: list[tuple[int, int, int]] = []
        for key in range(len(self._slots)):
            begin = int(lo[key])
            for ordinal in range(int(since[key]), int(until[key])):
                begin = self._evicted(held, key, begin, ordinal + 1)
                found.append((key, ordinal, begin))
        columns = np.array(found, np.int64).reshape(-1, 3).T
        return tuple(np.ascontiguousarray(column) for column in columns)  # type: ignore[return-value]

    def _evicted(self, held: Held, key: int, lo: int, hi: int) -> int:
        """Where the window begins once the policy has evicted what it wants."""
        total = self._weighed([self._fold(a, held, key, lo, hi) for a in self._aggregates])
        prefix: list[Elements] | None = None
        at, level = lo, 0
        # Up while ever larger blocks leave, then down: the end of the longest prefix that does.
        climbing = True
        while level >= 0:
            size = 1 if level == 0 else LEAF << (level - 1)
            if at + size > hi or at % size:
                climbing = False
                level -= 1
                continue
            block = [self._fold(a, held, key, at, at + size) for a in self._aggregates]
            grown = block if prefix is None else self._joined(prefix, block)
            if self._window.asks_out(total, self._weighed(grown)):
                prefix, at = grown, at + size
                bigger = LEAF << level
                if climbing and at % bigger == 0 and at + bigger <= hi:
                    level += 1
            else:
                climbing = False
                level -= 1
        return at

    def _fold(self, aggregate: Aggregate, held: Held, key: int, lo: int, hi: int) -> Elements:
        one = (np.array([value], np.int64) for value in (key, 0, lo, hi, 0, 0, 0))
        return self._lane.fold(aggregate, held, Ranges(*one))

    def _joined(self, older: list[Elements], newer: list[Elements]) -> list[Elements]:
        both = []
        for aggregate, a, b in zip(self._aggregates, older, newer, strict=True):
            pair = Elements(tuple(map(_pair, a.columns, b.columns)), None)
            none = np.zeros(1, np.int64)
            both.append(aggregate.folder.fold(pair, none, none + 2, groups=np.array([0, 1])))
        return both

    def _weighed(self, elements: list[Elements]) -> SimpleNamespace:
        values = {}
        for name, aggregate, element in zip(self._window.track, self._aggregates, elements, strict=True):
            values[name] = _lowered(aggregate, element)
        return SimpleNamespace(**values)


def _pair(a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
    return np.concatenate([a, b])


def _lowered(aggregate: Aggregate, element: Elements) -> Any:
    folder = aggregate.folder
    if isinstance(folder, ObjectFolder):
        return aggregate.monoid.lower(folder.objects(element)[0])
    assert isinstance(folder, ColumnFolder)
    values, known = folder.machine.lower(element.columns, present=None)
    return values[0].item() if known[0] else None


def bounded_slides(window: PolicyWindow, layout: Layout) -> Slider:
    """The same over a bounded input, whose events become elements of a lane for it."""
    form = Form(layout.rows.schema, tracked(window))
    tables = Slots.tables(pa.schema([]), words=LANE) | RingLane.tables("elements", form)
    arena = Arena.anonymous(tables)
    keys = np.arange(layout.slots)
    arena.reserve(SLOTS, layout.slots)
    slots = Slots(arena, pa.schema([]), words=LANE)
    lane = RingLane(arena, slots, "elements", form, word=FIRST, order=layout.order, growing_tail=False)
    lane.new_slots(keys)
    lane.append(keys, layout.offsets, layout.rows, layout.times)
    return PolicySlides(lane, window).over(keys)
