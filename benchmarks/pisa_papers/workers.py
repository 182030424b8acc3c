"""Scaling by workers: one key, so that only patterns that split windows can gain.

speed-up of n workers  =  time of one worker / time of n,      of the same pattern
"""

from __future__ import annotations

import os
from collections.abc import Callable

import sash
from benchmarks.amta_paper.chart import Chart, Panel, Series
from benchmarks.amta_paper.measuring import Progress
from benchmarks.harness import race
from benchmarks.patterns import fits, sums
from sash.api.query import WindowQuery
from sash.operators.patterns.declared import Pattern

DEGREES = (1, 2, 3, 4)
FARMS: dict[str, Callable[[int], Pattern]] = {
    "window farm, active": lambda n: sash.WinFarm(n),
    "window farm, agnostic": lambda n: sash.WinFarm(n, model="agnostic"),
}
FOLDING: dict[str, Callable[[int], Pattern]] = FARMS | {
    "pane farm n + n": lambda n: sash.PaneFarm(n, n),
    "map-reduce n + n": lambda n: sash.WinMapReduce(n, n),
}


def run(*, quick: bool, progress: Progress) -> Chart:
    events = {"fits": 2_000 if quick else 40_000, "sums": 20_000 if quick else 2_000_000}
    panels = [
        _panel("Levenberg-Marquardt fit of each window: processes", fits(events["fits"]), FARMS, quick),
        _panel("sum and deviation of sliding windows: threads", sums(events["sums"]), FOLDING, quick),
    ]
    cores = os.cpu_count()
    return Chart("patterns-1-workers", f"One key, n workers, {cores} cores", panels, {"events": events})


def _panel(
    title: str, query: WindowQuery, patterns: dict[str, Callable[[int], Pattern]], quick: bool
) -> Panel:
    ideal = Series("as many times as cores", dashed=True, style="reference")
    for degree in DEGREES:
        ideal.add(str(degree), min(degree, os.cpu_count() or 1))
    lines = []
    for label, pattern in patterns.items():
        queries = {degree: query.parallel(pattern(degree)) for degree in DEGREES}
        runs = {str(degree): each.collect for degree, each in queries.items()}
        seconds = race(runs, rounds=1 if quick else 4)
        line = Series(label)
        for degree, spent in seconds.items():
            line.add(degree, seconds["1"] / spent)
        lines.append(line)
    return Panel(title, "workers", "speed-up", [*lines, ideal], powers_of_two=False, logarithmic=False)
