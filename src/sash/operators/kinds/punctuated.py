"""Punctuated windows: from the event after one punctuation up to the next, which belongs to it."""

from __future__ import annotations

import numpy as np

from sash.operators.kinds.by_predicate import PredicateKind
from sash.operators.kinds.kind_base import Runs
from sash.operators.windows.numbering import numbered_by_key
from sash.operators.windows.ranges import NEVER, Ranges


class PunctuatedKind(PredicateKind):
    """The last event of a window closes it."""

    def runs(self, runs: Runs) -> Ranges:
        ends = runs.marks & ~runs.carried
        last = np.append(runs.begins[1:], True)
        hi = np.flatnonzero(ends | last) + 1
        lo = np.append(0, hi[:-1])
        key, w = numbered_by_key(runs, lo)
        end = runs.last[hi - 1]
        return Ranges(key, w, lo, hi, runs.first[lo], end, np.where(ends[hi - 1], end, NEVER))
