"""Instances of an operator whose functions are plain Python and take a millisecond: threads, and processes.

    python -m benchmarks.user_functions [--quick] [--only waits] [--json PATH] [--rounds 3] [--to DIRECTORY]

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
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.amta_paper.measuring import ProgressPrinter
from benchmarks.harness import Table, finish, options
from benchmarks.paper_table import PaperTable, publish
from sash.operators import Input, Stateful, setup
from sash.operators.stateful.process_shares import ProcessShares

PAGE = "stretch.md"
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


Found = dict[str, tuple[float, ...]]
"""Seconds of the best round by the clock, and of the busiest process; by instances and how they run."""


def measured(operator: Stateful, tuples: int, rounds: int, progress: ProgressPrinter) -> Found:
    best: Found = {}
    for processes in (False, True):
        for instances in (1, 2):
            progress.step(f"{instances} instances, {'processes' if processes else 'threads'}")
            run = Run(operator, instances, tuples, processes=processes)
            times = [run() for _ in range(rounds + 1)][1:]
            run.end()
            how = "processes" if processes else "threads"
            name = f"{instances} instance{'s' * (instances > 1)}, {how}"
            best[name] = tuple(map(min, zip(*times, strict=True)))
    return best


CLOCK, BUSIEST = 0, 1
YARDSTICK, JUDGED = "1 instance, processes", "2 instances, processes"


@dataclass(frozen=True)
class Function:
    """An f_U, and how it is measured: the last of `measures` is judged."""

    name: str
    about: str
    operator: Callable[[], Stateful]
    measures: tuple[int, ...]


FUNCTIONS = {
    "computes": Function(
        "computes", "that computes for 1 ms", lambda: computing(steps_of(1.0)), (CLOCK, BUSIEST)
    ),
    "waits": Function("waits", "that waits for 2 ms", lambda: waiting(0.002), (CLOCK,)),
}
MEASURES = {CLOCK: "by the clock", BUSIEST: "of the busiest process"}


def ratios(function: Function, tuples: int, found: Found) -> list[Table]:
    tables = []
    for measure in function.measures:
        what = f"{tuples:,} tuples, a function {function.about}: time {MEASURES[measure]}"
        table = Table(what, yardstick=YARDSTICK)
        table.start()
        for name, seconds in found.items():
            limit = PROMISED if measure == function.measures[-1] and name == JUDGED else None
            table.add(name, seconds[measure], seconds[measure] / found[YARDSTICK][measure], limit=limit)
        tables.append(table)
    return tables


def beside_the_paper(function: Function, tuples: int, found: Found) -> PaperTable:
    """The paper's instances are threads of Java: nothing but the cores bounds how many compute."""
    title = f"f_U in Python {function.about}, {tuples:,} tuples"
    table = PaperTable(f"user-functions-{function.name}", title)
    reasons = {
        "threads": "threads take turns with Python's lock while they compute, not while they wait",
        "processes": f"`processes=True`; promised is {1 / PROMISED:.1f} × or more",
    }
    for how, why in reasons.items():
        for measure in function.measures:
            one, two = (found[f"{name}, {how}"][measure] for name in ("1 instance", "2 instances"))
            table.add(
                f"1 → 2 instances, {how}, time {MEASURES[measure]}",
                paper="grows with the instances (Q3: linear)",
                here=f"{one / two:.2f} × ({1e3 * one:,.0f} → {1e3 * two:,.0f} ms)", why=why,
            )  # fmt: skip
    return table


def main() -> int:
    chosen = options(str(__doc__).splitlines()[0], parts=tuple(FUNCTIONS), page=PAGE)
    tuples, rounds = (100, 1) if chosen.quick else (1000, chosen.rounds)
    progress, tables = ProgressPrinter(), list[Table]()
    for name in chosen.only:
        function = FUNCTIONS[name]
        progress.begin(f"functions in Python: one {function.about}")
        found = measured(function.operator(), tuples, rounds, progress)
        tables += ratios(function, tuples, found)
        page = None if chosen.to is None else chosen.to / PAGE
        publish([beside_the_paper(function, tuples, found)], page)
    return finish(tables, chosen)


if __name__ == "__main__":
    sys.exit(main())
