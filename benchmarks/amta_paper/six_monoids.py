"""Experiment 3: six aggregates of one sensor, and slide policies that look at more than count and time.

Timed, compiled: sum, max, mean, stddev, argmax and the longest increasing run (LIS), the library's built-in
aggregates over int64 readings. Their elements have 1, 1, 2, 3, 3 and 6 fields. First the AMTA by window
size, then three algorithms at one window size.

Counted, interpreted: the policies of `slide_policies`.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from benchmarks.amta_paper.chart import Chart, Panel, Series
from benchmarks.amta_paper.measuring import (
    ProgressPrinter,
    for_columns,
    readings,
    sliding_nanoseconds,
    sweeps,
)
from benchmarks.amta_paper.slide_policies import counted_policies
from sash.aggregation import built_in
from sash.aggregation.monoid import Monoid

MONOIDS: dict[str, Monoid] = {
    "sum": built_in.sum("x"),
    "max": built_in.max("x"),
    "mean": built_in.mean("x"),
    "stddev": built_in.stddev("x"),
    "argmax": built_in.argmax("t", "x"),
    "LIS": built_in.longest_increasing_run("x"),
}
KERNELS = {"two stacks": "two_stacks", "DABA lite": "daba", "AMTA": "amta"}


@dataclass(frozen=True)
class MonoidSizes:
    windows: range
    """Exponents."""
    compared: int
    """The exponent of the window at which algorithms are compared."""
    events: int
    policies: range
    """Exponents of the lengths that policies aim at."""
    scanned: int
    """The greatest length at which the scan from the head is counted too."""


FULL = MonoidSizes(
    windows=range(4, 21, 2), compared=16, events=1 << 20, policies=range(4, 13, 2), scanned=1 << 8
)
QUICK = MonoidSizes(windows=range(4, 5), compared=4, events=1 << 9, policies=range(4, 5), scanned=1 << 4)


def run(*, quick: bool, progress: ProgressPrinter) -> Chart:
    sizes = QUICK if quick else FULL
    chosen = ["max"] if quick else list(MONOIDS)
    by_window = {name: Series(name) for name in chosen}
    by_monoid = {name: Series(name, joined=False) for name in KERNELS}
    for _, name in product(sweeps(quick=quick), chosen):
        for exponent in sizes.windows:
            progress.step(f"timing AMTA of {name}, window 2^{exponent}")
            by_window[name].keep_best(1 << exponent, nanoseconds(name, "amta", 1 << exponent, sizes.events))
        for algorithm, kernel in KERNELS.items():
            progress.step(f"timing {algorithm} of {name}")
            cost = nanoseconds(name, kernel, 1 << sizes.compared, sizes.events)
            by_monoid[algorithm].keep_best(name, cost)
    return Chart(
        "3-monoids",
        "Six monoids, and slide policies that look at max and LIS",
        [
            Panel(
                "AMTA, compiled",
                "window size [elements]",
                "nanoseconds per event",
                list(by_window.values()),
            ),
            Panel(
                f"window of $2^{{{sizes.compared}}}$, compiled",
                "monoid",
                "nanoseconds per event",
                list(by_monoid.values()),
                powers_of_two=False,
            ),
            Panel(
                "slide policies, counted",
                "mean window length [elements]",
                "combines per insertion, mean",
                counted_policies(sizes.policies, sizes.scanned, progress),
            ),
        ],
        {"timed events": sizes.events},
    )


def nanoseconds(name: str, kernel: str, window: int, events: int) -> float:
    count = window + max(events, 2 * window)
    fast, columns = for_columns(MONOIDS[name], {"x": readings(count), "t": np.arange(count)})
    return sliding_nanoseconds(fast.kernel(kernel), columns, window, fast.empty(count))
