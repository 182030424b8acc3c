"""Instances of an operator whose functions are plain Python and take a millisecond: threads, and processes.

    python -m benchmarks.user_functions [--quick] [--json PATH] [--rounds 3] [--to DIRECTORY]

Every tuple has one key and meets one window; f_U computes for about a millisecond, or waits for two, as one
that asks a service does. Two instances in threads take turns with Python's lock. In processes they should
need about half the time of one. Where other programs use the cores, the clock shows little of that for a
function that computes; so the time that the busiest process has computed is judged: on a free machine
nothing is done sooner. Functions that wait need no free core, and are judged by the clock.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.harness import Table, finish, options
from benchmarks.paper_table import write_section
from sash.operators import Input, Stateful, setup
from sash.operators.stateful.process_shares import ProcessShares

PAGE, SECTION = "stretch.md", "user-functions"
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


def computing(steps: int) -> Stateful:
    def update(windows: Any, arrival: Any) -> None:
        total = 0
        for step in range(steps):
            total += step & 7
        windows[0].append(total)

    return _with(update)


def waiting(seconds: float) -> Stateful:
    def update(windows: Any, arrival: Any) -> None:
        time.sleep(seconds)
        windows[0].append(seconds)

    return _with(update)


def _with(update: Callable[[Any, Any], None]) -> Stateful:
    def output(windows: Any) -> Any:
        return {"key": windows.key, "n": len(windows[0])}

    return Stateful(
        advance=1_000_000, size=1_000_000, inputs=EVENTS, keys="k", update=update, output=output,
        schema=pa.schema([("key", pa.int64()), ("n", pa.int64())]),
    )  # fmt: skip


class Run:
    """A running operator that is given so many tuples each time."""

    def __init__(self, operator: Stateful, instances: int, tuples: int, *, processes: bool) -> None:
        self.tuples, self.at = tuples, 0
        self.elastic = setup(operator, instances, instances, processes=processes)

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


def measured(operator: Stateful, tuples: int, rounds: int) -> dict[str, tuple[float, ...]]:
    """The best round of each number of instances, in threads and in processes."""
    best: dict[str, tuple[float, ...]] = {}
    for processes in (False, True):
        for instances in (1, 2):
            run = Run(operator, instances, tuples, processes=processes)
            times = [run() for _ in range(rounds + 1)][1:]
            run.end()
            how = "processes" if processes else "threads"
            name = f"{instances} instance{'s' * (instances > 1)}, {how}"
            best[name] = tuple(map(min, zip(*times, strict=True)))
    return best


def main() -> int:
    chosen = options(str(__doc__).splitlines()[0], page=PAGE)
    tuples, rounds = (100, 1) if chosen.quick else (1000, chosen.rounds)
    computed = measured(computing(steps_of(1.0)), tuples, rounds)
    waited = measured(waiting(0.002), tuples, rounds)
    tables = []
    for what, found, place, judged in (
        ("that computes for 1 ms: time by the clock", computed, 0, False),
        ("that computes for 1 ms: time of the busiest process", computed, 1, True),
        ("that waits for 2 ms: time by the clock", waited, 0, True),
    ):
        yardstick = "1 instance, processes"
        table = Table(f"{tuples:,} tuples, a function {what}", yardstick=yardstick)
        table.start()
        for name, seconds in found.items():
            limit = PROMISED if judged and name == "2 instances, processes" else None
            table.add(name, seconds[place], seconds[place] / found[yardstick][place], limit=limit)
        tables.append(table)
    if chosen.to is not None:
        write_section(chosen.to / PAGE, SECTION, "\n\n".join(table.markdown() for table in tables))
    return finish(tables, chosen)


if __name__ == "__main__":
    sys.exit(main())
