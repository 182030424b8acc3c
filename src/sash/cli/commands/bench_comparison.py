"""Rolling features in process against every window from scratch with numpy: a ratio inside one run.

    Sash      each event is folded about three times, however wide the window is
    scratch   each event is folded once for every window that holds it, without a step of Python

The contenders take turns, and the best of their turns counts: times on a shared machine drift by more than
the differences that matter. `bench.py` has the command, `cli/main.py` its options.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

import sash
from sash.arrays import Floats

WIDTHS = (10, 100, 1_000, 10_000)
TURNS = 3


@dataclass(frozen=True)
class Measured:
    """Nanoseconds of both for one window of a width."""

    width: int
    incremental: float
    scratch: float


def compare(*, events: int) -> list[Measured]:
    """Measure all widths; AssertionError if the two ever disagree."""
    values = np.random.default_rng(1).normal(100.0, 15.0, events)
    table = pa.table({"t": np.arange(events), "x": values})
    return [_measured(table, values, width) for width in WIDTHS if width < events]


def _measured(table: pa.Table, values: Floats, width: int) -> Measured:
    query = sash.stream(table, time="t").rolling(width).agg(mean=sash.mean("x"), high=sash.max("x"))
    means, highs = _from_scratch(values, width)
    rows = query.collect().slice(width - 1)
    np.testing.assert_allclose(rows[f"mean_{width}"].to_numpy(), means)
    np.testing.assert_array_equal(rows[f"high_{width}"].to_numpy(), highs)
    incremental, scratch = _best(query.collect, lambda: _from_scratch(values, width))
    return Measured(width, 1e9 * incremental / len(values), 1e9 * scratch / len(means))


def _from_scratch(values: Floats, width: int) -> tuple[Floats, Floats]:
    """Over the full windows, which begin with the event at `width` − 1."""
    windows = np.lib.stride_tricks.sliding_window_view(values, width)
    return windows.mean(axis=1), windows.max(axis=1)


def _best(*contenders: Callable[[], object]) -> list[float]:
    best = [float("inf")] * len(contenders)
    for _ in range(TURNS):
        for number, run in enumerate(contenders):
            begun = time.perf_counter()
            run()
            best[number] = min(best[number], time.perf_counter() - begun)
    return best
