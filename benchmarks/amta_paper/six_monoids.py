"""Experiment 3: six aggregates of one sensor, and slide policies that look at more than count and time.

Timed, compiled: sum, max, mean, stddev, argmax and the longest increasing run (LIS), the library's built-in
aggregates over int64 readings. Their elements have 1, 1, 2, 3, 3 and 6 fields. First the AMTA by window
size, then three algorithms at one window size.

Counted, interpreted: the policies of `slide_policies`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmarks.amta_paper.chart import Chart, Panel, Series
from benchmarks.amta_paper.measuring import Progress, best_seconds, for_columns, readings
from benchmarks.amta_paper.slide_policies import counted_policies
from sash.aggregation import monoids
from sash.aggregation.monoid import Monoid

MONOIDS: dict[str, Monoid] = {
    "sum": monoids.sum("x"),
    "max": monoids.max("x"),
    "mean": monoids.mean("x"),
    "stddev": monoids.stddev("x"),
    "argmax": monoids.argmax("t", "x"),
    "LIS": monoids.longest_increasing_run("x"),
}
KERNELS = {"two stacks": "two_stacks", "DABA lite": "daba", "AMTA": "amta"}


@dataclass(frozen=True)
class Sizes:
    windows: range
    """Exponents."""
    compared: int
    """The exponent of the window at which algorithms are compared."""
    events: int
    policies: range
    """Exponents of the lengths that policies aim at."""
    scanned: int
    """The greatest length at which the scan from the head is counted too."""


FULL = Sizes(windows=range(4, 21, 2), compared=16, events=1 << 20, policies=range(4, 13, 2), scanned=1 << 8)
QUICK = Sizes(windows=range(4, 5), compared=4, events=1 << 9, policies=range(4, 5), scanned=1 << 4)


def run(*, quick: bool, progress: Progress) -> Chart:
    sizes = QUICK if quick else FULL
    chosen = ["max", "LIS"] if quick else list(MONOIDS)
    by_window = [Series(name) for name in chosen]
    for series in by_window:
        for exponent in sizes.windows:
            progress.step(f"timing AMTA of {series.label}, window 2^{exponent}")
            series.add(1 << exponent, nanoseconds(series.label, "amta", 1 << exponent, sizes.events))
    by_monoid = [Series(name, joined=False) for name in KERNELS]
    for series in by_monoid:
        for name in chosen:
            progress.step(f"timing {series.label} of {name}")
            kernel = KERNELS[series.label]
            series.add(name, nanoseconds(name, kernel, 1 << sizes.compared, sizes.events))
    return Chart(
        "3-monoids",
        "Six monoids, and slide policies that look at max and LIS",
        [
            Panel("AMTA, compiled", "window size [elements]", "nanoseconds per event", by_window),
            Panel(
                f"window 2^{sizes.compared}, compiled",
                "monoid",
                "nanoseconds per event",
                by_monoid,
                x_base=None,
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
    """Nanoseconds of an event that slides a full window: whole cycles, without the filling."""
    monoid, events = MONOIDS[name], max(events, 2 * window)
    inputs = {"x": readings(window + events), "t": np.arange(window + events)}
    fast, columns = for_columns(monoid, inputs)
    out = fast.empty(window + events)
    slide = fast.kernel(kernel)

    def seconds(count: int) -> float:
        part, results = tuple(c[:count] for c in columns), tuple(c[:count] for c in out)
        return best_seconds(lambda: slide(part, window, results))

    return max(seconds(window + events) - seconds(window), 0.0) / events * 1e9
