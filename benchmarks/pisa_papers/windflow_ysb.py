"""Figures 20 to 22 of the WindFlow paper: Yahoo's benchmark, throughput by workers, latency, one campaign.

    20   latency: from generating the last event of a window until the sink has its count
    21   throughput with 100 campaigns, a key farm
    22   throughput with one campaign: a key farm has one worker then, map-reduce has all

Throughput is that of a bounded run, from columns of events to counts. For the latency the events come as a
stream of batches, generated as fast as they are taken. One process keeps the windows of such a stream:
there is no degree to vary, as the paper does. Filter and join are a part of both.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np
import pyarrow as pa

import sash
from benchmarks.amta_paper.chart import Chart, Panel, Series
from benchmarks.amta_paper.measuring import ProgressPrinter
from benchmarks.harness import race
from benchmarks.paper_table import PaperTable
from examples import ysb
from sash.operators.patterns.declared import Pattern

BATCHES = (1_000, 10_000, 100_000)
CLOSINGS = 32
"""Ten seconds that end, for each size of a batch; the first of them compiles, and does not count."""
LATENCY_RATE = 10_000
"""Events per second of event time while latency is measured: each ten seconds have 100,000 events."""
PERCENTILES = {
    0: "quickest", 25: "25th percentile", 50: "median", 75: "75th percentile", 100: "slowest"
}  # fmt: skip
PATTERNS: dict[str, Pattern] = {
    "KF(1)": sash.KeyFarm(1),
    "KF(2)": sash.KeyFarm(2),
    "WMR(1, 1)": sash.WinMapReduce(1, 1),
    "WMR(2, 1)": sash.WinMapReduce(2, 1),
}


def counts(events: pa.Table, campaigns: pa.Table, pattern: Pattern) -> pa.Table:
    """What is timed for the throughput: filter, join and windows."""
    return ysb.query(events, campaigns).parallel(pattern).collect()


@dataclass(frozen=True)
class Latencies:
    seconds: list[float]
    """Of every window of every campaign, but for the first ten seconds."""
    closings: int


def latencies(events: pa.Table, campaigns: pa.Table, batch: int, *, rate: int) -> Latencies:
    generated: list[tuple[int, float]] = []

    def arriving() -> Iterator[pa.Table]:
        # Half a batch first: ten seconds then end within a batch, as they would with any other rate.
        cuts = [0, *range(batch // 2, events.num_rows, batch), events.num_rows]
        for begin, end in pairwise(cuts):
            rows = events.slice(begin, end - begin)
            generated.append((rows["event_time"][-1].value, time.perf_counter()))
            yield ysb.views(rows, campaigns)

    stream = sash.stream(arriving(), time="event_time", key="campaign_id")
    query = stream.window(sash.tumbling("10 seconds"), flush=False).agg(views=sash.count())
    found: dict[int, list[float]] = {}
    for result in query.flat().batches():
        now = time.perf_counter()
        ends = result.reports["window_end"].cast(pa.int64()).to_numpy()
        # The batch that has the last event of the window.
        last = np.searchsorted([newest for newest, _ in generated], ends - 1_000_000 // rate)
        for end, at in zip(ends.tolist(), last.tolist(), strict=True):
            found.setdefault(end, []).append(now - generated[at][1])
    counted = sorted(found)[1:]
    return Latencies([each for end in counted for each in found[end]], len(counted))


def run(*, quick: bool, progress: ProgressPrinter) -> Chart:
    events, rounds = (60_000, 1) if quick else (5_000_000, 3)
    rate, closings = (200, 4) if quick else (LATENCY_RATE, CLOSINGS)
    boxes: dict[str, Latencies] = {}
    campaigns = ysb.campaign_table(100)
    data = ysb.event_table((10 * closings + 5) * rate, campaigns, rate=rate)
    for batch in BATCHES[:2] if quick else BATCHES:
        progress.step(f"latency, batches of {batch:,}")
        boxes[f"{batch:,}"] = latencies(data, campaigns, batch, rate=rate)
    rate = 2_000 if quick else 100_000
    throughput = {}
    for title, many in (("100 campaigns", 100), ("one campaign", 1)):
        progress.step(f"throughput, {title}")
        table = ysb.campaign_table(many)
        columns = ysb.event_table(events, table, rate=rate)
        seconds = race(
            {name: partial(counts, columns, table, each) for name, each in PATTERNS.items()}, rounds=rounds
        )
        throughput[title] = {name: events / each for name, each in seconds.items()}
    lines = []
    for percentile, label in PERCENTILES.items():
        line = Series(label, joined=False)
        for batch, found in boxes.items():
            line.add(batch, 1e3 * float(np.percentile(found.seconds, percentile)))
        lines.append(line)
    bars = [
        Series(title, list(found), [each / 1e6 for each in found.values()], joined=False)
        for title, found in throughput.items()
    ]
    panels = [
        Panel("figure 20: latency", "events in a batch", "latency, ms", lines, powers_of_two=False),
        Panel(
            "figures 21 and 22", "pattern (workers)", "million events a second", bars, powers_of_two=False
        ),
    ]
    return Chart(
        "windflow-2-ysb",
        "Yahoo's streaming benchmark",
        panels,
        {"events": events, "closings": {batch: found.closings for batch, found in boxes.items()}},
        _table(boxes, throughput),
    )


def _table(boxes: dict[str, Latencies], throughput: dict[str, dict[str, float]]) -> PaperTable:
    table = PaperTable("windflow-2", "YSB, figures 20 to 22")
    for batch, found in boxes.items():
        low, middle, high = 1e3 * np.percentile(found.seconds, (0, 50, 100))
        table.add(
            f"20: latency with batches of {batch}, ms",
            paper="a few; Flink and Storm hundreds or thousands",
            here=f"{middle:.1f} ({low:.1f} to {high:.1f}), {found.closings} closings of 100 windows",
            why="no pattern: one process keeps the windows of a stream of tables; a report of 100 windows "
            "costs the same with any batch; before it the last event's batch is filtered, joined, folded",
        )  # fmt: skip
    many, one = throughput["100 campaigns"], throughput["one campaign"]
    table.add(
        "21: 100 campaigns, million events a second", paper="some 30, more than 3 × Flink",
        here=f"{many['KF(1)'] / 1e6:.0f} with KF(1), {many['KF(2)'] / 1e6:.0f} with KF(2)",
        why="columns instead of tuples; filter and join by one thread; Flink: `make bench`",
    )  # fmt: skip
    table.add(
        "21: 1 → 2 workers", paper="not in the text",
        here=f"{many['KF(2)'] / many['KF(1)']:.2f} ×",
        why="workers share the windows; one thread filters and joins before",
    )  # fmt: skip
    table.add(
        "22: one campaign, KF(2) against KF(1)", paper="no gain",
        here=f"{one['KF(2)'] / one['KF(1)']:.2f} ×",
        why="one key, one worker; both times have filter and join",
    )  # fmt: skip
    table.add(
        "22: one campaign, WMR(2, 1) against KF(2)", paper="as with 100 campaigns",
        here=f"{one['WMR(2, 1)'] / one['KF(2)']:.2f} ×; "
        f"{one['WMR(2, 1)'] / one['WMR(1, 1)']:.2f} × against WMR(1, 1)",
        why="map-reduce also folds before it sorts; all times have filter and join",
    )  # fmt: skip
    return table
