"""Look-backs of `.rolling`: at every event, { τ − W < τ' ≤ τ }.

Here they are found: `of_all` in rings, where a search begins anywhere, `of_layout` in the sorted columns of
a bounded input, where two pointers take a third of its time. On a stream they are folded by
`kernels.state.look_back_and_range_folds` and `busy_key_folds`, over a bounded input by
`kernels.folds.range_values`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from sash.aggregation.kernels.compiler.numba_compilation import kernel_of
from sash.aggregation.kernels.state.look_back_bounds import cut_look_backs
from sash.aggregation.kernels.windows.bound_positions import look_back
from sash.arrays import Ints
from sash.operators.columns.layout import Layout
from sash.operators.kinds.kind_base import Held, KeyMemory
from sash.operators.kinds.slide_by_tuple import SlideByTupleKind
from sash.operators.windows.ranges import MISSING, NEVER, Ranges
from sash.semantics.event import Order
from sash.semantics.window import Window
from sash.semantics.windows import SlideByTupleWindow


class LookBackKind(SlideByTupleKind):
    """A look-back of `.rolling`: every event triggers, once it is final, so nothing waits for its trigger.

    The windows of all look-backs are listed together (`of_all`).
    """

    memory: ClassVar[dict[str, int | float]] = {"lo": 0}
    forgets: ClassVar[bool] = True

    @staticmethod
    def of_all(
        kinds: Sequence[LookBackKind],
        memories: Sequence[KeyMemory],
        held: Held,
        slot: Ints,
        ordinals: Ints,
    ) -> Ranges:
        """The windows of several kinds that these elements trigger, those of one element together: they
        share most of what their folds read."""
        sizes = np.array([kind.window.size for kind in kinds], np.int64)
        since = np.stack([memory["lo"] for memory in memories])
        lo, hi = np.empty((2, len(slot) * len(kinds)), np.int64)
        kernel_of(cut_look_backs)(
            held.times, held.base, held.mask, held.head, held.count, slot, ordinals, sizes, since, lo, hi
        )
        if len(kinds) > 1:
            slot, ordinals = (np.repeat(a, len(kinds)) for a in (slot, ordinals))
        # Rows of look-backs have no window whose bounds could be needed: they take no memory.
        none = np.broadcast_to(np.int64(MISSING), len(slot))
        return Ranges(slot, ordinals, lo, hi, none, none, none)

    @staticmethod
    def of_layout(window: Window, layout: Layout) -> Ranges:
        """The windows that all events of a bounded input trigger, in the order of the layout."""
        assert isinstance(window, SlideByTupleWindow)
        lo, hi = look_back(layout.times, layout.offsets, window.size)
        none = np.broadcast_to(np.int64(MISSING), len(lo))
        return Ranges(layout.slot_of_position(), np.arange(len(lo)), lo, hi, none, none, none)

    def advance(self, held: Held, memory: KeyMemory, settled: int) -> Ints:
        return self.advance_all([self], [memory], held, settled)

    @staticmethod
    def advance_all(
        kinds: Sequence[LookBackKind], memories: Sequence[KeyMemory], held: Held, settled: int
    ) -> Ints:
        """`advance` for several kinds: the first ordinal of each key that one of them still needs. The next
        event lies at `settled` or later, so none looks back further."""
        if held.order is Order.ARRIVAL:
            cuts = np.tile(held.count, (len(kinds), 1))
        else:
            bounds = np.array([settled - kind.window.size + 1 for kind in kinds])
            keys = np.tile(np.arange(len(held)), len(kinds))
            since = np.concatenate([memory["lo"] for memory in memories])
            cuts = held.cut(keys, np.repeat(bounds, len(held)), since=since).reshape(len(kinds), -1)
        for memory, cut in zip(memories, cuts, strict=True):
            memory["lo"] = cut
        needed: Ints = cuts.min(axis=0)
        return needed

    def next_close(self, held: Held, memory: KeyMemory, now: int) -> Ints:
        return np.full(len(held), NEVER)
