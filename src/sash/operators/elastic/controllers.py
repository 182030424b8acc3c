"""Controllers: from samples of a running operator to the number of instances that it should have.

    controller(samples, oldest first) → degree

Plain functions without a memory: what they remember is in the samples. So a decision can be made again
from a record, and a test needs no stream. On Spark, small batches of `start()` have one task whatever a
controller returns (`runtimes/spark/epochs/one_task.py`).

>>> from sash.operators.elastic.controller_samples import Sample
>>> busy = Sample(time=1.0, seconds=1.0, degree=2, rate=100.0, pending=0, utilisation=0.95)
>>> thresholds()([busy])
3
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil
from typing import TypeAlias

import numpy as np

from sash.errors import ArgumentError
from sash.operators.elastic.controller_samples import Sample

Controller: TypeAlias = Callable[[Sequence[Sample]], int]

SLACK = 1e-9
"""Loads that are equal but for rounding need the same number of instances."""


def thresholds(
    *, upper: float = 0.90, target: float = 0.70, lower: float = 0.45, patience: int = 3
) -> Controller:
    """More instances above `upper`, fewer below `lower`, as many as bring the load to `target`.

    The defaults are the paper's 90, 70 and 45 %. Between the two nothing changes, and the load after a
    change lies there: that is the hysteresis. More instances are needed at once; fewer only when
    `patience` samples in a row were below, because a pause in a stream is no reason to be slow after it.
    """
    if not 0 < lower < target < upper <= 1:
        raise ArgumentError(
            "lower, target, upper", (lower, target, upper), "0 < lower < target < upper ≤ 1"
        )
    _check_patience(patience)

    def degree(samples: Sequence[Sample]) -> int:
        if not samples:
            return 1
        now = samples[-1]
        if now.utilisation > upper:
            return max(now.degree + 1, _enough(now.utilisation * now.degree, target))
        recent = [each for each in samples[-patience:] if each.degree == now.degree]
        if len(recent) < patience or max(each.utilisation for each in recent) >= lower:
            return now.degree
        return min(now.degree, max(_enough(each.utilisation * each.degree, target) for each in recent))

    return degree


def predictive(
    *,
    window: float | None = None,
    horizon: float = 1.0,
    target: float = 0.70,
    lower: float | None = None,
    patience: int = 3,
    memory: int = 30,
) -> Controller:
    """Instances for the tuples that wait and those that are to come within `horizon` seconds.

        need = (cost of pending + cost of predicted tuples) / (horizon · target)

    The rate to come is the latest one with its trend, never less than the latest. The cost of a tuple is
    what tuples have cost lately. With `window` seconds it grows with the tuples in the window, as in a
    join, where each is compared with all of them: the cost is then that of one comparison, and the
    predicted window decides how many there are. Fewer instances only when the last `patience` samples
    all needed fewer, with `lower` instead of `target`: those that stay have a load of at most `lower`, by
    default nine tenths of `target`. Between the two nothing changes, so that samples that differ a little
    do not make instances come and go.
    """
    for name, value in (("horizon", horizon), ("target", target)):
        if value <= 0:
            raise ArgumentError(name, value, "greater than 0")
    least = 0.9 * target if lower is None else lower
    if not 0 < least <= target:
        raise ArgumentError("lower", lower, f"greater than 0 and at most target, {target}")
    if window is not None and window <= 0:
        raise ArgumentError("window", window, "a positive number of seconds, or None")
    _check_patience(patience)

    def work(samples: Sequence[Sample]) -> float:
        now = samples[-1]
        recent = samples[-memory:]
        held = _held(samples, window)
        units = sum(s.rate * s.seconds * h for s, h in zip(recent, held[-len(recent) :], strict=True))
        cost = sum(s.work for s in recent) / units if units > 0 else 0.0
        rate = _predicted(recent, horizon)
        coming = held[-1] + (0.0 if window is None else max(0.0, rate - held[-1] / window) * horizon)
        return cost * (now.pending * held[-1] + rate * horizon * coming) / horizon

    def degree(samples: Sequence[Sample]) -> int:
        if not samples:
            return 1
        load, now = work(samples), samples[-1].degree
        if (wanted := _enough(load, target)) >= now:
            return wanted
        earlier = [samples[: len(samples) - back] for back in range(1, patience) if len(samples) > back]
        if len(earlier) < patience - 1:
            return now
        return min(now, _enough(max([load, *map(work, earlier)]), least))

    return degree


def _held(samples: Sequence[Sample], window: float | None) -> list[float]:
    """How many tuples the window held at each sample; 1 where a tuple costs the same whatever is held."""
    if window is None:
        return [1.0] * len(samples)
    times = np.array([sample.time for sample in samples])
    arrived = np.concatenate(([0.0], np.cumsum([sample.rate * sample.seconds for sample in samples])))
    begins = np.searchsorted(times, times - window, side="right")
    return [float(n) for n in np.maximum(arrived[1:] - arrived[begins], 1.0)]


def _predicted(samples: Sequence[Sample], horizon: float) -> float:
    """The latest rate and, where it is rising, its rise since the sample before, carried on."""
    now = samples[-1]
    if len(samples) < 2:
        return now.rate
    before = samples[-2]
    rise = (now.rate - before.rate) / max(now.time - before.time, SLACK)
    return now.rate + max(0.0, rise) * min(horizon, now.seconds)


def _enough(work: float, target: float) -> int:
    return max(1, ceil(work / target - SLACK))


def _check_patience(patience: int) -> None:
    if patience < 1:
        raise ArgumentError("patience", patience, "at least 1 sample")
