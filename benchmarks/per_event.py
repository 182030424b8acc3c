"""The compiled per-event loops (insert, evict, query) against `np.cumsum` over the same array.

    python -m benchmarks.per_event [--quick] [--json PATH] [--rounds 3]

5 million int64 events, a count window of 2²⁰, sum and max as a user would write them: the kernels know
nothing about either. Then the finger B-tree in order and with 10 % of the events up to 1,000 places late;
then one fold per event over 100 keys. The last rows show what exactness costs: integer sums that cannot
overflow and compensated float sums, both built in.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks.harness import Table, finish, options, race
from sash.aggregation import built_in
from sash.aggregation.kernels.aggregators.slide_by_any_algorithm import AlgorithmName, slide, slide_by_time
from sash.aggregation.kernels.compiler.compiled import Compiled, compiled
from sash.aggregation.kernels.folds.range_fold import range_fold
from sash.aggregation.kernels.windows.bound_positions import cut
from sash.aggregation.monoid import Monoid

FIFO: dict[AlgorithmName, float] = {"two_stacks": 3.5, "daba": 5.0, "amta": 7.0}
FIBA_LIMIT = 20.0
RANGE_FOLD_LIMIT = 3.0
LATE, PLACES = 0.1, 1000


def zero() -> int:
    return 0


def smallest() -> int:
    return -(2**63)


def same(x: int) -> int:
    return x


def add(a: int, b: int) -> int:
    return a + b


def larger(a: int, b: int) -> int:
    return a if a > b else b


SUM = Monoid("sum of ints", ("x",), zero, same, add, same, commutative=True)
MAX = Monoid("max of ints", ("x",), smallest, same, larger, same, commutative=True, idempotent=True)


def late_times(n: int, random: np.random.Generator) -> np.ndarray:
    """Times in order of arrival: LATE of the events come up to PLACES places after their turn."""
    delays = np.where(random.random(n) < LATE, random.integers(1, PLACES + 1, n), 0)
    return np.argsort(np.arange(n) + delays, kind="stable")


def main() -> int:
    chosen = options("Per-event kernels against np.cumsum.")
    n, window, keys = (5_000_000, 1 << 20, 100) if not chosen.quick else (50_000, 1 << 12, 10)
    random = np.random.default_rng(1)
    values = random.integers(-1000, 1000, n)
    in_order, late = np.arange(n), late_times(n, random)
    offsets = np.arange(0, n + 1, n // keys)
    times, slots = np.tile(np.arange(n // keys), keys), np.repeat(np.arange(keys), n // keys)
    ranges = cut(times, offsets, slots, times - 999), cut(times, offsets, slots, times, after=True)
    threads = min(2, os.cpu_count() or 1)
    tables = []

    for monoid in (SUM, MAX):
        fast = compiled(monoid)
        columns = fast.lift((values,))
        contenders: dict[str, Callable[[], Any]] = {"np.cumsum": partial(np.cumsum, values)}
        limits: dict[str, float | None] = {}
        for algorithm, limit in FIFO.items():
            contenders[algorithm] = partial(slide, fast, columns, window, algorithm=algorithm)
            limits[algorithm] = limit
        contenders["fiba, in order"] = partial(slide_by_time, fast, columns, in_order, window)
        contenders["fiba, 10 % late"] = partial(slide_by_time, fast, columns, late, window)
        limits |= {"fiba, in order": FIBA_LIMIT, "fiba, 10 % late": FIBA_LIMIT}
        for count in sorted({1, threads}):
            name = f"range_fold, {keys} keys, {count} thread{'s'[: count - 1]}"
            contenders[name] = _ranges(fast, columns, ranges, offsets, count)
            limits[name] = RANGE_FOLD_LIMIT if count == 1 else None
        tables.append(_measured(monoid.name, n, contenders, limits, chosen.rounds))

    exact, compensated = built_in.sum("x").bind(("int",)), built_in.sum("x").bind(("float",))
    contenders = {"np.cumsum": partial(np.cumsum, values)}
    for name, monoid, column in (
        ("two_stacks, exact int sum", exact, values),
        ("two_stacks, compensated float sum", compensated, values.astype(float)),
    ):
        fast = compiled(monoid)
        contenders[name] = partial(slide, fast, fast.lift((column,)), window)
    contenders["np.cumsum of floats"] = partial(np.cumsum, values.astype(float))
    tables.append(_measured("what exactness costs", n, contenders, {}, chosen.rounds))
    return finish(tables, chosen)


def _ranges(
    fast: Compiled, columns: Any, ranges: tuple[np.ndarray, np.ndarray], groups: np.ndarray, threads: int
) -> Callable[[], Any]:
    return partial(range_fold, fast, columns, *ranges, groups=groups, threads=threads)


def _measured(
    name: str,
    n: int,
    contenders: dict[str, Callable[[], Any]],
    limits: dict[str, float | None],
    rounds: int,
) -> Table:
    table = Table(f"{name}, {n:,} events", "np.cumsum")
    table.start()
    seconds = race(contenders, rounds=rounds)
    for what, taken in seconds.items():
        table.add(what, taken, taken / seconds["np.cumsum"], limit=limits.get(what))
    return table


if __name__ == "__main__":
    sys.exit(main())
