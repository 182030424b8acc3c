"""Patterns against each other: many keys, one key, and windows that share most of what they compute."""

from __future__ import annotations

import sash
from benchmarks.amta_paper.chart import Chart, Panel, Series
from benchmarks.amta_paper.measuring import ProgressPrinter
from benchmarks.harness import race
from benchmarks.patterns import skylines
from examples import ysb
from sash.operators.patterns.declared import Pattern

PATTERNS: dict[str, tuple[str, Pattern]] = {
    "1": ("one worker", sash.WinSeq()),
    "KF": ("key farm 2", sash.KeyFarm(2)),
    "WF": ("window farm 2", sash.WinFarm(2)),
    "PF": ("pane farm 1 + 1", sash.PaneFarm(1, 1)),
    "WF(PF)": ("window farm of 2 pane farms", sash.WinFarm(sash.PaneFarm(1, 1), replicas=2)),
    "MR": ("map-reduce 2 + 1", sash.WinMapReduce(2, 1)),
}


def run(*, quick: bool, progress: ProgressPrinter) -> Chart:
    events = {"views": 30_000 if quick else 6_000_000, "packets": 200 if quick else 5_000}
    rounds = 1 if quick else 4
    panels = [
        _panel("YSB, 100 campaigns", _views(events["views"], 100), rounds),
        _panel("YSB, one campaign", _views(events["views"], 1), rounds),
        _panel("skyline, 1 s / 10 ms", skylines(events["packets"]), rounds),
    ]
    return Chart("patterns-3-patterns", "The same query under six patterns", panels, {"events": events})


def _views(events: int, campaigns: int) -> sash.WindowQuery:
    table = ysb.campaign_table(campaigns)
    return ysb.query(ysb.event_table(events, table), table)


def _panel(title: str, query: sash.WindowQuery, rounds: int) -> Panel:
    queries = {short: query.parallel(pattern) for short, (_, pattern) in PATTERNS.items()}
    seconds = race({short: each.collect for short, each in queries.items()}, rounds=rounds)
    lines = []
    for short, spent in seconds.items():
        point = Series(PATTERNS[short][0], joined=False)
        point.add(short, 1e3 * spent)
        lines.append(point)
    return Panel(title, "pattern", "milliseconds", lines, powers_of_two=False, logarithmic=False)
