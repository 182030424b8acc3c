"""ScaleGate: tuples per second with 1, 2 and 4 sources and readers.

    python -m benchmarks.scalegate [--quick] [--only 1000] [--json PATH] [--rounds 3] [--to DIRECTORY]

Every source is a thread that adds its sorted share of the tuples in batches; every reader is a thread that
gets all of them, and checks that none is missing or out of order. The sources together always add the same
number of tuples, so that a perfect gate would take the same time whatever the number of sources; readers
share what they get, so that more of them should cost little. Batches of 1,000 tuples are what operators
exchange; batches of 1 are what the ScaleGate of the papers takes, and show what a call costs.
"""

from __future__ import annotations

import sys
from threading import Thread

import numpy as np
import pyarrow as pa

from benchmarks.amta_paper.measuring import ProgressPrinter
from benchmarks.harness import Table, finish, options, race
from benchmarks.paper_table import PaperTable, publish
from sash import ScaleGate
from sash.operators import Input
from sash.operators.order.interleaved import Interleaved

PAGE = "stretch.md"
TUPLES = Input(pa.schema([("t", pa.int64()), ("x", pa.int64())]), time="t")
DEGREES = (1, 2, 4)
CAPACITY = 1 << 16
SIZES = {1_000: 2_000_000, 1: 10_000}
"""How many tuples are sent in batches of how many."""


def batches(source: int, sources: int, *, tuples: int, size: int) -> list[pa.Table]:
    """Every `sources`-th of the times 0, 1, 2, …, cut into batches."""
    times = np.arange(source, tuples, sources)
    rows = pa.table([times, times], schema=TUPLES.schema)
    return [rows.slice(start, size) for start in range(0, len(times), size)]


class Exchange:
    """One gate with its threads, run once."""

    def __init__(self, sources: int, readers: int, *, tuples: int, size: int) -> None:
        self.tuples = tuples
        self.sent = [batches(s, sources, tuples=tuples, size=size) for s in range(sources)]
        self.readers = readers

    def __call__(self) -> None:
        sources, readers = (list(map(str, range(n))) for n in (len(self.sent), self.readers))
        gate = ScaleGate(TUPLES, sources=sources, readers=readers, capacity=CAPACITY)
        failures: list[str] = []

        def send(source: str) -> None:
            for batch in self.sent[int(source)]:
                gate.add(source, batch)
            gate.remove_sources([source])

        def read(reader: str) -> None:
            following = 0
            while following < self.tuples and isinstance(run := gate.get(reader), Interleaved):
                if not np.array_equal(run.times, np.arange(following, following + len(run))):
                    failures.append(f"reader {reader} expected {following} … and got {run.times}")
                following += len(run)

        threads = [Thread(target=send, args=[name]) for name in sources]
        threads += [Thread(target=read, args=[name]) for name in readers]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if failures:
            raise AssertionError(failures[0])


Degrees = tuple[int, int]
"""Sources, readers."""


def measured(size: int, tuples: int, *, rounds: int) -> dict[Degrees, float]:
    """Seconds of the best round."""
    contenders = {
        (sources, readers): Exchange(sources, readers, tuples=tuples, size=size)
        for sources in DEGREES
        for readers in DEGREES
    }
    best = race({str(degrees): run for degrees, run in contenders.items()}, rounds=rounds)
    return {degrees: best[str(degrees)] for degrees in contenders}


def ratios(size: int, tuples: int, found: dict[Degrees, float]) -> Table:
    table = Table(f"{tuples:,} tuples in batches of {size:,}", yardstick="1 source, 1 reader")
    table.start()
    for (sources, readers), seconds in found.items():
        what = f"{sources} sources, {readers} readers: {tuples / seconds:,.0f} tuples/s"
        table.add(what, seconds, seconds / found[1, 1])
    return table


def beside_the_paper(size: int, tuples: int, found: dict[Degrees, float]) -> PaperTable:
    """The paper has no numbers of the gate alone: the nearest are those of its forwarder."""
    several = size > 1
    batch = f"batches of {size:,} tuples" if several else "batches of 1 tuple"
    table = PaperTable(f"scalegate-{size}", f"ScaleGate, {batch}: tuples a second")
    degrees = ", ".join(map(str, DEGREES))
    for sources in DEGREES:
        rates = ", ".join(f"{tuples / found[sources, readers]:,.0f}" for readers in DEGREES)
        table.add(
            f"{sources} source{'s' * (sources > 1)}; {degrees} readers",
            paper="not alone; with a forwarder (Q2) 120,000, with many instances 100,000", here=rates,
            why="a call exchanges a batch; all threads take turns with Python's lock"
            if several
            else "a call of Python and of Arrow for each tuple; the paper's gate is lock-free Java",
        )  # fmt: skip
    return table


def main() -> int:
    chosen = options(str(__doc__).splitlines()[0], parts=tuple(map(str, SIZES)), page=PAGE)
    scale, rounds = (100, 1) if chosen.quick else (1, chosen.rounds)
    progress, tables = ProgressPrinter(), []
    for size in map(int, chosen.only):
        tuples = SIZES[size] // scale
        progress.begin(f"ScaleGate: {tuples:,} tuples in batches of {size:,}, {rounds} rounds and one more")
        found = measured(size, tuples, rounds=rounds)
        tables.append(ratios(size, tuples, found))
        page = None if chosen.to is None else chosen.to / PAGE
        publish([beside_the_paper(size, tuples, found)], page)
    return finish(tables, chosen)


if __name__ == "__main__":
    sys.exit(main())
