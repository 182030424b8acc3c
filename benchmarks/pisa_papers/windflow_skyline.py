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
difference has neither. Of each run the best of three counts.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

import sash
from benchmarks.amta_paper.chart import Chart, Panel, Series
from benchmarks.amta_paper.measuring import ProgressPrinter, require_same
from benchmarks.paper_table import PaperTable
from benchmarks.pisa_papers.skyline_function import Points, skyline, union
from sash.aggregation.monoid import Monoid
from sash.api.stream import Windowed

FEATURES = tuple("abcdef")
RATE, NOISE = 300_000, 0.12
SLIDE = 0.01
FULL = 99
"""How many windows come before the first full one."""
ROUNDS = 3
LOOSE = 512
"""Points that are kept as they come: a skyline is not computed again for each packet."""
Found = Points | tuple[tuple[float, ...], ...]
"""A skyline, or fewer points than LOOSE of which some may not be in it."""


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


def lifted(*point: float) -> Found:
    return (point,)


def merged(a: Found, b: Found) -> Found:
    if isinstance(a, tuple) and isinstance(b, tuple) and len(a) + len(b) < LOOSE:
        return a + b
    both = union(cleaned(a), cleaned(b))
    # Further packets cost less beside points as they come.
    return tuple(map(tuple, both.tolist())) if len(both) < LOOSE // 2 else both


def cleaned(found: Found) -> Points:
    return skyline(np.array(found).reshape(-1, len(FEATURES))) if isinstance(found, tuple) else found


def size(found: Found) -> int:
    return len(cleaned(found))


SKYLINE = Monoid(
    "skyline", FEATURES, tuple, lifted, merged, size, commutative=True,
    encode=lambda found: cleaned(found).tobytes(),
    decode=lambda data: np.frombuffer(data).reshape(-1, len(FEATURES)),
    result=lambda types: pa.int64(),
)  # fmt: skip


@dataclass(frozen=True)
class SkylineSizes:
    """How many full windows the runs of the two families have: `few`, and `many` for the clock."""

    rate: int
    few: int
    by_packets: int
    by_panes: int
    rounds: int


FULL_RUN = SkylineSizes(RATE, few=30, by_packets=130, by_panes=330, rounds=ROUNDS)
QUICK_RUN = SkylineSizes(2_000, few=2, by_packets=4, by_panes=5, rounds=1)

Run = Callable[[int], tuple[float, list[int]]]
"""Number of full windows → seconds, and the sizes of their skylines."""


def of_full_windows(run: Run, few: int, many: int, sizes: SkylineSizes) -> tuple[float, list[int]]:
    """Packets a second, and the sizes of the skylines of `many` full windows."""
    seconds, found = dict.fromkeys((few, many), float("inf")), list[int]()
    for _ in range(sizes.rounds):
        for windows in seconds:
            taken, found = run(windows)
            seconds[windows] = min(seconds[windows], taken)
    # With --quick two runs may take the same time.
    difference = max(seconds[many] - seconds[few], 1e-3)
    return (many - few) * SLIDE * sizes.rate / difference, found


def windows_of(rate: int, windows: int) -> Windowed:
    """Packets for so many full windows."""
    sliding = sash.sliding("1 second", every="10 milliseconds")
    data = packets(1 + SLIDE * (windows - 0.5), rate=rate)
    return sash.stream(data, time="time").window(sliding, flush=False)


def from_packets(pattern: Any, rate: int, windows: int) -> tuple[float, list[int]]:
    """WF."""
    function = partial(whole, int(0.995 * rate))
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
    farms: dict[str, float] = {}
    large: list[int] = []
    for n in (1, 2):
        progress.step(f"WF({n})")
        run_farm = partial(from_packets, sash.WinFarm(n), rate)
        farms[f"WF({n})"], large = of_full_windows(run_farm, few, chosen.by_packets, chosen)
    nested = {
        "PF(1, 1)": sash.PaneFarm(1, 1),
        "PF(1, 2)": sash.PaneFarm(1, 2),
        "WF(PF(1, 1), 2)": sash.WinFarm(sash.PaneFarm(1, 1), replicas=2),
        "WF(PF(1, 2), 2)": sash.WinFarm(sash.PaneFarm(1, 2), replicas=2),
    }
    for name, pattern in nested.items():
        progress.step(name)
        run_farm = partial(from_panes, pattern, rate)
        farms[name], found = of_full_windows(run_farm, few, chosen.by_panes, chosen)
        # Both streams begin with the same packets, so that their first full windows are the same.
        both = min(len(found), len(large))
        require_same(f"{name}, sizes of skylines", found[:both], large[:both])
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
        },
        _table(farms, sizes, chosen),
    )  # fmt: skip


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
        here=f"{farms['PF(1, 1)'] / farms['WF(2)']:.1f} × (PF(1, 1) against WF(2))",
        why=f"packets are lifted one by one in Python; {counted}",
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
