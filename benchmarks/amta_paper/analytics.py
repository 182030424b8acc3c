"""Experiment 3 of the paper (its table 2): six aggregates with its slide policies, timed.

A window has at most N readings; max also evicts what is older than the maximum, LIS what is older than the
longest increasing run. All are `tracked` folds beside the count, through the classes of `sash.aggregators`:
a policy is a Python function, and such windows are interpreted, in memory as over a store. Naive is the
paper's, which folds again only after an eviction. Readings are a
random walk between 0 and 1, such as a machine's use of memory; one a second.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from benchmarks.amta_paper.cached_naive import CachedNaive
from benchmarks.amta_paper.chart import Chart, Panel, Series
from benchmarks.amta_paper.key_value import COMMIT_EVERY, Places, places
from benchmarks.amta_paper.measuring import ProgressPrinter
from benchmarks.paper_table import PaperTable
from sash.aggregation import built_in, encoding
from sash.aggregation.monoid import Monoid
from sash.aggregators import AMTA, Aggregator, DABALite, LogMTA, tracked

Policy = Callable[[int, Any, Any], bool]
PAPER = {
    "sum": ("3.69·10⁸", 14_320, 10_341, 4_288, 6_253, 4_163),
    "mean": ("3.26·10⁸", 14_027, 10_378, 4_389, 6_111, 4_033),
    "geometric mean": ("2.83·10⁸", 15_267, 11_166, 4_795, 6_198, 4_183),
    "stddev": ("3.5·10⁸", 15_439, 12_934, 4_880, 6_131, 3_864),
    "max": (2_554, 8_501, 6_188, 3_500, 2_886, 1_763),
    "LIS": (19_294, 22_306, 19_794, 10_027, 7_350, 6_476),
}
"""Nanoseconds of Naive, KVS Log MTA, local Log MTA, DABA, KVS AMTA and local AMTA."""
CONTENDERS: dict[str, tuple[type[Aggregator | CachedNaive], str]] = {
    "Naive": (CachedNaive, "memory"), "Log MTA, LMDB": (LogMTA, "LMDB"), "Log MTA": (LogMTA, "memory"),
    "DABA lite": (DABALite, "memory"), "AMTA, LMDB": (AMTA, "LMDB"), "AMTA, Redis": (AMTA, "Redis"),
    "AMTA": (AMTA, "memory"),
}  # fmt: skip
"""In the order of the paper's columns."""


def at_most(size: int, total: Any, old: Any) -> bool:
    return bool(total.n - old.n >= size)


def since_the_maximum(size: int, total: Any, old: Any) -> bool:
    return at_most(size, total, old) or bool(old.v < total.v)


def since_the_run(size: int, total: Any, old: Any) -> bool:
    return at_most(size, total, old) or bool(old.v[1] < total.v[2])


def increasing_run() -> Monoid:
    """(length, last time, start) of the longest increasing run, which is the latest of several.

    An element is: first x, first t, length of the run at its begin; last x, last t, length of the run at
    its end; length and start of the longest; readings.
    """

    def join(a: tuple[Any, ...], b: tuple[Any, ...]) -> tuple[Any, ...]:
        climbs = a[3] < b[0]
        begin = a[2] + b[2] if climbs and a[2] == a[8] else a[2]
        end = a[5] + b[5] if climbs and b[5] == b[8] else b[5]
        across = (a[5] + b[2], a[4] - a[5] + 1) if climbs else (0, 0)
        best = max((a[6], a[7]), across, (b[6], b[7]))
        return (a[0], a[1], begin, b[3], b[4], end, *best, a[8] + b[8])

    empty = (0.0, 0, 0, 0.0, 0, 0, 0, 0, 0)
    return Monoid(
        "longest increasing run", ("x", "t"), lambda: empty, lambda x, t: (x, t, 1, x, t, 1, 1, t, 1),
        lambda a, b: b if a[8] == 0 else a if b[8] == 0 else join(a, b), lambda e: (e[6], e[4], e[7]),
    )  # fmt: skip


ANALYTICS: dict[str, tuple[Callable[[], Monoid], Policy]] = {
    "sum": (lambda: built_in.sum("x"), at_most),
    "mean": (lambda: built_in.mean("x"), at_most),
    "geometric mean": (lambda: built_in.geomean("x"), at_most),
    "stddev": (lambda: built_in.stddev("x"), at_most),
    "max": (lambda: built_in.max("x"), since_the_maximum),
    "LIS": (increasing_run, since_the_run),
}


@dataclass(frozen=True)
class AnalyticsSizes:
    window: int
    """Exponent."""
    updates: int
    naive: float
    """Seconds after which the naive window is not updated any more: each eviction folds all of it."""


FULL = AnalyticsSizes(window=20, updates=10_000, naive=10.0)
QUICK = AnalyticsSizes(window=6, updates=50, naive=0.1)


