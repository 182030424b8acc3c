"""Slide policies, from a plain count to one that waits for an increasing run; what an insertion costs.

    last n readings            total.n − old.n ≥ n
    last hour                  total.t − old.t ≥ hour
    sum at most s              total.s − old.s + old.last > s
    max: since the hour's max  total.t − old.t ≥ hour  or  old.hi < total.hi
    LIS: since the last climb  old.run < r ≤ total.run          (a climb: r readings that increase)

True means: at least this prefix leaves. All are monotone, so the AMTA finds the end of the longest prefix
by descent; the scan from the head (`Recalculate`) finds the same end by trying one prefix after the other.
The last two are what no count or time window expresses: how far back they reach is a matter of the data.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import factorial
from typing import Any

from benchmarks.amta_paper.chart import Series
from benchmarks.amta_paper.measuring import ProgressPrinter, counting, readings
from sash.aggregation import built_in
from sash.aggregators import AMTA, Recalculate, tracked

SECONDS = 10
"""Between two readings."""


def last_n(length: int, total: Any, old: Any) -> bool:
    return bool(total.n - old.n >= length)


def last_hour(length: int, total: Any, old: Any) -> bool:
    return bool(total.t - old.t >= length * SECONDS)


def sum_at_most(length: int, total: Any, old: Any) -> bool:
    return bool(total.s - old.s + old.last > 500 * length)


def since_the_maximum(length: int, total: Any, old: Any) -> bool:
    # On average the maximum stands in the middle of the hour.
    return last_hour(2 * length, total, old) or bool(old.hi < total.hi)


def since_the_last_climb(length: int, total: Any, old: Any) -> bool:
    return bool(old.run < climb(length) <= total.run)


def climb(length: int) -> int:
    """The r for which r! is nearest below twice the length: so rare are climbs of random readings."""
    return max(r for r in range(3, 10) if factorial(r) <= max(6, 2 * length))


@dataclass(frozen=True)
class Policy:
    """What is tracked, and when a prefix leaves; `length` scales how long the window gets."""

    track: dict[str, Any]
    leaves: Callable[[int, Any, Any], bool]


POLICIES = {
    "last n readings": Policy({"n": built_in.count("x")}, last_n),
    "last hour": Policy({"t": built_in.max("t")}, last_hour),
    "sum at most s": Policy({"s": built_in.sum("x"), "last": built_in.last("x")}, sum_at_most),
    "max: since the hour's max": Policy(
        {"t": built_in.max("t"), "hi": built_in.max("x")}, since_the_maximum
    ),
    "LIS: since the last climb": Policy(
        {"run": built_in.longest_increasing_run("x")}, since_the_last_climb
    ),
}


def slide(
    policy: Policy, aggregator: type[AMTA] | type[Recalculate], length: int, events: int
) -> tuple[list[int], float]:
    """Insert readings and let the policy evict; the window's length after each of the last `events`
    insertions, and the mean number of combines of one of them."""
    monoid, tally = counting(tracked(**policy.track))
    window = aggregator(monoid)
    leaves = partial(policy.leaves, length)
    lengths: list[int] = []
    warm = 4 * length
    for at, x in enumerate(readings(warm + events).tolist()):
        if at == warm:
            tally.combines = 0
        row = {"x": x, "t": at * SECONDS}
        window.insert(*(row[column] for column in monoid.columns))
        window.evict_by_policy(leaves)
        if at >= warm:
            lengths.append(len(window))
    return lengths, tally.combines / events


def counted_policies(exponents: range, scanned: int, progress: ProgressPrinter) -> list[Series]:
    """One line a policy, and one for all of them of what a scan from the head would cost."""
    scan = Series("any of them, by a scan", joined=False, style="recalculate")
    lines = []
    for name, policy in POLICIES.items():
        line = Series(name)
        for exponent in exponents:
            length = 1 << exponent
            progress.step(f"counting combines of the policy '{name}', length about {length:,}")
            lengths, combines = slide(policy, AMTA, length, max(8 * length, 1 << 10))
            line.add(sum(lengths) / len(lengths), combines)
            if length <= scanned:
                lengths, combines = slide(policy, Recalculate, length, 4 * length)
                scan.add(sum(lengths) / len(lengths), combines)
        lines.append(line)
    return [*lines, scan]
