"""Instances of an operator whose functions are plain Python and take a millisecond: threads, and processes.

    python -m benchmarks.user_functions [--quick] [--json PATH] [--rounds 3]

Every tuple has one key and meets one window; f_U computes for about a millisecond. Two instances in threads
take turns with Python's lock. In processes they should need about half the time of one.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.harness import Table, finish, options, race
from sash.operators import Input, Stateful, setup

EVENTS = Input(pa.schema([("t", pa.int64()), ("k", pa.int64())]), time="t")
BATCH = 50
PROMISED = 1 / 1.6


def steps_of(milliseconds: float) -> int:
    """Steps of plain Python that take about so long on this machine."""
    began, steps, total = time.perf_counter(), 200_000, 0
    for step in range(steps):
        total += step & 7
    return int(milliseconds / 1000 * steps / (time.perf_counter() - began))


def slow(steps: int) -> Stateful:
    def update(windows: Any, arrival: Any) -> None:
        total = 0
        for step in range(steps):
            total += step & 7
        windows[0].append(total)

    def output(windows: Any) -> Any:
        return {"key": windows.key, "n": len(windows[0])}

    return Stateful(
        advance=1_000_000, size=1_000_000, inputs=EVENTS, keys="k", update=update, output=output,
        schema=pa.schema([("key", pa.int64()), ("n", pa.int64())]),
    )  # fmt: skip


class Run:
    """A running operator that is given so many tuples each time."""

    def __init__(self, instances: int, tuples: int, *, steps: int, processes: bool) -> None:
        self.tuples, self.at = tuples, 0
        self.elastic = setup(slow(steps), instances, instances, processes=processes)

    def __call__(self) -> None:
        until = self.at + self.tuples
        for start in range(self.at, until, BATCH):
            times = np.arange(start, start + BATCH)
            self.elastic.add("source", {"t": times, "k": times * 7919 % 1009})
        self.at = until
        while min(self.elastic.deliveries) < until:
            time.sleep(0.001)

    def end(self) -> None:
        with self.elastic:
            self.elastic.stop()


def main() -> int:
    chosen = options(str(__doc__).splitlines()[0])
    tuples, steps = 100 if chosen.quick else 1000, steps_of(1.0)
    contenders = {
        f"{instances} instance{'s' * (instances > 1)} in {'processes' if processes else 'threads'}": Run(
            instances, tuples, steps=steps, processes=processes
        )
        for processes in (False, True)
        for instances in (1, 2)
    }
    best = race(contenders, rounds=1 if chosen.quick else chosen.rounds)
    for run in contenders.values():
        run.end()
    yardstick = "1 instance in processes"
    table = Table(f"{tuples:,} tuples, a function of 1 ms for each", yardstick=yardstick)
    table.start()
    for what, seconds in best.items():
        limit = PROMISED if what == "2 instances in processes" else None
        table.add(what, seconds, seconds / best[yardstick], limit=limit)
    return finish([table], chosen)


if __name__ == "__main__":
    sys.exit(main())
