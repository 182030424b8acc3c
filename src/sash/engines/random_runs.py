"""Random runs with keys and disorder.

    watermark   30 30 34 36         after each event, of every run of a family
    one run     30 27 34 36         delay 0
    another     33 33 37 39         delay 3

Events are drawn one after the other: mostly ahead of the newest so far, sometimes behind it. The delay of a
run covers all of its disorder, some, or none, so that some events are late. The runs of a family have the
same watermark after every event, so that they can share a stream, whose clock a further event moves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby, pairwise
from random import Random

from sash.engines.probe_run import ProbeRun, Windowing

KEYS = "abc"
FIRST = 30
"""Watermarks stay above 0, which is the least that a table of PyFlink and Spark's streams have."""
FAMILY = 24
"""Runs of a family; a third as many kinds and sizes of windows serve them."""
LONGEST = 10
"""Of the delays."""


def family(source: Random, kinds: Sequence[Windowing], *, count: int = FAMILY) -> list[ProbeRun]:
    """Runs of a few events and keys, with the same watermark after every event."""
    marks = [FIRST]
    for _ in range(source.randint(2, 11)):
        ahead = source.choice((0, 1, 1, 2, 3, source.randint(4, 20))) if source.random() < 0.65 else 0
        marks.append(marks[-1] + ahead)
    shapes = [_shape(source, kinds) for _ in range(-(count // -3))]
    return [_run(source, marks, *source.choice(shapes)) for _ in range(count)]


def wide_family(source: Random, *, count: int = FAMILY) -> list[ProbeRun]:
    """Runs of what only Flink has of the live engines: count windows of keys, gaps between time windows,
    and windows that take late events after they were reported."""
    return [_widened(source, run) for run in family(source, ("time",), count=count)]


def late_family(source: Random, *, count: int = FAMILY) -> list[ProbeRun]:
    """Runs of time windows of which most take late events after they were reported."""
    runs = family(source, ("time",), count=count)
    return [replace(run, lateness=source.choice((0, 1, 2, 5))) for run in runs]


def _widened(source: Random, run: ProbeRun) -> ProbeRun:
    if source.random() < 1 / 3:
        return replace(run, kind="count", size=source.randint(1, 4), slide=source.randint(1, 5))
    slide = run.size + source.randint(1, 4) if source.random() < 0.5 else run.slide
    return replace(run, slide=slide, lateness=source.choice((0, 2, 5)))


def _shape(source: Random, kinds: Sequence[Windowing]) -> tuple[Windowing, int, int]:
    kind, size = source.choice(kinds), source.randint(1, 8)
    slide = size if source.random() < 0.4 else source.randint(1, size)
    return kind, size, slide if kind == "time" else 1


def _run(source: Random, marks: Sequence[int], kind: Windowing, size: int, slide: int) -> ProbeRun:
    delay = source.choice((0, 0, 3, LONGEST))
    times = [marks[0] + delay]
    for before, mark in pairwise(marks):
        behind = source.randint(0, 10) if mark == before else 0
        times.append(mark + delay - behind)
    keys = tuple(source.choice(KEYS) for _ in times)
    return ProbeRun(times=tuple(times), size=size, slide=slide, kind=kind, delay=delay, keys=keys)


def families(runs: Sequence[ProbeRun]) -> list[list[ProbeRun]]:
    """Runs that can share a stream, with those that follow each other.

    >>> one, two = ProbeRun(times=(30, 34), size=1), ProbeRun(times=(33, 37), size=1, delay=3)
    >>> [len(some) for some in families([one, two, ProbeRun(times=(30, 35), size=1)])]
    [2, 1]
    """
    return [list(some) for _, some in groupby(runs, key=ProbeRun.watermarks)]
