"""Figures 20 to 22 of the WindFlow paper: Yahoo's benchmark, throughput by workers, latency, one campaign.

    20   latency: from generating the last event of a window until the sink has its count
    21   throughput with 100 campaigns, a key farm
    22   throughput with one campaign: a key farm has one worker then, map-reduce has all

Throughput is that of a bounded run, from columns of events to counts. For the latency the events come as a
stream of batches, generated as fast as they are taken. Filter and join are a part of both.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial

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


def latencies(events: pa.Table, campaigns: pa.Table, batch: int) -> list[float]:
    """Seconds, of every window of every campaign that a batch has closed."""
    generated: list[tuple[int, float]] = []

    def arriving() -> Iterator[pa.Table]:
        for at in range(0, events.num_rows, batch):
            rows = events.slice(at, batch)
            generated.append((rows["event_time"][-1].value, time.perf_counter()))
            yield ysb.views(rows, campaigns)

    stream = sash.stream(arriving(), time="event_time", key="campaign_id")
    query = stream.window(sash.tumbling("10 seconds"), flush=False).agg(views=sash.count())
    found: list[float] = []
    for result in query.flat().batches():
        now = time.perf_counter()
        ends = result.reports["window_end"].cast(pa.int64()).to_numpy()
        # The last event of a window is in the first batch that reaches beyond it, or in the one before.
        reached = np.searchsorted([time_ for time_, _ in generated], ends - 1)
        found += [now - generated[at][1] for at in reached.tolist()]
    return found


def run(*, quick: bool, progress: ProgressPrinter) -> Chart:
    events, rounds = (60_000, 1) if quick else (5_000_000, 3)
    rate = 2_000 if quick else 100_000
    boxes: dict[str, list[float]] = {}
    campaigns = ysb.campaign_table(100)
    data = ysb.event_table(events, campaigns, rate=rate)
    # The first report would pay for the loading of machine code.
    latencies(data.slice(0, 12 * rate), campaigns, rate)
    for batch in BATCHES[:2] if quick else BATCHES:
        progress.step(f"latency, batches of {batch:,}")
        boxes[f"{batch:,}"] = latencies(data.slice(0, max(500 * batch, 25 * rate)), campaigns, batch)
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
            if found:
                line.add(batch, 1e3 * float(np.percentile(found, percentile)))
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
        {"events": events},
        _table(boxes, throughput),
    )


def _table(boxes: dict[str, list[float]], throughput: dict[str, dict[str, float]]) -> PaperTable:
    table = PaperTable("windflow-2", "YSB, figures 20 to 22")
    for batch, found in boxes.items():
        if found:
            low, middle, high = 1e3 * np.percentile(found, (0, 50, 100))
            table.add(
                f"20: latency with batches of {batch}, ms",
                paper="a few; Flink and Storm hundreds or thousands",
                here=f"{middle:.1f} ({low:.1f} to {high:.1f})",
                why="a result waits for the batch that closes it",
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
