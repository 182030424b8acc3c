"""Figures 12 and 13 of the JPDC paper: chunk size of the agnostic buffer, and chunks of gcd(W, S).

200,000 quotes a second, W 1 s every 10 ms. A chunk that spans gcd(W, S) = 10 ms has 2,000 quotes at this
rate, which is what is run for figure 13: events come evenly, so that a chunk by time is one by count.
"""

from __future__ import annotations

from math import gcd

from benchmarks.amta_paper.chart import Chart, Panel, Series
from benchmarks.amta_paper.measuring import ProgressPrinter
from benchmarks.paper_table import PaperTable
from benchmarks.pisa_papers.trading import CHUNK, RATE, Measured, by_time

LENGTH, SLIDE = 1_000, 10
"""Milliseconds."""
CHUNKS = (500, 1_000, 2_000, 5_000, 10_000, 20_000)
WORKERS = 2


def run(*, quick: bool, progress: ProgressPrinter) -> Chart:
    rate, windows = (2_000, 4) if quick else (RATE, 8)
    by_gcd = gcd(LENGTH, SLIDE) * RATE // 1_000
    found: dict[int, Measured] = {}
    trading = by_time(LENGTH / 1e3, SLIDE / 1e3, windows=windows, rate=rate)
    for chunk in CHUNKS:
        progress.step(f"chunks of {chunk:,}")
        found[chunk] = trading.by_chunks(chunk * rate // RATE, workers=WORKERS)
    outputs, calcs = Series("results a second"), Series("T_calc")
    for chunk, each in found.items():
        outputs.add(f"{chunk:,}", each.output)
        calcs.add(f"{chunk:,}", 1e3 * each.calc)
    panels = [
        Panel(title, "quotes in a chunk", y, [series], powers_of_two=False, logarithmic=False)
        for title, y, series in (
            ("figure 12: results", "results a second", outputs),
            ("figure 12: T_calc", "ms", calcs),
        )
    ]
    return Chart(
        "jpdc-2-chunks", f"Chunks of the buffer of {WORKERS} agnostic workers", panels,
        {"windows": windows, "rate": rate}, _table(found, by_gcd),
    )  # fmt: skip


def _table(found: dict[int, Measured], by_gcd: int) -> PaperTable:
    table = PaperTable("jpdc-2", "chunks, figures 12 and 13")
    fixed, smallest = found[CHUNK], found[CHUNKS[0]]
    table.add(
        f"results with chunks of {CHUNKS[0]} against {CHUNK:,}", paper="at most 10 % fewer",
        here=f"{100 * (smallest.output / fixed.output - 1):+.0f} %",
        why="chunks are files in shared memory, and a process maps each of them",
    )  # fmt: skip
    rest = [found[chunk].output / fixed.output for chunk in CHUNKS if chunk > CHUNK]
    table.add(
        f"results with more than {CHUNK:,}", paper="hardly any difference",
        here=f"{100 * (min(rest) - 1):+.0f} to {100 * (max(rest) - 1):+.0f} %", why="noise of the machine",
    )  # fmt: skip
    automatic = found[by_gcd]
    table.add(
        f"T_calc of chunks of gcd(W, S) against {CHUNK:,}", paper="+2.8 %; results the same",
        here=f"{100 * (automatic.calc / fixed.calc - 1):+.0f} %; results "
        f"{100 * (automatic.output / fixed.output - 1):+.0f} %",
        why="a window's chunks are put together outside T_calc",
    )  # fmt: skip
    return table
