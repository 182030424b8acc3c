"""A program for test_buffer_memory.py: a large window over LMDB, and what it costs in memory.

    python slide_a_large_window.py <directory> <log2 of the window's length>

Fills the window, slides it by a quarter of its length with a query after every event, checks every answer
against running sums, evicts in bulk, and prints one line of JSON.

`peak` is the highest resident set of the whole run (VmHWM) less what the interpreter had with everything
imported and compiled, so nothing is left out: it also counts the pages of LMDB's file that were looked at,
although those are the system's page cache, shared by all processes and dropped whenever memory is short.
`anonymous` is the growth of RssAnon, without those pages, looked at before and after every commit.
"""

import json
import sys
import time
from pathlib import Path

import numpy as np

from sash.aggregation.buffer import WindowBuffer
from sash.aggregation.monoid import Monoid
from sash.stores import LMDB

BATCH = 1 << 18


def total() -> Monoid:
    def identity() -> int:
        return 0

    def lift(x: int) -> int:
        return x

    def combine(a: int, b: int) -> int:
        return a + b

    return Monoid("total", ("x",), identity, lift, combine, lift, commutative=True)


def status(field: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith(field + ":"))


def main(directory: str, exponent: int) -> None:
    n = 1 << exponent
    warm = WindowBuffer(total(), kinds=("int",))
    warm.extend(np.arange(2 * warm.chunk))
    warm.fold_ranges(np.arange(10), np.arange(10) + warm.chunk)
    warm.query()
    before = {field: status(field) for field in ("RssAnon", "VmRSS")}
    anonymous, resident = 0, 0
    begin = time.perf_counter()

    def look() -> None:
        nonlocal anonymous, resident
        anonymous = max(anonymous, status("RssAnon") - before["RssAnon"])
        resident = max(resident, buffer.resident)

    store = LMDB(directory, durable=False)
    buffer = WindowBuffer(total(), store=store, kinds=("int",))

    def commit() -> None:
        look()
        store.put_many({b"hot": buffer.snapshot()})
        store.commit(store.epoch + 1)
        look()

    values = np.random.default_rng(7)
    tail_sum = 0
    for _ in range(0, n, BATCH):
        batch = values.integers(-1000, 1000, BATCH)
        tail_sum += int(batch.sum())
        buffer.extend(batch)
        commit()
    assert buffer.query() == tail_sum

    old = np.random.default_rng(7)
    for _ in range(0, n // 4, BATCH):
        entering, leaving = values.integers(-1000, 1000, BATCH), old.integers(-1000, 1000, BATCH)
        buffer.extend(entering)
        ends = np.arange(buffer.end - BATCH + 1, buffer.end + 1)
        (sums,) = buffer.fold_ranges(ends - n, ends)
        assert np.array_equal(sums, tail_sum + np.cumsum(entering - leaving))
        tail_sum = int(sums[-1])
        buffer.evict(BATCH)
        commit()
    reads = buffer.traffic.reads
    buffer.evict(n - 3 * BATCH - 1)
    reads = buffer.traffic.reads - reads
    look()
    buffer.extend(values.integers(-1000, 1000, 3 * BATCH - 100))
    commit()
    print(
        json.dumps(
            {
                "anonymous": anonymous,
                "peak": status("VmHWM") - before["VmRSS"],
                "resident": resident,
                "storeys": len(buffer.tower.storeys),
                "reads_of_bulk_eviction": reads,
                "hot_bytes": len(buffer.snapshot()),
                "seconds": round(time.perf_counter() - begin, 2),
            }
        )
    )


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
