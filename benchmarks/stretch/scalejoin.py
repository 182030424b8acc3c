"""Q3: the ScaleJoin benchmark, comparisons a second and sustained rates with one and two instances.

A window of five minutes is filled once, at a lower rate than is sustained (to fill it at that one would
take minutes of comparing). Then event time runs as fast as the instances do, with one and with two of them
in turn: comparisons a second follow, and from them the sustained rate. The same by the processor time of
the busiest instance shows how the work is cut, also where other programs have the cores. The latency is
that of a replay in real time at seven tenths of the rate, over windows of 20 seconds that were filled
before. *1T* is the same join without gates and threads.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import numpy as np

from benchmarks.paper_table import PaperTable
from benchmarks.stretch.joining import (
    SECOND,
    SOURCES,
    Draw,
    compared,
    fill,
    replay,
    scale_join,
    scale_join_streams,
    sustained,
    switched,
)
from sash.operators import ElasticOperator, setup
from sash.operators.order.interleaved import interleave

WINDOW, SHORT = 300, 20
DEGREES = (1, 2)


@dataclass
class Joined:
    window: int
    comparisons: dict[str, float] = field(default_factory=dict)
    """A second, by contender."""
    computed: dict[str, float] = field(default_factory=dict)
    """The same, by a second of the busiest instance's processor time."""
    latencies: dict[int, float] = field(default_factory=dict)

    def rate(self, contender: str) -> float:
        return sustained(self.comparisons[contender], self.window)


def single_threaded(window: int, rate: int, seconds: int) -> float:
    """Comparisons a second of one thread that does nothing else."""
    join, streams = scale_join(window, shares=1), scale_join_streams()
    running = join.start()
    began = before = 0.0
    for at in range(window + seconds):
        if at == window:
            began, before = time.perf_counter(), running.store.comparisons  # type: ignore[attr-defined]
        times = at * SECOND + np.arange(rate) * SECOND // rate
        batches = enumerate(stream(times) for stream in streams.values())
        running.process(interleave(join.inputs, batches, watermark=(at + 1) * SECOND - 1))
    return float((running.store.comparisons - before) / (time.perf_counter() - began))  # type: ignore[attr-defined]


def at_full_speed(
    elastic: ElasticOperator, streams: dict[str, Draw], *, rate: float, begin: int, seconds: int
) -> tuple[float, float]:
    """Comparisons a second, and by a second of what the busiest instance has measured as its work."""
    began, before, worked = time.perf_counter(), compared(elastic), list(elastic.meter.busy)
    fill(elastic, streams, rate=rate, begin=begin, end=begin + seconds * SECOND)
    done = compared(elastic) - before
    busiest = max(now - then for now, then in zip(elastic.meter.busy, worked, strict=True))
    return done / (time.perf_counter() - began), done / busiest


def latency(degree: int, comparisons: float, *, window: int, seconds: float) -> float:
    rate, streams = 0.7 * sustained(comparisons, window), scale_join_streams()
    with setup(scale_join(window), degree, degree, sources=SOURCES) as elastic:
        fill(elastic, streams, rate=rate, begin=0, end=window * SECOND)
        return replay(
            elastic, streams, seconds=seconds, rate=lambda now: rate, offset=window * SECOND
        ).latency()


def measure(*, quick: bool, rounds: int) -> tuple[PaperTable, Joined]:
    window, rate, seconds = (6, 200, 2) if quick else (WINDOW, 400, 10)
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
    short, length = (2, 1.0) if quick else (SHORT, 20.0)
    for degree in DEGREES:
        found.latencies[degree] = latency(
            degree, found.comparisons[str(degree)], window=short, seconds=length
        )
    return _table(found), found


def _table(found: Joined) -> PaperTable:
    table = PaperTable("stretch-3", f"Q3, ScaleJoin, WS {found.window} s")
    done, late = found.comparisons, found.latencies
    table.add(
        "comparisons a second, million", paper="grows linearly with the instances, as ScaleJoin does",
        here=f"{done['1'] / 1e6:,.0f} with 1, {done['2'] / 1e6:,.0f} with 2",
        why="a batch is compared with a chunk of the window by one vectorised call",
    )  # fmt: skip
    table.add(
        "1 → 2 instances", paper="linear",
        here=f"{done['2'] / done['1']:.2f} ×; by processor time "
        f"{found.computed['2'] / found.computed['1']:.2f} ×",
        why="by the clock it needs both cores free; other programs used them",
    )  # fmt: skip
    table.add(
        "one instance against 1T", paper="similar", here=f"{done['1'] / done['1T']:.2f} ×",
        why="gates, threads and 4 shares instead of 1",
    )  # fmt: skip
    table.add(
        "sustained, tuples a second of each side", paper="not in the text",
        here=f"{found.rate('1'):,.0f} with 1, {found.rate('2'):,.0f} with 2", why="√ of the comparisons",
    )  # fmt: skip
    table.add(
        "latency at 70 % of it, ms", paper="about 10 more than ScaleJoin",
        here=f"{1e3 * late[1]:.0f} with 1, {1e3 * late[2]:.0f} with 2",
        why=f"windows of {SHORT} s there; tuples are sent every 5 ms",
    )  # fmt: skip
    return table
