"""The as-of join in process against polars: 2 million events each with the value that was current.

    python -m benchmarks.features_joins [--quick] [--json PATH] [--rounds 5]

2 M × 2 M rows in 1,000 keys, integers and words, through the public API: Arrow tables here, polars' own
frames there. Both have the time of the right row in their answers, and the answers are compared. Both may
use all cores, so there are two ratios: of elapsed time, and of the time of all cores, which changes less on
a busy machine. Wanted: at most 1.5 × polars.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

import sash
from benchmarks.harness import Opponent, Table, Times, finish, options

SPAN, TOLERANCE = 10**10, 10**7
LIMIT = 1.5


def rows(count: int, keys: int, value: str, *, words: bool, seed: int) -> pa.Table:
    """In the order of time, keys at random."""
    random = np.random.default_rng(seed)
    key = pa.array(random.integers(0, keys, count))
    return pa.table(
        {
            "t": np.sort(random.integers(0, SPAN, count)),
            "k": pa.array([f"key {number}" for number in range(keys)]).take(key) if words else key,
            value: random.random(count),
        }
    )


def by_sash(left: pa.Table, right: pa.Table, direction: Any) -> pa.Table:
    events, values = (sash.stream(table, time="t", key="k") for table in (left, right))
    return events.join_asof(values, tolerance=TOLERANCE, direction=direction).collect()


def by_polars(left: pl.DataFrame, right: pl.DataFrame, direction: Any) -> pl.DataFrame:
    return left.join_asof(
        right, on="t", by="k", tolerance=TOLERANCE, strategy=direction, coalesce=False,
        check_sortedness=False,
    )  # fmt: skip


def timed(run: Callable[[], Any]) -> tuple[float, float]:
    """Seconds that passed, and seconds of all cores."""
    begin, begin_busy = time.perf_counter(), time.process_time()
    run()
    return time.perf_counter() - begin, time.process_time() - begin_busy


def require_same(ours: pa.Table, theirs: pl.DataFrame) -> None:
    """Times of the right rows may differ where two are equally near, values where two are of one time."""
    frame = pl.DataFrame(pl.from_arrow(ours))
    near = [(table["t"] - table["t_right"]).abs() for table in (frame, theirs)]
    assert near[0].equals(near[1])
    assert near[0].null_count() < len(frame)


def main() -> int:
    chosen = options("The as-of join in process against polars.")
    count, keys = (20_000, 100) if chosen.quick else (2_000_000, 1_000)
    tables = []
    for words in (False, True):
        left, right = (rows(count, keys, v, words=words, seed=n) for n, v in enumerate(("x", "y")))
        theirs = [pl.DataFrame(pl.from_arrow(table)) for table in (left, right)]
        kind = "words" if words else "integers"
        tables.append(Table(f"as-of join, {count:,} × {count:,} rows, {keys:,} keys: {kind}", "polars"))
        tables[-1].start()
        for direction in ("backward", "forward", "nearest"):
            runs: dict[str, Callable[[], Any]] = {
                "polars": lambda d=direction, f=theirs: by_polars(*f, d),
                "sash": lambda d=direction, f=(left, right): by_sash(*f, d),
            }
            require_same(runs["sash"](), runs["polars"]())
            taken: dict[str, list[tuple[float, float]]] = {name: [] for name in runs}
            for _ in range(chosen.rounds):
                for name, run in runs.items():
                    taken[name].append(timed(run))
            elapsed, busy = (
                {name: Times(tuple(times[number] for times in own)) for name, own in taken.items()}
                for number in range(2)
            )
            title = f"polars, join_asof, {direction}"
            tables[-1].against(Opponent(title, count, elapsed["sash"], elapsed["polars"]), limit=LIMIT)
            ratio = busy["sash"].best / busy["polars"].best
            tables[-1].add(f"{direction}, time of all cores", busy["sash"].best, ratio, limit=LIMIT)
    return finish(tables, chosen)


if __name__ == "__main__":
    sys.exit(main())
