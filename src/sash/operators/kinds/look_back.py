"""Look-backs of `.rolling`: at every event, { τ − W < τ' ≤ τ }."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from sash.aggregation.kernels.state.look_backs import look_backs
from sash.arrays import Ints
from sash.operators.kinds.kind import Held, Memory
from sash.operators.kinds.slide_by_tuple import SlideByTupleKind
from sash.operators.windows.ranges import MISSING, NEVER, Ranges


class LookBackKind(SlideByTupleKind):
    """A look-back of `.rolling`: every event triggers, once it is final, so nothing waits for its trigger.

    The windows of all look-backs are listed together (`of_all`).
    """

    memory: ClassVar[dict[str, int | float]] = {"lo": 0}
    forgets: ClassVar[bool] = True

    @staticmethod
    def of_all(
        kinds: Sequence[LookBackKind],
        memories: Sequence[Memory],
        held: Held,
        slot: Ints,
        ordinals: Ints,
    ) -> Ranges:
        """The windows of several kinds that these elements trigger, those of one element together: they
        share most of what their folds read."""
        sizes = np.array([kind.window.size for kind in kinds], np.int64)
        since = np.stack([memory["lo"] for memory in memories])
        lo, hi = np.empty((2, len(slot) * len(kinds)), np.int64)
        look_backs()(
            held.times, held.base, held.mask, held.head, held.count, slot, ordinals, sizes, since, lo, hi
        )
        if len(kinds) > 1:
            slot, ordinals = (np.repeat(a, len(kinds)) for a in (slot, ordinals))
        # Rows of look-backs have no window whose bounds could be needed: they take no memory.
        none = np.broadcast_to(np.int64(MISSING), len(slot))
        return Ranges(slot, ordinals, lo, hi, none, none, none)

    def advance(self, held: Held, memory: Memory, settled: int) -> Ints:
        return self._needed(held, memory, settled)

    def next_close(self, held: Held, memory: Memory, now: int) -> Ints:
        return np.full(len(held), NEVER)
