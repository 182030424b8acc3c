"""Fill the cache of compiled kernels, so that the first queries need not compile them.

A kernel is compiled for a kind of window, a runtime and the aggregates that it folds together. What all
queries share, and each common aggregate by itself, can be compiled ahead; a query with another set of
aggregates still compiles one or two kernels, in about a second.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
from rich.progress import Progress

import sash
from sash.aggregation.kernels.compiler.module_cache import directory

AGGREGATES: dict[str, Callable[[], dict[str, sash.Monoid]]] = {
    "count": lambda: {"n": sash.count()},
    "sum": lambda: {"s": sash.sum("x")},
    "mean": lambda: {"m": sash.mean("x")},
    "max": lambda: {"h": sash.max("x")},
    "count, sum, mean, min, max": lambda: {
        "n": sash.count(), "s": sash.sum("x"), "m": sash.mean("x"), "low": sash.min("x"),
        "high": sash.max("x"),
    },
}  # fmt: skip
WINDOWS: dict[str, Callable[[Any], Any]] = {
    "tumbling": lambda stream: stream.window(sash.tumbling(10)),
    "sliding": lambda stream: stream.window(sash.sliding(10, every=5)),
    "rows": lambda stream: stream.window(sash.rows(4, every=2)),
    "session": lambda stream: stream.window(sash.session(3)),
    "rolling": lambda stream: stream.rolling(5, 20),
}


def queries() -> Iterator[tuple[str, Any]]:
    """Small queries in this process, over a table and over a stream: the kernels are those of Spark too."""
    events = pa.table({"t": range(40), "k": ["a", "b"] * 20, "x": [0.5] * 40})
    inputs = {"table": events, "stream": [events.slice(0, 20), events.slice(20)]}
    for window, made in WINDOWS.items():
        for name, aggregates in AGGREGATES.items():
            for where, data in inputs.items():
                stream = sash.stream(data, time="t", key="k")
                yield f"{window}, {name}, {where}", made(stream).agg(**aggregates())


def warm() -> None:
    """Run them; a bar shows how far it is, and one line what there is afterwards."""
    os.environ["SASH_PROGRESS"] = "0"  # the bar is enough
    start, every = time.monotonic(), list(queries())
    with Progress(transient=True) as progress:
        task = progress.add_task("compiling kernels", total=len(every))
        for name, query in every:
            progress.update(task, description=f"compiling kernels: {name}")
            query.collect()
            progress.advance(task)
    kernels = len(list(directory().glob("sash_kernel_*.py")))
    print(f"{kernels} kernels in {directory()}, {time.monotonic() - start:.0f} s")
