"""An operator that answers for some of the windows of its keys; other operators, for the rest.

    own windows of a key  =  every n-th of them                 (the private slide of a window farm is n·S)

A worker of a window farm holds all events of its own windows. Of other windows it may hold some, and emits
nothing.
"""

from __future__ import annotations

from typing import Protocol

import pyarrow as pa

from sash.arrays import Ints
from sash.operators.windows.ranges import Ranges


class Own(Protocol):
    """Which windows are one's own."""

    def following(self, keys: pa.Table | None, slots: Ints, ids: Ints) -> Ints:
        """For each slot, the first own window from this identifier on; `keys` has the key of each slot."""
        ...


def only_own(own: Own | None, keys: pa.Table | None, ranges: Ranges) -> Ranges:
    """The ranges of own windows: all of them, when no other operator answers for any."""
    if own is None or not len(ranges):
        return ranges
    return ranges.where(own.following(keys, ranges.slot, ranges.id) == ranges.id)
