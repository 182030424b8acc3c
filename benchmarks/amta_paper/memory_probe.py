"""A program for `memory`: fill one window, slide it by an eighth, and print what the process holds.

    python -m benchmarks.amta_paper.memory_probe KIND <log2 of the window's length>

KIND is one of IN_MEMORY or OVER_LMDB. Prints one line of JSON: `bytes` is the growth of RssAnon, `nodes` is
how many nodes of a tree over LMDB are in memory.
"""

from __future__ import annotations

import gc
import json
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from benchmarks.amta_paper.measuring import plain_sum, readings, require_same
from sash.aggregators import AMTA, Aggregator, DABALite, LogMTA, Recalculate
from sash.stores import LMDB

BATCH = 1 << 12
IN_MEMORY: dict[str, type[Aggregator]] = {
    "naive": Recalculate, "daba": DABALite, "log": LogMTA, "amta": AMTA,
}  # fmt: skip
OVER_LMDB: dict[str, type[AMTA | LogMTA]] = {"lmdb": AMTA, "log over lmdb": LogMTA}


def held_bytes() -> int:
    gc.collect()
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith("RssAnon:"))


def batches(n: int) -> Iterator[Any]:
    for start in range(0, n, BATCH):
        yield readings(min(BATCH, n - start), seed=start)


def empty(kind: str, stack: ExitStack) -> tuple[Aggregator, LMDB | None]:
    """A window of sums: in arrays, or as a tree over LMDB."""
    monoid = plain_sum().monoid
    if kind in IN_MEMORY:
        return IN_MEMORY[kind](monoid, kinds=("int",)), None
    directory = stack.enter_context(tempfile.TemporaryDirectory())
    store = stack.enter_context(LMDB(directory, durable=False))
    return OVER_LMDB[kind](monoid, store=store), store


def filled(kind: str, n: int, stack: ExitStack) -> Aggregator:
    """A window of n elements that has slid by n / 8; a store is committed after every batch."""
    window, store = empty(kind, stack)
    for values in batches(n + n // 8):
        window.insert_many(values)
        window.bulk_evict(max(0, len(window) - n))
        window.query()
        if store is not None:
            store.commit(store.epoch + 1)
    require_same(kind, window.query(), sum_after(n // 8, batches(n + n // 8)))
    return window


def sum_after(skipped: int, parts: Iterator[Any]) -> int:
    """The sum of all but the first `skipped` values, a batch at a time: an array of all would count too."""
    total, position = 0, 0
    for values in parts:
        total += int(values[max(0, skipped - position) :].sum())
        position += len(values)
    return total


def main(kind: str, exponent: int) -> None:
    with ExitStack() as stack:
        # Everything that is compiled, imported or cached by a first use is not the window's memory.
        filled(kind, 2 * BATCH, stack)
        before = held_bytes()
        window: Any = filled(kind, 1 << exponent, stack)
        found = {"bytes": held_bytes() - before}
        if kind in OVER_LMDB:
            found["nodes"] = len(window._window._nodes)
        print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
