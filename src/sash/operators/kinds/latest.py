"""Look-backs of `.latest`: at an instant, the events of a key with now − W < τ ≤ now.

`row` is what was last emitted of the look-back: a code of its values, which is 0 for those of no events.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from sash.arrays import Ints
from sash.operators.kinds.kind_base import Held, KeyMemory
from sash.operators.kinds.lifetime import LifetimeKind
from sash.operators.kinds.look_back import LookBackKind
from sash.operators.windows.ranges import NEVER


class LatestKind(LookBackKind):
    """What a key holds is in the look-back until time alone takes it out."""

    memory: ClassVar[dict[str, int | float]] = {"lo": 0, "row": 0}

    def begins(self, held: Held, memory: KeyMemory, now: int) -> Ints:
        """The first ordinal of each key that is in the look-back from `now`."""
        return held.before(now - self.window.size + 1, since=memory["lo"])

    def next_close(self, held: Held, memory: KeyMemory, now: int) -> Ints:
        """When the look-back loses its first event."""
        closes, first = np.full(len(held), NEVER), self.begins(held, memory, now)
        some = np.flatnonzero(first < held.count)
        closes[some] = held.time_at(some, first[some]) + self.window.size
        return closes


class LatestLifetimeKind(LifetimeKind):
    """One that loses nothing."""

    memory: ClassVar[dict[str, int | float]] = {"row": 0}
