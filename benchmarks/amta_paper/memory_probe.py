"""A program for `memory`: fill one window, slide it by an eighth, and say what the process holds.

    python -m benchmarks.amta_paper.memory_probe daba|amta|memory|lmdb <log2 of the window's length>

Prints one line of JSON: `bytes` is the growth of RssAnon, `resident` is how many elements and folds the
window buffer has in memory at most (chunks, each counted as full).
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

import numpy as np

from benchmarks.amta_paper.measuring import plain_sum, readings, require_same
from sash.aggregation.buffer import WindowBuffer
from sash.stores import LMDB, Memory, Store

BATCH = 1 << 12


def held_bytes() -> int:
    gc.collect()
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith("RssAnon:"))


def array_of(kind: str, n: int) -> Any:
    """A window of n elements inside a compiled structure; the input is not kept."""
    fast = plain_sum()
    columns = fast.columns((readings(n),))
    ring = fast.empty(2 * n)
    if kind == "daba":
        scalars, borders = fast.empty(2), np.zeros(6, np.int64)
        fast.kernel("daba_fill")(columns, ring, scalars, borders)
        return ring, scalars, borders
    tails = fast.empty(64)
    fast.kernel("amta_fill")(columns, ring, tails)
    return ring, tails


def batches(n: int) -> Iterator[Any]:
    for start in range(0, n, BATCH):
        yield readings(min(BATCH, n - start), seed=start)


def buffer_over(store: Store, n: int) -> WindowBuffer:
    """A window of n elements that has slid by n / 8, committed after every batch."""
    buffer = WindowBuffer(plain_sum().monoid, store=store)
    for values in batches(n + n // 8):
        buffer.extend(values)
        buffer.evict(max(0, len(buffer) - n))
        buffer.query()
        store.put_many({b"hot": buffer.snapshot()})
        store.commit(store.epoch + 1)
    require_same("the window buffer", buffer.query(), sum_after(n // 8, batches(n + n // 8)))
    return buffer


def sum_after(skipped: int, parts: Iterator[Any]) -> int:
    """The sum of all but the first `skipped` values, a batch at a time: an array of all would count too."""
    total, position = 0, 0
    for values in parts:
        total += int(values[max(0, skipped - position) :].sum())
        position += len(values)
    return total


def resident(buffer: WindowBuffer) -> int:
    ground, *upper = buffer.tower.storeys
    return ground.resident * buffer.chunk + sum(storey.resident for storey in upper) * buffer.fanout


def filled(kind: str, n: int, stack: ExitStack) -> Any:
    if kind in ("daba", "amta"):
        return array_of(kind, n)
    if kind == "memory":
        return buffer_over(Memory(), n)
    directory = stack.enter_context(tempfile.TemporaryDirectory())
    return buffer_over(stack.enter_context(LMDB(directory, durable=False)), n)


def main(kind: str, exponent: int) -> None:
    with ExitStack() as stack:
        # Everything that is compiled, imported or cached by a first use is not the window's memory.
        filled(kind, 2 * BATCH, stack)
        before = held_bytes()
        window = filled(kind, 1 << exponent, stack)
        found = {"bytes": held_bytes() - before}
        if isinstance(window, WindowBuffer):
            found["resident"] = resident(window)
        print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
