"""The planner's choice against every other candidate, on generated workloads.

    python -m benchmarks.planner [--quick] [--json PATH] [--rounds 3]

Twenty queries are drawn from a fixed seed: keys and skew, window kind and overlap, aggregates from one
count to eight regressions, lists, and functions over whole windows. Each candidate of a plan computes each
of them; they take turns, and the best round of each counts. A choice is good when it takes at most 15 %
longer than the fastest candidate; at least 18 of 20 must be good. Of a function over whole windows the
choice is made while it runs, so it is raced as a contender of its own.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

import sash
from benchmarks.harness import Table, finish, options, race
from sash.planner.costs.constants import costs

WORKLOADS = 20
GOOD = 1.15
NEEDED = 18
AUTO = "auto"


@dataclass(frozen=True)
class Workload:
    """A query, and what was drawn for it."""

    name: str
    query: sash.WindowQuery


def events(random: np.random.Generator, rows: int, keys: int, hottest: float) -> pa.Table:
    """Events a tick apart on average, of keys of which one may be hot."""
    key = random.integers(0, keys, rows)
    key[random.random(rows) < hottest] = 0
    columns = {name: random.normal(size=rows) for name in "xy"}
    times = np.sort(random.integers(0, rows, rows))
    return pa.table({"t": times, "k": key, "i": random.integers(0, 1_000, rows), **columns})


def window(random: np.random.Generator, rows: int, keys: int) -> Any:
    """A window of some hundred events of a key, with an overlap of 1 to 50."""
    inside = int(random.choice([50, 400]))
    overlap = int(random.choice([1, 4, 50]))
    slide = max(1, inside // overlap)
    length, every = inside * keys, slide * keys
    kinds = {
        "time": lambda: sash.sliding(length, every=every),
        "rows": lambda: sash.rows(inside, every=slide),
        "by tuple": lambda: sash.slide_by_tuple(length, slide),
        "session": lambda: sash.session(4 * keys),
    }
    return kinds[str(random.choice(list(kinds), p=[0.4, 0.3, 0.15, 0.15]))]()


def busily(seconds: float) -> Any:
    """A function that keeps the interpreter busy."""

    def fn(rows: pa.Table) -> dict[str, int]:
        until = time.thread_time() + seconds
        while time.thread_time() < until:
            pass
        return {"n": rows.num_rows}

    return fn


def workloads(*, quick: bool) -> Iterator[Workload]:
    """The same ones every time."""
    random = np.random.default_rng(20)
    few = {"n": sash.count(), "s": sash.sum("x")}
    many = {f"r{k}": sash.linear_regression("x", "y") for k in range(8)}
    objects = {"top": sash.top_k("i", 5)}
    ordered = {"f": sash.first("x"), "l": sash.last("y"), "up": sash.longest_increasing_run("x")}
    kinds: list[tuple[str, Any, int]] = [
        ("count and sum", few, 400_000),
        ("eight regressions", many, 400_000),
        ("top five", objects, 10_000),
        ("first, last, run", ordered, 400_000),
        ("a function of 0.01 ms", busily(1e-5), 20_000),
        ("a function of 5 ms", busily(5e-3), 20_000),
    ]
    for number in range(WORKLOADS):
        label, computed, rows = kinds[number % len(kinds)]
        rows = rows // 20 if quick else rows
        keys = int(random.choice([1, 20, 500]))
        hottest = float(random.choice([0.0, 0.95]))
        table = events(random, rows, keys, hottest)
        chosen = window(random, rows, keys)
        if callable(computed) and not isinstance(computed, dict):
            # Some hundred windows: what is measured is who computes them, not how many there are.
            chosen = sash.rows(200, every=max(1, rows // (20 if quick else 300)))
        windowed = sash.stream(table, time="t", key="k").window(chosen)
        if isinstance(computed, dict):
            query = windowed.agg(**computed)
        else:
            query = windowed.apply(computed, schema="n bigint")
        hot = f", one with {hottest:.0%}" if hottest and keys > 1 else ""
        yield Workload(f"{label}, {chosen.label}, {keys} keys{hot}", query)


def judged(workload: Workload, *, rounds: int) -> tuple[str, str, float, float]:
    """The choice, the fastest candidate, the choice's seconds, and its ratio to the fastest."""
    query = workload.query
    plan = query.source.plan(query.bound)
    contenders = {one.name: query.parallel(one.pattern).collect for one in plan.candidates if one.pattern}
    choice = plan.chosen.name
    if plan.facts.whole:
        choice = AUTO
        contenders[AUTO] = query.collect
    seconds = race(contenders, rounds=rounds)
    fastest = min(seconds, key=lambda name: seconds[name])
    return choice, fastest, seconds[choice], seconds[choice] / seconds[fastest]


def main() -> int:
    chosen = options("The planner's choices against every other candidate.")
    table = Table("choices of the planner", "the fastest candidate")
    table.start()
    good = 0
    for number, workload in enumerate(workloads(quick=chosen.quick), start=1):
        choice, fastest, seconds, ratio = judged(workload, rounds=chosen.rounds)
        good += ratio <= GOOD
        table.add(f"{number:>2}. {choice}", seconds, ratio)
        other = "" if choice == fastest else f"; the fastest was {fastest}"
        print(f"      {workload.name}{other}")
    measured = "measured here" if costs().measured else "the defaults"
    print(f"\n{good} of {WORKLOADS} within {GOOD - 1:.0%} of the fastest; constants: {measured}")
    table.add("choices that are not good, of 20", 0.0, WORKLOADS - good, limit=WORKLOADS - NEEDED)
    return finish([table], chosen)


if __name__ == "__main__":
    sys.exit(main())
