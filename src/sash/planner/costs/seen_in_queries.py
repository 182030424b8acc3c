"""What running queries show of the constants: how long a micro-batch takes here that brings little.

    median of the batches / constant    goes into one factor for all of `FIXED`, as a mean of logarithms

The constants of a micro-batch keep their relations, which decide between plans: what slows one of them down
slows the others down, too. Times of rows are not learned: they are those of a query (its source, its
columns, its aggregates), and plans of static DataFrames would change by them from one day to the next.
What was calibrated counts as much as a hundred batches. `SASH_LEARN=0` in the environment: nothing is
learned.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from math import exp, log
from statistics import median
from typing import Literal

from sash.planner.costs.constants import Costs, SeenBatches, keep_seen

LEAST = 20
"""Batches from which on a median is worth something."""
MOST = 1_000
"""Batches that count of those before, so that another machine is noticed."""
CALIBRATION = 100
FAR = 5.0
"""How many times a constant a median may be, or a part of it: more is a query with something else in it."""


def is_wanted() -> bool:
    return os.environ.get("SASH_LEARN") != "0"


def learn(constant: Literal["epoch", "stateful"], nanoseconds: Sequence[float]) -> bool:
    """From small batches of a query: whether anything was kept."""
    if len(nanoseconds) < LEAST or not is_wanted():
        return False

    def seen(now: Costs) -> SeenBatches:
        base = getattr(now.spark, constant) / now.seen.factor
        return merged(now.seen, median(nanoseconds) / base, len(nanoseconds), calibrated=now.spark_measured)

    keep_seen(seen)
    return True


def merged(before: SeenBatches, factor: float, batches: int, *, calibrated: bool = False) -> SeenBatches:
    """With so many batches that took `factor` times the constant.

    >>> merged(SeenBatches(), 2.0, 50)
    SeenBatches(factor=2.0, batches=50)
    >>> round(merged(SeenBatches(2.0, 50), 0.5, 50).factor, 6)
    1.0
    """
    weight = min(before.batches, MOST) + CALIBRATION * calibrated
    bounded = min(max(factor, 1 / FAR), FAR)
    mean = (weight * log(before.factor) + batches * log(bounded)) / (weight + batches)
    return SeenBatches(exp(mean), before.batches + batches)
