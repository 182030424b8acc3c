"""What a decoupled store costs: the same AMTA with its nodes in process, in a memory store and in LMDB.

    python -m benchmarks.kvs [--quick] [--events 262144] [--window 262144] [--batch 8192]

Every event is inserted, evicts the oldest one and reads the fold of the window; every batch of events
the store is committed. All are interpreted, so that the ratio is that of the store. They take turns, the
best of three counts, and all answers are compared. Wanted: LMDB ≤ 3 × in process, also when every commit
waits for the disk (`durable`). With `--quick` the sizes are small and no ratio is judged.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack

import numpy as np

from sash.aggregation.monoid import Monoid
from sash.aggregators import AMTA
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


def slide(store: Store | None, values: list[int], window: int, batch: int) -> tuple[float, int]:
    """Seconds for all events after the window was filled, and a checksum of all answers."""
    tree = AMTA(TOTAL, kinds=("object",), store=store)
    tree.insert_many(values[:window])
    if store is not None:
        store.commit(store.epoch + 1)
    answers = 0
    begin = time.perf_counter()
    for at, value in enumerate(values[window:], start=1):
        tree.insert(value)
        tree.evict()
        answers = (answers * 31 + tree.query()) % (1 << 61)
        if store is not None and at % batch == 0:
            store.commit(store.epoch + 1)
    return time.perf_counter() - begin, answers


def main() -> int:
    parser = argparse.ArgumentParser(description="An AMTA over memory and over LMDB.")
    parser.add_argument("--events", type=int, default=1 << 18, help="events after the window is full")
    parser.add_argument("--window", type=int, default=1 << 18)
    parser.add_argument("--batch", type=int, default=1 << 13)
    parser.add_argument("--quick", action="store_true", help="small sizes, and no ratio is judged")
    options = parser.parse_args()
    if options.quick:
        options.events, options.window, options.batch = 1 << 12, 1 << 13, 1 << 10
    values = np.random.default_rng(1).integers(-1000, 1000, options.window + options.events).tolist()

    with ExitStack() as stack:

        def on_disk(durable: bool) -> Store:
            directory = stack.enter_context(tempfile.TemporaryDirectory())
            return stack.enter_context(LMDB(directory, durable=durable))

        stores: dict[str, Callable[[], Store | None]] = {
            "in process": lambda: None,
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
    print(f"{'store':<15}{'ns per event':>13}{'x in process':>14}")
    for name, best in seconds.items():
        print(f"{name:<15}{best / options.events * 1e9:>12.1f}{best / seconds['in process']:>14.2f}")
    worst = max(seconds.values()) / seconds["in process"]
    print(f"wanted: at most {LIMIT} x in process; reached: {worst:.2f}")
    return int(worst > LIMIT and not options.quick)


if __name__ == "__main__":
    sys.exit(main())
