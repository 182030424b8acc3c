"""What the workloads on Spark are drawn from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

import sash
from benchmarks.planner.contest import WORKLOADS
from benchmarks.planner.process import busily, events, window

SEED = 40


@dataclass(frozen=True)
class Drawn:
    """A query over a table of events."""

    name: str
    table: pa.Table
    window: Any
    computed: Any
    keys: int
    hottest: float

    def query(self, data: Any) -> sash.WindowQuery:
        windowed = sash.stream(data, time="t", key="k").window(self.window)
        if isinstance(self.computed, dict):
            return windowed.agg(**self.computed)
        return windowed.apply(self.computed, schema="n bigint")


def drawn(rows: int, *, costly: float = 2e-3) -> Iterator[Drawn]:
    """Twenty, the same ones every time; of those with objects and functions with a tenth of the rows."""
    random = np.random.default_rng(SEED)
    ordered = {"f": sash.first("x"), "l": sash.last("y"), "u": sash.longest_increasing_run("x")}
    kinds: list[tuple[str, Any, int]] = [
        ("count and sum", {"n": sash.count(), "s": sash.sum("x")}, rows),
        ("four regressions", {f"r{k}": sash.linear_regression("x", "y") for k in range(4)}, rows),
        ("first, last, run", ordered, rows),
        ("top five", {"top": sash.top_k("i", 5)}, rows // 10),
        (f"a function of {1e3 * costly:g} ms", busily(costly), rows // 10),
    ]  # fmt: skip
    for number in range(WORKLOADS):
        label, computed, count = kinds[number % len(kinds)]
        keys = int(random.choice([1, 20, 500, 5_000]))
        hottest = float(random.choice([0.0, 0.9]))
        table = events(random, count, keys, hottest)
        chosen = window(random, count, keys)
        if not isinstance(computed, dict):
            # Some hundred windows: what is measured is who computes them, not how many there are.
            chosen = sash.rows(200, every=max(1, count // 300))
        hot = f", one with {hottest:.0%}" if hottest and keys > 1 else ""
        share = max(hottest, 1 / keys) if keys > 1 else 1.0
        yield Drawn(f"{label}, {chosen.label}, {keys} keys{hot}", table, chosen, computed, keys, share)
