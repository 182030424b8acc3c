"""Windows numbered from 0 within each key."""

from __future__ import annotations

import numpy as np

from sash.arrays import Ints
from sash.operators.windows.clock_windows import numbered
from sash.operators.windows.kinds.kind import Runs


def numbered_by_key(runs: Runs, lo: Ints) -> tuple[Ints, Ints]:
    """The keys of windows that begin at these increasing positions, and their numbers."""
    return numbered(np.bincount(runs.key_of(lo), minlength=len(runs.offsets) - 1))
