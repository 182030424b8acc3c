"""Instances of an operator whose functions are plain Python and take a millisecond: threads, and processes.

    python -m benchmarks.user_functions [--quick] [--json PATH] [--rounds 3]

Every tuple has one key and meets one window; f_U computes for about a millisecond. Two instances in threads
take turns with Python's lock. In processes they should need about half the time of one. Where other
programs use the cores, the clock shows little of that; so the time that the busiest process has computed is
judged: on a free machine nothing is done sooner.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.harness import Table, finish, options
from sash.operators import Input, Stateful, setup
from sash.operators.stateful.process_shares import ProcessShares

EVENTS = Input(pa.schema([("t", pa.int64()), ("k", pa.int64())]), time="t")
BATCH = 50
PROMISED = 1 / 1.6


def steps_of(milliseconds: float) -> int:
    """Steps of plain Python that take about so long on this machine, when nothing disturbs."""

    def measured() -> float:
        began, steps, total = time.process_time(), 200_000, 0
        for step in range(steps):
            total += step & 7
        return milliseconds / 1000 * steps / (time.process_time() - began)

    return int(max(measured() for _ in range(5)))


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

    def __call__(self) -> tuple[float, float]:
        """Seconds by the clock, and of the busiest process."""
        began, computed = time.perf_counter(), self.computed()
        until = self.at + self.tuples
        for start in range(self.at, until, BATCH):
            times = np.arange(start, start + BATCH)
            self.elastic.add("source", {"t": times, "k": times * 7919 % 1009})
        self.at = until
        while min(self.elastic.deliveries) < until:
            time.sleep(0.001)
        busiest = max(now - before for now, before in zip(self.computed(), computed, strict=True))
        return time.perf_counter() - began, busiest

    def computed(self) -> list[float]:
        """Seconds that this process and those of the operator have computed so far."""
        running = self.elastic.running
        others = running._processes if isinstance(running, ProcessShares) else []
        return [time.process_time(), *(_computed(process._child.pid) for process in others)]

    def end(self) -> None:
        with self.elastic:
            self.elastic.stop()


def _computed(process: int) -> float:
    """As Linux counts it."""
    fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> int:
    chosen = options(str(__doc__).splitlines()[0])
    tuples, steps = 100 if chosen.quick else 1000, steps_of(1.0)
    best: dict[str, tuple[float, ...]] = {}
    for processes in (False, True):
        for instances in (1, 2):
            run = Run(instances, tuples, steps=steps, processes=processes)
            rounds = [run() for _ in range(2 if chosen.quick else chosen.rounds + 1)][1:]
            run.end()
            how = "processes" if processes else "threads"
            best[f"{instances} instance{'s' * (instances > 1)}, {how}"] = tuple(
                map(min, zip(*rounds, strict=True))
            )
    tables = []
    for place, what in enumerate(("by the clock", "of the busiest process")):
        yardstick = "1 instance, processes"
        table = Table(f"{tuples:,} tuples, a function of 1 ms for each: time {what}", yardstick=yardstick)
        table.start()
        for name, seconds in best.items():
            limit = PROMISED if place == 1 and name == "2 instances, processes" else None
            table.add(name, seconds[place], seconds[place] / best[yardstick][place], limit=limit)
        tables.append(table)
    return finish(tables, chosen)


if __name__ == "__main__":
    sys.exit(main())
