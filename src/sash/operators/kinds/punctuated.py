"""Punctuated windows: from the event after one punctuation up to the next, which belongs to it."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from sash.arrays import Ints
from sash.operators.kinds.kind import GrowingKind, Runs
from sash.operators.windows.numbering import numbered_by_key
from sash.operators.windows.ranges import NEVER, Ranges
from sash.semantics.windows import PunctuatedWindow


class PunctuatedKind(GrowingKind[PunctuatedWindow]):
    """`next_id` is the number of the windows that are over."""

    memory: ClassVar[dict[str, int | float]] = {"next_id": 0}

    def runs(self, runs: Runs) -> Ranges:
        ends = runs.marks & ~runs.carried
        last = np.append(runs.begins[1:], True)
        hi = np.flatnonzero(ends | last) + 1
        lo = np.append(0, hi[:-1])
        key, w = numbered_by_key(runs, lo)
        end = runs.last[hi - 1]
        return Ranges(key, w, lo, hi, runs.first[lo], end, np.where(ends[hi - 1], end, NEVER))

    def wakes(self, times: Ints) -> Ints:
        return times