def usage(n: int, *, seed: int = 4) -> list[float]:
    steps = np.cumsum(np.random.default_rng(seed).normal(0, 0.01, n))
    return (1 + np.abs((steps % 2) - 1)).tolist()


def nanoseconds(
    name: str, kind: type[Aggregator | CachedNaive], place: str, stores: Places, sizes: AnalyticsSizes
) -> tuple[float, float]:
    """Of an update, and how many elements one evicts."""
    made, leaves = ANALYTICS[name]
    limit, store = 1 << sizes.window, stores[place]()
    folds = replace(
        tracked(n=built_in.count("x"), v=made()), encode=encoding.encode, decode=encoding.decode
    )
    window: Any = kind(folds, **({} if store is None else {"store": store}))
    values = usage(limit + sizes.updates)
    rows = [{"x": x, "t": t} for t, x in enumerate(values)]
    heads: deque[Any] = deque()

    def update(row: dict[str, Any]) -> None:
        inputs = [row[column] for column in folds.columns]
        window.insert(*inputs)
        if isinstance(window, AMTA | LogMTA | CachedNaive):
            window.evict_by_policy(lambda total, old: leaves(limit, total, old))
        else:
            # DABA has no descent: heads are tried one by one.
            heads.append(inputs)
            while leaves(limit, window.query(), folds.lower(folds.lift(*heads[0]))):
                window.evict()
                heads.popleft()
        window.query()

    def commit() -> None:
        if store is not None:
            store.commit(store.epoch + 1)

    for at in range(0, limit, 8 * COMMIT_EVERY):
        part = rows[at : min(at + 8 * COMMIT_EVERY, limit)]
        window.insert_many(*([row[column] for row in part] for column in folds.columns))
        commit()
    if kind is DABALite:
        heads.extend([row[column] for column in folds.columns] for row in rows[:limit])
    # The first update evicts what the policy would have evicted while the window was filled.
    update(rows[limit])
    held, begin, done = len(window), time.perf_counter(), 0
    for done, row in enumerate(rows[limit + 1 :], start=1):
        update(row)
        if done % COMMIT_EVERY == 0:
            commit()
        if kind is CachedNaive and time.perf_counter() - begin > sizes.naive:
            break
    spent = time.perf_counter() - begin
    return 1e9 * spent / done, (held + done - len(window)) / done


def run(*, quick: bool, progress: ProgressPrinter) -> Chart:
    sizes = QUICK if quick else FULL
    with places() as stores:
        lines = {
            name: Series(name, joined=False, style="recalculate" if name == "Naive" else "")
            for name, (_, place) in CONTENDERS.items()
            if place in stores
        }
        evicted: dict[str, float] = {}
        for analytic in ANALYTICS:
            for name, line in lines.items():
                progress.step(f"{analytic}, {name}")
                spent, gone = nanoseconds(analytic, *CONTENDERS[name], stores, sizes)
                line.add(analytic, spent)
                # Naive is not updated as often as the others.
                evicted[analytic] = evicted.get(analytic, 0.0) if name == "Naive" else gone
    panel = Panel(
        "interpreted", "aggregate", "nanoseconds per update", [*lines.values()], powers_of_two=False
    )
    return Chart(
        "7-analytics", f"Six aggregates with policies, windows of at most $2^{{{sizes.window}}}$", [panel],
        {"updates": sizes.updates, "evicted by an update": evicted}, _table(lines, evicted, sizes),
    )  # fmt: skip


def _table(lines: dict[str, Series], evicted: dict[str, float], sizes: AnalyticsSizes) -> PaperTable:
    updates = (
        f"{sizes.updates:,} updates of full windows, once, not 62 million (Naive: for {sizes.naive:.3g} s)"
    )
    why = f"Python, policies interpreted; {updates}; a drawn walk; stores on this machine"
    columns = "Naive; Log MTA over a store; Log MTA; DABA; AMTA over a store; AMTA"
    table = PaperTable("amta-3", f"aggregates and policies, experiment 3, ns: {columns}")
    for at, name in enumerate(ANALYTICS):
        here = []
        for each, line in lines.items():
            place = each.partition(", ")[2]
            here.append(f"{line.ys[at]:,.0f}" + f" ({place})" * bool(place))
        gone = f"elements that leave with an update: {evicted[name]:.3g}"
        if not evicted[name]:
            gone = (
                "no element leaves with the timed updates, so that bulk evictions save nothing, and an "
                "update of AMTA has 4 combines, of DABA 5"
            )
        table.add(
            f"{name}", here="; ".join(here), why=f"{why}; {gone}",
            paper="; ".join(each if isinstance(each, str) else f"{each:,}" for each in PAPER[name]),
        )  # fmt: skip
    return table
