"""Figures 12 and 13 of the JPDC paper: chunk size of the agnostic buffer, and chunks of gcd(W, S).

200,000 quotes a second, W 1 s every 10 ms. A chunk of figure 13 has the quotes of gcd(W, S) = 10 ms: the
buffer is cut by time, and at this rate some 2,000 quotes are in a chunk.
"""

from __future__ import annotations

from math import gcd

from benchmarks.amta_paper.chart import Chart, Panel, Series
from benchmarks.amta_paper.measuring import ProgressPrinter
from benchmarks.paper_table import PaperTable
from benchmarks.pisa_papers.repeated import OF_THIS_RUN
from benchmarks.pisa_papers.trading import CHUNK, RATE, WINDOWS, Measured, by_time

LENGTH, SLIDE = 1_000, 10
"""Milliseconds."""
CHUNKS = (500, 1_000, 2_000, 5_000, 10_000, 20_000)
WORKERS = 2


def run(*, quick: bool, progress: ProgressPrinter) -> Chart:
    rate, windows = (2_000, 4) if quick else (RATE, WINDOWS)
    found: dict[int, Measured] = {}
    trading = by_time(LENGTH / 1e3, SLIDE / 1e3, windows=windows, rate=rate)
    for chunk in CHUNKS:
        progress.step(f"chunks of {chunk:,}")
        found[chunk] = trading.by_chunks(chunk * rate // RATE, workers=WORKERS)
    OF_THIS_RUN.add("figure 12", found[CHUNK], same_slide=True)
    progress.step(f"chunks of {CHUNK:,} again")
    again = trading.by_chunks(CHUNK * rate // RATE, workers=WORKERS)
    OF_THIS_RUN.add("figure 12, again", again, same_slide=True)
    span = gcd(LENGTH, SLIDE)
    progress.step(f"chunks of {span} ms")
    automatic = trading.by_chunks(CHUNK, workers=WORKERS, span=1_000 * span)
    by_count = {f"{chunk:,}": each for chunk, each in found.items()}
    by_layout = {f"{CHUNK:,} quotes": found[CHUNK], f"{span} ms": automatic}
    panels = [
        *_panels("figure 12", "quotes in a chunk", by_count, joined=True),
        *_panels("figure 13", "a chunk", by_layout, joined=False),
    ]
    return Chart(
        "jpdc-2-chunks", f"Chunks of the buffer of {WORKERS} agnostic workers", panels,
        {"windows": windows, "rate": rate}, _table(found, automatic),
    )  # fmt: skip


def _panels(title: str, x: str, found: dict[str, Measured], *, joined: bool) -> list[Panel]:
    outputs, calcs = Series("results a second", joined=joined), Series("T_calc", joined=joined)
    for at, each in found.items():
        outputs.add(at, each.output)
        calcs.add(at, 1e3 * each.calc)
    return [
        Panel(f"{title}: {what}", x, y, [series], powers_of_two=False, logarithmic=False)
        for what, y, series in (("results", "results a second", outputs), ("T_calc", "ms", calcs))
    ]


def _table(found: dict[int, Measured], automatic: Measured) -> PaperTable:
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
        here=f"{100 * (min(rest) - 1):+.0f} to {100 * (max(rest) - 1):+.0f} %", why="fewer chunks to map",
    )  # fmt: skip
    table.add(
        f"T_calc of chunks of gcd(W, S), cut by time, against {CHUNK:,}", paper="+2.8 %; results the same",
        here=f"{100 * (automatic.calc / fixed.calc - 1):+.0f} %; results "
        f"{100 * (automatic.output / fixed.output - 1):+.0f} %",
        why="the fit copies the chunks of its window together within T_calc, and here they are smaller",
    )  # fmt: skip
    OF_THIS_RUN.check(table)
    return table
