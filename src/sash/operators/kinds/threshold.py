"""Threshold windows: maximal runs of events that satisfy the predicate. The event after a run closes it."""

from __future__ import annotations

import numpy as np

from sash.operators.kinds.by_predicate import PredicateKind
from sash.operators.kinds.kind_base import Runs
from sash.operators.windows.numbering import numbered_by_key
from sash.operators.windows.ranges import NEVER, Ranges


class ThresholdKind(PredicateKind):
    """The first event for which it does not hold closes a window."""

    def runs(self, runs: Runs) -> Ranges:
        inside = runs.marks | runs.carried
        first = runs.begins
        last = np.append(first[1:], True)
        lo = np.flatnonzero(inside & (first | ~np.append(False, inside[:-1])))
        hi = np.flatnonzero(inside & (last | ~np.append(inside[1:], False))) + 1
        key, w = numbered_by_key(runs, lo)
        after = np.append(runs.first, NEVER)[hi]
        closes_at = np.where(hi < runs.offsets[key + 1], after, NEVER)
        return Ranges(key, w, lo, hi, runs.first[lo], runs.last[hi - 1], closes_at)
