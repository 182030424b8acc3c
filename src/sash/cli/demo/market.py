"""A market that is made up: quotes of several hundred symbols as a feed would bring them.

    how many    a Poisson stream; a burst multiplies its rate by up to seven and fades with a half-life
    of whom     a few symbols have most of the quotes (Zipf), and a burst is about three of them
    how much    prices are random walks; `volume` counts all that a symbol has traded, and never decreases
    in order?   a quote arrives a moment after its time, so neighbours change places; one in 200 is held up
                for seconds

Everything is drawn with numpy for all quotes of an interval at once, from one seed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sash.arrays import Array, Floats, Ints
from sash.errors import ArgumentError

SECOND = 1_000_000
SCHEMA = pa.schema(
    [
        ("ts", pa.timestamp("us", "UTC")),
        ("symbol", pa.string()),
        ("price", pa.float64()),
        ("size", pa.int64()),
        ("volume", pa.int64()),
    ]
)
BURST_EVERY, HALF_LIFE, IN_THE_NEWS = 6.0, 1.5, 3
"""Seconds between two bursts on average, seconds in which one fades to a half, and its symbols."""
USUAL_DELAY = 0.1
HELD_UP, HELD_UP_SECONDS = 1 / 200, (3.0, 8.0)
MOST_SYMBOLS = 26**3


@dataclass
class _OnTheWay:
    """Quotes that have happened and not arrived."""

    arrives: Ints
    times: Ints
    symbols: Ints
    prices: Floats
    sizes: Ints
    volumes: Ints

    def columns(self) -> tuple[Array, ...]:
        return (self.arrives, self.times, self.symbols, self.prices, self.sizes, self.volumes)

    def where(self, chosen: Array) -> _OnTheWay:
        return _OnTheWay(*(column[chosen] for column in self.columns()))

    def plus(self, other: _OnTheWay) -> _OnTheWay:
        both = zip(self.columns(), other.columns(), strict=True)
        return _OnTheWay(*(np.concatenate(pair) for pair in both))


class Market:
    """Quotes from `opens` on, in microseconds since 1970; the same for the same arguments and calls."""

    def __init__(self, *, symbols: int, rate: float, opens: int, seed: int = 1) -> None:
        if not 1 <= symbols <= MOST_SYMBOLS:
            raise ArgumentError("symbols", symbols, f"a number from 1 to {MOST_SYMBOLS:,}")
        if rate <= 0:
            raise ArgumentError("rate", rate, "a positive number of quotes per second")
        self._random = np.random.default_rng(seed)
        self._rate, self._now = rate, opens
        self._names = pa.array(tickers(symbols))
        self._popularity = 1.0 / np.arange(1, symbols + 1)
        self._popularity /= self._popularity.sum()
        self._prices = np.log(self._random.uniform(10.0, 500.0, symbols))
        self._volumes = np.zeros(symbols)
        self.burst = 0.0
        """By how much the rate is above the usual: 2.0 is three times the usual."""
        self._news = self._random.integers(0, symbols, IN_THE_NEWS)
        none = np.empty(0, np.int64)
        self._on_the_way = _OnTheWay(none, none, none, np.empty(0), none, none)

    def until(self, now: int) -> pa.Table:
        """The quotes that arrive from the last call's `now` up to this one, in order of arrival."""
        quotes = self._on_the_way.plus(self._happened(max(now, self._now)))
        arrived = quotes.arrives < now
        self._on_the_way = quotes.where(~arrived)
        quotes = quotes.where(np.flatnonzero(arrived))
        quotes = quotes.where(np.argsort(quotes.arrives, kind="stable"))
        return pa.table(
            [
                pa.array(quotes.times, pa.timestamp("us", "UTC")),
                self._names.take(pa.array(quotes.symbols)),
                np.round(quotes.prices, 4),
                quotes.sizes,
                quotes.volumes,
            ],
            schema=SCHEMA,
        )

    def rest_until(self, now: int) -> None:
        """Nothing happens up to `now`; what is on the way arrives then."""
        self._now = max(now, self._now)

    def _happened(self, now: int) -> _OnTheWay:
        """What happens up to `now`, in order of time."""
        random, seconds = self._random, (now - self._now) / SECOND
        self._fade(seconds)
        usual = random.poisson(self._rate * seconds)
        urgent = random.poisson(self._rate * seconds * self.burst)
        times = np.sort(random.integers(self._now, max(now, self._now + 1), usual + urgent))
        symbols = random.permutation(
            np.concatenate(
                [
                    random.choice(len(self._popularity), usual, p=self._popularity),
                    random.choice(self._news, urgent),
                ]
            )
        )
        sizes = 1 + random.geometric(0.01, len(times))
        prices = _running(symbols, random.normal(0.0, 2e-4, len(times)), self._prices)
        volumes = _running(symbols, sizes.astype(np.float64), self._volumes)
        delays = random.exponential(USUAL_DELAY, len(times))
        held_up = random.random(len(times)) < HELD_UP
        delays[held_up] = random.uniform(*HELD_UP_SECONDS, int(held_up.sum()))
        self._now = now
        arrives = times + (delays * SECOND).astype(np.int64)
        return _OnTheWay(arrives, times, symbols, np.exp(prices), sizes, volumes.astype(np.int64))

    def _fade(self, seconds: float) -> None:
        self.burst *= 0.5 ** (seconds / HALF_LIFE)
        if self._random.random() < 1.0 - np.exp(-seconds / BURST_EVERY):
            self.burst += self._random.uniform(2.0, 6.0)
            self._news = self._random.integers(0, len(self._popularity), IN_THE_NEWS)


def tickers(count: int) -> list[str]:
    """
    >>> tickers(28)[-3:]
    ['AAZ', 'ABA', 'ABB']
    """
    letters = [chr(ord("A") + number) for number in range(26)]
    return [letters[n // 676] + letters[n // 26 % 26] + letters[n % 26] for n in range(count)]


def _running(symbols: Ints, steps: Floats, totals: Floats) -> Floats:
    """Of each symbol the running total of its steps, beginning with `totals`, which is moved to the end.

    >>> totals = np.array([10.0, 0.0])
    >>> _running(np.array([0, 1, 0]), np.array([1.0, 5.0, 2.0]), totals).tolist(), totals.tolist()
    ([11.0, 5.0, 13.0], [13.0, 5.0])
    """
    order = np.argsort(symbols, kind="stable")
    sums = np.cumsum(steps[order])
    firsts = np.searchsorted(symbols[order], np.arange(len(totals)))
    before = np.concatenate(([0.0], sums))[firsts]
    running = np.empty(len(steps))
    running[order] = sums - before[symbols[order]] + totals[symbols[order]]
    totals += np.bincount(symbols, weights=steps, minlength=len(totals))
    return running
