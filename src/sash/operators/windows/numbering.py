"""Numbers from 0 within each key or slot."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sash.arrays import Ints

if TYPE_CHECKING:
    from sash.operators.kinds.kind_base import Runs


def numbered(counts: Ints) -> tuple[Ints, Ints]:
    """Slots repeated counts[slot] times, and a number from 0 within each.

    >>> numbered(np.array([2, 0, 1]))
    (array([0, 0, 2]), array([0, 1, 0]))
    """
    slot = np.repeat(np.arange(len(counts)), counts)
    return slot, np.arange(len(slot)) - np.repeat(np.cumsum(counts) - counts, counts)


def numbered_by_key(runs: Runs, lo: Ints) -> tuple[Ints, Ints]:
    """The keys of windows that begin at these increasing positions, and their numbers."""
    return numbered(np.bincount(runs.key_of(lo), minlength=len(runs.offsets) - 1))
