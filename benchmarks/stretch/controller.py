"""Q5: the predictive controller through phases of random rates, with abrupt changes between them.

The paper: 20 minutes, windows of one minute, phases of 100 to 300 seconds at 500 to 8,000 tuples a second,
thresholds of 70 and 80 %. Here rates are fractions of what two instances sustain, in the paper's range of 1
to 16, and `--long` runs 20 minutes. What they sustain is searched first. The short
form is the same ten times faster: two minutes, phases of 10 to 30 seconds, windows of 6 seconds.
"""

from __future__ import annotations

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
from benchmarks.stretch.sustaining import TRIALS, sustained_rate
from sash.operators import predictive, setup

TARGET = 0.75
"""The middle of the paper's 70 to 80 %."""


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
        why="a load near the border of one instance changes sides; others use the cores too",
    )  # fmt: skip
    if times:
        table.add(
            "time of a switch, median and worst", paper="negligible",
            here=f"{np.median(times):.1f} ms, {max(times):.0f} ms", why="behind what was sent before it",
        )  # fmt: skip
    median = float(np.median([late for _, late in found.latencies])) if found.latencies else float("nan")
    table.add(
        "latency, mean (median) and worst", paper="about 20 ms on average; spikes end within 10 s",
        here=f"{1e3 * found.latency():.0f} ({1e3 * median:.0f}) ms, {found.worst():.1f} s",
        why="with two cores the controller has one step; a burst of other programs stops both",
    )  # fmt: skip
    return table, found
