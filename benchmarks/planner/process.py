"""Twenty workloads in process, the same ones every time.

The choice that is judged is what `collect` runs where no pattern is declared, as a contender of its own. It
is not always the pattern of the plan: of functions over whole windows, and of aggregates that Python
computes, the first windows are a trial, and the plan for the others follows from it; and all cores fold
panes where events stand, whatever the pattern.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

import sash
from benchmarks.planner.contest import WORKLOADS, Contest, other_degrees

AUTO = "auto"


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
    """A function that keeps the interpreter busy; it travels to executors, too."""

    def fn(rows: pa.Table) -> dict[str, int]:
        until = time.thread_time() + seconds
        while time.thread_time() < until:
            pass
        return {"n": rows.num_rows}

    return fn


def contests(*, quick: bool) -> Iterator[Contest]:
    """Every candidate of each plan."""
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
        yield _contest(f"{label}, {chosen.label}, {keys} keys{hot}", query)


def _contest(name: str, query: sash.WindowQuery) -> Contest:
    plan = query.source.plan(query.bound)
    contenders = {one.name: query.parallel(one.pattern).collect for one in plan.candidates if one.pattern}
    others = {
        each: (of, query.parallel(pattern).collect) for each, (of, pattern) in other_degrees(plan).items()
    }
    about = f"{name}; the plan is {plan.chosen.name}"
    return Contest(about, AUTO, contenders | {AUTO: query.collect}, others, warm_ups=2)
