"""What a decoupled store costs: the same sliding window over memory and over LMDB, in one run.

    python -m benchmarks.kvs [--quick] [--events 4194304] [--window 1048576] [--batch 65536]

Every event is inserted, evicts the oldest one and asks for the fold of the window; events come in batches,
and each batch is an epoch: the hot part is put into the store and the store is committed. The stores take
turns, the best of three counts, and all answers are compared. Wanted: LMDB ≤ 3 × memory, also when every
commit waits for the disk (`durable`). With `--quick` the sizes are small and no ratio is judged.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack

import numpy as np
from numpy.typing import NDArray

from sash.aggregation.buffer import WindowBuffer
from sash.aggregation.monoid import Monoid
from sash.stores import LMDB, Memory, Store

LIMIT = 3.0
ROUNDS = 3


def identity() -> int:
    return 0


def lift(x: int) -> int:
    return x


def combine(a: int, b: int) -> int:
    return a + b


TOTAL = Monoid("total", ("x",), identity, lift, combine, lift, commutative=True)


def slide(store: Store, values: NDArray[np.int64], window: int, batch: int) -> tuple[float, int]:
    """Seconds for all events after the window was filled, and a checksum of all answers."""
    buffer = WindowBuffer(TOTAL, store=store, kinds=("int",))
    answers = 0
    begin = 0.0
    for start in range(0, len(values), batch):
        if start == window:
            begin = time.perf_counter()
        part = values[start : start + batch]
        buffer.extend(part)
        ends = np.arange(buffer.end - len(part), buffer.end) + 1
        (folds,) = buffer.fold_ranges(np.maximum(ends - window, 0), ends)
        answers = (answers * 31 + int(np.bitwise_xor.reduce(folds))) % (1 << 61)
        buffer.evict(max(0, len(buffer) - window))
        store.put_many({b"hot": buffer.snapshot()})
        store.commit(store.epoch + 1)
    return time.perf_counter() - begin, answers


def main() -> int:
    parser = argparse.ArgumentParser(description="The window buffer over memory and over LMDB.")
    parser.add_argument("--events", type=int, default=1 << 22, help="events after the window is full")
    parser.add_argument("--window", type=int, default=1 << 20)
    parser.add_argument("--batch", type=int, default=1 << 16)
    parser.add_argument("--quick", action="store_true", help="small sizes, and no ratio is judged")
    options = parser.parse_args()
    if options.quick:
        options.events, options.window, options.batch = 1 << 14, 1 << 13, 1 << 11
    if options.window % options.batch:
        parser.error("--window must be a multiple of --batch")
    values = np.random.default_rng(1).integers(-1000, 1000, options.window + options.events)

    with ExitStack() as stack:

        def on_disk(durable: bool) -> Store:
            directory = stack.enter_context(tempfile.TemporaryDirectory())
            return stack.enter_context(LMDB(directory, durable=durable))

        stores: dict[str, Callable[[], Store]] = {
            "memory": Memory,
            "lmdb": lambda: on_disk(False),
            "lmdb, durable": lambda: on_disk(True),
        }
        seconds = dict.fromkeys(stores, float("inf"))
        answers = set()
        for _ in range(ROUNDS):
            for name, opened in stores.items():
                taken, answer = slide(opened(), values, options.window, options.batch)
                seconds[name] = min(seconds[name], taken)
                answers.add(answer)
    if len(answers) != 1:
        print("the stores do not give the same answers")
        return 1

    print(f"window {options.window:,}, {options.events:,} events in batches of {options.batch:,}")
    print(f"{'store':<15}{'ns an event':>12}{'x memory':>10}")
    for name, best in seconds.items():
        print(f"{name:<15}{best / options.events * 1e9:>12.1f}{best / seconds['memory']:>10.2f}")
    worst = max(seconds.values()) / seconds["memory"]
    print(f"wanted: at most {LIMIT} x memory; reached: {worst:.2f}")
    return int(worst > LIMIT and not options.quick)


if __name__ == "__main__":
    sys.exit(main())
