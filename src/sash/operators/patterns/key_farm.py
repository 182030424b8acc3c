"""Key farm: each worker owns a share of the keys, and all their windows.

Slots are dense numbers for keys, so a share is a run of slots: its events are neighbours in the layout and
nothing is copied. Runs are cut where they balance the events, which a hash of the keys would not.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from sash.operators.columns.layout import balanced
from sash.operators.patterns.window_share import WindowShare


def by_keys(share: WindowShare, replicas: int) -> list[WindowShare]:
    """At most `replicas` shares, about equal in events, no key in two of them."""
    slots = balanced(share.layout.offsets, replicas)
    cuts = np.searchsorted(share.ranges.slot, slots).tolist()
    return [share.neighbours(first, last) for first, last in pairwise(cuts) if first < last]
