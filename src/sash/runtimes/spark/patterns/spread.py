"""Which buckets the rows of a stream go to under a pattern: by the windows that hold them, or dealt out.

    by windows     the buckets of the workers whose windows hold the row (see `route`)
    round-robin    one of the buckets of its share of keys, one after the other

Where rows are folded to panes first, a pane is the window that says where a row goes, and there is one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sash.arrays import Ints
from sash.operators.folding.panes import ClockWindow
from sash.runtimes.spark.patterns.route import Route


@dataclass(frozen=True)
class ByWindows:
    """A bucket for each worker of a route."""

    route: Route
    windows: tuple[ClockWindow, ...]

    def sent(self, shares: Ints, times: Ints, ordinals: Ints) -> tuple[Ints, Ints]:
        # A row that no window holds may still be late, which somebody has to count.
        return self.route.sent(self.windows, shares, times, outsiders=True)


@dataclass(frozen=True)
class RoundRobin:
    """Shares of keys, and equal parts of the rows of each.

    >>> RoundRobin(2, 3).sent(np.array([0, 1, 1, 2]), np.zeros(4), np.arange(4))[1].tolist()
    [0, 4, 5, 0]
    """

    keys: int
    parts: int

    def sent(self, shares: Ints, times: Ints, ordinals: Ints) -> tuple[Ints, Ints]:
        return np.arange(len(shares)), shares % self.keys * self.parts + ordinals % self.parts
