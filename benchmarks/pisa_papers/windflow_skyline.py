"""Figures 15 to 18 of the WindFlow paper: the skyline of the last second of packets, every 10 ms.

300,000 packets a second with six features, so that a window has 300,000 and a pane of 10 ms 3,000 of them;
features go together so far that 4 % of a pane are in its skyline, as in the paper.

    15   WF(n)            each window from its packets              (`.apply` in worker processes)
    16   PF(1, m)         panes of 10 ms, windows from panes        (a monoid over skylines)
    17   longer panes     how large their skylines are: replicas of WF(PF(1, 1), n) have them in the paper
    18   nested forms against each other: here replicas share panes of 10 ms

Throughput is packets a second that full windows take: each of them stands for the 3,000 packets of 10 ms.

    rate  =  packets of (many − few) windows / (seconds of a run with `many` full ones − with `few`)

Both runs start processes and fill the first window, with 99 windows before it that are not full; the
difference has neither. All forms take turns after a round that warms up, and of each run the best of three
counts.

Judged, at this size, are forms with two workers where windows are computed:

    PF(1, 2) against WF(2)                           5 ×: WF by the compiled skyline of a window's packets
    PF(1, 2) against WF(2) by the same monoid        5 ×: WF folds the packets of a window, in 100 pieces
    the better WF(PF) against the better PF          1 ×, less 3 % that two runs may differ by
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial, reduce
from itertools import starmap
from typing import Any

import numpy as np
import pyarrow as pa

import sash
from benchmarks.amta_paper.chart import Chart, Panel, Series
from benchmarks.amta_paper.measuring import ProgressPrinter, require_same
from benchmarks.harness import Table
from benchmarks.paper_table import PaperTable
from benchmarks.pisa_papers.skyline_function import Points, skyline
from benchmarks.pisa_papers.skyline_monoid import FEATURES, SKYLINE
from sash.api.stream import Windowed

RATE, NOISE = 300_000, 0.12
SLIDE = 0.01
BY_MONOID = "WF(2) by the monoid"
FULL = 99
"""How many windows come before the first full one."""
ROUNDS = 3
PANES, NESTED = 1 / 5, 1.03
"""Of the time of whole windows, and of a farm of panes alone: what is promised."""


def packets(seconds: float, *, rate: int, seed: int = 2) -> pa.Table:
    """The first packets are the same, however many there are."""
    n = int(seconds * rate)
    load = np.random.default_rng(seed).random(n)
    noise = np.random.default_rng(seed + 1).normal(0.0, NOISE, (n, len(FEATURES)))
    times = np.arange(n) * 1_000_000 // rate
    columns = {name: load + noise[:, at] for at, name in enumerate(FEATURES)}
    return pa.table({"time": pa.array(times, pa.timestamp("us")), **columns})


def points(rows: pa.Table) -> Points:
    return np.column_stack([rows[name].to_numpy() for name in FEATURES])


def whole(full: int, rows: pa.Table) -> dict[str, Any]:
    return {"points": None if rows.num_rows < full else len(skyline(points(rows)))}


def whole_by_monoid(full: int, rows: pa.Table) -> dict[str, Any]:
    """A window's packets in pieces as large as panes: one packet after the other would cost it ten times
    as much, since packets are cheap only beside few points."""
    if rows.num_rows < full:
        return {"points": None}
    columns = [rows[name].to_pylist() for name in FEATURES]
    packets, piece = list(zip(*columns, strict=True)), max(1, rows.num_rows // (FULL + 1))
    pieces = (
        reduce(SKYLINE.combine, starmap(SKYLINE.lift, packets[begin : begin + piece]))
        for begin in range(0, len(packets), piece)
    )
    return {"points": SKYLINE.lower(reduce(SKYLINE.combine, pieces))}


@dataclass(frozen=True)
class SkylineSizes:
    """How many full windows the runs of the three families have: `few`, and more for the clock."""

    rate: int
    few: int
    by_packets: int
    by_panes: int
    few_by_monoid: int
    by_monoid: int
    rounds: int


FULL_RUN = SkylineSizes(
    RATE, few=30, by_packets=130, by_panes=330, few_by_monoid=4, by_monoid=24, rounds=ROUNDS
)
QUICK_RUN = SkylineSizes(2_000, few=2, by_packets=4, by_panes=5, few_by_monoid=2, by_monoid=4, rounds=1)

Run = Callable[[int], tuple[float, list[int]]]
"""Number of full windows → seconds, and the sizes of their skylines."""


@dataclass(frozen=True)
class FullWindows:
    """A form, and of how many full windows the difference is taken."""

    run: Run
    few: int
    many: int

    def rate(self, seconds: dict[int, float], rate: int) -> float:
        """Packets a second."""
        # With --quick two runs may take the same time.
        difference = max(seconds[self.many] - seconds[self.few], 1e-3)
        return (self.many - self.few) * SLIDE * rate / difference


def in_turns(
    forms: dict[str, FullWindows], sizes: SkylineSizes, progress: ProgressPrinter
) -> tuple[dict[str, float], dict[str, list[int]]]:
    """Packets a second of each form, and the sizes of the skylines of its full windows."""
    seconds = {name: dict.fromkeys((form.few, form.many), float("inf")) for name, form in forms.items()}
    found: dict[str, list[int]] = {}
    for turn in range(sizes.rounds + 1):
        for name, form in forms.items():
            progress.step(f"round {turn} of {sizes.rounds}, {name}")
            if not turn:
                form.run(form.few)
                continue
            for windows, least in seconds[name].items():
                taken, found[name] = form.run(windows)
                seconds[name][windows] = min(least, taken)
    return {name: form.rate(seconds[name], sizes.rate) for name, form in forms.items()}, found


def windows_of(rate: int, windows: int) -> Windowed:
    """Packets for so many full windows."""
    sliding = sash.sliding("1 second", every="10 milliseconds")
    data = packets(1 + SLIDE * (windows - 0.5), rate=rate)
    return sash.stream(data, time="time").window(sliding, flush=False)


def from_packets(
    pattern: Any, rate: int, windows: int, *, computed: Callable[[int, pa.Table], dict[str, Any]] = whole
) -> tuple[float, list[int]]:
    """WF."""
    function = partial(computed, int(0.995 * rate))
    farm = windows_of(rate, windows).apply(function, schema="points bigint").parallel(pattern)
    begin = time.perf_counter()
    found = farm.collect()["points"].drop_null()
    return time.perf_counter() - begin, found.to_pylist()


def from_panes(pattern: Any, rate: int, windows: int) -> tuple[float, list[int]]:
    """PF, alone and inside WF."""
    farm = windows_of(rate, windows).agg(points=SKYLINE).parallel(pattern)
    begin = time.perf_counter()
    found = farm.collect()["points"]
    return time.perf_counter() - begin, found[FULL:].to_pylist()


def pane_sizes(*, rate: int, lengths: tuple[int, ...]) -> Series:
    """Figure 17, left: points in the skyline of a pane, by its length in ms."""
    series, data = Series("skyline of a pane"), packets(0.4, rate=rate)
    for length in lengths:
        tumbling = sash.stream(data, time="time").window(sash.tumbling(f"{length} milliseconds"))
        panes = tumbling.apply(partial(whole, 0), schema="points bigint").collect()
        found = panes["points"].to_numpy()
        series.add(str(length), float(found.mean()))
    return series


def run(*, quick: bool, progress: ProgressPrinter) -> Chart:
    chosen = QUICK_RUN if quick else FULL_RUN
    rate, few = chosen.rate, chosen.few
    forms = {
        f"WF({n})": FullWindows(partial(from_packets, sash.WinFarm(n), rate), few, chosen.by_packets)
        for n in (1, 2)
    }
    nested = {
        "PF(1, 1)": sash.PaneFarm(1, 1),
        "PF(1, 2)": sash.PaneFarm(1, 2),
        "WF(PF(1, 1), 2)": sash.WinFarm(sash.PaneFarm(1, 1), replicas=2),
        "WF(PF(1, 2), 2)": sash.WinFarm(sash.PaneFarm(1, 2), replicas=2),
    }
    forms |= {
        name: FullWindows(partial(from_panes, pattern, rate), few, chosen.by_panes)
        for name, pattern in nested.items()
    }
    forms[BY_MONOID] = FullWindows(
        partial(from_packets, sash.WinFarm(2), rate, computed=whole_by_monoid),
        chosen.few_by_monoid, chosen.by_monoid,
    )  # fmt: skip
    farms, found = in_turns(forms, chosen, progress)
    large = found["WF(2)"]
    for name in (*nested, BY_MONOID):
        # All streams begin with the same packets, so that their first full windows are the same.
        both = min(len(found[name]), len(large))
        require_same(f"{name}, sizes of skylines", found[name][:both], large[:both])
    sizes = pane_sizes(rate=rate, lengths=(10, 20, 50, 100))
    throughput = [Series(name, joined=False) for name in farms]
    for series, (name, value) in zip(throughput, farms.items(), strict=True):
        series.add(name, value)
    panels = [
        Panel("figures 15 to 18", "pattern (workers)", "packets a second", throughput, powers_of_two=False),
        Panel("figure 17, left", "pane, ms", "points in its skyline", [sizes], powers_of_two=False),
    ]
    return Chart(
        "windflow-1-skyline", "Skylines of the last second, every 10 ms", panels,
        {
            "rate": rate, "few full windows": few, "rounds": chosen.rounds,
            "full windows of WF": chosen.by_packets, "full windows of PF": chosen.by_panes,
            "full windows of WF by the monoid": chosen.by_monoid,
        },
        _table(farms, sizes, chosen),
        _judged(farms, rate),
    )  # fmt: skip


def _judged(farms: dict[str, float], rate: int) -> Table:
    """Seconds are those of one more window."""
    table = Table(f"skyline, windows of {rate:,} packets: time of a window", "the other")
    table.start()
    seconds = {name: SLIDE * rate / packets for name, packets in farms.items()}
    for other in ("WF(2)", BY_MONOID):
        ratio = seconds["PF(1, 2)"] / seconds[other]
        table.add(f"PF(1, 2) against {other}", seconds["PF(1, 2)"], ratio, limit=PANES)
    alone = min(each for name, each in seconds.items() if name.startswith("PF"))
    inside = min(each for name, each in seconds.items() if name.startswith("WF(PF"))
    table.add("the better WF(PF) against the better PF", inside, inside / alone, limit=NESTED)
    return table


def _table(farms: dict[str, float], sizes: Series, chosen: SkylineSizes) -> PaperTable:
    counted = f"full windows {chosen.few} to {chosen.by_packets} of WF, to {chosen.by_panes} of PF"
    table = PaperTable("windflow-1", "skyline, figures 15 to 18")
    table.add(
        "15: WF(1), packets a second", paper="650; 33,000 with WF(60)", here=f"{farms['WF(1)']:,.0f}",
        why="other algorithm (sorted by sum, not BSkyTree), other processor (not a KNL)",
    )  # fmt: skip
    table.add(
        "15: 1 → 2 workers", paper="roughly ideal; 52 × with 60",
        here=f"{farms['WF(2)'] / farms['WF(1)']:.2f} ×",
        why="needs both cores free",
    )  # fmt: skip
    table.add(
        "16: PF against WF of the same degree", paper="up to 5 × with 60",
        here=f"{farms['PF(1, 2)'] / farms['WF(2)']:.1f} × (PF(1, 2) against WF(2)), "
        f"{farms['PF(1, 1)'] / farms['WF(2)']:.1f} × with PF(1, 1)",
        why=f"packets are lifted one by one in Python; {counted}",
    )  # fmt: skip
    table.add(
        "16: PF(1, 2) against WF(2) by the monoid of PF", paper="one skyline for both",
        here=f"{farms['PF(1, 2)'] / farms[BY_MONOID]:.1f} ×",
        why=f"WF lifts and combines the packets of each window; full windows {chosen.few_by_monoid} to "
        f"{chosen.by_monoid}",
    )  # fmt: skip
    table.add(
        "16: PF(1, 1) → PF(1, 2)", paper="close to ideal",
        here=f"{farms['PF(1, 2)'] / farms['PF(1, 1)']:.2f} ×",
        why="one process lifts packets and folds panes, and only then two fold windows",
    )  # fmt: skip
    table.add(
        "17: packets in the skyline of a pane", paper="4 %; 25 % more points for 20 ms",
        here=f"{100 * sizes.ys[0] / (SLIDE * chosen.rate):.1f} %; "
        f"{100 * (sizes.ys[1] / sizes.ys[0] - 1):.0f} % more",
        why="drawn features",
    )  # fmt: skip
    table.add(
        "18: WF(PF(1, 1), 2), WF(PF(1, 2), 2) against PF(1, 2)",
        paper="WF(PF(2, 3), 10) 1.35 × PF on all cores",
        here=", ".join(f"{farms[f'WF(PF(1, {m}), 2)'] / farms['PF(1, 2)']:.2f} ×" for m in (1, 2)),
        why="replicas share panes, in no more processes than there are cores",
    )  # fmt: skip
    return table
