"""Which buckets the rows of a stream go to under a pattern: by the windows that hold them, or dealt out.

    by windows     the buckets of the workers whose windows hold the row (see `route`)
    round-robin    one of the buckets of its share of keys, one after the other

Where rows are folded to panes first, a pane is the window that decides where a row goes, and there is one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sash.operators.folding.panes import ClockWindow
from sash.runtimes.spark.packing.blocks import Arrived, Sent
from sash.runtimes.spark.patterns.route import Route


@dataclass(frozen=True)
class ByWindows:
    """A bucket for each worker of a route."""

    route: Route
    windows: tuple[ClockWindow, ...]
    everywhere: bool = False
    """Whether each bucket must know the first or the newest event of a key, whichever windows hold it: it
    then gets all rows of its share of keys."""

    def sent(self, arrived: Arrived) -> Sent:
        if self.everywhere:
            return Sent(*self.route.sent_everywhere(arrived.shares))
        # A row that no window holds may still be late, which somebody has to count.
        return Sent(*self.route.sent(self.windows, arrived.shares, arrived.times, outsiders=True))


@dataclass(frozen=True)
class RoundRobin:
    """Shares of keys, and equal parts of the rows of each.

    >>> import pyarrow as pa
    >>> from sash.runtimes.spark.packing.columns import ORDINAL
    >>> rows = pa.table({"c0": [0, 0, 0, 0], ORDINAL: [0, 1, 2, 3]})
    >>> RoundRobin(2, 3).sent(Arrived(rows, "c0", np.array([0, 1, 1, 2]))).bucket.tolist()
    [0, 4, 5, 0]
    """

    keys: int
    parts: int

    def sent(self, arrived: Arrived) -> Sent:
        bucket = arrived.shares % self.keys * self.parts + arrived.ordinals % self.parts
        return Sent(np.arange(len(bucket)), bucket)
