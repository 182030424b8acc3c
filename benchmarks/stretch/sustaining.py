"""The rate that an elastic join sustains: found by running it, not by arithmetic.

A rate is sustained if pairs do not wait for the instances: in a replay in real time, over a window that was
filled at the same rate, the mean latency of the second half is at most `BOUND`, or what the caller wants.
At a twentieth more than what is sustained, tuples that wait add up to that within ten seconds. The search
doubles or halves the rate until one is sustained and one is not, and then halves the (logarithmic) distance
between them. A rate is not sustained if two replays agree on that: one may have met another program on the
cores.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf, isnan, nan, sqrt

from benchmarks.stretch.joining import (
    SECOND,
    SOURCES,
    TICK,
    Replay,
    at_full_speed,
    fill,
    replay,
    scale_join,
    scale_join_streams,
)
from sash.operators import setup

BOUND = 0.25
"""Seconds."""
NEAR = 1.1
"""The search ends when the rate that is not sustained is that many times the one that is."""
TRIALS = 8
SEARCHED = 20
"""Seconds of the windows over which rates are searched: each trial fills its window first, at full work."""


@dataclass(frozen=True)
class Sustained:
    rate: float
    """Tuples a second of each side; the lowest rate that was tried if none was sustained."""
    latency: float = nan
    """Mean of the second half of the replay at this rate; not a number if no rate was sustained."""

    @property
    def text(self) -> str:
        """
        >>> Sustained(1234.5).text
        'less than 1,234'
        """
        return f"less than {self.rate:,.0f}" if isnan(self.latency) else f"{self.rate:,.0f}"

    def over(self, window: float, *, searched: float = SEARCHED) -> float:
        """The rate that leads to as many comparisons a second, 2 · WS · r², over another window.

        >>> Sustained(8_000.0).over(80, searched=20)
        4000.0
        """
        return self.rate * sqrt(searched / window)


def searched(
    latency: Callable[[float], float], first: float, *, trials: int = TRIALS, bound: float = BOUND
) -> Sustained:
    """`latency` runs at a rate: seconds, or not a number if there were no pairs.

    >>> searched(lambda rate: 0.01 if rate <= 1_000 else 5.0, 4_000).text
    '1,000'
    """
    low, high, rate, best = 0.0, inf, first, nan
    for _ in range(trials):
        found = latency(rate)
        if not found <= bound:
            found = latency(rate)
        if found <= bound:
            low, best = rate, found
        else:
            high = rate
        if high <= NEAR * low:
            break
        rate = 2 * low if high == inf else high / 2 if low == 0 else sqrt(low * high)
    return Sustained(high if isnan(best) else low, best)


def sustained_rate(
    degree: int, *, window: int, seconds: float, trials: int = TRIALS, tick: float = TICK,
    bound: float = BOUND,
) -> Sustained:  # fmt: skip
    """Of so many instances, over windows of so many seconds."""
    return searched(
        lambda rate: at_rate(degree, rate, window=window, seconds=seconds, tick=tick).latency(seconds / 2),
        full_speed(degree, window=window) / 2, trials=trials, bound=bound,
    )  # fmt: skip


def at_rate(degree: int, rate: float, *, window: int, seconds: float, tick: float = TICK) -> Replay:
    streams = scale_join_streams()
    with setup(scale_join(window), degree, degree, sources=SOURCES) as elastic:
        fill(elastic, streams, rate=rate, begin=0, end=window * SECOND)
        return replay(
            elastic, streams, seconds=seconds, rate=lambda now: rate, offset=window * SECOND, tick=tick
        )  # fmt: skip


def full_speed(degree: int, *, window: int) -> float:
    """Tuples a second that cost as many comparisons as instances do in batches of a second: where to begin.
    A replay has batches of a tick, and sustains less."""
    # So many that a short window, too, is work beside which the price of a step is small.
    streams, rate = scale_join_streams(), max(300, 6_000 // window)
    with setup(scale_join(window), degree, degree, sources=SOURCES) as elastic:
        fill(elastic, streams, rate=rate, begin=0, end=window * SECOND)
        comparisons, _ = at_full_speed(
            elastic, streams, rate=rate, begin=window * SECOND, seconds=max(window // 4, 1)
        )
    return sqrt(comparisons / (2 * window))
