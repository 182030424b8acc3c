"""Q5: the predictive controller through phases of random rates, with abrupt changes between them.

The paper: 20 minutes, windows of one minute, phases of 100 to 300 seconds at 500 to 8,000 tuples a second,
thresholds of 70 and 80 %. The predictive controller has one target between them instead, and takes fewer
instances when several samples in a row need fewer. Rates are fractions of what two instances sustain, which
is searched first, in the paper's range of 1 to 16. `--long` runs 20 minutes. The short form is the same ten
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

TARGET = 0.75
"""The middle of the paper's 70 to 80 %."""
ALLOWED = 10
"""Seconds after which a spike is over, in the paper."""


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


def run(*, seconds: float, scale: float, trials: int = TRIALS) -> tuple[Replay, Phases]:
    window, streams = max(int(60 * scale), 1), scale_join_streams()
    highest = sustained_rate(2, window=window, seconds=min(10.0, seconds / 2), trials=trials)
    # A join's load is the square of its rate: the highest phase brings two instances to the target.
    phases = Phases.drawn(seconds, sqrt(TARGET) * highest.rate, scale=scale)
    with setup(scale_join(window), 2, 2, sources=SOURCES) as elastic:
        fill(elastic, streams, rate=phases.rates[0], begin=0, end=window * SECOND)
        controller = predictive(window=float(window), horizon=0.5, target=TARGET)
        found = replay(
            elastic, streams, seconds=seconds, rate=phases.rate, controller=controller,
            offset=window * SECOND,
        )  # fmt: skip
    return found, phases


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
        why=f"one target of {100 * TARGET:.0f} %, not thresholds of 70 and 80 %; two cores have one step",
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
        why="tuples come every 5 ms; highest rates bring two cores to the target",
    )  # fmt: skip
    lengths = spikes(found.latencies)
    short = sum(length <= ALLOWED for length in lengths)
    table.add(
        f"spikes that end within {ALLOWED} s", paper="all",
        here=f"{short} of {len(lengths)}; the longest {max(lengths, default=0)} s",
        why=f"a spike: seconds with a mean above {1e3 * BOUND:.0f} ms; windows of {60 * scale:.3g} s",
    )  # fmt: skip
    return table, found
