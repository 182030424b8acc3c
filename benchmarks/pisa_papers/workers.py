"""Scaling by workers: one key, so that only patterns that split windows can gain.

speed-up of n workers  =  time of one worker / time of n,      of the same pattern
"""

from __future__ import annotations

import os
from collections.abc import Callable

import sash
from benchmarks.amta_paper.chart import Chart, Panel, Series
from benchmarks.amta_paper.measuring import ProgressPrinter
from benchmarks.harness import race
from benchmarks.patterns import fits, sums
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


def run(*, quick: bool, progress: ProgressPrinter) -> Chart:
    events = {"fits": 2_000 if quick else 40_000, "sums": 20_000 if quick else 2_000_000}
    panels = [
        _panel("Levenberg-Marquardt fit of each window: processes", fits(events["fits"]), FARMS, quick),
        _panel("sum and deviation of sliding windows: threads", sums(events["sums"]), FOLDING, quick),
    ]
    cores = os.cpu_count()
    return Chart("patterns-1-workers", f"One key, n workers, {cores} cores", panels, {"events": events})


def _panel(
    title: str, query: sash.WindowQuery, patterns: dict[str, Callable[[int], Pattern]], quick: bool
) -> Panel:
    ideal = Series("as many times as cores", dashed=True, style="reference")
    for degree in DEGREES:
        ideal.add(str(degree), min(degree, os.cpu_count() or 1))
    # All of them take turns: what other programs do meanwhile then disturbs every line alike.
    rounds = 1 if quick else 3
    queries = {(label, n): query.parallel(of(n)) for label, of in patterns.items() for n in DEGREES}
    seconds = race({f"{label} {n}": each.collect for (label, n), each in queries.items()}, rounds=rounds)
    lines = {label: Series(label) for label in patterns}
    for label, n in queries:
        lines[label].add(str(n), seconds[f"{label} 1"] / seconds[f"{label} {n}"])
    return Panel(
        title, "workers", "speed-up", [*lines.values(), ideal], powers_of_two=False, logarithmic=False
    )
