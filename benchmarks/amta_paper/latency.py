"""Experiment 1: what one event costs (insert, evict, query), by window size.

Timed: compiled kernels over a full count window of int64 sums, without the filling of the window.

Counted: combines of the interpreted classes over the same schedule, mean and worst of an event. The two
answer different questions: the mean is what throughput feels, the worst is what latency feels.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any, TypeAlias

import numpy as np

from benchmarks.amta_paper.chart import Chart, Panel, Series
from benchmarks.amta_paper.measuring import (
    ProgressPrinter,
    best_seconds,
    counting,
    plain_sum,
    readings,
    sliding_nanoseconds,
    sweeps,
)
from sash.aggregation.algorithms import INTERPRETED, Algorithm
from sash.aggregation.kernels.compiler.template_words import Columns

Slide: TypeAlias = Callable[[Columns, int, Columns], Any]

KERNELS = {"two stacks": "two_stacks", "DABA lite": "daba", "AMTA": "amta", "Log MTA": "log_mta"}
CLASSES: dict[str, Callable[..., Algorithm]] = {
    "two stacks": INTERPRETED["TwoStacks"],
    "DABA lite": INTERPRETED["DABALite"],
    "AMTA": INTERPRETED["AMTA"],
    "FiBA": INTERPRETED["FiBA"],
    "Log MTA": INTERPRETED["LogMTA"],
    "recalculate": INTERPRETED["Recalculate"],
}


@dataclass(frozen=True)
class LatencySizes:
    timed: range
    """Exponents of the windows that are timed."""
    counted: range
    events: int
    """Timed events at least."""
    recalculated: int
    """Combines that a timed or counted recalculation may cost."""


FULL = LatencySizes(timed=range(1, 26, 3), counted=range(4, 19, 2), events=1 << 20, recalculated=1 << 26)
QUICK = LatencySizes(timed=range(4, 7, 2), counted=range(4, 7, 2), events=1 << 10, recalculated=1 << 14)


def run(*, quick: bool, progress: ProgressPrinter) -> Chart:
    sizes = QUICK if quick else FULL
    timed = {name: Series(name) for name in CLASSES}
    mean = {name: Series(name) for name in CLASSES}
    worst = {name: Series(name) for name in CLASSES}
    for _, exponent, name in product(sweeps(quick=quick), sizes.timed, CLASSES):
        progress.step(f"timing {name}, window 2^{exponent}")
        nanoseconds = timed_event(name, 1 << exponent, sizes)
        if nanoseconds is not None:
            timed[name].keep_best(1 << exponent, nanoseconds)
    for exponent, name in product(sizes.counted, CLASSES):
        progress.step(f"counting combines of {name}, window 2^{exponent}")
        average, most = counted_event(name, 1 << exponent, sizes)
        mean[name].add(1 << exponent, average)
        worst[name].add(1 << exponent, most)
    window = "window size [elements]"
    return Chart(
        "1-latency",
        "Cost of one event (insert + evict + query) by window size, int64 sum",
        [
            Panel("time, compiled kernels", window, "nanoseconds per event", list(timed.values())),
            Panel("mean work, counted", window, "combines per event, mean", list(mean.values())),
            Panel("worst work, counted", window, "combines of one event, worst", list(worst.values())),
        ],
        {"timed events at least": sizes.events, "recalculated combines at most": sizes.recalculated},
    )


def timed_event(name: str, window: int, sizes: LatencySizes) -> float | None:
    """Nanoseconds per event; None where recalculation would take too long."""
    fast = plain_sum()
    if name == "recalculate":
        events = sizes.recalculated // window
        if events < 64:
            return None
        columns, out = fast.columns((readings(window + events),)), fast.empty(events)
        kernel = fast.kernel("recalculate")
        return best_seconds(lambda: kernel(columns, window, out)) / events * 1e9
    count = window + max(sizes.events, 2 * window)
    columns, out = fast.columns((readings(count),)), fast.empty(count)
    return sliding_nanoseconds(sliding_kernel(name, count), columns, window, out)


def sliding_kernel(name: str, events: int) -> Slide:
    """The compiled form of an algorithm for the plain sum, over at most so many events."""
    fast = plain_sum()
    if name == "FiBA":
        fiba, times = fast.kernel("fiba"), np.arange(events)
        return lambda columns, window, out: fiba(columns, times[: len(out[0])], window, out)
    return fast.kernel(KERNELS[name])


def counted_event(name: str, size: int, sizes: LatencySizes) -> tuple[float, int]:
    """Mean and worst number of combines of an event that slides a full window."""
    monoid, tally = counting(plain_sum().monoid)
    window = CLASSES[name](monoid)
    window.insert_many(readings(size))
    events = max(2 * size, 1 << 10)
    if name == "recalculate":
        events = max(1, min(events, (sizes.recalculated >> 4) // size))
    total, most = 0, 0
    for value in readings(events, seed=2).tolist():
        used = tally.of(partial(_slide, window, value))
        total, most = total + used, max(most, used)
    return total / events, most


def _slide(window: Algorithm, value: int) -> None:
    window.insert(value)
    window.evict()
    window.query()
