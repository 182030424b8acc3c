"""The JPDC paper's query: a curve fitted to each window of quotes, by Levenberg and Marquardt's method.

Each full window is fitted by the function of `examples/algo_trader.py`, which measures itself: T_calc is
the time that one window takes a worker, from its rows to its result. Windows of the beginning that are not
full yet are not fitted, so that every result costs the same. Results a second are counted from the first
result of each worker on: before it a process is started, and loads SciPy.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import sash
from benchmarks.pisa_papers.chunk_size import in_chunks
from examples.algo_trader import fitted, quote_table
from sash.operators.bounded_input import answer
from sash.semantics.window import Window

RATE = 200_000
"""Quotes a second, in all figures but the 14th."""
WINDOWS = 64
"""Full windows of a run: with fewer, what two processes need to begin is a part of it."""
ROUNDS = 3
"""Runs of each point; the best of them counts."""
CHUNK = 5_000
"""Quotes in a chunk of the agnostic buffer, in all figures but the 12th and 13th; 2^16 is our default."""


@dataclass(frozen=True)
class Measured:
    output: float
    """Results a second."""
    calc: float
    """T_calc, seconds: the median of the windows."""


@dataclass(frozen=True)
class Trading:
    """`windows` full windows over quotes at `rate` a second."""

    window: Window
    seconds: float
    """Of one window."""
    slide: float
    windows: int
    rate: int = RATE

    @property
    def query(self) -> sash.WindowQuery:
        events = int((self.seconds + self.slide * self.windows) * self.rate) + 2
        quotes = quote_table(events, 1, rate=self.rate).select(["time", "second", "price"])
        windows = sash.stream(quotes, time="time").window(self.window, flush=False)
        function = partial(fit, int(0.99 * self.seconds * self.rate))
        return windows.apply(function, schema="forecast double, calc double, ended double")

    def by(self, pattern: Any) -> Measured:
        """The public way: workers of a pattern."""
        return self._measured(self.query.parallel(pattern).collect, pattern.workers)

    def by_chunks(self, chunk: int, *, workers: int, span: int | None = None) -> Measured:
        """Agnostic workers over a buffer whose chunks have so many quotes, or those of `span` µs."""
        query = self.query
        rows = query.source.rows(query.bound.columns)
        evaluate = partial(in_chunks, chunk, workers, span=span)
        return self._measured(lambda: answer(query.bound, rows, evaluate=evaluate), workers)

    def _measured(self, run: Callable[[], Any], workers: int) -> Measured:
        runs = [self._measured_once(run, workers) for _ in range(ROUNDS)]
        return max(runs, key=lambda each: each.output)

    def _measured_once(self, run: Callable[[], Any], workers: int) -> Measured:
        found = run()
        table = found if isinstance(found, pa.Table) else found.reports
        ended, calc = (table[name].drop_null().to_numpy() for name in ("ended", "calc"))
        return Measured(steady_rate(ended, workers), float(np.median(calc)))


def steady_rate(ended: NDArray[np.float64], workers: int) -> float:
    """Results a second, from the first result of each worker on, by the times at which they ended.

    >>> steady_rate(np.array([5.0, 5.5, 6.0, 6.5]), 2)
    2.0
    """
    ends = np.sort(ended)
    return (len(ends) - workers) / float(ends[-1] - ends[workers - 1])


def fit(full: int, quotes: pa.Table) -> dict[str, float | None]:
    if quotes.num_rows < full:
        return {"forecast": None, "calc": None, "ended": None}
    # One clock for all processes of a machine.
    begin = time.monotonic()
    forecast = fitted(quotes)["forecast"]
    end = time.monotonic()
    return {"forecast": forecast, "calc": end - begin, "ended": end}


def by_time(length: float, slide: float, *, windows: int, rate: int = RATE) -> Trading:
    """Time windows, both in seconds."""
    window = sash.sliding(f"{round(1e3 * length)} milliseconds", every=f"{round(1e3 * slide)} milliseconds")
    return Trading(window, length, slide, windows, rate)


def by_tuple(length: float, slide: int, *, windows: int, rate: int = RATE) -> Trading:
    """The last `length` seconds, whenever `slide` quotes have come."""
    window = sash.slide_by_tuple(f"{round(1e3 * length)} milliseconds", every=slide)
    return Trading(window, length, slide / rate, windows, rate)
