"""Window farm, active workers: windows are dealt out round-robin, events follow the windows that hold them.

    window w of key k   →   worker (h(k) mod n + w) mod n,   whose private slide is n·S

A worker's buffer has only the events of its own windows. Two of them in a row start min(W, n·S) events
apart there: what lies between windows that no longer overlap was never sent.

In process h(k) is the slot of the key. Sessions have their start for an identifier and are counted instead.
"""

from __future__ import annotations

import numpy as np

from sash.arrays import Ints
from sash.operators.patterns.window_share import WindowShare
from sash.operators.windows.ranges import Ranges
from sash.semantics.window import ContextFreeWindow, Window


def by_windows(share: WindowShare, replicas: int) -> list[WindowShare]:
    """One share for each worker that has a window."""
    worker = (share.ranges.slot % replicas + _numbers(share.window, share.ranges)) % replicas
    shares = [share.where(worker == replica) for replica in range(replicas)]
    return [mine.privately() for mine in shares if len(mine)]


def _numbers(window: Window, ranges: Ranges) -> Ints:
    if isinstance(window, ContextFreeWindow):
        return ranges.id
    firsts = np.searchsorted(ranges.slot, ranges.slot)
    return np.arange(len(ranges)) - firsts
