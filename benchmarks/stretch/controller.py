"""Q5: the predictive controller through phases of random rates, with abrupt changes between them.

The paper: 20 minutes, windows of one minute, phases of 100 to 300 seconds at 500 to 8,000 tuples a second,
thresholds of 70 and 80 %. Here instances come above 80 %, and go when those that stay have at most 70 % in
several samples in a row. Rates are fractions of what two instances sustain, in the paper's range of 1 to
16. That is searched first, over windows as long, with the paper's latency as the bound: at a quarter of a
second instances are behind already, and stay so. `--long` runs 20 minutes. The short form is the same ten
times faster: two minutes, phases of 10 to 30 seconds, windows of 6 seconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np

from benchmarks.paper_table import PaperTable
from benchmarks.stretch.joining import (
    SECOND,
    SOURCES,
    Replay,
    fill,
    replay,
    scale_join,
    scale_join_streams,
)
from benchmarks.stretch.sustaining import BOUND, TRIALS, sustained_rate
from sash.operators import predictive, setup

UPPER, LOWER = 0.80, 0.70
HIGHEST = 0.75
"""The load of two instances in the highest phase: they can carry it."""
ALLOWED = 10
"""Seconds after which a spike is over, in the paper."""
ON_AVERAGE = 0.020
"""The paper's latency, in seconds."""


@dataclass
class Phases:
    """Rates from 1/16 to all of `most`, each for a while."""

    begins: list[float]
    rates: list[float]

    @classmethod
    def drawn(cls, seconds: float, most: float, *, scale: float, seed: int = 11) -> Phases:
        draw, begins, rates = np.random.default_rng(seed), [0.0], []
        while begins[-1] < seconds:
            rates.append(most * float(draw.uniform(1 / 16, 1)))
            begins.append(begins[-1] + scale * float(draw.uniform(100, 300)))
        return cls(begins, rates)

    def rate(self, now: float) -> float:
        return self.rates[int(np.searchsorted(self.begins, now, side="right")) - 1]


def spikes(latencies: Sequence[tuple[float, float]], bound: float = BOUND) -> list[int]:
    """How many seconds in a row have a mean latency above the bound, of each spike. A second in which
    nothing was read goes on as the one before it.

    >>> spikes([(0.5, 0.01), (1.2, 3.0), (3.1, 0.8), (4.5, 0.02), (5.0, 0.3)])
    [3, 1]
    """
    by_second: dict[int, list[float]] = {}
    for at, late in latencies:
        by_second.setdefault(int(at), []).append(late)
    lengths, above = list[int](), False
    for second in range(max(by_second, default=-1) + 1):
        late = by_second.get(second)
        before, above = above, above if late is None else float(np.mean(late)) > bound
        if above and before:
            lengths[-1] += 1
        elif above:
            lengths.append(1)
    return lengths


def window_of(scale: float) -> int:
    """Seconds: a minute in the paper, and at least one."""
    return max(int(60 * scale), 1)


def run(*, seconds: float, scale: float, trials: int = TRIALS) -> tuple[Replay, Phases]:
    window, streams = window_of(scale), scale_join_streams()
    # Not over shorter ones, as Q4 does: over those more comparisons a second are sustained.
    found = sustained_rate(
        2, window=window, seconds=min(10.0, seconds / 2), trials=trials, bound=ON_AVERAGE
    )
    # A join's load is the square of its rate.
    phases = Phases.drawn(seconds, sqrt(HIGHEST) * found.rate, scale=scale)
    with setup(scale_join(window), 2, 2, sources=SOURCES) as elastic:
        fill(elastic, streams, rate=phases.rates[0], begin=0, end=window * SECOND)
        controller = predictive(window=float(window), horizon=0.5, target=UPPER, lower=LOWER)
        replayed = replay(
            elastic, streams, seconds=seconds, rate=phases.rate, controller=controller,
            offset=window * SECOND,
        )  # fmt: skip
    return replayed, phases


def measure(*, quick: bool, long: bool) -> tuple[PaperTable, Replay]:
    seconds, scale = (1200.0, 1.0) if long else (2.0, 0.01) if quick else (120.0, 0.1)
    found, phases = run(seconds=seconds, scale=scale, trials=1 if quick else TRIALS)
    table = PaperTable("stretch-5", f"Q5, the controller for {seconds / 60:.3g} minutes")
    times = [1e3 * each for *_, each in found.switches]
    table.add(
        "phases, tuples a second", paper="random in 500 to 8,000",
        here=f"{len(phases.rates)}, {2 * min(phases.rates):,.0f} to {2 * max(phases.rates):,.0f}",
        why="as much as two cores sustain",
    )  # fmt: skip
    table.add(
        "reconfigurations", paper="threads come and go with the rate",
        here=f"{len(times)} between 1 and 2",
        why=f"two cores have one step; thresholds of {100 * LOWER:.0f} and {100 * UPPER:.0f} %, as there",
    )  # fmt: skip
    if times:
        table.add(
            "time of a switch, median and worst", paper="negligible",
            here=f"{np.median(times):.1f} ms, {max(times):.0f} ms", why="behind what was sent before it",
        )  # fmt: skip
    median = float(np.median([late for _, late in found.latencies])) if found.latencies else float("nan")
    table.add(
        "latency, mean (median) and worst", paper="about 20 ms on average",
        here=f"{1e3 * found.latency():.0f} ({1e3 * median:.0f}) ms, {found.worst():.1f} s",
        why=f"tuples come every 5 ms; at most {100 * HIGHEST:.0f} % of the load that two sustain",
    )  # fmt: skip
    for bound, paper in ((ON_AVERAGE, "a few spikes"), (BOUND, f"all end within {ALLOWED} s")):
        lengths = spikes(found.latencies, bound)
        table.add(
            f"seconds with a mean above {1e3 * bound:.0f} ms", paper=paper,
            here=f"{sum(lengths)} of {seconds:.0f}; {_spikes(lengths)}",
            why=f"windows of {window_of(scale)} s; on average over a second, as in the paper's figure",
        )  # fmt: skip
    return table, found


def _spikes(lengths: Sequence[int]) -> str:
    """
    >>> _spikes([3, 12])
    '2 spikes, the longest 12 s; 1 ended within 10 s'
    """
    if not lengths:
        return "no spike"
    short = sum(length <= ALLOWED for length in lengths)
    return f"{len(lengths)} spikes, the longest {max(lengths)} s; {short} ended within {ALLOWED} s"
