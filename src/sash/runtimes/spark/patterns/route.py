"""Which worker computes which window, and therefore which workers an event is sent to.

    window w of key k  →  worker (h(k) mod a) · b + (h(k) + w) mod b,      a shares of keys × b of windows
    event τ of key k   →  the workers of the windows that hold τ, at most b of them

With b = 1 that is a key farm and an event goes to one worker; with a = 1 a window farm. The windows of an
event are known from its time alone, because the clock cuts them; those of a window of rows are not. All b
workers get it where more than its windows counts: the first event of a key sets which empty windows there
are, and the newest when the key is forgotten.

>>> import numpy as np
>>> from sash.semantics.windows import time
>>> rows, workers = Route(1, 3).sent([time(4, 2)], np.array([0, 0, 1]), np.array([1, 2, 2]))
>>> list(zip(rows.tolist(), workers.tolist()))
[(0, 0), (0, 2), (1, 0), (1, 1), (2, 1), (2, 2)]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sash.arrays import Ints, Mask
from sash.operators.folding.panes import ClockWindow
from sash.operators.kinds.clock_windows import clock_mapping


@dataclass(frozen=True)
class Route:
    """Shares of keys, and shares of windows."""

    keys: int
    windows: int

    @property
    def workers(self) -> int:
        return self.keys * self.windows

    def sent(
        self, windows: Sequence[ClockWindow], hashes: Ints, times: Ints, *, outsiders: bool = False
    ) -> tuple[Ints, Ints]:
        """Rows and workers: row i of the answer is event rows[i], for worker workers[i]. `outsiders`, which
        no window holds, are sent nowhere, or else home."""
        if self.windows == 1:
            return np.arange(len(hashes)), self.base(hashes)
        goes = np.zeros((len(hashes), self.windows), np.bool_)
        if outsiders:
            goes[np.arange(len(hashes)), self.home(windows[0], hashes, times) % self.windows] = True
        for window in windows:
            first, last = clock_mapping(window, times)
            for step in range(self.windows):
                held = first + step <= last
                goes[held, (hashes[held] + first[held] + step) % self.windows] = True
        rows, share = np.nonzero(goes)
        return rows, self.base(hashes[rows]) + share

    def sent_everywhere(self, hashes: Ints) -> tuple[Ints, Ints]:
        """The same, to all workers of a share of keys.

        >>> Route(2, 2).sent_everywhere(np.array([1, 4]))
        (array([0, 0, 1, 1]), array([2, 3, 0, 1]))
        """
        rows = np.repeat(np.arange(len(hashes)), self.windows)
        return rows, self.base(hashes[rows]) + np.tile(np.arange(self.windows), len(hashes))

    def home(self, window: ClockWindow, hashes: Ints, times: Ints) -> Ints:
        """One worker for each event, and one that gets it: that of its first window, or of the next."""
        first, _ = clock_mapping(window, times)
        home: Ints = self.base(hashes) + (hashes + first) % self.windows
        return home

    def following(self, worker: int, hashes: Ints, ids: Ints) -> Ints:
        """The first window from each of these identifiers on that is that worker's.

        >>> Route(1, 3).following(1, np.array([0, 0, 1]), np.array([1, 2, 2])).tolist()
        [1, 4, 3]
        """
        following: Ints = ids + (worker - hashes - ids) % self.windows
        return following

    def mine(self, worker: int, hashes: Ints, ids: Ints) -> Mask:
        """Which of the windows with these identifiers, of keys with these hashes, are that worker's."""
        computes: Mask = self.base(hashes) + (hashes + ids) % self.windows == worker
        return computes

    def base(self, hashes: Ints) -> Ints:
        """The first worker of the share of each key."""
        base: Ints = hashes % self.keys * self.windows
        return base
