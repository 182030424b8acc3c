"""Q3: the ScaleJoin benchmark, comparisons a second and sustained rates with one and two instances.

A window of five minutes is filled once, at a lower rate than is sustained (to fill it at that one would
take minutes of comparing). Then event time runs as fast as the instances do, with one and with two of them
in turn: comparisons a second follow. The same by the processor time of the busiest instance shows how the
work is cut, also where other programs have the cores. The sustained rate is searched by replays in real
time (`sustaining`) over windows of 20 seconds, and the latency is that of the replay at this rate. *1T* is
the same join without gates and threads.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from math import isnan

import numpy as np

from benchmarks.paper_table import PaperTable
from benchmarks.stretch.joining import (
    SECOND,
    SOURCES,
    at_full_speed,
    fill,
    scale_join,
    scale_join_streams,
    switched,
)
from benchmarks.stretch.progress import PROGRESS
from benchmarks.stretch.sustaining import BOUND, SEARCHED, TRIALS, Sustained, at_rate, sustained_rate
from sash.operators import setup
from sash.operators.order.interleaved import interleave

WINDOW = 300
DEGREES = (1, 2)


@dataclass
class Joined:
    window: int
    comparisons: dict[str, float] = field(default_factory=dict)
    """A second, by contender."""
    computed: dict[str, float] = field(default_factory=dict)
    """The same, by a second of the busiest instance's processor time."""
    sustained: dict[int, Sustained] = field(default_factory=dict)
    """By instances, over windows of `short` seconds."""
    short: int = SEARCHED
    confirmed: dict[int, Sustained] = field(default_factory=dict)
    """One replay by instances: as many comparisons over the whole window, and its latency."""

    def panels(self) -> dict[str, dict[str, dict[int, float]]]:
        """What is drawn, by instances: quantity → series → values; without rates that are not sustained."""
        reached = {n: each for n, each in self.sustained.items() if not isnan(each.latency)}
        compared = {
            f"at full speed, WS {self.window} s": self.comparisons,
            f"by processor time, WS {self.window} s": self.computed,
        }
        return {
            "sustained tuples a second of each side": {
                f"WS {self.short} s": {n: each.rate for n, each in reached.items()}
            },
            "million comparisons a second": {
                label: {n: values[str(n)] / 1e6 for n in DEGREES} for label, values in compared.items()
            }
            | {
                f"at the sustained rate, WS {self.short} s": {
                    n: 2 * self.short * each.rate**2 / 1e6 for n, each in reached.items()
                }
            },
            "latency, ms": {
                "at the sustained rate": {n: 1e3 * each.latency for n, each in reached.items()}
            },
        }


def single_threaded(window: int, rate: int, seconds: int) -> float:
    """Comparisons a second of one thread that does nothing else."""
    join, streams = scale_join(window, shares=1), scale_join_streams()
    running = join.start()
    began = before = 0.0
    for at in range(window + seconds):
        if at == window:
            began, before = time.perf_counter(), running.store.comparisons  # type: ignore[attr-defined]
        PROGRESS.step(f"one thread, second {at} of {window + seconds}")
        times = at * SECOND + np.arange(rate) * SECOND // rate
        batches = enumerate(stream(times) for stream in streams.values())
        running.process(interleave(join.inputs, batches, watermark=(at + 1) * SECOND - 1))
    return float((running.store.comparisons - before) / (time.perf_counter() - began))  # type: ignore[attr-defined]


def measure(*, quick: bool, rounds: int) -> tuple[PaperTable, Joined]:
    window, rate, seconds = (6, 200, 2) if quick else (WINDOW, 400, 100)
    found, streams = Joined(window), scale_join_streams()
    found.comparisons["1T"] = single_threaded(window, rate, seconds)
    with setup(scale_join(window), 2, 2, sources=SOURCES, clock=time.thread_time) as elastic:
        fill(elastic, streams, rate=rate, begin=0, end=window * SECOND)
        at = window * SECOND
        for _ in range(1 if quick else rounds):
            for degree in DEGREES:
                switched(elastic, degree)
                rates = at_full_speed(elastic, streams, rate=rate, begin=at, seconds=seconds)
                for kept, each in zip((found.comparisons, found.computed), rates, strict=True):
                    kept[str(degree)] = max(each, kept.get(str(degree), 0.0))
                at += seconds * SECOND
    found.short, length, trials = (2, 1.0, 1) if quick else (SEARCHED, 10.0, TRIALS)
    for degree in DEGREES:
        reached = sustained_rate(degree, window=found.short, seconds=length, trials=trials)
        rate = reached.over(window, searched=found.short)
        replayed = at_rate(degree, rate, window=window, seconds=length)
        found.sustained[degree] = reached
        found.confirmed[degree] = Sustained(rate, replayed.latency(length / 2))
    return _table(found), found


def _confirmed(found: Joined) -> str:
    missed = [str(n) for n, each in found.confirmed.items() if not each.latency <= BOUND]
    kept = f"not sustained with {' and '.join(missed)}" if missed else "sustained as well"
    return f"{kept}; one replay each, and no search: its window takes a minute or two to fill"


def _table(found: Joined) -> PaperTable:
    table = PaperTable("stretch-3", f"Q3, ScaleJoin, WS {found.window} s")
    done, reached = found.comparisons, found.sustained
    compared = {n: 2 * found.short * each.rate**2 / 1e6 for n, each in reached.items()}
    table.add(
        "comparisons a second, million", paper="grows linearly with the instances, as ScaleJoin does",
        here=f"{done['1'] / 1e6:,.0f} with 1, {done['2'] / 1e6:,.0f} with 2",
        why="a batch is compared with a chunk of the window by one vectorised call",
    )  # fmt: skip
    table.add(
        "1 → 2 instances", paper="linear",
        here=f"{done['2'] / done['1']:.2f} ×; by processor time "
        f"{found.computed['2'] / found.computed['1']:.2f} ×",
        why="by the clock it needs both cores, which sender and reader use too",
    )  # fmt: skip
    table.add(
        "one instance against 1T", paper="similar", here=f"{done['1'] / done['1T']:.2f} ×",
        why="gates, threads and 4 shares instead of 1",
    )  # fmt: skip
    table.add(
        f"sustained, tuples a second of each side, WS {found.short} s", paper="not in the text",
        here=", ".join(f"{each.text} with {n}" for n, each in reached.items()),
        why=f"mean latency of {1e3 * BOUND:.0f} ms at most; searched over {found.short} s, "
        "because each trial fills its window first",
    )  # fmt: skip
    table.add(
        "comparisons a second of it, million", paper="what is compared at the sustained rate",
        here=", ".join(f"{each:,.0f} with {n}" for n, each in compared.items()),
        why="the rate is found within a tenth, and this is its square; "
        "to send every 5 ms and to read needs both cores, too",
    )  # fmt: skip
    table.add(
        "latency at it, ms", paper="about 10 more than ScaleJoin",
        here=", ".join(f"{1e3 * each.latency:.0f} with {n}" for n, each in reached.items()),
        why="mean of the replay's second half",
    )  # fmt: skip
    table.add(
        f"as many comparisons over WS {found.window} s: tuples a second of each side, latency",
        paper="the maximum that is sustained",
        here=", ".join(
            f"{each.rate:,.0f} with {n}: {1e3 * each.latency:,.0f} ms"
            for n, each in found.confirmed.items()
        ),
        why=_confirmed(found),
    )  # fmt: skip
    return table
